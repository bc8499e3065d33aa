//! Several who mean one Shoot: the first has it, a person decides where uids changed, and a cache that is behind is not believed.

use std::time::Duration;

use kube_sandbox::{
    cluster::Place,
    http::{
        Trouble,
        troubles::{Spoiled, is_watch},
    },
};
use serde_json::{Value, json};
use slipway_kube::annotations;
use slipway_sim::garden::Pace;

use crate::{
    neighbours::{twin, until_taken_up},
    world::{PROJECT, SHOOTS, With, World, runtime},
};

/// The cache has not heard of a Shoot that somebody else has just made: what would be applied is asked for first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shoot_that_the_cache_has_not_heard_of_is_not_taken_for_absent() {
    let world = World::without_manager(With { pace: Pace::Manual, ..With::default() }).await;
    world.fail(|seen| {
        let meant =
            seen.cluster == "garden" && seen.path.contains("/shoots") && is_watch(seen.method, seen.path, seen.query);
        let late = Spoiled { delay: Some(Duration::from_secs(600)), ..Spoiled::default() };
        meant.then_some(Trouble::Watch(late))
    });
    world.begin();
    world.until_idle().await;
    let mut wanted = runtime("shop");
    wanted["metadata"]["uid"] = json!("another");
    let rendered = slipway_manager::render(&slipway_manager::RenderInput {
        runtime: &serde_json::from_value(wanted).expect("a Runtime"),
        config: &crate::world::files().config,
        audit: None,
        window: None,
        acl: &slipway_manager::AclAddresses::default(),
        registry_secrets: &[],
        existing: None,
    });
    let mut theirs = rendered.expect("rendered").into_value();
    theirs["spec"]["kubernetes"].as_object_mut().expect("an object").remove("kubeAPIServer");
    world.garden.cluster().create(theirs).await.expect("a Shoot");
    until_taken_up(&world, "shop").await;
    let before = world.shoot("shop");
    world.apply(runtime("shop")).await;
    world.until_state("shop", "Failed").await;
    assert!(
        world.message("shop", "Provisioned").contains("of uid another"),
        "{}",
        world.message("shop", "Provisioned")
    );
    assert!(world.shoot("shop") == before, "it was touched");
    assert!(world.garden.cluster().get("", "configmaps", PROJECT, "structured-auth-config-shop").is_none());
}

/// Whoever comes or goes first, and whoever restarts in between: one of two has the Shoot, and the other waits its turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_runtimes_that_name_one_shoot_the_first_has_it_until_it_is_gone() {
    for the_first_goes in [true, false] {
        let world = World::start().await;
        world.apply(runtime("shop")).await;
        world.until("the first one's Shoot is made", || world.shoot("shop").is_some()).await;
        world.apply(twin("later")).await;
        world.until("it is told", || world.message("later", "Provisioned").contains("belongs to Runtime shop")).await;
        world.kill();
        world.begin();
        world.until_state("shop", "Ready").await;
        world.until_idle().await;
        assert_eq!(world.state("later"), "Failed");
        let uid = world.shoot("shop").expect("there")["metadata"]["uid"].clone();
        if the_first_goes {
            world.delete("shop").await;
            world.until_gone("shop").await;
            world.until_state("later", "Ready").await;
            let made = world.shoot("shop").expect("there");
            assert_ne!(made["metadata"]["uid"], uid, "another cluster");
            let mark = &made["metadata"]["annotations"][annotations::RUNTIME_UID];
            assert_eq!(*mark, world.runtime("later").expect("there")["metadata"]["uid"]);
        } else {
            world.delete("later").await;
            world.until_gone("later").await;
            world.until_idle().await;
            assert_eq!(world.shoot("shop").expect("there")["metadata"]["uid"], uid);
            assert_eq!(world.state("shop"), "Ready");
        }
    }
}

/// A control plane that was restored from a backup has the same Runtimes with other uids: a person says so, and all goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shoot_of_a_restored_runtime_is_taken_when_a_person_confirms_it() {
    let world = World::start().await;
    world.apply(runtime("shop")).await;
    world.until_state("shop", "Ready").await;
    world.until_idle().await;
    let place = Place { group: SHOOTS, plural: "shoots", namespace: PROJECT, name: "shop", subresource: "" };
    world.kill();
    let other_uid = |it: &mut Value| it["metadata"]["annotations"][annotations::RUNTIME_UID] = json!("before");
    world.garden.cluster().update(&place, other_uid).await.expect("edited");
    world.begin();
    world.until_state("shop", "Failed").await;
    let shoot = world.shoot("shop").expect("there");
    assert!(world.message("shop", "Provisioned").contains("of uid before"), "{}", world.message("shop", "Provisioned"));
    let confirm =
        |it: &mut Value| it["metadata"]["annotations"][annotations::ADOPT_SHOOT] = shoot["metadata"]["uid"].clone();
    world.edit("shop", confirm).await;
    world.until_state("shop", "Ready").await;
    let after = world.shoot("shop").expect("there");
    let uid = world.runtime("shop").expect("there")["metadata"]["uid"].clone();
    assert_eq!(after["metadata"]["annotations"][annotations::RUNTIME_UID], uid);
    assert_eq!((&after["spec"], &after["metadata"]["uid"]), (&shoot["spec"], &shoot["metadata"]["uid"]));
}

/// While nobody has made the Shoot yet, who was there first has its name: also where it cannot make it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_an_older_runtime_has_is_not_taken_although_there_is_no_shoot_yet() {
    let world = World::start().await;
    let mut first = runtime("shop");
    first["spec"]["shoot"]["provider"]["workers"][0]["machine"]["type"] = json!("m99.huge");
    world.apply(first).await;
    world.until_state("shop", "Failed").await;
    // Of one second the name decides.
    world.apply(twin("younger")).await;
    world.until("it is told", || world.message("younger", "Provisioned").contains("which was there first")).await;
    world.until_idle().await;
    assert!(world.shoot("shop").is_none());
    world.delete("shop").await;
    world.until_gone("shop").await;
    world.until_state("younger", "Ready").await;
}
