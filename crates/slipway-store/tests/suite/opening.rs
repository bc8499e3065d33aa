//! Opening, keys, damage, and databases that go away.

use std::{os::unix::fs::PermissionsExt as _, path::Path, sync::Arc, time::Duration};

use secrecy::ExposeSecret;
use slipway_model::{
    OperationType,
    ports::{Storage, StoreError},
};
use slipway_store::{OpenError, PgOptions, PgStore, SqliteStore, testing::Postgres};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, SqliteConnection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

use crate::bed::{Bed, clock, folder, keyring, t};

/// A place that stores are opened on again and again, and a hand in its tables.
pub(crate) enum Place {
    Sqlite { file: std::path::PathBuf, _folder: TempDir },
    Postgres(String),
}

impl Place {
    pub(crate) async fn both() -> [Self; 2] {
        let (folder, file) = folder();
        let url = Postgres::shared().fresh_database().await.expect("a database");
        [Self::Sqlite { file, _folder: folder }, Self::Postgres(url)]
    }

    pub(crate) async fn open(&self, keys: &[(&str, char)], active: &str) -> Result<Bed, OpenError> {
        let keyring = keyring(keys, active);
        Ok(match self {
            Self::Sqlite { file, .. } => Bed::on(Arc::new(SqliteStore::open(file, keyring, clock()).await?)),
            Self::Postgres(url) => Bed::on(Arc::new(PgStore::open(url, keyring, PgOptions::default(), clock()).await?)),
        })
    }

    pub(crate) async fn refuses(&self, keys: &[(&str, char)], active: &str) -> String {
        match self.open(keys, active).await {
            Ok(_) => panic!("opened"),
            Err(error) => error.to_string(),
        }
    }

    pub(crate) async fn run(&self, sql: &str) {
        self.try_run(sql).await.expect("runs");
    }

    pub(crate) async fn try_run(&self, sql: &str) -> Result<(), String> {
        let done = match self {
            Self::Sqlite { file, .. } => {
                let options = SqliteConnectOptions::new().filename(file);
                let mut conn = SqliteConnection::connect_with(&options).await.expect("connects");
                conn.execute(AssertSqlSafe(sql)).await.map(drop)
            }
            Self::Postgres(url) => {
                let mut conn = PgConnection::connect(url).await.expect("connects");
                conn.execute(AssertSqlSafe(sql)).await.map(drop)
            }
        };
        done.map_err(|error| error.to_string())
    }

    pub(crate) async fn count(&self, sql: &'static str) -> i64 {
        match self {
            Self::Sqlite { file, .. } => {
                let options = SqliteConnectOptions::new().filename(file);
                let mut conn = SqliteConnection::connect_with(&options).await.expect("connects");
                sqlx::query_scalar(sql).fetch_one(&mut conn).await.expect("counts")
            }
            Self::Postgres(url) => {
                let mut conn = PgConnection::connect(url).await.expect("connects");
                sqlx::query_scalar(sql).fetch_one(&mut conn).await.expect("counts")
            }
        }
    }
}

