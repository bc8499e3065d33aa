//! Two managers at once, killed at random: a hundred clusters are made, none is lost and none is made twice.
//!
//! Half of the deaths are crashes, whose Leases must run out; half are goodbyes, which give them back. At no
//! moment may both have the same shard.
//! A replica that lost its shard while it worked stops in the middle, so the other finds what it left.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, atomic::AtomicU64},
    time::Duration,
};

use kube_sandbox::clock;
use serde_json::{Value, json};
use slipway_manager::{Manager, Parts, Settings};
use slipway_model::{
    ports::{Clock as _, Random as _},
    time::secs,
};
use slipway_sim::garden::Pace;

use super::stage::story;
use crate::world::{GardenTime, NAMESPACE, PROJECT, Paced, RUNTIMES, SHOOTS, Seeded, With, World, files};

const CLUSTERS: usize = 100;
/// Deaths until they are left in peace.
const DEATHS: u64 = 12;
const PATIENCE: Duration = secs(300);

fn settings() -> Settings {
    Settings { audit_log_mandatory: false, leader_elect: true, shards: 4, ..Settings::default() }
}

fn replica(world: &World, number: u64) -> Manager {
    Manager::start(Parts {
        settings: settings(),
        files: files(),
        kcp: world.server.client("kcp").expect("a client"),
        garden: world.garden.client().expect("a client"),
        clock: Paced::new(4.0),
        garden_time: Arc::new(GardenTime(world.garden.clock().clone())),
        random: Arc::new(Seeded(AtomicU64::new(number << 32))),
        garden_rate: (1_000.0, 1_000),
        garden_timeout: secs(60),
        identity: format!("replica-{number}"),
        calls: None,
    })
}

fn name(number: usize) -> String {
    format!("r{number:03}")
}

fn wish(number: usize) -> Value {
    let mut runtime = story();
    runtime["metadata"]["name"] = json!(name(number));
    runtime["metadata"]["labels"]["kyma-project.io/runtime-id"] = json!(name(number));
    runtime["spec"]["shoot"]["name"] = json!(name(number));
    runtime
}

/// Every Shoot that was ever made.
type Born = Arc<Mutex<BTreeMap<String, BTreeSet<String>>>>;

async fn count_births(mut watch: kube_sandbox::cluster::Watch, born: Born) {
    while let Some(event) = watch.next().await {
        let metadata = &event.expect("a watch that keeps up").object.value()["metadata"];
        let text = |key: &str| metadata[key].as_str().unwrap_or_default().to_owned();
        born.lock().expect("lock").entry(text("name")).or_default().insert(text("uid"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_managers_killed_at_random_make_a_hundred_clusters_once_each() {
    let took = Paced::new(1.0);
    // Slowly: sixty clusters that are made at once tell of it all the time.
    let world = World::without_manager(With { pace: Pace::Scale(60.0), ..With::default() }).await;
    let born = Born::default();
    let watch = world.garden.cluster().watch(SHOOTS, "shoots", None).expect("a watch");
    let births = tokio::spawn(count_births(watch, born.clone()));
    let chance = Seeded(AtomicU64::new(12));
    let mut replicas = [Some(replica(&world, 1)), Some(replica(&world, 2))];
    let (mut made, mut deaths, mut started) = (0, 0, 2);
    // Made is made, also while Gardener looks after it again.
    let is_made = |name: &str| world.runtime(name).is_some_and(|it| it["status"]["provisioningCompleted"] == true);
    let ready = || (0..CLUSTERS).filter(|number| is_made(&name(*number))).count();
    let story = async {
        loop {
            for _ in 0..8 {
                if made < CLUSTERS {
                    world.apply(wish(made)).await;
                    made += 1;
                }
            }
            // Several looks between two deaths: no shard has two masters.
            for _ in 0..10 + chance.next_u64() % 60 {
                let held =
                    |replica: &Option<Manager>| replica.as_ref().map(|it| it.probe().shards()).unwrap_or_default();
                let both: BTreeSet<u32> = held(&replicas[0]).intersection(&held(&replicas[1])).copied().collect();
                assert!(both.is_empty(), "two replicas have {both:?}");
                clock::sleep(Duration::from_millis(10)).await;
            }
            if made == CLUSTERS && ready() == CLUSTERS {
                return;
            }
            if deaths < DEATHS {
                deaths += 1;
                started += 1;
                let place = &mut replicas[(chance.next_u64() % 2) as usize];
                match place.take() {
                    Some(manager) if chance.next_u64().is_multiple_of(2) => _ = manager.stop().await,
                    crashed => drop(crashed),
                }
                *place = Some(replica(&world, started));
            }
        }
    };
    let done = clock::within(PATIENCE, story).await;
    let left: Vec<String> = (0..CLUSTERS)
        .map(name)
        .filter(|name| !is_made(name))
        .map(|name| format!("{name}: {}", world.runtime(&name).unwrap_or_default()["status"]))
        .collect();
    assert!(done.is_some(), "{} are not ready after {deaths} deaths: {left:#?}", left.len());
    births.abort();
    let born = born.lock().expect("lock");
    let twice: Vec<_> = born.iter().filter(|(_, uids)| uids.len() != 1).collect();
    assert!(twice.is_empty(), "made more than once: {twice:?}");
    assert_eq!(world.garden.cluster().list(SHOOTS, "shoots", PROJECT).len(), CLUSTERS);
    assert_eq!(world.kcp.list(RUNTIMES, "gardenerclusters", NAMESPACE).len(), CLUSTERS);
    for number in 0..CLUSTERS {
        let secret = world.secret(&name(number)).expect("a kubeconfig");
        assert!(secret["data"]["config"].as_str().is_some_and(|text| !text.is_empty()), "{number}");
    }
    println!("{CLUSTERS} clusters, {deaths} deaths; {:.0?}", took.monotonic());
}
