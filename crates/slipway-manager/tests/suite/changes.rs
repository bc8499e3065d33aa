//! Changes: what reaches the Shoot, what it costs, and what must not be written.

use kube_sandbox::cluster::Place;
use serde_json::json;

use crate::world::{PROJECT, SHOOTS, World, runtime};

async fn ready() -> World {
    let world = World::start().await;
    world.apply(runtime("shop")).await;
    world.until_state("shop", "Ready").await;
    world.until_idle().await;
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_maximum_reaches_the_shoot_with_one_write() {
    let world = ready().await;
    let before = world.requests("garden", true);
    world.edit("shop", |runtime| runtime["spec"]["shoot"]["provider"]["workers"][0]["maximum"] = json!(25)).await;
    world.until_state("shop", "Ready").await;
    world
        .until("the Shoot follows", || {
            world.shoot("shop").expect("there")["spec"]["provider"]["workers"][0]["maximum"] == 25
        })
        .await;
    world.until_state("shop", "Ready").await;
    assert_eq!(world.requests("garden", true) - before, 1);
    let shoot = world.shoot("shop").expect("there");
    assert_eq!(shoot["metadata"]["annotations"]["infrastructuremanager.kyma-project.io/runtime-generation"], "2");
    assert_eq!(world.condition("shop", "Provisioned")["reason"], "ConfigurationCompleted");
}

/// W5: a pool that is no longer asked for disappears, with one write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_that_is_not_asked_for_any_more_is_removed() {
    let world = ready().await;
    assert_eq!(world.shoot("shop").expect("there")["spec"]["provider"]["workers"].as_array().expect("pools").len(), 2);
    let before = world.requests("garden", true);
    world
        .edit("shop", |runtime| {
            runtime["spec"]["shoot"]["provider"].as_object_mut().expect("an object").remove("additionalWorkers");
        })
        .await;
    world
        .until("the pool is gone", || {
            world.shoot("shop").expect("there")["spec"]["provider"]["workers"].as_array().expect("pools").len() == 1
        })
        .await;
    world.until_state("shop", "Ready").await;
    assert_eq!(world.requests("garden", true) - before, 1);
}

