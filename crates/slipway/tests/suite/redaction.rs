//! No secret leaves: not by logs, answers, metrics, the command line, or the files of the database.

use std::{fs, path::Path, process::Command};

use crate::{
    cluster::Cluster,
    fake_hello,
    processes::{KEY, Running, TOKEN, ended, serve, slipway},
};

/// Given to an operation.
const PASSWORD: &str = "correct-horse-battery-staple";

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    entries.map(|entry| (entry.path().display().to_string(), fs::read(entry.path()).expect("a file"))).collect()
}

fn holds(text: &[u8], secret: &str) -> bool {
    text.windows(secret.len()).any(|window| window.eq_ignore_ascii_case(secret.as_bytes()))
}

#[test]
fn no_secret_leaves_a_process_on_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = format!("sqlite:{}", folder.path().join("slipway.db").display());
    no_secret_leaves(&database, || files(folder.path()));
}

#[test]
fn no_secret_leaves_a_process_on_postgres() {
    let cluster = Cluster::start();
    no_secret_leaves(&cluster.url(), || vec![("the dump of slipway.db".to_owned(), cluster.dump())]);
}

fn no_secret_leaves(database: &str, dump: impl Fn() -> Vec<(String, Vec<u8>)>) {
    let folder = tempfile::tempdir().expect("a folder");
    let hello = fake_hello::friendly();
    let mut command = serve(database, &hello.url);
    command.env("SLIPWAY_LOG__LEVEL", "trace").env("SLIPWAY_LOG__FORMAT", "json");
    let mut running = Running::start(command);
    running.until_readyz(200);

    let token_file = running.token_file();
    let secrets_file = folder.path().join("input.json");
    fs::write(&secrets_file, format!(r#"{{"password":"{PASSWORD}"}}"#)).expect("written");
    let mut outputs: Vec<(String, Vec<u8>)> = Vec::new();
    let mut run = |arguments: &[&str]| {
        let mut command: Command = slipway();
        command.arg("operations").args(arguments).args(["--url", &format!("http://{}", running.address)]);
        command.arg("--token-file").arg(&token_file);
        let (code, stdout, stderr) = ended(command);
        assert_eq!(code, Some(0), "{stderr}");
        outputs.push((format!("output of {arguments:?}"), format!("{stdout}{stderr}").into_bytes()));
        stdout.trim().to_owned()
    };
    let secrets_path = secrets_file.display().to_string();
    let id = run(&["start", "--process", "hello", "--instance", "shop", "--secrets-file", &secrets_path]);
    let details = running.until_ended(&id);
    assert_eq!(details["operation"]["state"], "succeeded");
    run(&["list", "-o", "json"]);
    run(&["show", &id, "-o", "json"]);
    run(&["show", &id]);
    run(&["records", &id, "-o", "json"]);
    fs::remove_file(&secrets_file).expect("removed");

    // The same secret in every place where it does not belong.
    for (path, body) in [
        ("/operations", format!(r#"{{"process":"hello","instance_id":"x y {PASSWORD}"}}"#)),
        ("/operations", format!(r#"{{"process":"{PASSWORD}","instance_id":"x"}}"#)),
        ("/operations", format!(r#"{{"process":"hello","instance_id":"x","secrets":"{PASSWORD}"}}"#)),
        ("/operations", format!(r#"{{"process":"hello","instance_id":"x","operation_id":"{PASSWORD}"}}"#)),
        ("/wake", format!(r#"{{"key":"{PASSWORD}","cause":"x"}}"#)),
    ] {
        let answer = running.send("POST", path, &body).expect("an answer");
        assert_eq!(answer.status, 400, "{answer:?}");
        outputs.push((format!("answer to {path}"), answer.body.into_bytes()));
    }
    for path in ["/metrics", "/readyz"] {
        outputs.push((path.to_owned(), running.send("GET", path, "").expect("an answer").body.into_bytes()));
    }
    running.signal("TERM");
    running.wait();
    outputs.push(("stderr".to_owned(), running.stderr().into_bytes()));
    outputs.push(("stdout".to_owned(), running.stdout().into_bytes()));
    outputs.extend(dump());

    assert!(outputs.iter().any(|(_, text)| holds(text, "greetings/shop")), "the search finds what is there");
    let database = outputs.iter().filter(|(name, _)| name.contains("slipway.db"));
    assert!(database.clone().any(|(_, text)| holds(text, "Hello_World")), "the database is among what is searched");
    for (name, text) in &outputs {
        for secret in [PASSWORD, KEY, TOKEN] {
            assert!(!holds(text, secret), "{name} holds a secret");
        }
    }
}
