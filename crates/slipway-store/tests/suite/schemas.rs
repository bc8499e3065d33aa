//! The two schemas say the same, and PostgreSQL's is made for the work.

use std::collections::BTreeSet;

use slipway_model::ports::Next;
use slipway_store::testing::Postgres;
use sqlx::{Connection, PgConnection, Row, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::bed::{Bed, folder, open_postgres, open_sqlite, t};

const PG_COLUMNS: &str = "SELECT table_name::text, column_name::text, is_nullable = 'YES' FROM information_schema.columns \
     WHERE table_schema = 'public'";
const SQLITE_COLUMNS: &str = "SELECT t.name, c.name, NOT (c.\"notnull\" OR c.pk > 0) FROM sqlite_schema t, \
     pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";

#[tokio::test]
async fn both_databases_have_the_same_tables_and_columns() {
    let url = Postgres::shared().fresh_database().await.expect("a database");
    open_postgres(&url).await.close().await;
    let mut conn = PgConnection::connect(&url).await.expect("connects");
    let rows = sqlx::query(PG_COLUMNS).fetch_all(&mut conn).await.expect("reads");
    let postgres: BTreeSet<(String, String, bool)> =
        rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();

    let (_folder, file) = folder();
    open_sqlite(&file).await.close().await;
    let mut conn =
        SqliteConnection::connect_with(&SqliteConnectOptions::new().filename(&file)).await.expect("connects");
    let rows = sqlx::query(SQLITE_COLUMNS).fetch_all(&mut conn).await.expect("reads");
    let sqlite: BTreeSet<(String, String, bool)> =
        rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();

    assert!(postgres.len() > 50, "{postgres:?}");
    assert_eq!(postgres.difference(&sqlite).collect::<Vec<_>>(), Vec::<&_>::new(), "only in PostgreSQL");
    assert_eq!(sqlite.difference(&postgres).collect::<Vec<_>>(), Vec::<&_>::new(), "only in SQLite");
}

#[tokio::test]
async fn a_running_step_touches_no_index_of_its_operation() {
    const COMMITS: i64 = 40;
    const UPDATES: &str = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'operations'";
    let url = Postgres::shared().fresh_database().await.expect("a database");
    let store = std::sync::Arc::new(open_postgres(&url).await);
    let bed = Bed::on(std::sync::Arc::clone(&store));
    let me = bed.replica("a").await;
    let mut run = bed.running(&me, t(0)).await;
    for n in 0..COMMITS {
        bed.must(run.saying(&format!("commit {n}"), t(n), Next::Run)).await;
    }
    // A connection hands in its figures when it closes.
    store.close().await;
    let mut conn = PgConnection::connect(&url).await.expect("connects");
    let (mut all, mut hot) = (0_i64, 0_i64);
    for _ in 0..600 {
        let row = sqlx::query(UPDATES).fetch_one(&mut conn).await.expect("reads");
        (all, hot) = (row.get(0), row.get(1));
        if all > COMMITS {
            break;
        }
        sqlx::query("SELECT pg_sleep(0.1)").execute(&mut conn).await.expect("waits");
    }
    // The claim moves the row, and so does a page that is full for once.
    assert!(all == COMMITS + 1 && all - hot <= 8, "{all} updates, of which {hot} stayed within their page");
}