/// W7: labels raise no generation, and still reach Shoot, GardenerCluster and Secret.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_label_reaches_the_shoot_the_gardener_cluster_and_the_secret() {
    let world = ready().await;
    let key = "kyma-project.io/global-account-id";
    world.edit("shop", |runtime| runtime["metadata"]["labels"][key] = json!("moved")).await;
    world
        .until("the Shoot follows", || world.shoot("shop").expect("there")["metadata"]["labels"]["account"] == "moved")
        .await;
    world
        .until("the GardenerCluster follows", || {
            world.gardener_cluster("shop").expect("there")["metadata"]["labels"][key] == "moved"
        })
        .await;
    world
        .until("the Secret follows", || world.secret("shop").expect("there")["metadata"]["labels"][key] == "moved")
        .await;
    assert!(world.secret("shop").expect("there")["data"]["config"].is_string(), "and keeps its content");
    world.until_state("shop", "Ready").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_label_that_feeds_nothing_costs_the_garden_nothing() {
    let world = ready().await;
    let before = (world.requests("garden", true), world.requests("garden", false));
    world
        .edit("shop", |runtime| {
            runtime["metadata"]["labels"]["operator.kyma-project.io/used-for-production"] = json!("true")
        })
        .await;
    world.until_idle().await;
    assert_eq!((world.requests("garden", true), world.requests("garden", false)), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forcing_applies_once_and_takes_the_annotation_away() {
    let world = ready().await;
    let before = world.requests("garden", true);
    let key = "operator.kyma-project.io/force-patch-reconciliation";
    world.edit("shop", |runtime| runtime["metadata"]["annotations"][key] = json!("true")).await;
    world
        .until("the annotation is gone", || {
            world.runtime("shop").expect("there")["metadata"]["annotations"].get(key).is_none()
        })
        .await;
    world.until_state("shop", "Ready").await;
    world.until_idle().await;
    assert_eq!(world.requests("garden", true) - before, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suspended_runtime_is_not_patched_until_somebody_lets_it() {
    let world = ready().await;
    let key = "operator.kyma-project.io/suspend-patch-reconciliation";
    world.edit("shop", |runtime| runtime["metadata"]["annotations"][key] = json!("true")).await;
    world.edit("shop", |runtime| runtime["spec"]["shoot"]["provider"]["workers"][0]["maximum"] = json!(25)).await;
    world.until_state("shop", "Ready").await;
    world.until_idle().await;
    assert_eq!(world.shoot("shop").expect("there")["spec"]["provider"]["workers"][0]["maximum"], 20);
    world
        .edit("shop", |runtime| drop(runtime["metadata"]["annotations"].as_object_mut().expect("some").remove(key)))
        .await;
    world
        .until("the Shoot follows", || {
            world.shoot("shop").expect("there")["spec"]["provider"]["workers"][0]["maximum"] == 25
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn administrators_are_added_and_former_ones_removed() {
    let world = ready().await;
    world.edit("shop", |runtime| runtime["spec"]["security"]["administrators"] = json!(["new@example.com"])).await;
    world.until_state("shop", "Ready").await;
    let bindings = world.inside("shop", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings").await;
    let users: Vec<&str> = bindings["items"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["subjects"][0]["name"].as_str())
        .collect();
    assert!(users.contains(&"new@example.com") && !users.contains(&"admin@example.com"), "{users:?}");
}

/// W4: what happens to a Shoot after it was ready is told, and its recovery is seen.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shoot_that_fails_later_is_told_and_its_recovery_too() {
    let world = ready().await;
    let place = Place { group: SHOOTS, plural: "shoots", namespace: PROJECT, name: "shop", subresource: "status" };
    world.garden.clock().set_pace(slipway_sim::garden::Pace::Manual);
    let fail = |shoot: &mut serde_json::Value| {
        shoot["status"]["lastOperation"]["state"] = json!("Failed");
        shoot["status"]["lastOperation"]["type"] = json!("Reconcile");
        shoot["status"]["lastErrors"] =
            json!([{"description": "the key was revoked", "codes": ["ERR_INFRA_UNAUTHORIZED"]}]);
    };
    world.garden.cluster().update(&place, fail).await.expect("forced");
    world.until_state("shop", "Failed").await;
    let message = world.message("shop", "Provisioned");
    assert!(message.contains("ERR_INFRA_UNAUTHORIZED") && message.contains("the key was revoked"), "{message}");
    let heal = |shoot: &mut serde_json::Value| {
        shoot["status"]["lastOperation"]["state"] = json!("Succeeded");
        shoot["status"]["lastErrors"] = json!([]);
    };
    world.garden.cluster().update(&place, heal).await.expect("forced");
    world.until_state("shop", "Ready").await;
}

/// A5, A6: who starts anew asks for lists and nothing else, and writes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_costs_lists_and_watches_and_no_write() {
    let world = World::start().await;
    for number in 0..12 {
        world.apply(runtime(&format!("r{number}"))).await;
    }
    for number in 0..12 {
        world.until_state(&format!("r{number}"), "Ready").await;
    }
    world.until_idle().await;
    world.garden.clock().set_pace(slipway_sim::garden::Pace::Manual);
    let version = |name: &str| world.runtime(name).expect("there")["metadata"]["resourceVersion"].clone();
    let before: Vec<_> = (0..12).map(|number| version(&format!("r{number}"))).collect();
    world.kill();
    world.begin();
    world.until_idle().await;
    let looked_at = || {
        let manager = world.manager.lock().expect("lock");
        let page = manager.as_ref().expect("a manager").probe().figures();
        let line = "slipway_infra_reconcile_seconds_count{controller=\"runtime\",outcome=\"done\"} ";
        let count = page.lines().find_map(|one| one.strip_prefix(line)?.parse::<u32>().ok());
        count.is_some_and(|count| count >= 12)
    };
    world.until("all were looked at", looked_at).await;
    world.until_idle().await;
    assert_eq!((world.requests("garden", true), world.requests("kcp", true), world.requests("skr", true)), (0, 0, 0));
    assert_eq!(world.requests("skr", false), 0, "no cluster is called");
    let asked = world.requests("garden", false);
    assert!(asked <= 6, "lists and watches of Shoots, Seeds and credentials: {asked}");
    let after: Vec<_> = (0..12).map(|number| version(&format!("r{number}"))).collect();
    assert_eq!(before, after);
}
