//! The paths of a kind and what can be done there.

use serde_json::{Map, Value, json};

use super::{Served, refer};
use crate::builtin_schema;

/// Query parameters: name, type, what it is for.
type Parameter = (&'static str, &'static str, &'static str);

const DRY_RUN: Parameter =
    ("dryRun", "string", "Nothing is stored. The only valid value is All: every stage but storing is run.");
const FIELD_MANAGER: Parameter =
    ("fieldManager", "string", "Who makes this change, at most 128 printable characters; owns the fields it sets.");
const FIELD_VALIDATION: Parameter = (
    "fieldValidation",
    "string",
    "What happens to unknown and repeated fields: Ignore drops them, Warn (the default) drops them and warns, Strict refuses the request.",
);
const FORCE: Parameter =
    ("force", "boolean", "Apply takes fields from their owners instead of refusing. Only for apply patches.");
const WRITE: &[Parameter] = &[DRY_RUN, FIELD_MANAGER, FIELD_VALIDATION];
const PATCH: &[Parameter] = &[DRY_RUN, FIELD_MANAGER, FIELD_VALIDATION, FORCE];
const LIST: &[Parameter] = &[
    ("allowWatchBookmarks", "boolean", "Watches may send events that only tell how far they are."),
    ("continue", "string", "Where to go on with a list that was cut by a limit."),
    ("fieldSelector", "string", "Chooses objects by their fields."),
    ("labelSelector", "string", "Chooses objects by their labels."),
    ("limit", "integer", "The most objects in one answer."),
    ("resourceVersion", "string", "How new the answer must be."),
    ("resourceVersionMatch", "string", "How the resource version is meant."),
    ("sendInitialEvents", "boolean", "A watch begins with what is there."),
    ("timeoutSeconds", "integer", "How long the call may take."),
    ("watch", "boolean", "Changes are sent as they happen."),
];
const DELETE: &[Parameter] = &[
    DRY_RUN,
    ("gracePeriodSeconds", "integer", "How long the object may take to end; zero ends it at once."),
    ("orphanDependents", "boolean", "Deprecated, use propagationPolicy: whether dependents are left behind."),
    ("propagationPolicy", "string", "What happens to dependents: Orphan, Background or Foreground."),
];

/// A media type of a patch, and whether only kinds with types take it.
const PATCH_TYPES: &[(&str, bool)] = &[
    ("application/apply-patch+yaml", false),
    ("application/json-patch+json", false),
    ("application/merge-patch+json", false),
    ("application/strategic-merge-patch+json", true),
];

/// Name of the definition of patches.
pub(super) const PATCH_DEFINITION: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";

/// All paths of a kind.
pub(super) fn paths(kind: &Served<'_>) -> Vec<(String, Value)> {
    let scope = if kind.namespaced { "/namespaces/{namespace}" } else { "" };
    let root = format!("/{}", kind.path());
    let collection = format!("{root}{scope}/{}", kind.plural);
    let item = format!("{collection}/{{name}}");
    let mut paths = vec![(collection, collection_item(kind)), (item.clone(), object_item(kind, ""))];
    for subresource in kind.subresources {
        paths.push((format!("{item}/{subresource}"), object_item(kind, subresource)));
    }
    if kind.namespaced {
        let everywhere = json!({ "get": operation(kind, "list", LIST, kind.list_definition_name()) });
        paths.push((format!("{root}/{}", kind.plural), everywhere));
    }
    paths
}

fn collection_item(kind: &Served<'_>) -> Value {
    json!({
        "parameters": path_parameters(kind, false),
        "get": operation(kind, "list", LIST, kind.list_definition_name()),
        "post": with_body(operation(kind, "post", WRITE, kind.definition_name()), &["*/*"], &kind.definition_name()),
        "delete": operation(kind, "deletecollection", DELETE, builtin_schema::STATUS.to_owned()),
    })
}

fn object_item(kind: &Served<'_>, subresource: &str) -> Value {
    let name = kind.definition_name();
    let types: Vec<&str> =
        PATCH_TYPES.iter().filter(|(_, typed)| !typed || kind.schema.is_typed()).map(|(media, _)| *media).collect();
    let mut item = json!({
        "parameters": path_parameters(kind, true),
        "get": operation(kind, "get", &[], name.clone()),
        "put": with_body(operation(kind, "put", WRITE, name.clone()), &["*/*"], &name),
        "patch": with_body(operation(kind, "patch", PATCH, name), &types, PATCH_DEFINITION),
    });
    if subresource.is_empty() {
        let delete = operation(kind, "delete", DELETE, builtin_schema::STATUS.to_owned());
        item["delete"] = with_body(delete, &["*/*"], builtin_schema::DELETE_OPTIONS);
    }
    item
}

fn path_parameters(kind: &Served<'_>, of_object: bool) -> Value {
    let parameter = |name: &str, description: String| json!({ "name": name, "in": "path", "required": true, "description": description, "schema": { "type": "string" } });
    let mut parameters = Vec::new();
    if of_object {
        parameters.push(parameter("name", format!("name of the {}", kind.kind)));
    }
    if kind.namespaced {
        parameters.push(parameter("namespace", format!("namespace of the {}", kind.plural)));
    }
    Value::Array(parameters)
}

fn operation(kind: &Served<'_>, action: &str, parameters: &[Parameter], answer: String) -> Value {
    let parameters: Vec<Value> = parameters
        .iter()
        .map(|(name, ty, description)| {
            json!({ "name": name, "in": "query", "description": description, "schema": { "type": ty } })
        })
        .collect();
    json!({
        "description": format!("{action} {}", kind.plural),
        "parameters": parameters,
        "responses": {
            "200": { "description": "OK", "content": { "application/json": { "schema": refer(&answer) } } },
            "401": { "description": "Unauthorized" },
        },
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": kind.group_version_kind(kind.kind),
    })
}

fn with_body(mut operation: Value, media_types: &[&str], definition: &str) -> Value {
    let content: Map<String, Value> =
        media_types.iter().map(|media| ((*media).to_owned(), json!({ "schema": refer(definition) }))).collect();
    operation["requestBody"] = json!({ "required": true, "content": content });
    operation
}
