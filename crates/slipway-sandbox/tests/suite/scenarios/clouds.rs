//! A cluster on every cloud that the provisioner takes.

use futures::future::join_all;
use serde_json::json;
use slipway_kube::providers::ProviderType;
use slipway_sandbox::{
    Options, World,
    world::{LiveCluster, cluster_on},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_on_every_cloud_becomes_healthy_and_its_owner_can_use_it() {
    let world = World::start(Options::for_tests()).await;
    let clouds = ProviderType::all().filter(|cloud| cloud.cloud().requests.is_some());
    join_all(clouds.map(async |cloud| {
        let cluster = world.provision(cluster_on(cloud.as_str(), &format!("on-{cloud}"))).await;
        cluster.until_ready().await;
        is_healthy(&cluster, cloud.as_str());
        can_be_used(&cluster).await;
    }))
    .await;
    let complaints: Vec<String> = world.systems().director.complaints();
    assert!(complaints.is_empty(), "{complaints:?}");
    world.stop().await;
}

fn is_healthy(cluster: &LiveCluster<'_>, cloud: &str) {
    let shoot = cluster.shoot().expect("a Shoot");
    assert_eq!(shoot["spec"]["provider"]["type"], cloud);
    assert_eq!(shoot["status"]["lastOperation"]["state"], "Succeeded", "{}", cluster.name);
    let conditions = shoot["status"]["conditions"].as_array().expect("conditions");
    let failing: Vec<_> = conditions.iter().filter(|condition| condition["status"] != "True").collect();
    assert!(!conditions.is_empty() && failing.is_empty(), "{}: {failing:?}", cluster.name);
    assert!(cluster.is_registered(), "{}: the Director does not know it", cluster.name);
}

/// By the kubeconfig that GraphQL hands out, over a socket.
async fn can_be_used(cluster: &LiveCluster<'_>) {
    let request = http::Request::get("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings").body(Vec::new());
    let bindings: serde_json::Value =
        cluster.client().await.request(request.expect("a request")).await.expect("the cluster answers");
    let bindings = bindings["items"].as_array().expect("a list");
    let is_bound = bindings.iter().any(|binding| binding["subjects"][0]["name"] == json!("ann@example.com"));
    assert!(is_bound, "{}: its administrator may do nothing: {bindings:?}", cluster.name);
}
