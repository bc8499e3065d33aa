//! A manager that is told to stop: nothing of it is left running, and the next replica begins when nothing writes any more.
//!
//! Time stands still here for the manager, so its patience never ends: a goodbye that is over is one for which
//! everybody was waited for.

use std::{
    future::pending,
    sync::{Arc, Mutex},
    time::Duration,
};

use kube_sandbox::clock;
use serde_json::Value;
use slipway_kube::access::{Ask, Calls, Error, Verdict};
use slipway_manager::{Goodbye, Manager, Parts, Settings};
use slipway_model::{
    ports::{BoxFuture, Clock},
    time::{Timestamp, secs},
};
use tokio::sync::watch;

use crate::world::{CORE, GardenTime, NAMESPACE, PATIENCE, PROJECT, Seeded, With, World, files, runtime};

struct StandingStill;

impl Clock for StandingStill {
    fn wall(&self) -> Timestamp {
        Timestamp::from_micros(clock::now().as_microsecond())
    }

    fn monotonic(&self) -> Duration {
        secs(1)
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(pending())
    }
}

fn begin(world: &World, calls: Option<Arc<dyn Calls>>) -> Manager {
    let settings = Settings {
        audit_log_mandatory: false,
        leader_elect: true,
        registry_caches: Some(secs(60)),
        ..Settings::default()
    };
    Manager::start(Parts {
        settings,
        files: files(),
        kcp: world.server.client("kcp").expect("a client"),
        garden: world.garden.client().expect("a client"),
        clock: Arc::new(StandingStill),
        garden_time: Arc::new(GardenTime(world.garden.clock().clone())),
        random: Arc::new(Seeded::default()),
        garden_rate: (1_000.0, 1_000),
        garden_timeout: secs(15),
        identity: "first".to_owned(),
        calls,
    })
}

fn holder(world: &World) -> Value {
    let leases = world.kcp.list("coordination.k8s.io", "leases", NAMESPACE);
    leases.first().map(|lease| lease["spec"]["holderIdentity"].clone()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_nothing_to_do_everybody_ends_at_once() {
    let world = World::without_manager(With::default()).await;
    let manager = begin(&world, None);
    let probe = manager.probe();
    world.until("it leads and is idle", || probe.is_idle() && !probe.shards().is_empty()).await;
    assert_eq!(holder(&world), "first");
    assert_eq!(clock::within(PATIENCE, manager.stop()).await, Some(Goodbye::Complete));
    assert_eq!(holder(&world), "", "the next one need not wait");
    assert!(probe.shards().is_empty());
}

/// Hears of every write, and holds the answer to the first one about a Shoot back until it is released.
struct Slow {
    writes: Mutex<Vec<&'static str>>,
    is_held: watch::Sender<bool>,
    is_released: watch::Sender<bool>,
}

impl Slow {
    fn writes(&self) -> Vec<&'static str> {
        self.writes.lock().expect("lock").clone()
    }
}

impl Calls for Slow {
    fn before<'a>(&'a self, _: &'static str, ask: &'a Ask) -> BoxFuture<'a, Verdict> {
        if ask.verb.is_write() {
            self.writes.lock().expect("lock").push(ask.resource.plural);
        }
        Box::pin(async { Verdict::Pass })
    }

    fn after<'a>(&'a self, _: &'static str, ask: &'a Ask, _: Option<&'a Error>) -> BoxFuture<'a, Verdict> {
        Box::pin(async move {
            if ask.verb.is_write() && ask.resource.plural == "shoots" {
                self.is_held.send_replace(true);
                let _ = self.is_released.subscribe().wait_for(|it| *it).await;
            }
            Verdict::Pass
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_under_way_is_waited_for_no_other_begins_and_only_then_the_leases_go() {
    let world = World::without_manager(With::default()).await;
    let (is_held, is_released) = (watch::Sender::new(false), watch::Sender::new(false));
    let slow = Arc::new(Slow { writes: Mutex::default(), is_held, is_released });
    let manager = begin(&world, Some(slow.clone()));
    world.apply(runtime("shop")).await;
    world.until("the Shoot is written", || *slow.is_held.borrow()).await;
    let before = slow.writes();
    let mut stop = Box::pin(manager.stop());
    assert!(futures::poll!(&mut stop).is_pending(), "nobody has heard the answer");
    assert_eq!(holder(&world), "first", "nobody else may write meanwhile");
    slow.is_released.send_replace(true);
    assert_eq!(clock::within(PATIENCE, stop).await, Some(Goodbye::Complete));
    assert_eq!(holder(&world), "");
    assert_eq!(slow.writes()[before.len()..], ["leases"], "the pass ended between two calls");
    assert_eq!(world.garden.cluster().list(CORE, "shoots", PROJECT).len(), 1);
}
