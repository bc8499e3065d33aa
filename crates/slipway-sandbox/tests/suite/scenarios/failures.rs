//! What goes wrong outside, as the user is told of it, and what passes by itself.

use serde_json::json;
use slipway_sandbox::{
    Options, World,
    world::{LiveCluster, gcp},
};
use slipway_sim::{
    garden::engine::faults::{Aimed, Fault},
    ground::{NAMESPACE, PROJECT, RUNTIMES, SHOOTS},
    systems::reconciler::Script,
};

/// The first step of Gardener's work on the Shoot fails with this code.
fn spoil(world: &World, name: &str, code: &str) {
    let fault = Fault::Fail { step: "infrastructure".to_owned(), codes: vec![code.to_owned()], times: None };
    world.clusters().garden.inject(Aimed { shoot: format!("{PROJECT}/{name}"), operation: String::new(), fault });
}

fn condition_at_the_director(world: &World, cluster: &LiveCluster<'_>) -> String {
    let all = world.systems().director.runtimes();
    all.iter().find(|runtime| runtime.name == cluster.name).map(|one| one.condition.clone()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_gardener_says_is_the_reason_and_the_director_is_told() {
    let world = World::start(Options::for_tests()).await;
    // For good: of other errors the manager asks for another attempt, minutes later.
    spoil(&world, "shop", "ERR_INFRA_UNAUTHORIZED");
    let shop = world.provision(gcp("shop")).await;
    let error = shop.provisioning.until_failed().await;
    assert_eq!((error.component.as_str(), error.reason.as_str()), ("gardener", "ERR_INFRA_UNAUTHORIZED"));
    let shoot = shop.shoot().expect("the client deprovisions; nobody else does");
    let said = shoot["status"]["lastErrors"][0]["description"].as_str().expect("a reason").to_owned();
    assert!(error.err_message.contains(&said), "{} lacks {said}", error.err_message);
    assert_eq!(condition_at_the_director(&world, &shop), "FAILED");

    world.clusters().garden.clear_faults("");
    shop.deprovision().await.until_succeeded().await;
    assert!(shop.shoot().is_none() && shop.runtime().is_none() && !shop.is_registered());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kubernetes_version_that_maintenance_has_raised_is_kept() {
    let world = World::start(Options::for_tests()).await;
    let shop = world.provision(gcp("shop").with("kubernetesVersion", json!("1.33.9"))).await;
    shop.until_ready().await;
    let raised = "1.34.5";
    let garden = world.clusters().garden.cluster();
    let place =
        kube_sandbox::Place { group: SHOOTS, plural: "shoots", namespace: PROJECT, name: &shop.name, subresource: "" };
    garden.update(&place, |shoot| shoot["spec"]["kubernetes"]["version"] = json!(raised)).await.expect("maintained");
    let has_followed = async || shop.runtime().filter(|it| it["status"]["kubernetesVersion"] == raised);
    world.until("the Runtime tells the version", has_followed).await;

    shop.upgrade(json!({"autoScalerMax": 9})).await.until_succeeded().await;
    let shoot = shop.shoot().expect("a Shoot");
    assert_eq!(shoot["spec"]["provider"]["workers"][0]["maximum"], 9, "the change is made");
    assert_eq!(shoot["spec"]["kubernetes"]["version"], raised);
    assert_eq!(shop.runtime().expect("a Runtime")["spec"]["shoot"]["kubernetes"]["version"], raised);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failing_components_of_kyma_are_the_reason() {
    let world = World::start(Options::for_tests()).await;
    let shop = world.provision(gcp("shop").with_kyma()).await;
    let script = Script { stumbles: 0, fails: Some(("istio".to_owned(), "no room".to_owned())) };
    world.systems().reconciler.script(&shop.id, script);
    let error = shop.provisioning.until_failed().await;
    assert_eq!(error.reason, "istio");
    assert_eq!(error.err_message, "Kyma cannot be installed: istio: no room");
    assert_eq!(condition_at_the_director(&world, &shop), "FAILED");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_gone_already_is_deprovisioned_all_the_same() {
    let world = World::start(Options::for_tests()).await;
    let shop = world.provision(gcp("shop")).await;
    shop.until_ready().await;
    let registered = world.systems().director.runtimes();
    assert!(world.systems().director.forget(&registered[0].id));
    shop.deprovision().await.until_succeeded().await;
    assert!(shop.shoot().is_none() && shop.runtime().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_resource_that_somebody_deleted_fails_the_operation_and_says_so() {
    let world = World::start(Options::for_tests()).await;
    // Gardener never comes to an end, so that there is time to delete it.
    spoil(&world, "shop", "ERR_INFRA_RATE_LIMITS_EXCEEDED");
    let shop = world.provision(gcp("shop")).await;
    world.until("the Shoot is asked for", async || shop.shoot()).await;
    let place = kube_sandbox::Place {
        group: RUNTIMES,
        plural: "runtimes",
        namespace: NAMESPACE,
        name: &shop.id,
        subresource: "",
    };
    world.clusters().kcp.delete(&place, &kube_sandbox::delete::Options::default()).await.expect("deleted");
    world.clusters().garden.clear_faults("");
    assert_eq!(shop.provisioning.until_failed().await.reason, "err_runtime_gone");
    assert!(shop.shoot().is_none(), "the manager took the cluster along");
}
