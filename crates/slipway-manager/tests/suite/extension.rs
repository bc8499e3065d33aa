//! What the extension for logins does in a real garden: it brings its kind into every cluster that has it.

use std::time::Duration;

use serde_json::{Value, json};
use slipway_sim::{clock, garden::Garden, kube::server::Server};

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

/// Looks after every cluster there is, for as long as it is polled.
pub(crate) async fn play(server: Server, garden_cluster: slipway_sim::kube::cluster::Cluster) {
    loop {
        for shoot in garden_cluster.list("core.gardener.cloud", "shoots", "") {
            let Some(id) = shoot["status"]["technicalID"].as_str() else { continue };
            let Some(cluster) = server.cluster(id) else { continue };
            if cluster
                .get(
                    "apiextensions.k8s.io",
                    "customresourcedefinitions",
                    "",
                    "openidconnects.authentication.gardener.cloud",
                )
                .is_none()
            {
                // Two looks may meet; the second finds it there.
                let _ = cluster.create(definition()).await;
            }
        }
        clock::sleep(Duration::from_millis(5)).await;
    }
}

/// The same, in the background.
pub(crate) fn start(server: &Server, garden: &Garden) -> tokio::task::JoinHandle<()> {
    tokio::spawn(play(server.clone(), garden.cluster().clone()))
}
