//! The life of a cluster: made, changed, its kubeconfig renewed, deleted.

use serde_json::Value;

use crate::world::{World, runtime};

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().expect("a list");
    items.iter().map(|item| item["metadata"]["name"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_becomes_a_cluster_with_a_kubeconfig_that_works_and_leaves_nothing_behind() {
    let world = World::start().await;
    world.apply(runtime("shop")).await;
    world.until_state("shop", "Ready").await;
    let made = world.runtime("shop").expect("there");
    assert_eq!(made["status"]["provisioningCompleted"], true);
    for (of, reason) in [
        ("Provisioned", "ShootCreationCompleted"),
        ("KubeconfigReady", "GardenerClusterCRReady"),
        ("KymaSystemNSCreated", "KymaSystemNSReady"),
        ("OidcAndConfigMapConfigured", "OidcAndConfigMapsConfigured"),
        ("Configured", "AdministratorsConfigured"),
    ] {
        let condition = world.condition("shop", of);
        assert_eq!((condition["status"].as_str(), condition["reason"].as_str()), (Some("True"), Some(reason)), "{of}");
    }
    let shoot = world.shoot("shop").expect("a Shoot");
    assert_eq!(shoot["status"]["lastOperation"]["state"], "Succeeded");
    assert_eq!(shoot["metadata"]["labels"]["account"], "20000000-0000-4000-8000-000000000001");
    let namespaces = names(&world.inside("shop", "/api/v1/namespaces").await);
    assert!(namespaces.contains(&"kyma-system".to_owned()), "{namespaces:?}");
    let info = world.inside("shop", "/api/v1/namespaces/kyma-system/configmaps/kyma-provisioning-info").await;
    let details = info["data"]["details"].as_str().expect("details");
    assert!(details.contains("machineType: m6i.large") && details.contains("seedRegion: eu-central-1"), "{details}");
    let bindings = world.inside("shop", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings").await;
    let bound = bindings["items"]
        .as_array()
        .expect("a list")
        .iter()
        .any(|one| one["subjects"][0]["name"] == "admin@example.com");
    assert!(bound, "{bindings}");
    let (cluster, secret) = (world.gardener_cluster("shop").expect("there"), world.secret("shop").expect("there"));
    assert_eq!(cluster["metadata"]["ownerReferences"][0]["kind"], "Runtime");
    assert_eq!(secret["metadata"]["ownerReferences"][0]["kind"], "GardenerCluster");
    assert_eq!(secret["metadata"]["labels"]["kyma-project.io/shoot-name"], "shop");
    let events = world.kcp.list("", "events", "kcp-system");
    assert!(events.iter().any(|event| event["reason"] == "AdministratorsConfigured" && event["type"] == "Normal"));

    world.delete("shop").await;
    world.until_gone("shop").await;
    assert!(
        world.gardener_cluster("shop").is_none() && world.secret("shop").is_none() && world.shoot("shop").is_none()
    );
    let maps = world.garden.cluster().list("", "configmaps", "garden-dev");
    let left: Vec<&Value> =
        maps.iter().filter(|map| map["metadata"]["name"] == "structured-auth-config-shop").collect();
    assert_eq!(left, Vec::<&Value>::new());
}
