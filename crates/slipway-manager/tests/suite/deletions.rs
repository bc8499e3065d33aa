//! Deletions: everything goes, nothing of others does, and a mass of them is held.

use kube_sandbox::{cluster::Place, http::Trouble, status::Status};
use serde_json::json;
use slipway_manager::Settings;

use crate::world::{PROJECT, SHOOTS, With, World, runtime};

/// W6: the Shoot vanished first, and the rest goes all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_whose_shoot_is_gone_already_leaves_nothing_behind() {
    let world = World::start().await;
    world.apply(runtime("shop")).await;
    world.until_state("shop", "Ready").await;
    world
        .edit("shop", |runtime| {
            runtime["metadata"]["annotations"]["operator.kyma-project.io/suspend-patch-reconciliation"] = json!("true")
        })
        .await;
    world.until_idle().await;
    world.kill();
    let place = Place { group: SHOOTS, plural: "shoots", namespace: PROJECT, name: "shop", subresource: "" };
    world
        .garden
        .cluster()
        .update(&place, |shoot| {
            shoot["metadata"]["annotations"]["confirmation.gardener.cloud/deletion"] = json!("true")
        })
        .await
        .expect("confirmed");
    world.garden.cluster().delete(&place, &Default::default()).await.expect("deleted");
    world.until("the Shoot is gone", || world.shoot("shop").is_none()).await;
    world.delete("shop").await;
    world.begin();
    world.until_gone("shop").await;
    assert!(world.gardener_cluster("shop").is_none() && world.secret("shop").is_none());
    assert!(world.garden.cluster().get("", "configmaps", PROJECT, "structured-auth-config-shop").is_none());
}

/// W11: the confirmation takes over no field of the Shoot.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_changes_one_annotation_and_nothing_else() {
    let world = World::start().await;
    world.apply(runtime("shop")).await;
    world.until_state("shop", "Ready").await;
    world.until_idle().await;
    world.garden.clock().set_pace(slipway_sim::garden::Pace::Manual);
    let owned = |world: &World| {
        let shoot = world.shoot("shop").expect("there");
        let fields = shoot["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        fields.into_iter().find(|entry| entry["manager"] == "kim" && entry["operation"] == "Apply").expect("ours")["fieldsV1"].clone()
    };
    let (before, spec) = (owned(&world), world.shoot("shop").expect("there")["spec"].clone());
    world.delete("shop").await;
    world
        .until("the Shoot is going", || {
            world.shoot("shop").is_some_and(|shoot| shoot["metadata"]["deletionTimestamp"].is_string())
        })
        .await;
    assert_eq!((owned(&world), world.shoot("shop").expect("there")["spec"].clone()), (before, spec));
    assert_eq!(world.state("shop"), "Terminating");
}

/// W18: one failed call does not end a deletion.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_goes_on_whatever_fails_on_its_way() {
    let world = World::with(With { factor: 5.0, ..With::default() }).await;
    world.apply(runtime("shop")).await;
    world.until_state("shop", "Ready").await;
    let left = std::sync::Mutex::new(std::collections::BTreeMap::<String, u32>::new());
    world.fail(move |seen| {
        let watched = seen.method == "GET" && !seen.path.contains("/shoots/");
        if watched || seen.path.contains("/events") {
            return None;
        }
        let mut left = left.lock().expect("lock");
        let count = left.entry(format!("{} {}", seen.method, seen.path)).or_insert(0);
        *count += 1;
        (*count <= 2).then(|| Trouble::Status(Status::new(503, "ServiceUnavailable", "not now".to_owned())))
    });
    world.delete("shop").await;
    world.until_gone("shop").await;
    world.heal();
    assert!(
        world.shoot("shop").is_none() && world.gardener_cluster("shop").is_none() && world.secret("shop").is_none()
    );
}

/// W16: a mass of deletions is held after the first few, until somebody confirms.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mass_of_deletions_is_held_until_confirmed() {
    let settings = Settings { brake_limit: 2, audit_log_mandatory: false, ..Settings::default() };
    let world = World::with(With { settings, ..With::default() }).await;
    let names = ["a1", "a2", "a3", "a4"];
    for name in names {
        world.apply(runtime(name)).await;
    }
    for name in names {
        world.until_state(name, "Ready").await;
    }
    for name in names {
        world.delete(name).await;
    }
    world
        .until("two are gone and two are held", || {
            let there: Vec<&&str> = names.iter().filter(|name| world.runtime(name).is_some()).collect();
            there.len() == 2
                && there.iter().all(|name| world.message(name, "Deprovisioned").starts_with("Deletion is held"))
        })
        .await;
    world.kill();
    world.begin();
    world.until_idle().await;
    let held: Vec<&str> = names.into_iter().filter(|name| world.runtime(name).is_some()).collect();
    assert_eq!(held.len(), 2, "a restart lets nobody through");
    assert!(held.iter().all(|name| world.shoot(name).expect("there")["metadata"].get("deletionTimestamp").is_none()));
    for name in &held {
        world
            .edit(name, |runtime| {
                runtime["metadata"]["annotations"]["operator.kyma-project.io/deletion-confirmed"] = json!("true")
            })
            .await;
    }
    for name in held {
        world.until_gone(name).await;
    }
}
