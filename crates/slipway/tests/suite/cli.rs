//! The command line: exit codes, and data apart from talk.

use crate::processes::{Running, ended, slipway, up};

#[test]
fn exit_codes_tell_usage_failure_and_absence_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let running = Running::start(up(folder.path()));
    let url = format!("http://{}", running.address);
    let token = folder.path().join("token").display().to_string();
    let wrong = folder.path().join("key").display().to_string();
    let none = "0198c0de-0000-7000-8000-000000000000";
    for (arguments, token, code, said) in [
        (vec!["list"], &token, 0, ""),
        (vec!["list", "--limit", "0"], &token, 1, "field limit: must be a number from 1 to 1000"),
        (vec!["show", none], &token, 3, "there is no operation"),
        (vec!["list"], &wrong, 1, "the server does not accept the token"),
        (vec!["cancel", none, "--by", "me"], &token, 2, "--why <SENTENCE>"),
        (vec!["cancel", none, "--by", "me", "--why", "x"], &token, 3, "there is no operation"),
        (vec!["explode"], &token, 2, "unrecognized subcommand"),
        (vec!["start", "--process", "hi", "--instance", "x"], &token, 1, "choose one of: hello"),
    ] {
        let mut command = slipway();
        command.arg("operations").args(&arguments).args(["--url", &url, "--token-file", token]);
        let (ended_with, stdout, stderr) = ended(command);
        assert_eq!(ended_with, Some(code), "{arguments:?}: {stderr}");
        assert!(stderr.contains(said), "{arguments:?}: {stderr}");
        assert!(code == 0 || stdout.is_empty(), "{arguments:?}: {stdout}");
    }
    let mut command = slipway();
    command.args(["operations", "list", "--token-file", "/nowhere/token"]);
    let (code, _, said) = ended(command);
    assert_eq!(code, Some(2));
    assert!(said.contains("the token file /nowhere/token cannot be read"), "{said}");
    let mut command = slipway();
    command.args(["operations", "list", "--url", "http://127.0.0.1:9", "--token-file", &token]);
    let (code, _, said) = ended(command);
    assert_eq!(code, Some(1));
    assert!(said.contains("check the address and that the server runs"), "{said}");
}

#[test]
fn json_output_is_one_document() {
    let folder = tempfile::tempdir().expect("a folder");
    let running = Running::start(up(folder.path()));
    let id = running.begin("shop");
    for arguments in [vec!["list"], vec!["show", &id], vec!["records", &id]] {
        let mut command = slipway();
        command.arg("operations").args(&arguments).args(["-o", "json"]);
        command.env("SLIPWAY_API_URL", format!("http://{}", running.address));
        command.env("SLIPWAY_API_TOKEN_FILE", folder.path().join("token"));
        let (code, stdout, stderr) = ended(command);
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{arguments:?}");
        serde_json::from_str::<serde_json::Value>(&stdout).expect("one document");
    }
}

#[test]
fn config_check_tells_without_starting_anything() {
    let good = crate::processes::serve("sqlite:nowhere/slipway.db", "http://127.0.0.1:9");
    let environment: Vec<_> = good.get_envs().map(|(n, v)| (n.to_owned(), v.map(ToOwned::to_owned))).collect();
    let check = |extra: &[&str]| {
        let mut command = slipway();
        command.args(["config", "check"]).args(extra);
        for (name, value) in &environment {
            command.env(name, value.clone().unwrap_or_default());
        }
        ended(command)
    };
    let (code, stdout, _) = check(&[]);
    assert_eq!(
        (code, stdout.as_str()),
        (Some(0), "the configuration is good: SQLite in nowhere/slipway.db, API on 127.0.0.1:8080\n")
    );
    let (code, _, stderr) = check(&["--set", "engine.poll=never"]);
    assert_eq!(code, Some(2));
    assert!(
        stderr.contains("engine.poll is wrong: \"never\" is not a duration") && stderr.contains("(from flags)"),
        "{stderr}"
    );
}
