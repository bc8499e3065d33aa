//! A start that cannot work ends in one clear sentence, the right exit code, and nothing half
//! written.

use std::{net::TcpListener, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::processes::{KEY, Running, ended, serve, slipway, up};

/// The one sentence, and the exit code, of a start that fails.
fn refused(command: Command, code: i32) -> String {
    let (ended_with, stdout, stderr) = ended(command);
    let sentences: Vec<_> = stderr.lines().filter(|line| line.starts_with("slipway: ")).collect();
    assert_eq!(ended_with, Some(code), "{stderr}");
    assert_eq!(stdout, "", "no data");
    assert_eq!(sentences.len(), 1, "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    assert!(!stderr.contains(KEY) && !stderr.contains("hunter2"), "{stderr}");
    sentences[0].to_owned()
}

fn sqlite(folder: &Path) -> String {
    format!("sqlite:{}", folder.join("slipway.db").display())
}

const HELLO: &str = "http://127.0.0.1:9";

#[test]
fn a_wrong_configuration_is_refused_with_code_two() {
    let folder = tempfile::tempdir().expect("a folder");
    let with = |name: &str, value: &str| {
        let mut command = serve(&sqlite(folder.path()), HELLO);
        command.env(name, value);
        command
    };
    for (command, said) in [
        (with("SLIPWAY_ENGINE__LEESE", "1s"), "there is no key engine.leese"),
        (with("SLIPWAY_DATABASE__URL", "mysql://u:hunter2@h/d"), "database.url is neither postgres://"),
        (with("SLIPWAY_DATABASE__URL", "postgres://u:hunter2@h:port/d"), "the database address must look like"),
        (with("SLIPWAY_ENGINE__HEARTBEAT", "1h"), "engine.heartbeat is 1h, but must be shorter than engine.lease"),
        (with("SLIPWAY_SECRETS__ACTIVE_KEY", "k9"), "secrets.active_key is \"k9\", but secrets.keys has only k1"),
        (with("SLIPWAY_SECRETS__KEYS__K1", "hunter2"), "secrets.keys.k1 must be 64 hexadecimal digits"),
        (with("SLIPWAY_STEPS__DISABLED", "Hello_Wrld"), "steps.disabled is no good: there is no step Hello_Wrld"),
        (with("SLIPWAY_AUTH__TOKEN", "short"), "auth.token must hold 16 to 4096"),
        (with("SLIPWAY_HELLO__URL", "hello"), "hello.url is no good: an address must look like"),
    ] {
        let sentence = refused(command, 2);
        assert_eq!(sentence.matches(said).count(), 1, "once: {sentence}");
    }
    let mut command = serve(&sqlite(folder.path()), HELLO);
    command.args(["--config", "/nowhere/slipway.yaml"]);
    assert!(refused(command, 2).contains("the file /nowhere/slipway.yaml cannot be read"));
    let mut command = serve(&sqlite(folder.path()), HELLO);
    command.args(["--role", "broker,dashboard"]);
    assert!(refused(command, 2).contains("there is no role \"dashboard\" in this version; choose from: broker"));
    assert!(!folder.path().join("slipway.db").exists(), "nothing was written");
}

/// It needs nothing of the broker's, and says once what is wrong with its own file.
#[test]
fn a_wrong_file_of_the_provisioner_is_refused_with_code_two() {
    let folder = tempfile::tempdir().expect("a folder");
    let issuer = "issuers: [{ name: https://issuer.example.com, audience: slipway, jwks_file: /nowhere/keys.json }]";
    for (text, said) in [
        ("listen: 127.0.0.1:0", "issuers is empty; name at least one"),
        ("lissen: 127.0.0.1:0", "lissen"),
        (issuer, "/nowhere/keys.json"),
    ] {
        let file = folder.path().join("provisioner.yaml");
        std::fs::write(&file, text).expect("a file");
        let mut command = serve(&sqlite(folder.path()), HELLO);
        command.env_remove("SLIPWAY_HELLO__URL");
        command.args(["--role", "provisioner", "--provisioner-config"]).arg(&file);
        command.arg("--provisioner-kubeconfig").arg(kubeconfig(folder.path()));
        let sentence = refused(command, 2);
        assert_eq!(sentence.matches(said).count(), 1, "once: {sentence}");
    }
}

/// Of a control plane that nobody needs to reach.
fn kubeconfig(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("kubeconfig.yaml");
    let text = r#"{"apiVersion": "v1", "kind": "Config", "current-context": "kcp",
        "clusters": [{"name": "kcp", "cluster": {"server": "http://127.0.0.1:9"}}],
        "users": [{"name": "kcp", "user": {}}],
        "contexts": [{"name": "kcp", "context": {"cluster": "kcp", "user": "kcp"}}]}"#;
    std::fs::write(&path, text).expect("a file");
    path
}

#[test]
fn a_database_that_cannot_be_reached_is_named_without_its_password() {
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
    let sentence = refused(serve(&format!("postgres://u:hunter2@127.0.0.1:{nobody}/d"), HELLO), 1);
    assert!(sentence.contains(&format!("127.0.0.1:{nobody}")) && sentence.contains("cannot be reached"), "{sentence}");
}

#[test]
fn a_port_in_use_is_found_before_anything_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut command = serve(&sqlite(folder.path()), HELLO);
    command.args(["--set", &format!("listen={}", taken.local_addr().expect("an address"))]);
    // The flag `--listen` of `serve` wins over `--set`, so the command is made without it.
    let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    let mut without = slipway();
    for (name, value) in command.get_envs() {
        without.env(name, value.unwrap_or_default());
    }
    without.args(arguments.iter().filter(|a| *a != "--listen" && *a != "127.0.0.1:0"));
    let sentence = refused(without, 1);
    assert!(sentence.contains("another program listens there; stop it or choose another port"), "{sentence}");
    assert!(!folder.path().join("slipway.db").exists(), "nothing was written");
}

