//! Elections: one leader at a time, also when it hangs, and all shards have somebody.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::{Value, json};
use slipway_model::{ports::Clock as _, time::secs};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::bench::{Answer, Counting, Simulated, access, json, served};
use crate::access::{
    lease::{Election, Timing},
    shards::{Shards, shard_of},
};

/// A server that knows Leases and nothing else.
#[derive(Default)]
struct Leases(Mutex<std::collections::BTreeMap<String, Value>>);

impl Leases {
    fn answer(&self, method: &str, uri: &str, body: &[u8]) -> Answer {
        let mut kept = self.0.lock().expect("lock");
        let name = uri.rsplit('/').next().expect("a name").to_owned();
        let sent: Value = serde_json::from_slice(body).unwrap_or_default();
        let version = |lease: &Value| {
            lease["metadata"]["resourceVersion"].as_str().unwrap_or("0").parse::<u64>().expect("a number")
        };
        match (method, kept.get(&name)) {
            ("GET", Some(lease)) => json(200, lease),
            ("GET", None) => json(404, &json!({"kind": "Status", "code": 404, "details": {"name": name}})),
            ("POST", _) => {
                let name = sent["metadata"]["name"].as_str().expect("a name").to_owned();
                if kept.contains_key(&name) {
                    return json(409, &json!({"kind": "Status", "code": 409}));
                }
                let mut lease = sent;
                lease["metadata"]["resourceVersion"] = json!("1");
                kept.insert(name, lease.clone());
                json(200, &lease)
            }
            ("PUT", Some(stored)) => {
                if version(stored) != version(&sent) {
                    return json(409, &json!({"kind": "Status", "code": 409}));
                }
                let mut lease = sent;
                lease["metadata"]["resourceVersion"] = json!((version(stored) + 1).to_string());
                kept.insert(name, lease.clone());
                json(200, &lease)
            }
            _ => json(500, &json!({})),
        }
    }
}

struct Replica {
    held: watch::Receiver<BTreeSet<u32>>,
    stop: CancellationToken,
    cut_off: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<()>,
}

fn replica(leases: &Arc<Leases>, clock: &Arc<Simulated>, identity: &str, count: u32) -> Replica {
    standing_for((0..count).collect(), leases, clock, identity, count)
}

