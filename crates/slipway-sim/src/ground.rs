//! The ground that the product stands on: its control plane and a garden, on one embedded Kubernetes API.
//!
//! What there is called what and what must be there before anybody works is written here once, for `slipway up`,
//! for the suites and for the benchmarks. The kinds of the control plane are the product's own, so whoever starts
//! it brings them along.

use std::sync::Arc;

use kube_sandbox::{
    cluster::{Cluster, Place},
    server::{Server, ServerError, Settings},
    status::Status,
};
use serde_json::{Value, json};

use crate::garden::{self, Garden, problems::CORE};

/// The cluster that the product keeps its own resources in.
pub const CONTROL_PLANE: &str = "kcp";
/// The cluster that carries Shoots.
pub const GARDEN: &str = garden::CLUSTER;
/// Namespace of Runtimes in the control plane.
pub const NAMESPACE: &str = "kcp-system";
/// Namespace of the project in the garden.
pub const PROJECT: &str = "garden-dev";
/// API group of Runtimes.
pub const RUNTIMES: &str = "infrastructuremanager.kyma-project.io";
/// API group of Shoots.
pub const SHOOTS: &str = CORE;

/// Control plane and garden.
pub struct Ground {
    /// The API that both are on, and the clusters of Shoots too.
    pub server: Server,
    /// The control plane.
    pub kcp: Cluster,
    /// The garden.
    pub garden: Arc<Garden>,
}

impl Ground {
    /// Starts both, with what they had if they keep something.
    pub async fn start(definitions: Vec<Value>, options: garden::Options) -> Result<Self, garden::Error> {
        let server = Server::start(Settings { folder: options.data.clone(), ..Settings::default() }).await?;
        let kcp = control_plane(&server, definitions).await?;
        let garden = Arc::new(Garden::on(server.clone(), options).await?);
        Ok(Self { server, kcp, garden })
    }

    /// A Runtime.
    pub fn runtime(&self, name: &str) -> Option<Value> {
        self.kcp.get(RUNTIMES, "runtimes", NAMESPACE, name)
    }

    /// What the manager keeps about a Runtime's cluster.
    pub fn gardener_cluster(&self, name: &str) -> Option<Value> {
        self.kcp.get(RUNTIMES, "gardenerclusters", NAMESPACE, name)
    }

    /// The Secret with the kubeconfig of a Runtime's cluster.
    pub fn secret(&self, name: &str) -> Option<Value> {
        self.kcp.get("", "secrets", NAMESPACE, &format!("kubeconfig-{name}"))
    }

    /// A Shoot.
    pub fn shoot(&self, name: &str) -> Option<Value> {
        self.garden.cluster().get(SHOOTS, "shoots", PROJECT, name)
    }

    /// How all Runtimes and Shoots are, for somebody who waits in vain.
    pub fn describe(&self) -> String {
        let told = |objects: &[Value]| -> Vec<String> {
            objects.iter().map(|object| format!("{}: {}", object["metadata"]["name"], object["status"])).collect()
        };
        let runtimes = self.kcp.list(RUNTIMES, "runtimes", NAMESPACE);
        format!("Runtimes {:#?}\nShoots {:#?}", told(&runtimes), told(&self.garden.shoots()))
    }
}

/// The control plane alone: its kinds, up to date, and its namespace.
pub async fn control_plane(server: &Server, definitions: Vec<Value>) -> Result<Cluster, ServerError> {
    let kcp = server.add_cluster(CONTROL_PLANE).await?;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    for object in definitions.into_iter().chain([namespace]) {
        ensure(&kcp, object).await?;
    }
    Ok(kcp)
}

/// Makes an object, or brings the one that is there up to date.
async fn ensure(cluster: &Cluster, object: Value) -> Result<(), Status> {
    let kind = cluster.kind_of(&object)?;
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    if cluster.get(&kind.group, &kind.plural, "", name).is_none() {
        return cluster.create(object).await.map(drop);
    }
    let place = Place { group: &kind.group, plural: &kind.plural, name, ..Place::default() };
    let Some(spec) = object.get("spec") else { return Ok(()) };
    cluster.update(&place, |there| there["spec"] = spec.clone()).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(column: &str) -> Value {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
            "additionalPrinterColumns": [{"name": column, "type": "string", "jsonPath": ".spec"}]});
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "runtimes.infrastructuremanager.kyma-project.io"},
            "spec": {"group": RUNTIMES, "scope": "Namespaced", "versions": [version],
                "names": {"plural": "runtimes", "singular": "runtime", "kind": "Runtime", "listKind": "RuntimeList"}},
        })
    }

    #[tokio::test]
    async fn a_newer_program_brings_its_kinds_up_to_date_and_keeps_what_is_there() {
        let server = Server::start(Settings::default()).await.expect("a server");
        let kcp = control_plane(&server, vec![definition("Old")]).await.expect("a control plane");
        let runtime = json!({"apiVersion": format!("{RUNTIMES}/v1"), "kind": "Runtime",
            "metadata": {"name": "shop", "namespace": NAMESPACE}});
        kcp.create(runtime).await.expect("its kind is served");
        control_plane(&server, vec![definition("New")]).await.expect("the same again");
        let name = "runtimes.infrastructuremanager.kyma-project.io";
        let kept = kcp.get("apiextensions.k8s.io", "customresourcedefinitions", "", name).expect("a definition");
        assert_eq!(kept["spec"]["versions"][0]["additionalPrinterColumns"][0]["name"], "New");
        assert!(kcp.get(RUNTIMES, "runtimes", NAMESPACE, "shop").is_some());
    }
}
