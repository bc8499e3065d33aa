//! What PostgreSQL and SQLite say alike, said once.
//!
//! Each aggregate is one module of this crate (`operations`, `runtimes`) that holds its statements, the
//! mapping of its rows and its port on [`SqlStore`], whichever the database. How a database is reached
//! is its [`Database`]; what it says its own way, because it is tuned or locks otherwise, is in its folder.

mod conn;
mod prepare;

use std::{future::Future, sync::Arc, time::Duration};

use slipway_model::ports::{Clock, StoreError, StoreResult};
use sqlx::{Connection, Pool, Transaction, pool::PoolConnection};

use crate::{
    error::{Fault, Tried, store_error},
    hints::Hints,
    operations::Queue,
    secrets::Keyring,
};
pub(crate) use conn::{Arg, Conn, args, send_by_sqlx};
pub(crate) use prepare::{Needs, prepare};

/// Storage on an SQL database.
pub struct SqlStore<D> {
    pub(crate) database: D,
    pub(crate) keyring: Keyring,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) hints: Hints,
}

/// What a call does with its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// It only reads.
    Read,
    /// It writes, and on PostgreSQL sees to its transaction itself: all it writes is one statement, or
    /// it begins one only if it must.
    Statement,
    /// It writes with several statements.
    Transaction,
}

/// How a database is reached.
pub(crate) trait Database: Send + Sync + 'static {
    /// Its driver.
    type Driver: sqlx::Database<Connection: Queue>;

    /// Where connections come from.
    fn pool(&self, access: Access) -> &Pool<Self::Driver>;

    /// The words that begin the transaction of a call; none if it has none.
    fn begins_with(access: Access) -> Option<&'static str>;

    /// How long one try may take at most; none where nobody can be silent for ever.
    fn patience(&self) -> Option<Duration>;

    /// Something became due: tells the other replicas.
    fn tell_others(&self);
}

/// How often a call is made again after a race before its caller is told.
const RACES: u32 = 8;

/// Runs `$work` on a connection lent as `$conn`, in bounded time, and again after a race. Whatever fails
/// is rolled back. A macro, because a closure cannot promise the compiler that its future may change
/// threads.
macro_rules! call {
    ($store:expr, $access:ident, $conn:ident => $work:expr) => {{
        let store = $store;
        let mut races = 0;
        loop {
            let mut lent = match store.lend($crate::sql::Access::$access).await {
                Ok(lent) => lent,
                Err(error) => break Err(error),
            };
            let tried = {
                let trying = async {
                    let mut session = store.begin($crate::sql::Access::$access, &mut lent).await?;
                    let $conn = session.conn();
                    let answer = $work.await?;
                    session.end().await?;
                    $crate::error::Tried::Ok(answer)
                };
                tokio::select! {
                    biased;
                    tried = trying => tried,
                    () = store.lose_patience() => Err($crate::error::Fault::TooSlow),
                }
            };
            if let Some(answer) = store.settle(lent, tried, &mut races).await {
                break answer;
            }
        }
    }};
}
pub(crate) use call;

#[expect(private_bounds, reason = "who uses a store need not know how its database is reached")]
impl<D: Database> SqlStore<D> {
    pub(crate) async fn lend(&self, access: Access) -> StoreResult<PoolConnection<D::Driver>> {
        self.database.pool(access).acquire().await.map_err(|error| store_error(&error))
    }

    pub(crate) async fn begin<'c>(
        &self,
        access: Access,
        lent: &'c mut PoolConnection<D::Driver>,
    ) -> Tried<Session<'c, D::Driver>> {
        let conn: &'c mut <D::Driver as sqlx::Database>::Connection = lent;
        Ok(match D::begins_with(access) {
            Some(words) => Session::Transaction(conn.begin_with(words).await?),
            None => Session::Bare(conn),
        })
    }

    /// Ends when a try has taken too long.
    pub(crate) fn lose_patience(&self) -> impl Future<Output = ()> + Send {
        let end = self.database.patience().map(|patience| self.clock.sleep(patience));
        async move {
            match end {
                Some(end) => end.await,
                None => std::future::pending().await,
            }
        }
    }

    /// What a try came to; none if it lost a race and is to be made again.
    pub(crate) async fn settle<T>(
        &self,
        mut lent: PoolConnection<D::Driver>,
        tried: Tried<T>,
        races: &mut u32,
    ) -> Option<StoreResult<T>> {
        let fault = match tried {
            Ok(answer) => return Some(Ok(answer)),
            Err(fault) => fault,
        };
        // A transaction that is dropped is rolled back at the next use of its connection. That must be
        // now: claims pass over rows that are still locked.
        let clean = match fault {
            Fault::TooSlow => false,
            Fault::Sql(_) | Fault::Store(_) | Fault::Race => tokio::select! {
                pinged = lent.ping() => pinged.is_ok(),
                () = self.lose_patience() => false,
            },
        };
        if !clean {
            lent.close_on_drop();
        }
        if !fault.is_race() || *races == RACES {
            return Some(Err(StoreError::from(fault)));
        }
        *races += 1;
        None
    }

    /// Something became due: tells this process at once, and the others.
    pub(crate) fn tell(&self) {
        self.hints.give();
        self.database.tell_others();
    }
}

/// A connection as a call has it.
pub(crate) enum Session<'c, Driver: sqlx::Database> {
    Bare(&'c mut Driver::Connection),
    Transaction(Transaction<'c, Driver>),
}

impl<Driver: sqlx::Database> Session<'_, Driver> {
    pub(crate) fn conn(&mut self) -> &mut Driver::Connection {
        match self {
            Self::Bare(conn) => conn,
            Self::Transaction(transaction) => transaction,
        }
    }

    pub(crate) async fn end(self) -> Tried<()> {
        match self {
            Self::Bare(_) => Ok(()),
            Self::Transaction(transaction) => Ok(transaction.commit().await?),
        }
    }
}
