//! How a statement is sent: the same words for both databases, `$1` is a parameter to either.

use std::{borrow::Cow, future::Future};

use slipway_model::{InstanceId, OperationId, RuntimeId, Timestamp};
use sqlx::types::Uuid;

use crate::{
    error::Tried,
    rows::{Cells, signed},
};

/// A value for a statement, with its type: the databases ask for it even when there is none.
pub(crate) enum Arg<'a> {
    Text(Option<Cow<'a, str>>),
    Int(Option<i64>),
    Flag(bool),
    Id(Option<Uuid>),
    Bytes(Option<Vec<u8>>),
    /// A list: an array to PostgreSQL, a JSON text to SQLite.
    Texts(Vec<&'a str>),
}

macro_rules! arg_from {
    ($($variant:ident($value:ident: $from:ty) $with:expr,)+) => {
        $(impl<'a> From<$from> for Arg<'a> {
            fn from($value: $from) -> Self {
                Self::$variant($with)
            }
        })+
    };
}
arg_from! {
    Text(value: &'a str) Some(value.into()),
    Text(value: &'a String) Some(value.into()),
    Text(value: String) Some(value.into()),
    Text(value: Option<&'a str>) value.map(Into::into),
    Text(value: Option<String>) value.map(Into::into),
    Int(value: i64) Some(value),
    Int(value: Option<i64>) value,
    Int(value: u32) Some(i64::from(value)),
    Int(value: u64) Some(signed(value)),
    Int(value: Option<u64>) value.map(signed),
    Int(value: usize) Some(i64::try_from(value).unwrap_or(i64::MAX)),
    Int(value: Timestamp) Some(value.as_micros()),
    Int(value: Option<Timestamp>) value.map(Timestamp::as_micros),
    Flag(value: bool) value,
    Id(value: Uuid) Some(value),
    Id(value: Option<Uuid>) value,
    Id(value: RuntimeId) Some(value.as_uuid()),
    Id(value: OperationId) Some(value.as_uuid()),
    Bytes(value: Vec<u8>) Some(value),
    Bytes(value: Option<Vec<u8>>) value,
    Texts(value: Vec<&'a str>) value,
}

/// The values of a statement, in order.
macro_rules! args {
    ($($value:expr),* $(,)?) => { vec![$($crate::sql::Arg::from($value)),*] };
}
pub(crate) use args;

/// A connection, inside a transaction or not.
pub(crate) trait Conn: Send {
    /// A row of its database.
    type Row: Cells + Send + Sync;

    /// Keeps others from inserting or ending operations of the instance `$1` until the transaction ends.
    /// None where only one writes at a time.
    const LOCK_INSTANCE: Option<&'static str>;

    /// Sends a statement and reads what it answers.
    fn rows(&mut self, sql: &'static str, args: Vec<Arg<'_>>) -> impl Future<Output = Tried<Vec<Self::Row>>> + Send;

    /// Sends a statement; answers how many rows it changed.
    fn run(&mut self, sql: &'static str, args: Vec<Arg<'_>>) -> impl Future<Output = Tried<u64>> + Send;

    /// Sends any number of statements without values.
    fn script(&mut self, sql: &'static str) -> impl Future<Output = Tried<()>> + Send;

    /// The first row, if there is one.
    fn row(&mut self, sql: &'static str, args: Vec<Arg<'_>>) -> impl Future<Output = Tried<Option<Self::Row>>> + Send {
        async move { Ok(self.rows(sql, args).await?.into_iter().next()) }
    }

    /// Takes the lock of an instance.
    fn lock_instance(&mut self, instance: &InstanceId) -> impl Future<Output = Tried<()>> + Send {
        async move {
            if let Some(lock) = Self::LOCK_INSTANCE {
                self.run(lock, args![instance.as_str()]).await?;
            }
            Ok(())
        }
    }
}

/// Sends statements through sqlx. `$list` says how the database takes a list of texts.
macro_rules! send_by_sqlx {
    ($conn:ty, $driver:ty, lock_instance: $lock:expr, list: $list:expr) => {
        fn bound(
            sql: &'static str,
            args: Vec<$crate::sql::Arg<'_>>,
        ) -> sqlx::query::Query<'static, $driver, <$driver as sqlx::Database>::Arguments> {
            use $crate::sql::Arg;
            args.into_iter().fold(sqlx::query(sql), |query, arg| match arg {
                Arg::Text(value) => query.bind(value),
                Arg::Int(value) => query.bind(value),
                Arg::Flag(value) => query.bind(value),
                Arg::Id(value) => query.bind(value),
                Arg::Bytes(value) => query.bind(value),
                Arg::Texts(value) => query.bind($list(value)),
            })
        }

        impl $crate::sql::Conn for $conn {
            type Row = <$driver as sqlx::Database>::Row;

            const LOCK_INSTANCE: Option<&'static str> = $lock;

            async fn rows(
                &mut self,
                sql: &'static str,
                args: Vec<$crate::sql::Arg<'_>>,
            ) -> $crate::error::Tried<Vec<Self::Row>> {
                Ok(bound(sql, args).fetch_all(&mut *self).await?)
            }

            async fn run(&mut self, sql: &'static str, args: Vec<$crate::sql::Arg<'_>>) -> $crate::error::Tried<u64> {
                Ok(bound(sql, args).execute(&mut *self).await?.rows_affected())
            }

            async fn script(&mut self, sql: &'static str) -> $crate::error::Tried<()> {
                sqlx::raw_sql(sql).execute(&mut *self).await?;
                Ok(())
            }
        }
    };
}
pub(crate) use send_by_sqlx;
