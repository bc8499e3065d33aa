//! What extensions bring into a Shoot's cluster: the kinds their users write.
//!
//! A real extension deploys a controller and its kinds. Here nobody acts on the objects; that they can be
//! written and read is what clients of the cluster need.

use kube_sandbox::{cluster::Cluster, status::Status};
use serde_json::{Value, json};

use crate::garden::value::{is_true, list, text};

/// A kind that comes with an extension.
struct Brought {
    extension: &'static str,
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    kind: &'static str,
    /// Members its spec must have.
    required: &'static [&'static str],
}

const BROUGHT: &[Brought] = &[Brought {
    extension: "shoot-oidc-service",
    group: "authentication.gardener.cloud",
    version: "v1alpha1",
    plural: "openidconnects",
    kind: "OpenIDConnect",
    required: &["clientID", "issuerURL"],
}];

/// Makes the kinds of the Shoot's extensions that are not there yet. What is there stays, also when an
/// extension is switched off: objects of customers are not thrown away.
pub async fn bring(cluster: &Cluster, shoot: &Value) -> Result<(), Status> {
    for Brought { extension, group, version, plural, kind, required } in BROUGHT {
        let is_on = list(shoot, "spec.extensions")
            .iter()
            .any(|one| text(one, "type") == *extension && !is_true(one, "disabled"));
        let name = format!("{plural}.{group}");
        if !is_on || cluster.get("apiextensions.k8s.io", "customresourcedefinitions", "", &name).is_some() {
            continue;
        }
        let schema = json!({"type": "object", "properties": {"spec": {
            "type": "object", "required": required, "x-kubernetes-preserve-unknown-fields": true}}});
        cluster
            .create(json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name},
                "spec": {
                    "group": group, "scope": "Cluster",
                    "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")},
                    "versions": [{"name": version, "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
                },
            }))
            .await?;
    }
    Ok(())
}