#[tokio::test]
async fn what_was_accepted_is_there_after_a_restart() {
    for place in Place::both().await {
        let bed = place.open(&[("k1", 'a')], "k1").await.expect("opens");
        let id = bed.accept(OperationType::Provision, "shop", t(0)).await;
        drop(bed);
        let op = place.open(&[("k1", 'a')], "k1").await.expect("opens again").get(id).await;
        assert_eq!(op.secrets.expect("kept").expose_secret(), r#"{"password":"hunter2"}"#);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_programs_may_start_at_once() {
    for place in Place::both().await {
        let opening = (0..6).map(|_| place.open(&[("k1", 'a')], "k1"));
        let mut beds = Vec::new();
        for opened in futures_of(opening).await {
            beds.push(opened.expect("opens"));
        }
        assert_eq!(place.count("SELECT count(*) - max(version) FROM schema_migrations").await, 0, "each once");
    }
}

/// Polls several futures together.
async fn futures_of<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|cx| {
        for (future, done) in futures.iter_mut().filter(|(_, done)| done.is_none()) {
            if let std::task::Poll::Ready(output) = future.as_mut().poll(cx) {
                *done = Some(output);
            }
        }
        match futures.iter().all(|(_, done)| done.is_some()) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    futures.into_iter().filter_map(|(_, done)| done).collect()
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_alone() {
    for place in Place::both().await {
        drop(place.open(&[("k1", 'a')], "k1").await.expect("opens"));
        place.run("INSERT INTO schema_migrations (version, name, applied_at) VALUES (7, '0007_future', 0)").await;
        assert_eq!(
            place.refuses(&[("k2", 'b')], "k2").await,
            "the database schema is version 7 but this program knows only up to 4; start the newer program or restore \
             a backup"
        );
        assert_eq!(place.count("SELECT count(*) FROM key_checks").await, 1, "nothing was written");
    }
}

#[tokio::test]
async fn a_wrong_or_missing_key_is_refused_at_the_start_and_nothing_is_written() {
    for place in Place::both().await {
        let bed = place.open(&[("k1", 'a')], "k1").await.expect("opens");
        bed.accept(OperationType::Provision, "shop", t(0)).await;
        let sentence = place.refuses(&[("k1", 'b')], "k1").await;
        assert!(sentence.starts_with("encryption key \"k1\" is not the one"), "{sentence}");
        let sentence = place.refuses(&[("k1", 'b'), ("k2", 'c')], "k2").await;
        assert!(sentence.starts_with("encryption key \"k1\" is not the one"), "{sentence}");
        let sentence = place.refuses(&[("k2", 'c')], "k2").await;
        assert!(sentence.contains("secrets encrypted with key \"k1\", which was not given"), "{sentence}");
        assert_eq!(place.count("SELECT count(*) FROM key_checks").await, 1, "nothing was written");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn secrets_move_to_a_new_key_in_batches_beside_other_writers() {
    for place in Place::both().await {
        let bed = place.open(&[("k1", 'a')], "k1").await.expect("opens");
        let mut ids = Vec::new();
        for n in 0..25 {
            ids.push(bed.accept(OperationType::Provision, &format!("i{n}"), t(0)).await);
        }
        let bed = place.open(&[("k1", 'a'), ("k2", 'b')], "k2").await.expect("opens with both");
        let writer = async {
            for id in &ids {
                let fields = bed.get(*id).await.fields;
                bed.store.update(*id, 1, fields, t(1)).await.expect("written");
            }
        };
        let mover = async {
            let mut moved = Vec::new();
            loop {
                match bed.store.reencrypt(10).await.expect("moves") {
                    // A row that is being written just now is passed over.
                    0 if moved.iter().sum::<usize>() >= 25 => break moved,
                    count => moved.push(count),
                }
            }
        };
        let (moved, ()) = tokio::join!(mover, writer);
        assert!(moved.iter().all(|count| *count <= 10), "{moved:?}");
        assert_eq!(moved.iter().sum::<usize>(), 25);
        drop(bed);
        let bed = place.open(&[("k2", 'b')], "k2").await.expect("the old key is not needed any more");
        for id in ids {
            let op = bed.get(id).await;
            assert_eq!(op.secrets.expect("kept").expose_secret(), r#"{"password":"hunter2"}"#);
            assert_eq!(op.version, 2, "the other writer was not undone");
        }
    }
}

#[tokio::test]
async fn a_damaged_row_is_reported_and_holds_up_nobody() {
    for place in Place::both().await {
        let bed = place.open(&[("k1", 'a')], "k1").await.expect("opens");
        let me = bed.replica("a").await;
        let damaged = bed.accept(OperationType::Provision, "damaged", t(0)).await;
        let sound = bed.accept(OperationType::Provision, "sound", t(1)).await;
        // A ciphertext moved from one row to another.
        place
            .run(
                "UPDATE operations SET secrets = (SELECT secrets FROM operations WHERE instance_id = 'sound') \
                 WHERE instance_id = 'damaged'",
            )
            .await;
        let error = bed.store.operation(damaged).await.expect_err("must not open");
        assert!(matches!(&error, StoreError::Unreadable(why) if why.contains(&damaged.to_string())), "{error}");
        assert!(!error.to_string().contains("hunter2"));
        let claims = bed.claim(&me, t(1), 1).await.expect("claims").claims;
        assert_eq!(claims.iter().map(|claim| claim.operation.id).collect::<Vec<_>>(), [sound]);
        assert_eq!(bed.claim_all(&me, t(2)).await.next_due, Some(t(61)), "tried again in a minute");

        place.run("UPDATE operations SET secrets = NULL, secrets_key = NULL WHERE instance_id = 'damaged'").await;
        assert_eq!(bed.claim_one(&me, t(61)).await.operation.id, damaged);
        place.run("UPDATE operations SET state = 'dreaming'").await;
        let error = bed.store.operation(sound).await.expect_err("no such state");
        assert!(matches!(error, StoreError::Unreadable(_)), "{error}");
    }
}

#[tokio::test]
async fn a_database_file_is_its_owners_alone_and_one_that_others_can_read_is_refused() {
    let (_folder, file) = folder();
    let bed = Bed::on(Arc::new(crate::bed::open_sqlite(&file).await));
    bed.accept(OperationType::Provision, "shop", t(0)).await;
    for name in ["slipway.db", "slipway.db-wal", "slipway.db-shm"] {
        let mode = std::fs::metadata(file.with_file_name(name)).expect(name).permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name}");
    }
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).expect("mode");
    let opened = SqliteStore::open(&file, keyring(&[("k1", 'a')], "k1"), clock()).await;
    let error = opened.err().expect("others can read it").to_string();
    assert!(error.ends_with(&format!("chmod 600 {}", file.display())), "{error}");
}

#[tokio::test]
async fn no_secret_stands_in_the_file() {
    let (_folder, file) = folder();
    let bed = Bed::on(Arc::new(crate::bed::open_sqlite(&file).await));
    bed.accept(OperationType::Provision, "shop-of-ada", t(0)).await;
    let mut seen = Vec::new();
    for name in ["slipway.db", "slipway.db-wal"] {
        seen.extend(std::fs::read(file.with_file_name(name)).unwrap_or_default());
    }
    let holds = |needle: &[u8]| seen.windows(needle.len()).any(|part| part == needle);
    assert!(holds(b"shop-of-ada"), "this is the file");
    assert!(!holds(b"hunter2"));
}

async fn refused(url: &str) -> String {
    let options = PgOptions { acquire_timeout: Duration::from_millis(500), ..PgOptions::default() };
    match PgStore::open(url, keyring(&[("k1", 'a')], "k1"), options, clock()).await {
        Ok(_) => panic!("opened"),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn a_database_that_cannot_be_opened_says_what_to_do_and_shows_no_password() {
    let server = Postgres::shared();
    server.run("postgres", "CREATE ROLE locked LOGIN PASSWORD 'right'").await.expect("a role");
    let base = server.base_url();
    let host = base.rsplit('@').next().expect("a host");
    for (url, expected) in [
        ("mysql://u:hush@localhost/x".to_owned(), "must look like postgres://"),
        ("postgres://u:hush@localhost:notaport/x".to_owned(), "must look like postgres://"),
        ("postgres://u:hush@127.0.0.1:1/x".to_owned(), "check the address and that the server runs"),
        (format!("postgres://locked:hush@{host}/postgres"), "refuses user \"locked\"; check the user and the password"),
        (format!("{base}/nowhere"), "there is no such database at"),
    ] {
        let sentence = refused(&url).await;
        assert!(sentence.contains(expected), "{sentence}");
        assert!(!sentence.contains("hush"), "{sentence}");
    }
}

async fn refused_file(path: &Path) -> String {
    match SqliteStore::open(path, keyring(&[("k1", 'a')], "k1"), clock()).await {
        Ok(_) => panic!("opened"),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_opened_says_what_to_do() {
    let (folder, file) = folder();
    let sentence = refused_file(&folder.path().join("no/such/folder.db")).await;
    assert!(sentence.contains("check the folder and its permissions"), "{sentence}");
    std::fs::write(&file, "not a database, but long enough to be taken for the header of one: ".repeat(20))
        .expect("written");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("mode");
    let sentence = refused_file(&file).await;
    assert!(sentence.contains("is not a database of this program or is damaged"), "{sentence}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn news_travel_between_programs_and_the_listener_comes_back_by_itself() {
    let url = Postgres::shared().fresh_database().await.expect("a database");
    let place = Place::Postgres(url);
    let teller = place.open(&[("k1", 'a')], "k1").await.expect("opens");
    let hearer = place.open(&[("k1", 'a')], "k1").await.expect("opens");
    let mut listener = hearer.store.listen();
    // Everyone gets a hint when the listening connection stands.
    listener.hint().await;
    teller.accept(OperationType::Provision, "a", t(0)).await;
    listener.hint().await;
    place
        .run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .await;
    // One hint for whatever was missed, then news again.
    listener.hint().await;
    let new = teller.asked(OperationType::Provision, "b");
    let mut accepted = false;
    for _ in 0..20 {
        match teller.store.enqueue(new.clone(), t(0)).await {
            Ok(_) => accepted = true,
            // Connections that were cut off are found out one by one.
            Err(error) => assert!(error.is_temporary(), "{error}"),
        }
        if accepted {
            break;
        }
    }
    assert!(accepted);
    listener.hint().await;
    assert_eq!(hearer.all().await.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_went_away_is_a_temporary_error_in_bounded_time() {
    let server = Postgres::start().expect("a server");
    let url = server.fresh_database().await.expect("a database");
    let options = PgOptions { acquire_timeout: Duration::from_millis(300), ..PgOptions::default() };
    let store = PgStore::open(&url, keyring(&[("k1", 'a')], "k1"), options, clock()).await.expect("opens");
    store.due(t(0)).await.expect("answers");
    if std::env::var_os("SLIPWAY_PG_URL").is_some() {
        return; // not ours to stop
    }
    drop(server);
    for _ in 0..3 {
        let error = store.due(t(0)).await.expect_err("nobody is there");
        assert!(error.is_temporary(), "{error}");
    }
}
