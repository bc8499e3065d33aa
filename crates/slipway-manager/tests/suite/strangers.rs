//! Others write into our Shoots too: Gardener, people in a hurry, the tools that were there before us.

use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube_sandbox::cluster::Place;
use serde_json::{Value, json};

use crate::world::{PROJECT, SHOOTS, With, World, files, runtime};

const SHOP: Place<'static> =
    Place { group: SHOOTS, plural: "shoots", namespace: PROJECT, name: "shop", subresource: "" };

async fn ready(with: With) -> World {
    let world = World::with(with).await;
    world.apply(runtime("shop")).await;
    world.until_state("shop", "Ready").await;
    world.until_idle().await;
    world
}

fn maximum(world: &World) -> Value {
    world.shoot("shop").expect("there")["spec"]["provider"]["workers"][0]["maximum"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_somebody_else_changed_is_put_back_and_what_is_not_ours_is_left() {
    let world = ready(With::default()).await;
    let (ours, before) = (maximum(&world), world.requests("garden", true));
    let change = |shoot: &mut Value| {
        shoot["spec"]["provider"]["workers"][0]["maximum"] = json!(77);
        shoot["spec"]["hibernation"] = json!({"enabled": false});
    };
    world.garden.cluster().update(&SHOP, change).await.expect("taken");
    world.until("it is told", || world.events("shop").iter().any(|text| text.contains("workers[0].maximum"))).await;
    world.until("it is put back", || maximum(&world) == ours).await;
    world.until_state("shop", "Ready").await;
    world.until_idle().await;
    let shoot = world.shoot("shop").expect("there");
    assert_eq!(shoot["spec"]["hibernation"]["enabled"], false, "that is not ours");
    assert_eq!(world.requests("garden", true) - before, 1);
}

/// Without it a deletion would leave the Shoot behind, and nobody would know.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finalizer_that_somebody_took_off_is_put_on_again() {
    let world = ready(With::default()).await;
    let finalizers = || world.runtime("shop").expect("there")["metadata"].get("finalizers").cloned();
    let ours = finalizers();
    assert!(ours.is_some());
    world
        .edit("shop", |runtime| drop(runtime["metadata"].as_object_mut().expect("metadata").remove("finalizers")))
        .await;
    world.until("it is on again", || finalizers() == ours).await;
}

/// Two who disagree must not race: the second time is put back minutes later, and until then the Runtime works.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_changes_it_again_at_once_is_overruled_some_minutes_later() {
    let world = ready(With { factor: 30.0, ..With::default() }).await;
    let ours = maximum(&world);
    let change = |shoot: &mut Value| shoot["spec"]["provider"]["workers"][0]["maximum"] = json!(77);
    world.garden.cluster().update(&SHOP, change).await.expect("taken");
    world.until("it is put back", || maximum(&world) == ours).await;
    world.until_state("shop", "Ready").await;
    // A request is counted when its answer is read, which may be after its effect is seen here.
    world.until_idle().await;
    let before = world.requests("garden", true);
    world.garden.cluster().update(&SHOP, change).await.expect("taken");
    world
        .until("Gardener has done it", || {
            let status = &world.shoot("shop").expect("there")["status"]["lastOperation"]["state"];
            *status == "Succeeded" && world.state("shop") == "Ready"
        })
        .await;
    assert_eq!((maximum(&world), world.requests("garden", true)), (json!(77), before), "not at once");
    world.until("it is put back again", || maximum(&world) == ours).await;
}

/// Gardener raises versions and writes what we do not own: that is read once, and not written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gardeners_own_maintenance_is_left_alone() {
    let world = ready(With::default()).await;
    let before = (world.requests("garden", true), world.requests("garden", false));
    let change = |shoot: &mut Value| shoot["spec"]["kubernetes"]["version"] = json!("1.35.1");
    world.garden.cluster().update(&SHOP, change).await.expect("taken");
    world.until("it was looked at", || world.requests("garden", false) > before.1).await;
    world.until_state("shop", "Ready").await;
    world.until_idle().await;
    assert_eq!(world.shoot("shop").expect("there")["spec"]["kubernetes"]["version"], "1.35.1");
    assert_eq!((world.requests("garden", true), world.requests("garden", false)), (before.0, before.1 + 1));
}

/// A Shoot with a SecretBinding that another tool holds on to: applying alone cannot take it away, and Gardener
/// takes no Shoot with two bindings.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shoot_moves_to_its_credentials_binding_although_another_tool_owns_the_old_one() {
    let world = World::without_manager(With::default()).await;
    let binding = json!({"apiVersion": "core.gardener.cloud/v1beta1", "kind": "SecretBinding",
        "metadata": {"name": "aws", "namespace": PROJECT}, "provider": {"type": "aws"},
        "secretRef": {"name": "aws-credentials", "namespace": PROJECT}});
    world.garden.cluster().create(binding).await.expect("a binding");
    let mut wanted = runtime("shop");
    wanted["spec"]["shoot"]["kubernetes"]["version"] = json!("1.33.9");

    let mut landscape = files().config;
    landscape.converter.gardener.enable_credential_binding = false;
    let shoot = slipway_manager::render(&slipway_manager::RenderInput {
        runtime: &serde_json::from_value(wanted.clone()).expect("a Runtime"),
        config: &landscape,
        audit: None,
        window: None,
        acl: &slipway_manager::AclAddresses::default(),
        registry_secrets: &[],
        existing: None,
    });
    let mut shoot = shoot.expect("rendered").into_value();
    assert_eq!(shoot["spec"]["secretBindingName"], "aws");
    shoot["spec"]["kubernetes"].as_object_mut().expect("an object").remove("kubeAPIServer");
    let kind = kube::core::GroupVersionKind::gvk(SHOOTS, "v1beta1", "Shoot");
    let api: Api<DynamicObject> =
        Api::namespaced_with(world.garden.client().expect("a client"), PROJECT, &ApiResource::from_gvk(&kind));
    let made = api.patch("shop", &PatchParams::apply("another-tool"), &Patch::Apply(shoot)).await.expect("a Shoot");

    world.begin();
    world.apply(wanted).await;
    world.until_state("shop", "Ready").await;
    let after = world.shoot("shop").expect("there");
    assert_eq!(
        (after["spec"].get("secretBindingName"), &after["spec"]["credentialsBindingName"]),
        (None, &json!("aws"))
    );
    assert_eq!(after["metadata"]["uid"].as_str(), made.metadata.uid.as_deref(), "the same cluster");
}
