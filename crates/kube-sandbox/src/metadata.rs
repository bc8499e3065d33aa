//! The part of an object that belongs to the server: identity, generation, deletion.
//!
//! Clients send metadata back as they read it, often stale or made up. What the server owns is
//! put back silently, as the real one does; what the client owns is checked.

use serde_json::{Map, Value, json};

use super::{
    kind::{Generation, Kind},
    names,
    status::{Cause, Status},
};
use crate::clock;

/// Fields only the server sets; a client's values are ignored.
const SERVER_OWNED: [&str; 6] =
    ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink"];

/// Finalizers that need no domain in front.
const STANDARD_FINALIZERS: [&str; 3] = ["orphan", "foregroundDeletion", "kubernetes"];

/// `metadata.<field>` as text; empty if it is not there.
pub fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

/// `metadata`, made an object if it is none.
pub fn of(object: &mut Value) -> &mut Map<String, Value> {
    if !object.is_object() {
        *object = json!({});
    }
    let metadata = &mut object["metadata"];
    if !metadata.is_object() {
        *metadata = json!({});
    }
    metadata.as_object_mut().expect("made an object above")
}

/// `metadata.finalizers`.
pub fn finalizers(object: &Value) -> Vec<&str> {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Is being deleted.
pub fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// Gives a new object what the server owns.
pub fn begin(kind: &Kind, object: &mut Value, namespace: &str, now: jiff::Timestamp) {
    let metadata = of(object);
    for field in SERVER_OWNED {
        metadata.remove(field);
    }
    metadata.remove("resourceVersion");
    metadata.insert("uid".to_owned(), json!(clock::uid()));
    metadata.insert("creationTimestamp".to_owned(), json!(clock::seconds(now)));
    if kind.generation != Generation::None {
        metadata.insert("generation".to_owned(), json!(1));
    }
    if kind.namespaced {
        metadata.insert("namespace".to_owned(), json!(namespace));
    } else {
        metadata.remove("namespace");
    }
    drop_empty(metadata);
}

/// Gives a changed object back what the server owns, and tells what of it the client tried to set: deletion
/// begins with DELETE alone. Once it has begun, another time is ignored but another grace period is not.
pub fn carry_over(kind: &Kind, new: &mut Value, old: &Value) -> Vec<Cause> {
    let metadata = of(new);
    let mut tried = vec!["deletionGracePeriodSeconds"];
    tried.extend(Some("deletionTimestamp").filter(|_| !is_deleting(old)));
    let immutable = |field: &&str| {
        let wanted =
            metadata.get(*field).filter(|wanted| !wanted.is_null() && Some(*wanted) != old["metadata"].get(*field));
        wanted.map(|wanted| Cause::invalid(format!("metadata.{field}"), wanted, "field is immutable"))
    };
    let causes = tried.iter().filter_map(immutable).collect();
    for field in SERVER_OWNED.iter().chain(&["name", "namespace"]) {
        match old["metadata"].get(*field) {
            Some(value) => drop(metadata.insert((*field).to_owned(), value.clone())),
            None => drop(metadata.remove(*field)),
        }
    }
    drop_empty(metadata);
    new["apiVersion"] = json!(kind.api_version());
    new["kind"] = json!(kind.kind);
    causes
}

/// Raises the generation, if the change is one that does.
pub fn move_generation(kind: &Kind, new: &mut Value, old: &Value) {
    let changed = match kind.generation {
        Generation::None => return,
        Generation::Spec => new.get("spec") != old.get("spec"),
        Generation::AllButStatus => {
            let rest = |object: &Value| -> Map<String, Value> {
                let fields = object.as_object().cloned().unwrap_or_default();
                let outside = |key: &str| key == "metadata" || (key == "status" && kind.has_status());
                fields.into_iter().filter(|(key, _)| !outside(key)).collect()
            };
            rest(new) != rest(old)
        }
    };
    let before = old["metadata"]["generation"].as_i64().unwrap_or(0);
    new["metadata"]["generation"] = json!(before + i64::from(changed));
}

/// Absent, null and empty are the same for these, and the real server leaves them out.
fn drop_empty(metadata: &mut Map<String, Value>) {
    let empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    metadata.retain(|_, value| !empty(value));
}

/// What is wrong with the client's part of the metadata.
pub fn validate(kind: &Kind, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let metadata = &object["metadata"];
    let mut causes = Vec::new();
    if old.is_none() {
        let name = text(object, "name");
        let field = if text(object, "generateName").is_empty() { "metadata.name" } else { "metadata.generateName" };
        if name.is_empty() {
            causes.push(Cause::required("metadata.name", "name or generateName is required"));
        } else {
            let wrong = names::name(kind.naming, name);
            causes.extend(wrong.iter().map(|rule| Cause::invalid(field, &json!(name), rule)));
        }
    }
    causes.extend(names::labels("metadata.labels", &metadata["labels"]));
    causes.extend(names::annotations("metadata.annotations", &metadata["annotations"]));
    for (index, finalizer) in finalizers(object).into_iter().enumerate() {
        let field = format!("metadata.finalizers[{index}]");
        let wrong = names::qualified_name(finalizer);
        causes.extend(wrong.iter().map(|rule| Cause::invalid("metadata.finalizers", &json!(finalizer), rule)));
        if wrong.is_empty()
            && !finalizer.contains('/')
            && !STANDARD_FINALIZERS.contains(&finalizer)
            && kind.is_built_in()
        {
            let rule = "name is neither a standard finalizer name nor is it fully qualified";
            causes.push(Cause::invalid(field, &json!(finalizer), rule));
        }
    }
    causes.extend(owners(&metadata["ownerReferences"]));
    if let Some(old) = old.filter(|old| is_deleting(old)) {
        let before = finalizers(old);
        let added: Vec<&str> = finalizers(object).into_iter().filter(|one| !before.contains(one)).collect();
        if !added.is_empty() {
            let listed: Vec<String> = added.iter().map(|one| format!("{one:?}")).collect();
            let rule = "no new finalizers can be added if the object is being deleted, found new finalizers";
            let detail = format!("{rule} []string{{{}}}", listed.join(", "));
            causes.push(Cause::forbidden("metadata.finalizers", &detail));
        }
    }
    causes
}

fn owners(references: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut controller: Option<String> = None;
    for (index, owner) in references.as_array().into_iter().flatten().enumerate() {
        let field = format!("metadata.ownerReferences[{index}]");
        for (key, rule) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            if owner[key].as_str().unwrap_or_default().is_empty() {
                causes.push(Cause::invalid(format!("{field}.{key}"), &json!(""), rule));
            }
        }
        if owner["controller"] == json!(true) {
            let this = owner["kind"].as_str().unwrap_or_default().to_owned();
            if let Some(first) = &controller {
                let rule = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                );
                causes.push(Cause::invalid("metadata.ownerReferences", references, &rule));
            }
            controller = controller.or(Some(this));
        }
    }
    causes
}

