//! Namespaces: a finalizer of their own keeps them until they are empty.

use serde_json::{Value, json};

use crate::{
    kind::{Ctx, Strategy},
    metadata,
    status::Status,
};

/// Namespaces a cluster cannot be without.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// The label every namespace has.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

#[derive(Debug)]
pub(super) struct Namespaces;

impl Strategy for Namespaces {
    fn create(&self, object: &mut Value, _: &Ctx<'_>) -> Result<(), Status> {
        let finalizers = object["spec"]["finalizers"].as_array().cloned().unwrap_or_default();
        let own = json!("kubernetes");
        let finalizers: Vec<Value> =
            if finalizers.contains(&own) { finalizers } else { finalizers.into_iter().chain([own]).collect() };
        object["spec"] = json!({ "finalizers": finalizers });
        object["status"] = json!({ "phase": "Active" });
        object["metadata"]["labels"][NAME_LABEL] = object["metadata"]["name"].clone();
        Ok(())
    }

    fn update(&self, new: &mut Value, old: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        if ctx.subresource != "finalize" {
            new["spec"] = old["spec"].clone();
        }
        if ctx.subresource == "finalize" {
            new["status"] = old["status"].clone();
        }
        new["metadata"]["labels"][NAME_LABEL] = new["metadata"]["name"].clone();
        Ok(())
    }

    fn may_delete(&self, object: &Value, _: &Ctx<'_>) -> Result<(), Status> {
        let name = metadata::text(object, "name");
        if IMMORTAL.contains(&name) {
            return Err(Status::forbidden("", "namespaces", name, "this namespace may not be deleted"));
        }
        Ok(())
    }

    fn mark_deleted(&self, object: &mut Value) {
        object["status"]["phase"] = json!("Terminating");
    }
}
