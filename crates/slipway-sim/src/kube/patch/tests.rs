//! Patches against recorded answers of a real kube-apiserver (1.36), and their laws.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::kube::{builtin_schema, schema::Schema};

/// Patches of objects, each with the answer; defaults that the server fills in are in the objects.
const RECORDED: &str = include_str!("../../../testdata/kube/patch.json");

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
