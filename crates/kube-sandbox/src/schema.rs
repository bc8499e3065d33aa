//! Structural schemas: what a kind's objects may look like.
//!
//! One type for custom resources, whose schema comes with their definition, and for built-in kinds,
//! whose schema is derived from their types ([`super::builtin_schema`]). Everything here is a pure
//! function of a schema and an object; the order in which the server calls them is its own affair:
//! prune, default, validate.

mod cel;
mod cel_value;
mod checks;
mod correlate;
mod decode;
mod default;
mod duplicates;
mod embedded;
mod format;
mod lists;
pub(crate) mod node;
mod path;
mod prune;
mod rules;
mod structural;
mod supported;
#[cfg(test)]
mod tests;
mod typing;
mod validate;

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};

use self::node::{Node, Origin};
use super::status::{Cause, CauseReason};

pub use duplicates::duplicate_fields;

/// A structural OpenAPI v3 schema, of a custom resource or of a built-in kind.
#[derive(Debug)]
pub struct Schema {
    json: Value,
    digest: u64,
    root: Root,
}

#[derive(Debug)]
enum Root {
    Own(Box<Node>),
    Typed(Box<Node>),
    Builtin(&'static Node),
}

/// Where the real server says a schema stands if all versions have the same one, as most have.
const COMMON_PATH: &str = "spec.validation.openAPIV3Schema";

impl Schema {
    /// From `spec.versions[].schema.openAPIV3Schema` of a CustomResourceDefinition with one version, or
    /// with the same schema in all versions. Refuses what the real server refuses; the causes name the
    /// field from the root of the definition, as it does.
    pub fn from_crd(open_api_v3_schema: &Value) -> Result<Self, Vec<Cause>> {
        Self::from_crd_at(COMMON_PATH, open_api_v3_schema)
    }

    /// The same where versions differ: `at` is `spec.versions[1].schema.openAPIV3Schema`.
    pub fn from_crd_at(at: &str, open_api_v3_schema: &Value) -> Result<Self, Vec<Cause>> {
        let mut causes = structural::refusals(open_api_v3_schema, at);
        if causes.is_empty() {
            causes = supported::defaults(open_api_v3_schema, at);
        }
        let structural = causes.is_empty();
        causes.extend(supported::refusals(open_api_v3_schema, at, structural));
        if !causes.is_empty() {
            return Err(causes);
        }
        let mut root = Node::read(open_api_v3_schema, Origin::Custom);
        root.embedded = true;
        Ok(Self::new(open_api_v3_schema.clone(), Root::Own(Box::new(root))))
    }

    /// Of a kind that an aggregated API server serves: written down as for a definition, but objects are
    /// read as those of built-in kinds, into types.
    pub fn typed(open_api_v3_schema: &Value) -> Self {
        let mut root = Node::read(open_api_v3_schema, Origin::Builtin);
        root.embedded = true;
        Self::new(open_api_v3_schema.clone(), Root::Typed(Box::new(root)))
    }

    /// Anything goes.
    pub fn open() -> Self {
        let json = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let mut root = Node::read(&json, Origin::Custom);
        root.embedded = true;
        Self::new(json, Root::Own(Box::new(root)))
    }

    /// Of a built-in kind; the JSON refers to its definition.
    pub(crate) fn builtin(name: &str, node: &'static Node) -> Self {
        Self::new(json!({ "$ref": format!("{}{name}", node::REFERENCE) }), Root::Builtin(node))
    }

    fn new(json: Value, root: Root) -> Self {
        let mut hasher = DefaultHasher::new();
        json.to_string().hash(&mut hasher);
        Self { digest: hasher.finish(), json, root }
    }

    /// Why the object cannot be read at all, before anything is pruned; 400 with `{kind} in version
    /// "{version}" cannot be handled as a {kind}: ` before it.
    pub fn undecodable(&self, object: &Value) -> Option<String> {
        let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
        match &self.root {
            Root::Own(node) => decode::custom(node, object),
            Root::Typed(node) => decode::builtin(node, kind, object).or_else(|| decode::custom(node, object)),
            Root::Builtin(node) => decode::builtin(node, kind, object),
        }
    }

    /// Objects are read into types, so a strategic merge patch knows how lists merge.
    pub fn is_typed(&self) -> bool {
        !matches!(self.root, Root::Own(_))
    }

    /// Removes fields the schema does not know, and names them, sorted, as strict decoding does: `spec.foo`.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        prune::prune(self.root(), object)
    }

    /// Fills in defaults. Nulls that may not be there become the default or go.
    pub fn default(&self, object: &mut Value) {
        default::default(self.root(), object);
    }

    /// All that is wrong with the object; `old` is what it replaces.
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<Cause> {
        let root = self.root();
        let mut causes = Vec::new();
        validate::validate(root, object, old, "", &mut causes);
        embedded::check(root, object, "", &mut causes);
        lists::duplicates(root, object, "", &mut causes);
        if !causes.iter().any(blocks_rules) {
            cel::check(root, object, old, "", &mut causes);
        } else if has_rules(root) {
            causes.push(Cause {
                field: "<nil>".to_owned(),
                reason: CauseReason::FieldValueInvalid,
                message: "Invalid value: null: some validation rules were not checked because the object was invalid; \
                          correct the existing errors to complete validation"
                    .to_owned(),
            });
        }
        causes
    }

    /// The schema as it is published in OpenAPI documents; of built-in kinds a reference to
    /// [`super::builtin_schema::definition`].
    pub fn as_json(&self) -> &Value {
        &self.json
    }

    /// A number that changes with the schema, for whoever keeps documents made of it.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// The root of the tree.
    pub(crate) fn root(&self) -> &Node {
        match &self.root {
            Root::Own(node) | Root::Typed(node) => node,
            Root::Builtin(node) => node,
        }
    }
}

/// Rules would stumble over these, so they are not run.
fn blocks_rules(cause: &Cause) -> bool {
    use CauseReason::{
        FieldValueNotSupported, FieldValueRequired, FieldValueTooLong, FieldValueTooMany, FieldValueTypeInvalid,
    };
    let blocking =
        [FieldValueNotSupported, FieldValueRequired, FieldValueTooLong, FieldValueTooMany, FieldValueTypeInvalid];
    blocking.contains(&cause.reason)
}

fn has_rules(node: &Node) -> bool {
    // Only custom resources have rules, and their schemas refer to nothing but themselves.
    let own = |child: &node::Child| matches!(child, node::Child::Own(node) if has_rules(node));
    !node.rules.is_empty()
        || node.properties.values().any(own)
        || node.items.as_ref().is_some_and(own)
        || matches!(&node.additional, node::Additional::Each(child) if own(child))
}
