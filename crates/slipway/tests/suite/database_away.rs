//! PostgreSQL goes away and comes back: the process stays, says so, and goes on by itself.

use crate::{
    cluster::Cluster,
    fake_hello,
    processes::{Running, serve, until},
};

#[test]
fn a_database_that_goes_away_is_waited_for_and_nothing_is_lost() {
    let cluster = Cluster::start();
    let stuck = fake_hello::silent();
    let running = Running::start(serve(&cluster.url(), &stuck.url));
    running.until_readyz(200);
    let id = running.begin("shop");
    stuck.requests.recv().expect("a step is running");

    cluster.end();
    let reason = running.until_readyz(503);
    assert!(reason.contains("the engine waits and goes on by itself: the database cannot be reached"), "{reason}");
    assert_eq!(running.send("GET", "/livez", "").expect("an answer").status, 200);
    for (method, path, body) in [
        ("GET", format!("/operations/{id}"), ""),
        ("POST", "/operations".to_owned(), r#"{"process":"hello","instance_id":"other"}"#),
    ] {
        let answer = running.send(method, &path, body).expect("an answer");
        assert_eq!(answer.status, 503, "{answer:?}");
        assert!(answer.header("retry-after").is_some(), "{answer:?}");
        assert!(answer.body.contains("the database cannot be reached"), "{answer:?}");
    }
    let page = running.send("GET", "/metrics", "").expect("an answer");
    assert!(page.status == 200 && page.body.contains("slipway_broker_ready 0"), "{page:?}");

    // Away for longer than the lease, so that the step it was in is let go and runs again.
    until("the leases are let go", || running.stderr().contains("letting go of all operations").then_some(()));
    stuck.wake_up();
    cluster.begin();
    assert_eq!(running.until_readyz(200), "ready\n");
    assert_eq!(running.until_ended(&id)["operation"]["state"], "succeeded");
}

#[test]
fn operations_accepted_before_the_outage_succeed_after_it() {
    let cluster = Cluster::start();
    let hello = fake_hello::friendly();
    let running = Running::start(serve(&cluster.url(), &hello.url));
    running.until_readyz(200);
    let ids: Vec<_> = (0..20).map(|n| running.begin(&format!("shop-{n}"))).collect();
    cluster.end();
    running.until_readyz(503);
    cluster.begin();
    running.until_readyz(200);
    for id in &ids {
        assert_eq!(running.until_ended(id)["operation"]["state"], "succeeded");
    }
}

#[test]
fn a_stop_while_the_database_is_away_ends_in_time() {
    let cluster = Cluster::start();
    let stuck = fake_hello::silent();
    let mut command = serve(&cluster.url(), &stuck.url);
    command.args(["--set", "engine.grace=500ms"]);
    let mut running = Running::start(command);
    running.until_readyz(200);
    running.begin("shop");
    stuck.requests.recv().expect("a step is running");
    cluster.end();
    running.until_readyz(503);
    running.signal("TERM");
    assert_eq!(running.wait().code(), Some(0), "{}", running.stderr());
}

#[test]
fn the_work_of_a_killed_replica_moves_to_the_other() {
    let cluster = Cluster::start();
    let stuck = fake_hello::silent();
    let first = Running::start(serve(&cluster.url(), &stuck.url));
    first.until_readyz(200);
    let ids: Vec<_> = (0..5).map(|n| first.begin(&format!("shop-{n}"))).collect();
    for _ in &ids {
        stuck.requests.recv().expect("a step is running");
    }
    let hello = fake_hello::friendly();
    let second = Running::start(serve(&cluster.url(), &hello.url));
    second.until_readyz(200);
    first.kill();
    for id in &ids {
        let details = second.until_ended(id);
        assert_eq!(details["operation"]["state"], "succeeded", "{details}");
    }
}
