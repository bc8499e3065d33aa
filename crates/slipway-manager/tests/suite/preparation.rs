//! Preparing a customer's cluster: what went well is told up to the first thing that did not, and the rest follows.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use slipway_kube::{
    access::{Ask, Calls, Error, Verdict},
    annotations,
};
use slipway_model::ports::BoxFuture;

use crate::{
    sweep::hook::answered,
    world::{With, World, runtime},
};

/// Breaks calls about one kind of object inside the cluster, reads of Namespaces and ConfigMaps excepted.
struct Broken {
    plural: &'static str,
    is_healed: AtomicBool,
}

impl Calls for Broken {
    fn before<'a>(&'a self, cluster: &'static str, ask: &'a Ask) -> BoxFuture<'a, Verdict> {
        let is_meant = ask.resource.plural == self.plural && (ask.verb.is_write() || self.plural.contains("bindings"));
        let is_broken = cluster == "skr" && is_meant && !self.is_healed.load(Ordering::SeqCst);
        Box::pin(async move { if is_broken { Verdict::Fail(answered(500, "InternalError")) } else { Verdict::Pass } })
    }

    fn after<'a>(&'a self, _: &'static str, _: &'a Ask, _: Option<&'a Error>) -> BoxFuture<'a, Verdict> {
        Box::pin(async { Verdict::Pass })
    }
}

const NAMESPACE: &str = "KymaSystemNSCreated";
const INSIDE: &str = "OidcAndConfigMapConfigured";
const ADMINISTRATORS: &str = "Configured";

/// What is broken; type, status, reason and beginning of the message of the condition that tells it; and the conditions
/// that are true all the same.
type Case = (&'static str, (&'static str, &'static str, &'static str, &'static str), &'static [&'static str]);

const CASES: [Case; 4] = [
    ("namespaces", (NAMESPACE, "False", "KymaSystemNSError", "Namespace kyma-system cannot be made: "), &[]),
    (
        "configmaps",
        (INSIDE, "Unknown", "ConfigMapErr", "ConfigMap kyma-provisioning-info cannot be written: "),
        &[NAMESPACE],
    ),
    ("openidconnects", (INSIDE, "Unknown", "OidcConfigurationErr", "OIDC cannot be configured: "), &[NAMESPACE]),
    (
        "clusterrolebindings",
        (ADMINISTRATORS, "False", "ConfigurationError", "Administrators cannot be configured: "),
        &[NAMESPACE, INSIDE],
    ),
];

/// The types of its conditions, in their order.
fn types(world: &World) -> Vec<String> {
    let runtime = world.runtime("shop").unwrap_or_default();
    let all = runtime["status"]["conditions"].as_array().cloned().unwrap_or_default();
    all.iter().map(|condition| condition["type"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_went_well_is_told_up_to_the_first_that_did_not_and_the_rest_follows() {
    for (plural, (of, status, reason, message), ahead) in CASES {
        let broken = Arc::new(Broken { plural, is_healed: AtomicBool::new(false) });
        let world = World::with(With { factor: 5.0, calls: Some(broken.clone()), ..With::default() }).await;
        world.apply(runtime("shop")).await;
        // A new cluster may be away for a moment; that is told by other words.
        let is_told = || {
            let told = world.condition("shop", of);
            told["reason"] == reason && world.message("shop", of).contains("struck by the sweep")
        };
        world.until(&format!("{plural} are told"), is_told).await;
        assert_eq!(world.condition("shop", of)["status"], status, "{plural}");
        assert!(world.message("shop", of).starts_with(message), "{}", world.message("shop", of));
        assert_eq!(world.state("shop"), "Pending", "a cluster that answers nonsense is no failure");
        let told: Vec<&str> = ["Provisioned", "KubeconfigReady"].iter().chain(ahead).chain([&of]).copied().collect();
        assert_eq!(types(&world), told, "{plural}: in this order, and nothing behind it");
        assert!(ahead.iter().all(|of| world.condition("shop", of)["status"] == "True"), "{plural}");
        broken.is_healed.store(true, Ordering::SeqCst);
        world.until_state("shop", "Ready").await;
        assert_eq!(types(&world)[2..], [NAMESPACE, INSIDE, ADMINISTRATORS], "{plural}");
        let cluster = world.gardener_cluster("shop").expect("a GardenerCluster");
        let hash = &cluster["metadata"]["annotations"][annotations::PREPARED_HASH];
        assert!(hash.is_string(), "what it was prepared with is written down: {cluster}");
    }
}
