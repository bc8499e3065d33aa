//! Who waits for whom: nobody waits for the garden to be told "seen", replicas share the work, a dry run changes nothing.

use std::collections::BTreeSet;

use kube_sandbox::http::Trouble;
use serde_json::json;
use slipway_kube::access::shards::shard_of;
use slipway_manager::Settings;

use crate::world::{With, World, runtime};

fn settings() -> Settings {
    Settings { audit_log_mandatory: false, ..Settings::default() }
}

/// IM-313, IM-315: a broker that reads four seconds after its write must not find `Ready`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_acknowledged_although_the_garden_hangs_and_every_worker_waits_for_it() {
    let settings = Settings { runtime_workers: 1, ..settings() };
    let world = World::with(With { settings, ..With::default() }).await;
    for name in ["one", "two", "three"] {
        world.apply(runtime(name)).await;
    }
    for name in ["one", "two", "three"] {
        world.until_state(name, "Ready").await;
    }
    world.until_idle().await;
    world.fail(|seen| {
        let meant = seen.cluster == "garden" && seen.path.contains("/shoots/");
        meant.then_some(Trouble::Delay(std::time::Duration::from_secs(600)))
    });
    for name in ["one", "two", "three"] {
        world.edit(name, |runtime| runtime["spec"]["shoot"]["provider"]["workers"][0]["maximum"] = json!(21)).await;
    }
    for name in ["one", "two", "three"] {
        world.until(&format!("{name} is acknowledged"), || world.is_settled(name, "Pending")).await;
    }
    world.heal();
    for name in ["one", "two", "three"] {
        world.until_state(name, "Ready").await;
        assert_eq!(world.shoot(name).expect("there")["spec"]["provider"]["workers"][0]["maximum"], 21);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_replicas_share_the_runtimes_and_touch_only_their_own() {
    let half = |shard| Settings { shards: 2, own_shards: BTreeSet::from([shard]), ..settings() };
    let world = World::with(With { settings: half(0), ..With::default() }).await;
    let names: Vec<String> = (0..6).map(|number| format!("r{number}")).collect();
    for name in &names {
        world.apply(runtime(name)).await;
    }
    let (ours, theirs): (Vec<&String>, Vec<&String>) = names.iter().partition(|name| shard_of(name, 2) == 0);
    assert!(!ours.is_empty() && !theirs.is_empty());
    for name in &ours {
        world.until_state(name, "Ready").await;
    }
    world.until_idle().await;
    for name in &theirs {
        let runtime = world.runtime(name).expect("there");
        assert!(
            runtime.get("status").is_none_or(|status| status.as_object().is_none_or(serde_json::Map::is_empty)),
            "{runtime}"
        );
        assert!(world.shoot(name).is_none());
    }
    let first = world.manager.lock().expect("lock").take();
    world.begin_as(half(1));
    for name in &theirs {
        world.until_state(name, "Ready").await;
    }
    drop(first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_leases_the_next_replica_takes_over_what_the_first_gave_back() {
    let elected = Settings { leader_elect: true, shards: 2, ..settings() };
    let world = World::with(With { settings: elected.clone(), factor: 20.0, ..With::default() }).await;
    world.apply(runtime("shop")).await;
    world.until_state("shop", "Ready").await;
    assert_eq!(world.kcp.list("coordination.k8s.io", "leases", "kcp-system").len(), 3, "two shards, and their number");
    let first = world.manager.lock().expect("lock").take().expect("a manager");
    first.stop().await;
    world.begin_as(elected);
    world.edit("shop", |runtime| runtime["spec"]["shoot"]["provider"]["workers"][0]["maximum"] = json!(21)).await;
    world
        .until("the Shoot follows", || {
            world.shoot("shop").expect("there")["spec"]["provider"]["workers"][0]["maximum"] == 21
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dry_run_changes_nothing_anywhere() {
    let world = World::with(With { settings: Settings { dry_run: true, ..settings() }, ..With::default() }).await;
    world.apply(runtime("shop")).await;
    let tried = || {
        let manager = world.manager.lock().expect("lock");
        let counters = manager.as_ref().expect("a manager").counters();
        counters.sum(|counted| counted.cluster == "garden" && counted.resource == "shoots" && counted.verb.is_write())
            > 0
    };
    world.until("the Shoot was tried", tried).await;
    world.until_idle().await;
    assert!(world.shoot("shop").is_none() && world.gardener_cluster("shop").is_none());
    let runtime = world.runtime("shop").expect("there");
    assert!(runtime["metadata"].get("finalizers").is_none(), "{runtime}");
}

/// IM-341: a Shoot of the reference that is as we would render it gets the hash and nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shoot_of_the_reference_is_adopted_without_a_change() {
    let world = World::start().await;
    world.apply(runtime("shop")).await;
    world.until_state("shop", "Ready").await;
    world.until_idle().await;
    world.kill();
    world.garden.clock().set_pace(slipway_sim::garden::Pace::Manual);
    let key = "infrastructuremanager.kyma-project.io/input-hash";
    let place = kube_sandbox::cluster::Place {
        group: "core.gardener.cloud",
        plural: "shoots",
        namespace: "garden-dev",
        name: "shop",
        subresource: "",
    };
    world
        .garden
        .cluster()
        .update(&place, |shoot| drop(shoot["metadata"]["annotations"].as_object_mut().expect("some").remove(key)))
        .await
        .expect("edited");
    let before = world.shoot("shop").expect("there");
    world.begin();
    world
        .until("it is adopted", || world.shoot("shop").expect("there")["metadata"]["annotations"][key].is_string())
        .await;
    world.until_idle().await;
    let after = world.shoot("shop").expect("there");
    assert_eq!(
        (&after["spec"], &after["metadata"]["generation"]),
        (&before["spec"], &before["metadata"]["generation"])
    );
    assert_eq!(world.requests("garden", true), 1, "one write: the annotation");
}

/// A11: an outage opens the breaker, is told, and everything follows when it is over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_of_the_garden_is_waited_out_and_everything_follows() {
    let world = World::with(With { factor: 10.0, ..With::default() }).await;
    world.until_idle().await;
    world.fail(|seen| (seen.cluster == "garden").then_some(Trouble::Reset));
    let names: Vec<String> = (0..12).map(|number| format!("r{number}")).collect();
    for name in &names {
        world.apply(runtime(name)).await;
    }
    let open = || {
        let manager = world.manager.lock().expect("lock");
        manager.as_ref().expect("a manager").probe().garden_held_for().is_some()
    };
    world.until("the garden is left alone", open).await;
    let told = || names.iter().all(|name| world.condition(name, "Provisioned")["status"] == "False");
    world.until("everybody is told", told).await;
    assert!(names.iter().all(|name| world.state(name) == "Pending"), "an outage is no failure");
    world.heal();
    for name in &names {
        world.until_state(name, "Ready").await;
    }
    assert_eq!(world.garden.shoots().len(), 12);
}
