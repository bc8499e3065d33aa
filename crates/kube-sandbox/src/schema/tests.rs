//! Schemas against recorded answers of a real kube-apiserver (1.36), and their laws.

use std::sync::{Arc, LazyLock};

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
    let recorded = recording(include_str!("../../testdata/validate.json"));
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

fn schema_of(kind: &Value) -> Arc<Schema> {
    static THINGS: LazyLock<Arc<Schema>> = LazyLock::new(|| {
        let recorded = recording(include_str!("../../testdata/validate.json"));
        Schema::from_crd(&recorded["schema"]).expect("a schema").into()
    });
    match kind.as_str() {
        Some("Thing") => THINGS.clone(),
        Some("Deployment") => builtin_schema::schema("apps", "v1", "Deployment").expect("a built-in kind"),
        kind => builtin_schema::schema("", "v1", kind.unwrap_or_default()).expect("a built-in kind"),
    }
}

#[test]
fn what_cannot_be_read_is_told_as_by_a_real_server() {
    let recorded = recording(include_str!("../../testdata/undecodable.json"));
    for case in items(&recorded) {
        let kind = case["kind"].as_str().expect("a kind");
        let ours = schema_of(&case["kind"]).undecodable(&case["body"]).unwrap_or_default();
        let ours = format!("{kind} in version \"v1\" cannot be handled as a {kind}: {ours}");
        assert_eq!(json!(ours), case["message"], "{}", case["body"]);
    }
}

#[test]
fn unknown_and_repeated_fields_are_named_as_by_a_real_server() {
    let recorded = recording(include_str!("../../testdata/strict.json"));
    for case in items(&recorded) {
        let message = case["message"].as_str().expect("a message");
        let Some((_, theirs)) = message.split_once("strict decoding error: ") else { continue };
        let text = case["body"].as_str().map_or_else(|| case["body"].to_string(), str::to_owned);
        let mut object: Value = serde_json::from_str(&text).expect("an object");
        let repeated = duplicate_fields(text.as_bytes()).into_iter().map(|field| format!("duplicate field {field:?}"));
        let unknown = schema_of(&case["kind"]).prune(&mut object);
        let unknown = unknown.into_iter().map(|field| format!("unknown field {field:?}"));
        assert_eq!(
            sorted(repeated.chain(unknown)),
            sorted(theirs.split(", ").map(str::to_owned)),
            "the order of unknown fields is by name with us"
        );
    }
}

#[test]
fn schemas_are_refused_as_by_a_real_server() {
    let recorded = recording(include_str!("../../testdata/crd.json"));
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

/// Any JSON, three levels deep, with names that schemas here know and some that they do not.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..100).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    let name = prop_oneof!["spec|size|ports|port|settings|free|deep|inner|level|tags|name|metadata|labels", "[x-z]"];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name.clone(), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn pruning_and_defaulting_twice_is_once(mut object in any_json()) {
        let schema = schema_of(&json!("Thing"));
        schema.prune(&mut object);
        prop_assert_eq!(schema.prune(&mut object), Vec::<String>::new());
        schema.default(&mut object);
        let once = object.clone();
        schema.default(&mut object);
        prop_assert_eq!(&object, &once);
        prop_assert_eq!(schema.prune(&mut object), Vec::<String>::new(), "defaults are known");
        schema.validate(&object, Some(&once));
        prop_assert_eq!(schema.validate(&object, Some(&object)), vec![], "what stays may stay wrong");
    }
}
