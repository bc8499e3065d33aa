//! The port to runtimes in SQL, written once for both databases.
//!
//! Unlike the queue of operations, whose statements are tuned to each database, nothing here is on a
//! hot path, so one text of each statement serves both: `$1` is a parameter to either. What differs is
//! how a statement is sent ([`Conn`]) and that PostgreSQL, where several write at once, needs a lock
//! per instance; SQLite has one writer.
//!
//! **Why no two requests are both accepted.** `accept` holds the lock of its instance from before it
//! looks until it is durable, and so does every commit that ends an operation. Should a program ever
//! insert without the lock, the unique index over unfinished operations refuses the second row, the
//! call is made again, and then sees the first. Names are kept apart by their unique index alone, in
//! the same way: two new runtimes of one name have different instances and so different locks.

pub(crate) mod accept;
pub(crate) mod audit;
mod columns;
pub(crate) mod intents;
pub(crate) mod keys;
pub(crate) mod kyma;
pub(crate) mod limits;
pub(crate) mod records;

use std::future::Future;

use slipway_model::{InstanceId, Operation, RecordKind, RuntimeId, Timestamp, ports::StoreError};
use sqlx::types::Uuid;

use crate::{
    error::Tried,
    rows::{Cells, signed},
    secrets::Keyring,
};

/// A value for a statement, with its type: the databases ask for it even when there is none.
pub(crate) enum Arg {
    Text(Option<String>),
    Int(Option<i64>),
    Flag(bool),
    Id(Option<Uuid>),
    Bytes(Option<Vec<u8>>),
}

macro_rules! arg_from {
    ($($variant:ident($value:ident: $from:ty) $with:expr,)+) => {
        $(impl From<$from> for Arg {
            fn from($value: $from) -> Self {
                Self::$variant($with)
            }
        })+
    };
}
arg_from! {
    Text(value: &str) Some(value.to_owned()),
    Text(value: String) Some(value),
    Text(value: Option<String>) value,
    Int(value: i64) Some(value),
    Int(value: Option<i64>) value,
    Int(value: u32) Some(i64::from(value)),
    Int(value: u64) Some(signed(value)),
    Int(value: usize) Some(i64::try_from(value).unwrap_or(i64::MAX)),
    Int(value: Timestamp) Some(value.as_micros()),
    Flag(value: bool) value,
    Id(value: Uuid) Some(value),
    Id(value: Option<Uuid>) value,
    Id(value: RuntimeId) Some(value.as_uuid()),
    Id(value: slipway_model::OperationId) Some(value.as_uuid()),
    Bytes(value: Vec<u8>) Some(value),
    Bytes(value: Option<Vec<u8>>) value,
}

/// The values of a statement, in order.
macro_rules! args {
    ($($value:expr),* $(,)?) => { vec![$($crate::runtimes::Arg::from($value)),*] };
}
pub(crate) use args;

/// A connection inside a transaction.
pub(crate) trait Conn: Send {
    /// A row of its database.
    type Row: Cells + Send + Sync;

    /// Sends a statement and reads what it answers.
    fn rows(&mut self, sql: &'static str, args: Vec<Arg>) -> impl Future<Output = Tried<Vec<Self::Row>>> + Send;

    /// Sends a statement; answers how many rows it changed.
    fn run(&mut self, sql: &'static str, args: Vec<Arg>) -> impl Future<Output = Tried<u64>> + Send;

    /// Keeps others from inserting or ending operations of the instance until the transaction ends.
    fn lock_instance(&mut self, instance: &InstanceId) -> impl Future<Output = Tried<()>> + Send;

    /// Inserts an operation that has a turn.
    fn insert_operation(
        &mut self,
        keyring: &Keyring,
        operation: &Operation,
        turn: i64,
    ) -> impl Future<Output = Tried<()>> + Send;

    /// Adds one entry to the flight recorder.
    fn record(
        &mut self,
        operation: &Operation,
        at: Timestamp,
        kind: &RecordKind,
    ) -> impl Future<Output = Tried<()>> + Send;

    /// The first row, if there is one.
    fn row(&mut self, sql: &'static str, args: Vec<Arg>) -> impl Future<Output = Tried<Option<Self::Row>>> + Send {
        async move { Ok(self.rows(sql, args).await?.into_iter().next()) }
    }
}

/// Sends statements through sqlx; the same words for both databases.
macro_rules! send_by_sqlx {
    ($row:ty) => {
        type Row = $row;

        async fn rows(&mut self, sql: &'static str, args: Vec<Arg>) -> Tried<Vec<Self::Row>> {
            let mut query = sqlx::query(sql);
            for arg in args {
                query = match arg {
                    Arg::Text(value) => query.bind(value),
                    Arg::Int(value) => query.bind(value),
                    Arg::Flag(value) => query.bind(value),
                    Arg::Id(value) => query.bind(value),
                    Arg::Bytes(value) => query.bind(value),
                };
            }
            Ok(query.fetch_all(&mut *self).await?)
        }

        async fn run(&mut self, sql: &'static str, args: Vec<Arg>) -> Tried<u64> {
            let mut query = sqlx::query(sql);
            for arg in args {
                query = match arg {
                    Arg::Text(value) => query.bind(value),
                    Arg::Int(value) => query.bind(value),
                    Arg::Flag(value) => query.bind(value),
                    Arg::Id(value) => query.bind(value),
                    Arg::Bytes(value) => query.bind(value),
                };
            }
            Ok(query.execute(&mut *self).await?.rows_affected())
        }
    };
}
pub(crate) use send_by_sqlx;

pub(crate) fn no_runtime(id: RuntimeId) -> StoreError {
    StoreError::NotFound { what: "runtime", id: id.to_string() }
}
