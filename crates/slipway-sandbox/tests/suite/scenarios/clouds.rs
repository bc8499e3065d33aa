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
        assert_eq!(cluster.shoot().expect("a Shoot")["spec"]["provider"]["type"], cloud.as_str());
        // Not at once: Gardener looks after it day by day, and days are short here.
        world.until(&format!("{} is healthy", cluster.name), async || is_healthy(&cluster).then_some(())).await;
        assert!(cluster.is_registered(), "{}: the Director does not know it", cluster.name);
        can_be_used(&cluster).await;
    }))
    .await;
    let complaints: Vec<String> = world.systems().director.complaints();
    assert!(complaints.is_empty(), "{complaints:?}");
    world.stop().await;
}

fn is_healthy(cluster: &LiveCluster<'_>) -> bool {
    let status = cluster.shoot().expect("a Shoot")["status"].clone();
    let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    let are_true = conditions.iter().all(|condition| condition["status"] == "True");
    status["lastOperation"]["state"] == "Succeeded" && !conditions.is_empty() && are_true
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
