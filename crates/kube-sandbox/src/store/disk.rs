//! The store's file: SQLite in write-ahead mode, one connection, one sync per group.
//!
//! It is read once, at the start. An object's row holds its text as it is in memory, so writing is
//! copying. The newest version is a row of its own, because a deletion has a version and no row.

use std::{path::Path, sync::Arc};

use sqlx::{
    ConnectOptions, Connection, Row as _, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

use super::{Cluster, State, table::Table, writer::Key};
use crate::object::{Draft, Name, Stored};

/// Name of the file in the data folder.
const FILE: &str = "kubernetes.sqlite";

const SCHEMA: &str = "
create table if not exists version (id integer primary key check (id = 1), version integer not null);
create table if not exists cluster (name text primary key) without rowid;
create table if not exists note (cluster text, key text, note blob not null, primary key (cluster, key)) without rowid;
create table if not exists object (
    cluster text not null, resource text not null, namespace text not null, name text not null,
    version integer not null, gap integer not null, object blob not null
);
create unique index if not exists object_name on object (cluster, resource, namespace, name);
";

const PUT: &str = "insert into object (cluster, resource, namespace, name, version, gap, object)
    values (?, ?, ?, ?, ?, ?, ?) on conflict (cluster, resource, namespace, name)
    do update set version = excluded.version, gap = excluded.gap, object = excluded.object";

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// The folder cannot be made.
    #[error("the data folder cannot be used")]
    Folder(#[from] std::io::Error),
    /// There is no room left.
    #[error("the disk of the data folder is full; make room and start again")]
    Full,
    /// The database refuses.
    #[error("the database of the data folder cannot be used")]
    Database(#[source] sqlx::Error),
    /// A row is not what we wrote.
    #[error("the database holds an object that is no JSON")]
    Broken(#[from] serde_json::Error),
}

impl From<sqlx::Error> for DiskError {
    fn from(error: sqlx::Error) -> Self {
        // SQLite's own number for it.
        let is_full = error.as_database_error().is_some_and(|told| told.code().as_deref() == Some("13"));
        if is_full { Self::Full } else { Self::Database(error) }
    }
}

/// One thing of a group.
pub(super) enum Row<'a> {
    Put(&'a Key, &'a Stored),
    Remove(&'a Key),
    AddCluster(&'a str),
    DropCluster(&'a str),
    Note(&'a str, &'a str, &'a [u8]),
}

#[derive(Debug)]
pub(super) struct Disk {
    connection: SqliteConnection,
}

pub(super) async fn open(folder: &Path) -> Result<(State, Disk), DiskError> {
    tokio::fs::create_dir_all(folder).await?;
    let mut connection = SqliteConnectOptions::new()
        .filename(folder.join(FILE))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        // Objects of some kilobytes fit a page, and fewer checkpoints interrupt the writer.
        .page_size(8192)
        .pragma("wal_autocheckpoint", "4000")
        .disable_statement_logging()
        .connect()
        .await?;
    sqlx::raw_sql(SCHEMA).execute(&mut connection).await?;
    let state = load(&mut connection).await?;
    Ok((state, Disk { connection }))
}

async fn load(connection: &mut SqliteConnection) -> Result<State, DiskError> {
    let mut state = State::default();
    let version: Option<i64> =
        sqlx::query_scalar("select version from version").fetch_optional(&mut *connection).await?;
    state.version = version.unwrap_or(0).cast_unsigned();
    for row in sqlx::query("select name from cluster").fetch_all(&mut *connection).await? {
        state.clusters.insert(row.get::<&str, _>(0).into(), Cluster::default());
    }
    for row in sqlx::query("select cluster, key, note from note").fetch_all(&mut *connection).await? {
        state.notes.insert((row.get::<&str, _>(0).into(), row.get::<&str, _>(1).into()), row.get::<&[u8], _>(2).into());
    }
    let rows = sqlx::query("select cluster, resource, namespace, name, version, gap, object from object");
    let mut rows = rows.fetch(connection);
    let mut resource: Arc<str> = "".into();
    while let Some(row) = futures::TryStreamExt::try_next(&mut rows).await? {
        if *resource != *row.get::<&str, _>(1) {
            resource = row.get::<&str, _>(1).into();
        }
        let Some(cluster) = state.clusters.get_mut(row.get::<&str, _>(0)) else { continue };
        let name = Name::new(row.get(2), row.get(3));
        let gap = usize::try_from(row.get::<i64, _>(5)).unwrap_or_default();
        let draft = Draft::read(row.get(6), gap)?;
        let object = Arc::new(draft.at(row.get::<i64, _>(4).cast_unsigned()));
        cluster.index(&resource, &name, None, Some(&object));
        let table = cluster.tables.entry(resource.clone()).or_insert_with(|| Table::new(state.version));
        table.objects.insert(name, object);
    }
    Ok(state)
}

impl Disk {
    /// All rows or none, on disk when it answers.
    pub(super) async fn write<'a>(
        &mut self,
        version: u64,
        rows: impl Iterator<Item = Row<'a>>,
    ) -> Result<(), DiskError> {
        let mut group = self.connection.begin_with("BEGIN IMMEDIATE").await?;
        for row in rows {
            match row {
                Row::Put(key, object) => {
                    let (text, gap) = object.text();
                    bind(sqlx::query(PUT), key)
                        .bind(object.version.cast_signed())
                        .bind(i64::try_from(gap).unwrap_or_default())
                        .bind(text)
                        .execute(&mut *group)
                        .await?
                }
                Row::Remove(key) => {
                    const REMOVE: &str =
                        "delete from object where cluster = ? and resource = ? and namespace = ? and name = ?";
                    bind(sqlx::query(REMOVE), key).execute(&mut *group).await?
                }
                Row::AddCluster(cluster) => {
                    let add = sqlx::query("insert into cluster (name) values (?) on conflict do nothing");
                    add.bind(cluster).execute(&mut *group).await?
                }
                Row::DropCluster(cluster) => {
                    for drop in [
                        "delete from object where cluster = ?",
                        "delete from note where cluster = ?",
                        "delete from cluster where name = ?",
                    ] {
                        sqlx::query(drop).bind(cluster).execute(&mut *group).await?;
                    }
                    continue;
                }
                Row::Note(cluster, key, note) => {
                    let set = sqlx::query("insert or replace into note (cluster, key, note) values (?, ?, ?)");
                    set.bind(cluster).bind(key).bind(note).execute(&mut *group).await?
                }
            };
        }
        let newest = sqlx::query("insert or replace into version (id, version) values (1, ?)");
        newest.bind(version.cast_signed()).execute(&mut *group).await?;
        Ok(group.commit().await?)
    }

    pub(super) async fn close(self) {
        if let Err(error) = self.connection.close().await {
            tracing::warn!(%error, "the database of the data folder did not close well; nothing is lost");
        }
    }
}

type Query<'a> = sqlx::query::Query<'a, sqlx::Sqlite, sqlx::sqlite::SqliteArguments>;

fn bind<'a>(query: Query<'a>, key: &'a Key) -> Query<'a> {
    query.bind(&*key.cluster).bind(&*key.resource).bind(&*key.name.namespace).bind(&*key.name.name)
}
