//! What the extension for logins does in a real garden: it brings its kind into every cluster that has it.

use serde_json::{Value, json};
use slipway_sim::{garden::Garden, kube::server::Server};

/// The kind of a customer's login.
fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "openidconnects.authentication.gardener.cloud"},
        "spec": {
            "group": "authentication.gardener.cloud", "scope": "Cluster",
            "names": {"plural": "openidconnects", "singular": "openidconnect", "kind": "OpenIDConnect", "listKind": "OpenIDConnectList"},
            "versions": [{"name": "v1alpha1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "required": ["clientID", "issuerURL"],
                    "x-kubernetes-preserve-unknown-fields": true}}}}}],
        },
    })
}

/// Looks after the cluster of a Shoot, if it has one.
async fn care(server: &Server, shoot: &Value) {
    let Some(id) = shoot["status"]["technicalID"].as_str() else { return };
    let Some(cluster) = server.cluster(id) else { return };
    let (group, kind) = ("apiextensions.k8s.io", "customresourcedefinitions");
    if cluster.get(group, kind, "", "openidconnects.authentication.gardener.cloud").is_none() {
        // Two looks may meet; the second finds it there.
        let _ = cluster.create(definition()).await;
    }
}

/// Looks after every cluster there is, for as long as it is polled. Its Shoot changes often while it is made.
pub(crate) async fn play(server: Server, garden_cluster: slipway_sim::kube::cluster::Cluster) {
    let mut watch = garden_cluster.watch("core.gardener.cloud", "shoots", None).expect("Shoots");
    while let Some(event) = watch.next().await {
        match event {
            Ok(event) => care(&server, &event.object.value()).await,
            // Too slow: look at all of them.
            Err(_) => {
                for shoot in garden_cluster.list("core.gardener.cloud", "shoots", "") {
                    care(&server, &shoot).await;
                }
            }
        }
    }
}

/// The same, in the background.
pub(crate) fn start(server: &Server, garden: &Garden) -> tokio::task::JoinHandle<()> {
    tokio::spawn(play(server.clone(), garden.cluster().clone()))
}
