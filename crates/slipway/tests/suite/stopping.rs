//! Started, ready, and stopped in good order.

use crate::{
    fake_hello,
    processes::{Running, ended, serve, until, up},
};

#[test]
fn up_is_ready_runs_the_sample_process_and_stops_cleanly() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut running = Running::start(up(&folder.path().join("data")));
    assert_eq!(running.until_readyz(200), "ready\n");
    let id = running.begin("shop");
    running.until_step(&id, "Hello_Answer", "running");

    // A person reads the greeting at the simulator; the operation hears of it at once.
    let said = running.stdout();
    let simulator = said.lines().find_map(|line| line.strip_prefix("simulator hello: http://")).expect("a simulator");
    let read = format!("/reports/{id}/read");
    let answer = slipway_sim::raw_http::send(simulator.parse().expect("an address"), "POST", &read, None, "");
    assert_eq!(answer.expect("an answer").status, 204);
    let details = running.until_ended(&id);
    assert_eq!(details["operation"]["state"], "succeeded", "{details}");
    let records = running.json(&format!("/operations/{id}/records"));
    let woken = |record: &serde_json::Value| record["woken_by"] == "the greeting was read";
    assert!(records["records"].as_array().is_some_and(|all| all.iter().any(woken)), "{records}");

    running.signal("TERM");
    assert_eq!(running.wait().code(), Some(0), "{}", running.stderr());
    assert!(running.stderr().contains("SIGTERM: stopping"), "{}", running.stderr());
}

#[test]
fn two_ups_cannot_share_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = Running::start(up(folder.path()));
    let (code, _, said) = ended(up(folder.path()));
    assert_eq!(code, Some(1));
    assert!(said.contains("is in use by another slipway up (process "), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert_eq!(first.until_readyz(200), "ready\n", "the first one is not disturbed");
}

#[test]
fn a_second_signal_ends_at_once_and_the_next_start_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = format!("sqlite:{}", folder.path().join("slipway.db").display());
    let stuck = fake_hello::silent();
    let mut running = Running::start(serve(&database, &stuck.url));
    running.until_readyz(200);
    let id = running.begin("shop");
    stuck.requests.recv().expect("a step is running");
    running.signal("INT");
    until("the first signal is seen", || running.stderr().contains("SIGINT: stopping").then_some(()));
    running.signal("TERM");
    assert_eq!(running.wait().code(), Some(130), "{}", running.stderr());

    let hello = fake_hello::friendly();
    let again = Running::start(serve(&database, &hello.url));
    assert_eq!(again.until_ended(&id)["operation"]["state"], "succeeded");
}

#[test]
fn a_stop_within_the_grace_gives_the_work_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = format!("sqlite:{}", folder.path().join("slipway.db").display());
    let stuck = fake_hello::silent();
    let mut command = serve(&database, &stuck.url);
    command.args(["--set", "engine.grace=200ms"]);
    let mut running = Running::start(command);
    running.until_readyz(200);
    let id = running.begin("shop");
    stuck.requests.recv().expect("a step is running");
    running.signal("TERM");
    assert_eq!(running.wait().code(), Some(0), "{}", running.stderr());
    assert!(running.stderr().contains("gave back all operations"), "{}", running.stderr());

    let hello = fake_hello::friendly();
    let again = Running::start(serve(&database, &hello.url));
    assert_eq!(again.until_ended(&id)["operation"]["state"], "succeeded");
    assert!(!again.stderr().contains("took over the operations of a dead replica"), "{}", again.stderr());
}
