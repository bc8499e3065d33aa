//! `kill -9` in the middle, and on it goes.

use crate::{
    fake_hello,
    processes::{Running, ended, serve, slipway, up},
};

#[test]
fn an_operation_killed_in_the_middle_of_a_step_ends_after_the_next_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = format!("sqlite:{}", folder.path().join("slipway.db").display());
    let stuck = fake_hello::silent();
    let running = Running::start(serve(&database, &stuck.url));
    running.until_readyz(200);
    let id = running.begin("shop");
    assert!(stuck.requests.recv().expect("a step is running").starts_with("GET /greetings/shop"));
    running.kill();

    let hello = fake_hello::friendly();
    let again = Running::start(serve(&database, &hello.url));
    let details = again.until_ended(&id);
    assert_eq!(details["operation"]["state"], "succeeded", "{details}");
    let records = again.json(&format!("/operations/{id}/records"));
    let records = records["records"].as_array().expect("a list");
    assert!(records.iter().any(|record| record["taken_from"].is_string()), "the takeover is on record: {records:?}");
}

#[test]
fn up_goes_on_where_it_was_after_kill_nine() {
    let folder = tempfile::tempdir().expect("a folder");
    let running = Running::start(up(folder.path()));
    running.until_readyz(200);
    let id = running.begin("shop");
    running.until_step(&id, "Hello_Answer", "running");
    let token = std::fs::read_to_string(folder.path().join("token")).expect("a token");
    running.kill();

    let again = Running::start(up(folder.path()));
    assert_eq!(std::fs::read_to_string(folder.path().join("token")).expect("a token"), token);
    let details = again.json(&format!("/operations/{id}"));
    assert_eq!(details["operation"]["finished_stages"], serde_json::json!(["greet"]), "{details}");
    let mut retry = slipway();
    retry
        .args(["operations", "retry-now", &id, "--by", "ann", "--why", "a test"])
        .args(["--url", &format!("http://{}", again.address), "--token-file"])
        .arg(folder.path().join("token"));
    let (code, _, said) = ended(retry);
    assert_eq!(code, Some(0), "{said}");
    let details = again.until_ended(&id);
    assert_eq!(details["operation"]["state"], "succeeded", "{details}");
    assert_eq!(details["steps"][0]["attempts"], 1, "a finished stage does not run again: {details}");
}