/// Refuses a body that is about another object than the path.
pub fn check_place(kind: &Kind, object: &Value, namespace: &str, name: Option<&str>) -> Result<(), Status> {
    let body_name = text(object, "name");
    if let Some(name) = name.filter(|name| !body_name.is_empty() && body_name != *name) {
        let why = format!("the name of the object ({body_name}) does not match the name on the URL ({name})");
        return Err(Status::bad_request(why));
    }
    let body_namespace = text(object, "namespace");
    if kind.namespaced && !body_namespace.is_empty() && body_namespace != namespace {
        let why = match name {
            None => "the namespace of the provided object does not match the namespace sent on the request".to_owned(),
            Some(_) => format!(
                "the namespace of the object ({body_namespace}) does not match the namespace on the URL ({namespace})"
            ),
        };
        return Err(Status::bad_request(why));
    }
    Ok(())
}

/// The same object, apart from its version and the times of its managed fields. Every write asks this, and objects
/// are large: nothing is copied for the answer.
pub fn is_same(new: &Value, old: &Value) -> bool {
    fn apart_from<'a>(left_out: &'a [&str], of: &'a Value) -> impl Iterator<Item = (&'a String, &'a Value)> {
        let members = of.as_object().into_iter().flatten();
        members.filter(move |(key, _)| !left_out.contains(&key.as_str()))
    }
    fn managed(object: &Value) -> &[Value] {
        object["metadata"]["managedFields"].as_array().map_or(&[], Vec::as_slice)
    }
    let same = |left_out: &[&str], new: &Value, old: &Value| apart_from(left_out, new).eq(apart_from(left_out, old));
    let (managed_now, managed_then) = (managed(new), managed(old));
    same(&["metadata"], new, old)
        && same(&["resourceVersion", "managedFields"], &new["metadata"], &old["metadata"])
        && managed_now.len() == managed_then.len()
        && managed_now.iter().zip(managed_then).all(|(now, then)| same(&["time"], now, then))
}
