//! What is written: a custom resource with a schema, in two sizes.
//!
//! The small one is as large as a typical Secret or Lease with its metadata, the large one as a
//! Shoot as Gardener keeps it.

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, ObjectMeta, PostParams},
    core::GroupVersionKind,
};
use serde_json::{Value, json};
use slipway_engine::SystemClock;
use slipway_model::{ports::Clock, time::millis};

/// Bytes of a small object, without what the server adds.
pub(super) const SMALL: usize = 700;

/// Bytes of a large one.
pub(super) const LARGE: usize = 9_000;

const GROUP: &str = "bench.slipway.dev";

/// The collection of a namespace.
pub(super) fn widgets(client: &Client, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &resource())
}

/// Path of the same.
pub(super) fn path(namespace: &str) -> String {
    format!("/apis/{GROUP}/v1/namespaces/{namespace}/widgets")
}

fn resource() -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, "v1", "Widget"), "widgets")
}

/// An object of about this many bytes.
pub(super) fn widget(name: &str, bytes: usize) -> DynamicObject {
    let mut parts = Vec::new();
    let mut object = DynamicObject { types: None, metadata: ObjectMeta::default(), data: Value::Null };
    object.types = Some(kube::api::TypeMeta { api_version: format!("{GROUP}/v1"), kind: "Widget".to_owned() });
    object.metadata.name = Some(name.to_owned());
    object.metadata.labels = Some([("app".to_owned(), "bench".to_owned())].into());
    let mut length = 200;
    while length < bytes {
        let part = json!({
            "name": format!("part-{:04}", parts.len()), "machine": "m5.xlarge", "minimum": 3, "maximum": 20,
            "zones": ["eu-central-1a", "eu-central-1b"], "annotations": { "example.org/owner": "somebody" },
        });
        length += part.to_string().len() + 1;
        parts.push(part);
    }
    object.data = json!({ "spec": { "round": 0, "writer": 0, "sentAt": 0, "parts": parts } });
    object
}

/// Makes the kind and the namespaces known to a server, and waits until it serves them.
pub(super) async fn prepare(client: &Client, namespaces: &[&str]) -> Result<(), String> {
    let part = json!({ "type": "object", "required": ["name"], "properties": {
        "name": { "type": "string", "maxLength": 63, "pattern": "^[a-z0-9-]+$" },
        "machine": { "type": "string" },
        "minimum": { "type": "integer", "minimum": 0 },
        "maximum": { "type": "integer", "minimum": 0, "maximum": 300 },
        "zones": { "type": "array", "items": { "type": "string" } },
        "annotations": { "type": "object", "additionalProperties": { "type": "string" } },
    } });
    let schema = json!({ "type": "object", "properties": {
        "spec": { "type": "object", "properties": {
            "round": { "type": "integer" }, "writer": { "type": "integer" },
            "sentAt": { "type": "integer", "format": "int64" },
            "parts": { "type": "array", "items": part },
        } },
        "status": { "type": "object", "properties": { "phase": { "type": "string" } } },
    } });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("widgets.{GROUP}") },
        "spec": { "group": GROUP, "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
            "versions": [{ "name": "v1", "served": true, "storage": true,
                "subresources": { "status": {} }, "schema": { "openAPIV3Schema": schema } }] },
    });
    make(client, "apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", definition).await?;
    for namespace in namespaces {
        let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
        make(client, "", "Namespace", "namespaces", object).await?;
    }
    let clock = SystemClock::default();
    let limit = clock.monotonic() + millis(30_000);
    let probe = widgets(client, namespaces[0]);
    loop {
        // A write, because a real server serves reads of a new kind a moment before it takes writes.
        match probe.create(&PostParams::default(), &widget("probe", SMALL)).await {
            Ok(_) => return Ok(()),
            Err(error) if clock.monotonic() > limit => return Err(format!("the kind is not served: {error}")),
            Err(_) => clock.sleep(millis(50)).await,
        }
    }
}

async fn make(client: &Client, group: &str, kind: &str, plural: &str, object: Value) -> Result<(), String> {
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural);
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let object = serde_json::from_value(object).map_err(|error| error.to_string())?;
    api.create(&PostParams::default(), &object).await.map_err(|error| format!("cannot make a {kind}: {error}"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_have_about_the_size_that_was_asked_for() {
        for bytes in [SMALL, LARGE] {
            let length = serde_json::to_string(&widget("widget-00001", bytes)).expect("JSON").len();
            assert!(length > bytes * 9 / 10 && length < bytes * 12 / 10 + 100, "{length} for {bytes}");
        }
    }
}