#[test]
fn a_wrong_key_and_an_unknown_key_are_told_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let running = Running::start(serve(&sqlite(folder.path()), HELLO));
    running.until_readyz(200);
    let body = r#"{"process":"hello","instance_id":"shop","secrets":{"password":"hunter2"}}"#;
    assert_eq!(running.send("POST", "/operations", body).expect("an answer").status, 202);
    running.kill();

    let mut wrong = serve(&sqlite(folder.path()), HELLO);
    wrong.env("SLIPWAY_SECRETS__KEYS__K1", "ab".repeat(32));
    let sentence = refused(wrong, 1);
    assert!(sentence.contains("encryption key \"k1\" is not the one this database was encrypted with"), "{sentence}");

    let mut unknown = serve(&sqlite(folder.path()), HELLO);
    unknown
        .env_remove("SLIPWAY_SECRETS__KEYS__K1")
        .env("SLIPWAY_SECRETS__KEYS__K2", "ab".repeat(32))
        .env("SLIPWAY_SECRETS__ACTIVE_KEY", "k2");
    let sentence = refused(unknown, 1);
    assert!(sentence.contains("secrets encrypted with key \"k1\", which was not given"), "{sentence}");
    Running::start(serve(&sqlite(folder.path()), HELLO)).until_readyz(200);
}

/// Changes a database by our own hand.
fn execute(file: &Path, sql: &'static str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let options = SqliteConnectOptions::new().filename(file);
        let mut database = SqliteConnection::connect_with(&options).await.expect("the database opens");
        sqlx::query(sql).execute(&mut database).await.expect("the statement runs");
        database.close().await.expect("the database closes");
    });
}

#[test]
fn a_schema_of_a_newer_program_is_not_touched() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut running = Running::start(serve(&sqlite(folder.path()), HELLO));
    running.until_readyz(200);
    running.signal("TERM");
    running.wait();
    let file = folder.path().join("slipway.db");
    let set = "INSERT INTO schema_migrations (version, name, applied_at) VALUES (999, 'of tomorrow', 0)";
    execute(&file, set);
    let sentence = refused(serve(&sqlite(folder.path()), HELLO), 1);
    assert!(sentence.contains("the database schema is version 999 but this program knows only up to"), "{sentence}");
}

#[test]
fn a_folder_that_cannot_be_made_or_written_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    // A file where a folder should be stops even root.
    let file = folder.path().join("file");
    std::fs::write(&file, "x").expect("written");
    let sentence = refused(up(&file.join("data")), 1);
    assert!(sentence.contains("the data folder cannot be used: ") && sentence.contains("cannot be made"), "{sentence}");
    let sentence = refused(serve(&sqlite(&file), HELLO), 1);
    assert!(sentence.contains("cannot be opened or written"), "{sentence}");
    let database = folder.path().join("slipway.db");
    std::fs::write(&database, "this is no database, and never was one; but it is long enough").expect("written");
    std::fs::set_permissions(&database, std::fs::Permissions::from_mode(0o644)).expect("mode");
    let sentence = refused(serve(&sqlite(folder.path()), HELLO), 1);
    assert!(sentence.contains("can be read by others") && sentence.contains("chmod 600"), "{sentence}");
    std::fs::set_permissions(&database, std::fs::Permissions::from_mode(0o600)).expect("mode");
    let sentence = refused(serve(&sqlite(folder.path()), HELLO), 1);
    assert!(sentence.contains("is not a database of this program or is damaged"), "{sentence}");

    let data = folder.path().join("data");
    Running::start(up(&data)).kill();
    std::fs::set_permissions(data.join("key"), std::fs::Permissions::from_mode(0o644)).expect("mode");
    assert!(refused(up(&data), 1).contains("chmod 600"));
}
