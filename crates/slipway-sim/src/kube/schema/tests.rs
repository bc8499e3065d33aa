//! Schemas against recorded answers of a real kube-apiserver (1.36), and their laws.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{super::builtin_schema, *};

fn recording(text: &str) -> Value {
    serde_json::from_str(text).expect("a recording")
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn as_json(causes: &[Cause]) -> Vec<String> {
    let shown = causes.iter().map(|cause| {
        json!({ "field": cause.field, "reason": cause.reason.as_str(), "message": cause.message }).to_string()
    });
    sorted(shown)
}

fn sorted(causes: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = causes.collect();
    all.sort();
    all.dedup();
    all
}

#[test]
fn objects_are_accepted_and_refused_as_by_a_real_server() {
    let recorded = recording(include_str!("../../../testdata/kube/validate.json"));
    let schema = Schema::from_crd(&recorded["schema"]).expect("a schema");
    let mut wrong = Vec::new();
    for case in items(&recorded["cases"]) {
        let mut old = None;
        for step in items(&case["steps"]) {
            let mut object = json!({ "apiVersion": "merge.example/v1", "kind": "Thing", "spec": step["spec"] });
            schema.prune(&mut object);
            schema.default(&mut object);
            let causes = schema.validate(&object, old.as_ref());
            let theirs = sorted(items(&step["causes"]).iter().map(ToString::to_string));
            if as_json(&causes) != theirs {
                wrong.push(format!("{}\n ours   {:#?}\n theirs {theirs:#?}", case["name"], as_json(&causes)));
            } else if theirs.is_empty() && object["spec"] != step["stored"] {
                wrong.push(format!("{}\n ours   {}\n theirs {}", case["name"], object["spec"], step["stored"]));
            } else if theirs.is_empty() {
                old = Some(object);
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn schemas_are_refused_as_by_a_real_server() {
    let recorded = recording(include_str!("../../../testdata/kube/crd.json"));
    let mut wrong = Vec::new();
    for case in items(&recorded) {
        let ours = as_json(&Schema::from_crd(&case["schema"]).err().unwrap_or_default());
        let theirs = sorted(items(&case["causes"]).iter().map(ToString::to_string));
        if ours != theirs {
            wrong.push(format!("{}\n ours   {ours:#?}\n theirs {theirs:#?}", case["name"]));
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
}
