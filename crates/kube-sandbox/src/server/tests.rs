//! Stories of a whole server, told through `kube::Client` and through its doors.

mod crash;
mod doors;
mod garbage;
mod rights;
mod watches;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
};
use serde_json::{Value, json};

use super::*;
use crate::Place;

/// Longer than anything here takes; only a failure waits for it.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server in memory with one cluster.
async fn server() -> (Server, Cluster) {
    let server = Server::start(Settings::default()).await.expect("a server");
    let cluster = server.add_cluster("c").await.expect("a cluster");
    (server, cluster)
}

#[tokio::test]
async fn a_cluster_is_added_from_any_task() {
    let (server, _) = server().await;
    // A lock held across an await would keep the work on one thread, and this would not compile.
    let added = tokio::spawn(async move { server.add_cluster("another").await.map(|_| ()) });
    added.await.expect("a task").expect("a cluster");
}

fn config_map(name: &str) -> ConfigMap {
    ConfigMap { metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }, ..ConfigMap::default() }
}

/// A ConfigMap in `default` that belongs to another, made as the server itself.
async fn owned(cluster: &Cluster, name: &str, owner: &Value, blocks: bool) -> Value {
    let owner = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": blocks,
    });
    let owners = if owner["uid"].is_null() { json!([]) } else { json!([owner]) };
    let metadata = json!({ "name": name, "namespace": "default", "ownerReferences": owners });
    cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })).await.expect("made")
}

fn place(name: &str) -> Place<'_> {
    Place { plural: "configmaps", namespace: "default", name, ..Place::default() }
}

/// Waits for something to be so.
async fn until(what: &str, so: impl Fn() -> bool) {
    let waiting = async {
        while !so() {
            clock::sleep(Duration::from_millis(2)).await;
        }
    };
    assert!(clock::within(PATIENCE, waiting).await.is_some(), "never: {what}");
}

#[tokio::test]
async fn clusters_know_nothing_of_each_other() {
    let (server, _) = server().await;
    server.add_cluster("d").await.expect("another");
    let (c, d) = (server.client("c").expect("c"), server.client("d").expect("d"));
    let maps = |client: Client| Api::<ConfigMap>::namespaced(client, "default");
    maps(c.clone()).create(&PostParams::default(), &config_map("a")).await.expect("made");
    assert!(maps(d).get_opt("a").await.expect("an answer").is_none());
    server.drop_cluster("c").await.expect("dropped");
    assert!(maps(c).get_opt("a").await.is_err() || server.client("c").is_err());
}

#[tokio::test]
async fn a_namespace_takes_its_content_along() {
    let (server, cluster) = server().await;
    let client = server.client("c").expect("a client");
    let namespaces = Api::<Namespace>::all(client.clone());
    let namespace = json!({ "metadata": { "name": "n" } });
    let namespace = serde_json::from_value(namespace).expect("a namespace");
    namespaces.create(&PostParams::default(), &namespace).await.expect("made");
    let maps = Api::<ConfigMap>::namespaced(client, "n");
    maps.create(&PostParams::default(), &config_map("a")).await.expect("made");
    let mut held = config_map("b");
    held.metadata.finalizers = Some(vec!["example.com/wait".to_owned()]);
    maps.create(&PostParams::default(), &held).await.expect("made");
    namespaces.delete("n", &Default::default()).await.expect("going");
    until("a is gone", || cluster.get("", "configmaps", "n", "a").is_none()).await;
    let refused = maps.create(&PostParams::default(), &config_map("c")).await.expect_err("it is going");
    assert!(refused.to_string().contains("because it is being terminated"), "{refused}");
    assert!(cluster.get("", "namespaces", "", "n").is_some(), "it waits for b");
    let b = Place { namespace: "n", ..place("b") };
    cluster.update(&b, |object| object["metadata"]["finalizers"] = json!([])).await.expect("let go");
    until("n is gone", || cluster.get("", "namespaces", "", "n").is_none()).await;
}

#[tokio::test]
async fn faults_strike_where_they_are_told_to() {
    let (server, _) = server().await;
    let maps = Api::<ConfigMap>::namespaced(server.client("c").expect("a client"), "default");
    server.set_faults(Some(Arc::new(|seen| match seen.path.rsplit('/').next() {
        Some("busy") => Some(face::Trouble::Status(Status::new(429, "TooManyRequests", "slow down"))),
        Some("broken") => Some(face::Trouble::Reset),
        _ => None,
    })));
    let kube::Error::Api(busy) = maps.get("busy").await.expect_err("busy") else { panic!("no answer") };
    assert_eq!(busy.code, 429);
    assert!(!matches!(maps.get("broken").await.expect_err("broken"), kube::Error::Api(_)));
    assert!(maps.get_opt("fine").await.expect("an answer").is_none());
    server.set_faults(None);
    assert!(maps.get_opt("broken").await.expect("an answer").is_none());
}
