//! Patches against recorded answers of a real kube-apiserver (1.36), and their laws.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{builtin_schema, schema::Schema};

/// Patches of objects, each with the answer; defaults that the server fills in are in the objects.
const RECORDED: &str = include_str!("../../testdata/patch.json");

#[test]
fn every_recorded_answer_of_a_real_server_is_ours_too() {
    let recorded: Value = serde_json::from_str(RECORDED).expect("a recording");
    let mut wrong = Vec::new();
    for case in recorded.as_array().expect("cases") {
        let group = if case["kind"] == "Deployment" { "apps" } else { "" };
        let schema = builtin_schema::schema(group, "v1", case["kind"].as_str().expect("a kind")).expect("a schema");
        let (object, patch, answer) = (&case["object"], &case["patch"], &case["answer"]);
        let ours = match case["verb"].as_str() {
            Some("json") => super::json(object, patch),
            Some("merge") => merge(object, patch),
            _ => strategic(object, patch, &schema),
        };
        let ours = match ours {
            Ok(mut object) => {
                schema.prune(&mut object);
                schema.default(&mut object);
                (200, object)
            }
            Err(error) => {
                let status = Status::from(error).to_json();
                let reason = status.get("reason").cloned().unwrap_or_else(|| json!(""));
                (status["code"].as_u64().unwrap_or_default(), json!({ "message": status["message"], "reason": reason }))
            }
        };
        if json!(ours.0) != case["code"] || ours.1 != *answer {
            wrong.push(format!(
                "{} {patch} {}\n ours   {} {}\n theirs {answer}",
                case["verb"], case["code"], ours.0, ours.1
            ));
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
}

/// Any JSON without nulls.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        (0i64..9).prop_map(Value::from),
        "[a-c]".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 30, 4, |inner| {
        prop_oneof![prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from), any_object(inner),]
    })
}

fn any_object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let fields = prop::collection::btree_map("[a-d]", inner, 0..4);
    fields.prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

/// The merge patch that makes one object into the other.
fn difference(from: &Value, to: &Value) -> Value {
    match (from, to) {
        (Value::Object(from), Value::Object(to)) => {
            let gone = from.keys().filter(|name| !to.contains_key(*name)).map(|name| (name.clone(), Value::Null));
            let changed = to.iter().filter(|(name, value)| from.get(*name) != Some(value)).map(|(name, value)| {
                (name.clone(), from.get(name).map_or_else(|| value.clone(), |from| difference(from, value)))
            });
            Value::Object(gone.chain(changed).collect())
        }
        _ => to.clone(),
    }
}

proptest! {
    #[test]
    fn a_merge_patch_of_the_difference_makes_the_other(from in any_object(any_json()), to in any_object(any_json())) {
        prop_assert_eq!(merge(&from, &difference(&from, &to)), Ok(to));
    }

    #[test]
    fn a_patch_laid_twice_is_laid_once(object in any_object(any_json()), patch in any_object(any_json())) {
        let once = merge(&object, &patch).expect("a patch");
        prop_assert_eq!(merge(&once, &patch), Ok(once));
    }

    #[test]
    fn without_a_schema_a_strategic_patch_is_a_merge_patch(object in any_object(any_json()), to in any_object(any_json())) {
        let patch = difference(&object, &to);
        prop_assert_eq!(strategic(&object, &patch, &Schema::open()), merge(&object, &patch));
    }
}
