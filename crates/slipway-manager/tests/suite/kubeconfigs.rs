//! Kubeconfigs: replaced in time, on demand, and never missing for a moment.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use jiff::SignedDuration;
use kube_sandbox::{http::Trouble, status::Status};
use serde_json::json;
use slipway_kube::access::{Ask, Calls, Error, Verdict};
use slipway_model::ports::BoxFuture;
use slipway_sim::garden::Pace;

use crate::world::{With, World, runtime};

fn config(world: &World) -> String {
    world.secret("shop").expect("a secret")["data"]["config"].as_str().unwrap_or_default().to_owned()
}

/// W10: sees every write of a Secret, and complains about one without content.
#[derive(Default)]
struct Witness(AtomicBool);

impl Calls for Witness {
    fn before<'a>(&'a self, _: &'static str, ask: &'a Ask) -> BoxFuture<'a, Verdict> {
        let empty = ask.resource.plural == "secrets"
            && ask.verb.as_str() == "patch"
            && ask.body().is_some_and(|body| body.get("data").is_some() && !body["data"]["config"].is_string());
        if empty {
            self.0.store(true, Ordering::Relaxed);
        }
        Box::pin(async { Verdict::Pass })
    }

    fn after<'a>(&'a self, _: &'static str, _: &'a Ask, _: Option<&'a Error>) -> BoxFuture<'a, Verdict> {
        Box::pin(async { Verdict::Pass })
    }
}

async fn ready(calls: Option<Arc<dyn Calls>>) -> World {
    let world = World::with(With { calls, ..With::default() }).await;
    world.apply(runtime("shop")).await;
    world.until_state("shop", "Ready").await;
    world.until_idle().await;
    world.garden.clock().set_pace(Pace::Manual);
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kubeconfig_is_replaced_long_before_it_ends_and_not_earlier() {
    let world = ready(None).await;
    let first = config(&world);
    let before = world.requests("garden", true);
    world.garden.clock().advance(SignedDuration::from_hours(10));
    world.until_idle().await;
    assert_eq!((config(&world), world.requests("garden", true)), (first.clone(), before), "not yet");
    world.garden.clock().advance(SignedDuration::from_hours(5));
    world.until("another kubeconfig is there", || config(&world) != first).await;
    assert_eq!(world.requests("garden", true) - before, 1, "one request");
    world
        .until("it is told", || {
            world.gardener_cluster("shop").expect("there")["status"]["conditions"][0]["reason"]
                == "KubeconfigSecretRotated"
        })
        .await;
    world.inside("shop", "/api/v1/namespaces").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forced_rotation_never_leaves_the_secret_without_content() {
    let witness = Arc::new(Witness::default());
    let world = ready(Some(witness.clone())).await;
    let first = config(&world);
    let key = "operator.kyma-project.io/force-kubeconfig-rotation";
    world.edit_cluster("shop", |cluster| cluster["metadata"]["annotations"][key] = json!("")).await;
    world.until("another kubeconfig is there", || config(&world) != first).await;
    world
        .until("the wish is gone", || {
            world.gardener_cluster("shop").expect("there")["metadata"]["annotations"].get(key).is_none()
        })
        .await;
    world.until_idle().await;
    assert!(!witness.0.load(Ordering::Relaxed), "a write without content");
    world.inside("shop", "/api/v1/namespaces").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_that_somebody_deleted_comes_back() {
    let world = ready(None).await;
    let place = kube_sandbox::cluster::Place {
        plural: "secrets",
        namespace: "kcp-system",
        name: "kubeconfig-shop",
        ..Default::default()
    };
    world.kcp.delete(&place, &Default::default()).await.expect("deleted");
    world.until("it is back", || world.secret("shop").is_some_and(|secret| secret["data"]["config"].is_string())).await;
    world.until_state("shop", "Ready").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_garden_that_gives_no_kubeconfig_is_told_in_its_own_words_and_asked_again() {
    let world = World::without_manager(With::default()).await;
    world.fail(|seen| {
        let meant = seen.cluster == "garden" && seen.path.ends_with("/adminkubeconfig");
        meant.then(|| Trouble::Status(Status::new(500, "InternalError", "the CA is not there yet".to_owned())))
    });
    world.begin();
    world.apply(runtime("shop")).await;
    world.until("it is told", || world.message("shop", "KubeconfigReady").contains("the CA is not there yet")).await;
    let cluster = world.gardener_cluster("shop").expect("there");
    assert_eq!(
        (&cluster["status"]["state"], &cluster["status"]["conditions"][0]["reason"]),
        (&json!("Error"), &json!("FailedToGetKubeconfig"))
    );
    assert_eq!(world.state("shop"), "Pending", "W19: a failure that may pass is no failure");
    world.heal();
    world.until_state("shop", "Ready").await;
}

/// W6: what nobody owns any more is removed, also if it was left by others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_whose_gardener_cluster_is_gone_is_removed_at_the_next_start() {
    let world = World::without_manager(With::default()).await;
    let orphan = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "kubeconfig-old", "namespace": "kcp-system",
        "labels": {"operator.kyma-project.io/managed-by": "infrastructure-manager", "operator.kyma-project.io/cluster-name": "old"}},
        "data": {"config": "eA=="}});
    let other = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "other", "namespace": "kcp-system",
        "labels": {"operator.kyma-project.io/managed-by": "infrastructure-manager"}}, "data": {}});
    world.kcp.create(orphan).await.expect("made");
    world.kcp.create(other).await.expect("made");
    world.begin();
    world.until("the orphan is gone", || world.secret("old").is_none()).await;
    assert!(world.kcp.get("", "secrets", "kcp-system", "other").is_some(), "and nothing else");
}
