//! A custom resource of one case: its own group, so that cases cannot meet.

use std::ops::Deref;

use kube_sandbox::contract::{Cx, Json as _};
use serde_json::{Value, json};

/// A definition that is being written, for kind `Widget` in version `v1`.
pub(super) struct Draft<'a> {
    cx: &'a Cx,
    group: String,
    version: Value,
}

/// A created definition; dereferences to its definition as the server stored it.
pub(super) struct Crd {
    pub(super) group: String,
    namespace: String,
    definition: Value,
}

/// Draws up definitions.
impl Crd {
    /// With a schema for the whole object.
    pub(super) fn of(cx: &Cx, properties: Value) -> Draft<'_> {
        let group = format!("{}.example.com", cx.ns);
        let schema = json!({ "type": "object", "properties": properties });
        let version = json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } });
        Draft { cx, group, version }
    }

    /// With `spec.size`, a number, `spec.color`, a text, and a status that takes anything.
    pub(super) fn simple(cx: &Cx) -> Draft<'_> {
        Self::of(
            cx,
            json!({
                "spec": {
                    "type": "object",
                    "properties": { "size": { "type": "integer" }, "color": { "type": "string" } },
                },
                "status": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            }),
        )
    }

    /// The path of the widgets, with something appended: `/a`, `/a/status`, `?limit=1`.
    pub(super) fn path(&self, rest: &str) -> String {
        format!("/apis/{}/v1/namespaces/{}/widgets{rest}", self.group, self.namespace)
    }

    /// A widget.
    pub(super) fn widget(&self, name: &str, spec: Value) -> Value {
        json!({
            "apiVersion": format!("{}/v1", self.group), "kind": "Widget", "metadata": { "name": name }, "spec": spec,
        })
    }

    /// The path of the definition.
    pub(super) fn definition_path(&self) -> String {
        format!("{DEFINITIONS}/widgets.{}", self.group)
    }
}

impl Deref for Crd {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.definition
    }
}

pub(super) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

impl Draft<'_> {
    /// Sets a field of the version.
    pub(super) fn set(mut self, field: &str, value: Value) -> Self {
        self.version[field] = value;
        self
    }

    /// With a status subresource.
    pub(super) fn with_status(self) -> Self {
        self.set("subresources", json!({ "status": {} }))
    }

    /// The definition, not created.
    pub(super) fn definition(&self) -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("widgets.{}", self.group) },
            "spec": {
                "group": self.group, "scope": "Namespaced",
                "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
                "versions": [self.version],
            },
        })
    }

    /// Creates it and waits until it is served.
    pub(super) async fn create(self) -> Crd {
        let definition = self.definition();
        self.create_as(definition).await
    }

    /// The same with a definition that was changed after it was drawn up.
    pub(super) async fn create_as(self, definition: Value) -> Crd {
        let Self { cx, group, .. } = self;
        cx.post(DEFINITIONS, &definition).await.created();
        let mut crd = Crd { group, namespace: cx.ns.clone(), definition };
        let established = |definition: &Value| {
            let conditions = definition["status"]["conditions"].as_array().cloned().unwrap_or_default();
            conditions.iter().any(|c| c.text("/type") == "Established" && c.text("/status") == "True")
        };
        crd.definition = cx.until(&crd.definition_path(), |answer| established(&answer.body)).await.body;
        // Established means accepted; the paths appear a moment later.
        cx.until(&crd.path(""), |answer| answer.code == 200).await;
        crd
    }
}