fn standing_for(
    shards: BTreeSet<u32>,
    leases: &Arc<Leases>,
    clock: &Arc<Simulated>,
    identity: &str,
    count: u32,
) -> Replica {
    let cut_off = Arc::new(AtomicBool::new(false));
    let (server, cut) = (leases.clone(), cut_off.clone());
    let client = served(move |method, uri, body| {
        let (server, cut) = (server.clone(), cut.clone());
        async move {
            if cut.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            server.answer(&method, &uri, &body)
        }
    });
    let election = Election {
        access: access(client, clock.clone()),
        namespace: "kcp-system".to_owned(),
        lease: "manager".to_owned(),
        identity: identity.to_owned(),
        shards,
        count,
        timing: Timing::default(),
        random: Arc::new(Counting::default()),
    };
    let (sender, held) = watch::channel(BTreeSet::new());
    let stop = CancellationToken::new();
    let task = tokio::spawn(election.run(sender, stop.clone()));
    Replica { held, stop, cut_off, task }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_stops_before_another_starts() {
    let (leases, clock) = (Arc::new(Leases::default()), Simulated::new());
    let first = replica(&leases, &clock, "one", 1);
    clock.sleep(secs(3)).await;
    assert!(!first.held.borrow().is_empty());
    let second = replica(&leases, &clock, "two", 1);
    clock.sleep(secs(30)).await;
    assert!(!first.held.borrow().is_empty() && second.held.borrow().is_empty(), "one leads, the other waits");
    first.cut_off.store(true, Ordering::Relaxed);
    let cut = clock.monotonic();
    let mut lost = first.held.clone();
    lost.wait_for(BTreeSet::is_empty).await.expect("deposed");
    let stopped = clock.monotonic();
    assert!(second.held.borrow().is_empty(), "nobody leads in between");
    second.held.clone().wait_for(|held| !held.is_empty()).await.expect("taken over");
    let taken = clock.monotonic();
    assert!(stopped < taken && taken - cut <= secs(20), "stopped {:?}, taken {:?}", stopped - cut, taken - cut);
}

#[tokio::test(start_paused = true)]
async fn who_hangs_in_asking_for_shards_of_others_still_gives_up_its_own_in_time() {
    let (leases, clock) = (Arc::new(Leases::default()), Simulated::new());
    let others = standing_for((0..4).collect(), &leases, &clock, "others", 5);
    clock.sleep(secs(3)).await;
    let one = standing_for((0..5).collect(), &leases, &clock, "one", 5);
    clock.sleep(secs(3)).await;
    let next = standing_for(BTreeSet::from([4]), &leases, &clock, "next", 5);
    clock.sleep(secs(30)).await;
    assert_eq!((others.held.borrow().len(), one.held.borrow().clone()), (4, BTreeSet::from([4])));
    one.cut_off.store(true, Ordering::Relaxed);
    while next.held.borrow().is_empty() {
        clock.sleep(secs(1)).await;
        let (one, next) = (one.held.borrow().clone(), next.held.borrow().clone());
        assert!(one.is_disjoint(&next), "both lead {next:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_stops_in_order_leaves_no_gap() {
    let (leases, clock) = (Arc::new(Leases::default()), Simulated::new());
    let first = replica(&leases, &clock, "one", 1);
    clock.sleep(secs(3)).await;
    let second = replica(&leases, &clock, "two", 1);
    clock.sleep(secs(3)).await;
    first.stop.cancel();
    first.task.await.expect("ended");
    let began = clock.monotonic();
    second.held.clone().wait_for(|held| !held.is_empty()).await.expect("taken over");
    assert!(clock.monotonic() - began < secs(5), "{:?}", clock.monotonic() - began);
}

#[tokio::test(start_paused = true)]
async fn several_replicas_share_the_shards_and_a_dead_ones_go_to_the_others() {
    let (leases, clock) = (Arc::new(Leases::default()), Simulated::new());
    let replicas: Vec<Replica> = ["one", "two"].iter().map(|name| replica(&leases, &clock, name, 4)).collect();
    clock.sleep(secs(60)).await;
    let (one, two) = (replicas[0].held.borrow().clone(), replicas[1].held.borrow().clone());
    assert!(one.is_disjoint(&two) && one.len() + two.len() == 4, "{one:?} {two:?}");
    replicas[0].task.abort();
    clock.sleep(secs(120)).await;
    assert_eq!(replicas[1].held.borrow().len(), 4);
}

/// A rolling update with another count: shards of the old and the new are not the same, so nobody of the new begins while
/// anybody of the old may work, in either direction and whoever dies.
#[tokio::test(start_paused = true)]
async fn replicas_of_another_count_wait_until_nobody_counts_as_before() {
    let (leases, clock) = (Arc::new(Leases::default()), Simulated::new());
    let old: Vec<Replica> = ["one", "two"].iter().map(|name| replica(&leases, &clock, name, 2)).collect();
    clock.sleep(secs(60)).await;
    let new: Vec<Replica> = ["three", "four"].iter().map(|name| replica(&leases, &clock, name, 3)).collect();
    let held = |replicas: &[Replica]| replicas.iter().map(|it| it.held.borrow().len()).sum::<usize>();
    clock.sleep(secs(60)).await;
    assert_eq!((held(&old), held(&new)), (2, 0), "the old ones work");
    old[0].stop.cancel();
    clock.sleep(secs(60)).await;
    assert_eq!((held(&old), held(&new)), (2, 0), "one of the old ones works");
    old[1].cut_off.store(true, Ordering::Relaxed);
    let cut = clock.monotonic();
    while held(&new) < 3 {
        assert!(held(&old) == 0 || held(&new) == 0, "two masters");
        assert!(clock.monotonic() - cut < secs(60), "the new ones never begin");
        clock.sleep(secs(1)).await;
    }
    old[1].cut_off.store(false, Ordering::Relaxed);
    clock.sleep(secs(60)).await;
    assert_eq!((held(&old), held(&new)), (0, 3), "who comes back counts as before, and waits");
}

#[tokio::test(start_paused = true)]
async fn every_name_has_one_shard_and_they_are_about_even() {
    let mut counts = [0_u32; 5];
    for number in 0..5_000 {
        counts[shard_of(&format!("runtime-{number:08x}"), 5) as usize] += 1;
    }
    assert!(counts.iter().all(|count| (800..1_200).contains(count)), "{counts:?}");
    let (sender, held) = watch::channel(BTreeSet::from([shard_of("shop", 5)]));
    let shards = Shards::new(5, held);
    assert!(shards.has("shop") && shards.is_active());
    let until = tokio::spawn({
        let shards = shards.clone();
        async move { shards.until_lost("shop").await }
    });
    sender.send_replace(BTreeSet::new());
    until.await.expect("told");
}
