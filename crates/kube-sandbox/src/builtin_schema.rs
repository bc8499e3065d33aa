//! Schemas of the built-in kinds, derived from the types of the k8s-openapi crate.
//!
//! The crate knows fields, types and descriptions; what it does not know, how lists and maps merge,
//! stands in [`merging`]. Definitions refer to one another by name, as in Kubernetes' own documents,
//! so that a schema can contain itself and `ObjectMeta` exists once. All of it is made when first
//! asked for: the JSON of all definitions at once, the tree of each definition alone.

mod kinds;
mod merging;

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock, OnceLock},
};

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::schema::{
    Schema,
    node::{Node, Origin},
};

/// The schema of a built-in kind, if we have it.
pub fn schema(group: &str, version: &str, kind: &str) -> Option<Arc<Schema>> {
    let name = name(group, version, kind)?;
    Some(Arc::new(Schema::builtin(name, node(name))))
}

/// A definition as OpenAPI v3 documents have it, by its full name.
pub fn definition(name: &str) -> Option<&'static Value> {
    DEFINITIONS.get(name).map(|definition| &definition.json)
}

/// The full name of the definition of a kind: `io.k8s.api.core.v1.Pod`.
pub fn name(group: &str, version: &str, kind: &str) -> Option<&'static str> {
    kinds::KINDS.iter().find(|row| row.is(group, version, kind)).map(|row| (row.name)())
}

/// The tree of a definition; of one we do not have, one in which anything goes.
pub(crate) fn node(name: &str) -> &'static Node {
    static UNKNOWN: LazyLock<Node> = LazyLock::new(Node::open);
    DEFINITIONS.get(name).map_or(&*UNKNOWN, Definition::node)
}

/// Metadata of every object.
pub(crate) fn object_meta() -> &'static Node {
    static NODE: LazyLock<&Node> = LazyLock::new(|| node(OBJECT_META));
    &NODE
}

/// `apiVersion` and `kind` of every object.
pub(crate) fn type_meta_field() -> &'static Node {
    static NODE: LazyLock<Node> = LazyLock::new(|| Node::read(&json!({ "type": "string" }), Origin::Builtin));
    &NODE
}

/// Name of the definition of metadata.
pub const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
/// Name of the definition of the metadata of lists.
pub const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
/// Name of the definition of refusals.
pub const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
/// Name of the definition of the options of a delete.
pub const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";

struct Definition {
    name: String,
    json: Value,
    node: OnceLock<Node>,
}

impl Definition {
    fn node(&'static self) -> &'static Node {
        self.node.get_or_init(|| {
            if !SCHEMAS_OR_NOT.iter().any(|or_not| self.name == format!("{EXTENSIONS}{or_not}")) {
                return Node::read(&self.json, Origin::Builtin);
            }
            // Where they are schemas, their fields are known; where they are not, they have none.
            let mut shape = definition(&format!("{EXTENSIONS}JSONSchemaProps")).cloned().unwrap_or_default();
            if let Value::Object(fields) = &mut shape {
                fields.remove("type");
            }
            Node::read(&shape, Origin::Builtin)
        })
    }
}

const EXTENSIONS: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.";

/// A schema, or a list or a truth value in its place.
const SCHEMAS_OR_NOT: [&str; 3] = ["JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray"];

static DEFINITIONS: LazyLock<BTreeMap<String, Definition>> = LazyLock::new(|| {
    let mut generator = SchemaSettings::openapi3().into_generator();
    for row in kinds::KINDS {
        (row.describe)(&mut generator);
    }
    for describe in kinds::SUPPORT {
        describe(&mut generator);
    }
    let mut all = generator.take_definitions(false);
    mend(&mut all);
    merging::write(&mut all);
    for row in kinds::KINDS {
        if let Some(definition) = all.get_mut((row.name)()) {
            let kind = json!([{ "group": row.group, "version": row.version, "kind": row.kind }]);
            definition["x-kubernetes-group-version-kind"] = kind;
        }
    }
    all.into_iter().map(|(name, json)| (name.clone(), Definition { name, json, node: OnceLock::new() })).collect()
});

/// Where the crate describes its own types rather than what the wire may carry.
fn mend(all: &mut serde_json::Map<String, Value>) {
    let mut replace = |name: &str, with: Value| {
        if let Some(Value::Object(definition)) = all.get_mut(name) {
            definition.retain(|key, _| key == "description");
            definition.extend(with.as_object().cloned().unwrap_or_default());
        }
    };
    replace(&format!("{EXTENSIONS}JSON"), json!({}));
    for name in SCHEMAS_OR_NOT {
        replace(&format!("{EXTENSIONS}{name}"), json!({}));
    }
    let quantity = json!({ "oneOf": [{ "type": "string" }, { "type": "number" }] });
    replace("io.k8s.apimachinery.pkg.api.resource.Quantity", quantity);
    let int_or_string = json!({ "format": "int-or-string", "oneOf": [{ "type": "integer" }, { "type": "string" }] });
    replace("io.k8s.apimachinery.pkg.util.intstr.IntOrString", int_or_string);
}

#[cfg(test)]
mod tests;
