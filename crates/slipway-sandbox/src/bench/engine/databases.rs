//! Fresh databases for the figures.

use std::{
    fmt,
    path::Path,
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use slipway_engine::{SystemClock, SystemEntropy, SystemRandom};
use slipway_model::{
    OperationId,
    ports::{Clock, Runtimes, Storage},
};
use slipway_store::{
    Keyring, PgOptions, PgStore, SqliteStore,
    testing::{Postgres, bare::Bare},
};

use super::steps::operation;

/// Which database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A real server with `fsync` and `synchronous_commit` on.
    Postgres,
    /// A file in WAL mode with `synchronous=FULL`.
    Sqlite,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Postgres => "PostgreSQL",
            Self::Sqlite => "SQLite",
        })
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "postgres" => Ok(Self::Postgres),
            "sqlite" => Ok(Self::Sqlite),
            _ => Err("use postgres or sqlite".to_owned()),
        }
    }
}

/// Where fresh databases come from.
pub(in crate::bench) struct Server {
    postgres: Postgres,
    folder: tempfile::TempDir,
    files: AtomicUsize,
}

/// One fresh database.
pub(in crate::bench) struct Database {
    /// The store on it.
    pub(in crate::bench) store: Arc<dyn Storage>,
    /// The same, by its other port.
    pub(in crate::bench) runtimes: Arc<dyn Runtimes>,
    /// Its address: a URL, or a file.
    pub(super) address: String,
    kind: Kind,
}

impl Server {
    pub(in crate::bench) fn start() -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| format!("no folder for SQLite files: {error}"))?;
        Ok(Self { postgres: Postgres::start()?, folder, files: AtomicUsize::new(0) })
    }

    pub(in crate::bench) async fn fresh(&self, kind: Kind) -> Result<Database, String> {
        let address = match kind {
            Kind::Postgres => self.postgres.fresh_database().await.map_err(|error| error.to_string())?,
            Kind::Sqlite => {
                let number = self.files.fetch_add(1, Ordering::Relaxed);
                self.folder.path().join(format!("bench-{number}.db")).display().to_string()
            }
        };
        let (store, runtimes) = open_both(kind, &address).await?;
        Ok(Database { store, runtimes, address, kind })
    }

    /// Lets the server write back what it holds, so that whatever is timed next starts on the same
    /// ground: what was written before is not paid for in its time.
    pub(in crate::bench) async fn settle(&self, kind: Kind) -> Result<(), String> {
        match kind {
            Kind::Postgres => self.postgres.run("postgres", "CHECKPOINT").await.map_err(|error| error.to_string()),
            Kind::Sqlite => Ok(()),
        }
    }
}

impl Database {
    /// The same database without store.
    pub(in crate::bench) async fn bare(&self) -> Result<Bare, String> {
        let bare = match self.kind {
            Kind::Postgres => Bare::postgres(&self.address).await,
            Kind::Sqlite => Bare::sqlite(Path::new(&self.address)).await,
        };
        bare.map_err(|error| error.to_string())
    }

    /// Accepts operations, several at a time.
    pub(super) async fn fill(&self, count: usize, process: &'static str) -> Result<(), String> {
        let (clock, random) = (SystemClock::default(), SystemRandom::default());
        let mut running = tokio::task::JoinSet::new();
        for _ in 0..count {
            if running.len() >= 8
                && let Some(ended) = running.join_next().await
            {
                ended.map_err(|error| error.to_string())??;
            }
            let new = operation(OperationId::draw(&clock, &random), process)?;
            let (store, now) = (self.store.clone(), clock.wall());
            running.spawn(async move { store.enqueue(new, now).await.map(|_| ()).map_err(|error| error.to_string()) });
        }
        while let Some(ended) = running.join_next().await {
            ended.map_err(|error| error.to_string())??;
        }
        Ok(())
    }
}

/// Opens a store with a throw-away key.
pub(super) async fn open(kind: Kind, address: &str) -> Result<Arc<dyn Storage>, String> {
    Ok(open_both(kind, address).await?.0)
}

async fn open_both(kind: Kind, address: &str) -> Result<(Arc<dyn Storage>, Arc<dyn Runtimes>), String> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let key = ("bench".to_owned(), "07".repeat(32).into());
    let keyring = Keyring::new([key], "bench", Arc::new(SystemEntropy)).map_err(|error| error.to_string())?;
    Ok(match kind {
        Kind::Postgres => {
            let store = PgStore::open(address, keyring, PgOptions::default(), clock).await;
            let store = Arc::new(store.map_err(|error| error.to_string())?);
            (store.clone(), store)
        }
        Kind::Sqlite => {
            let store = SqliteStore::open(Path::new(address), keyring, clock).await;
            let store = Arc::new(store.map_err(|error| error.to_string())?);
            (store.clone(), store)
        }
    })
}
