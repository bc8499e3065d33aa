//! The annotation of `kubectl apply` on the client's side, where it meets apply on ours.
//!
//! Somebody who moves from one to the other owns the same fields twice: as the updater the old way
//! made of them, and by the annotation. kubectl, and nobody else, may take those over without a
//! conflict, and the annotation is kept up to date for as long as it is there.

use serde_json::{Value, json};

use super::{
    set::Set,
    shape::Shape,
    walk::{compare, fields_of},
};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The fields kubectl owns by its annotation: what it says and what still is so.
pub(super) fn fields(shape: Shape<'_>, live: &Value) -> Option<Set> {
    let text = live.get("metadata")?.get("annotations")?.get(LAST_APPLIED)?.as_str()?;
    let last: Value = serde_json::from_str(text).ok()?;
    if last.get("apiVersion") != live.get("apiVersion") {
        return None;
    }
    let comparison = compare(shape, &last, live);
    let changed = comparison.modified.union(&comparison.added).union(&comparison.removed);
    Some(fields_of(shape, &last).difference(&changed))
}

/// Brings the annotation up to date, if there is one.
pub(super) fn write(object: &mut Value, applied: &Value) {
    let annotations = object.get_mut("metadata").and_then(|metadata| metadata.get_mut("annotations"));
    let annotation = annotations.and_then(|annotations| annotations.get_mut(LAST_APPLIED));
    let Some(annotation) = annotation.filter(|text| text.as_str().is_some_and(|text| !text.is_empty())) else { return };
    let mut applied = applied.clone();
    if let Some(Value::Object(annotations)) = applied.pointer_mut("/metadata/annotations") {
        annotations.remove(LAST_APPLIED);
    }
    *annotation = json!(format!("{applied}\n"));
}
