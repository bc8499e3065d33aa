//! What a garden does depends on its seed and on what it is asked, and on nothing else.

use super::*;

#[tokio::test]
async fn histories_keep_the_promises_and_depend_on_the_seed_alone() {
    let mut histories = Vec::new();
    for _ in 0..2 {
        let garden = Garden::start(Options { seed: 42, ..Options::default() }).await.expect("garden");
        let mut watch = garden.cluster().watch(CORE, "shoots", None).expect("watch");
        let mut wanted = shoot("shop");
        crate::garden::value::annotate(&mut wanted, "sim.slipway/fail", "etcd=ERR_RETRYABLE_INFRA_DEPENDENCIES");
        crate::garden::value::annotate(&mut wanted, "sim.slipway/fail-times", "1");
        Cluster::create(garden.cluster(), wanted).await.expect("created");
        let mut history = Vec::new();
        while !history.last().is_some_and(succeeded) {
            history.push(watch.next().await.expect("open").expect("in time").object.value());
        }
        assert_eq!(judge(&history), []);
        assert_eq!(name(&history[0]), "shop");
        let mut states: Vec<String> = history
            .iter()
            .map(|one| {
                format!("{} {}", text(one, "status.lastOperation.type"), text(one, "status.lastOperation.state"))
            })
            .collect();
        states.dedup();
        histories.push(states);
    }
    assert_eq!(histories[0], histories[1]);
    assert!(histories[0].iter().any(|state| state == "Create Error"), "{:?}", histories[0]);
}

/// Every state of every Shoot, but for the ports of their endpoints: those are what this machine has free.
async fn played(seed: u64) -> Vec<String> {
    let start = "2026-03-01T06:00:00Z".parse().ok();
    let options = Options { seed, start, pace: Pace::Manual, ..Options::default() };
    let garden = Garden::start(options).await.expect("garden");
    let mut watch = garden.cluster().watch(CORE, "shoots", None).expect("watch");
    let remote = Remote(garden.client().expect("client"));
    for (called, fails) in [("one", "etcd=ERR_RETRYABLE_INFRA_DEPENDENCIES"), ("two", "")] {
        let mut wanted = shoot(called);
        crate::garden::value::annotate(&mut wanted, "sim.slipway/fail", fails);
        crate::garden::value::annotate(&mut wanted, "sim.slipway/fail-times", "2");
        remote.create(SHOOTS, wanted).await.expect("created");
        garden.settled().await;
    }
    for _ in 0..60 {
        garden.step().await;
    }
    remote
        .patch(SHOOTS, "garden-dev", "two", "", json!({"spec": {"hibernation": {"enabled": true}}}))
        .await
        .expect("asleep");
    for _ in 0..20 {
        garden.step().await;
    }
    history(&mut watch)
}

/// What a watch has seen, Shoot by Shoot.
fn history(watch: &mut kube_sandbox::cluster::Watch) -> Vec<String> {
    let mut states: std::collections::BTreeMap<String, Vec<String>> = std::collections::BTreeMap::new();
    while let Some(Some(Ok(event))) = futures::FutureExt::now_or_never(watch.next()) {
        let mut one = event.object.value();
        for address in one["status"]["advertisedAddresses"].as_array_mut().into_iter().flatten() {
            address["url"] = json!("https://127.0.0.1");
        }
        let metadata =
            ["uid", "creationTimestamp", "managedFields", "generation"].map(|field| one["metadata"][field].clone());
        states.entry(name(&one).to_owned()).or_default().push(format!("{} {metadata:?}", one["status"]));
    }
    states.into_values().flatten().collect()
}

#[tokio::test]
async fn a_journal_that_is_played_again_gives_the_same_histories() {
    let start: Option<Timestamp> = "2026-03-01T06:00:00Z".parse().ok();
    let options = || Options { seed: 7, start, pace: Pace::Manual, ..Options::default() };
    let garden = Garden::start(options()).await.expect("garden");
    let mut watch = garden.cluster().watch(CORE, "shoots", None).expect("watch");
    let remote = Remote(garden.client().expect("client"));
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "dns", "namespace": "garden-dev"},
        "stringData": {"key": "hunter2"}});
    remote.create(port::SECRETS, secret).await.expect("secret");
    remote.create(SHOOTS, shoot("one")).await.expect("created");
    garden.settled().await;
    let fault = json!({"shoot": "garden-dev/one", "fault": "fail", "step": "etcd",
        "codes": ["ERR_RETRYABLE_INFRA_DEPENDENCIES"], "times": 2});
    garden.inject(serde_json::from_value(fault).expect("fault"));
    garden.clock().advance(SignedDuration::from_secs(100));
    garden.settled().await;
    for _ in 0..15 {
        garden.step().await;
    }
    garden.clear_faults("");
    assert!(remote.create(SHOOTS, shoot("one")).await.is_err(), "refused, and in the journal too");
    remote.create(SHOOTS, shoot("two")).await.expect("created");
    garden.settled().await;
    for _ in 0..60 {
        garden.step().await;
    }
    let asleep = json!({"spec": {"hibernation": {"enabled": true}}});
    remote.patch(SHOOTS, "garden-dev", "one", "", asleep).await.expect("asleep");
    for _ in 0..20 {
        garden.step().await;
    }
    let (first, lines) = (history(&mut watch), garden.journal().since(0));
    assert!(!json!(lines).to_string().contains("hunter2"), "no secret is written down");
    let codes: Vec<u64> = lines.iter().filter_map(|line| line["more"]["code"].as_u64()).collect();
    assert_eq!(codes, [201, 201, 409, 201, 200], "{codes:?}");

    let again = Garden::start(options()).await.expect("garden");
    let mut watch = again.cluster().watch(CORE, "shoots", None).expect("watch");
    assert_eq!(again.replay(&lines).await, Ok(5));
    let second = history(&mut watch);
    assert!(first.len() > 60, "{}", first.len());
    for (one, two) in first.iter().zip(&second) {
        assert_eq!(one, two);
    }
    assert_eq!(first.len(), second.len());
}

#[tokio::test]
async fn the_same_seed_and_the_same_requests_give_the_same_history_to_the_byte() {
    let (first, second, other) = (played(3).await, played(3).await, played(4).await);
    assert!(first.len() > 60, "{}", first.len());
    for (one, two) in first.iter().zip(&second) {
        assert_eq!(one, two);
    }
    assert_eq!(first.len(), second.len());
    assert_ne!(first, other, "another seed, another history");
    assert!(
        first.iter().all(|one| !one.contains("2026-11-") && one.contains("2026-03-01T06:")),
        "simulated times alone"
    );
}
