//! Apply against recorded answers of a real kube-apiserver (1.36), and its laws.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{set::Set, *};
use crate::kube::{builtin_schema, patch};

/// Conversations with a real server: each step with its answer, uids and the like taken out, times
/// counted in steps.
const RECORDED: &str = include_str!("../../../testdata/kube/apply.json");

/// The part of a server that apply stands in.
fn replay(step: &Value, at: usize, live: Option<&Value>, schema: &Schema) -> Result<Value, Status> {
    let text = |name: &str| step[name].as_str().unwrap_or_default();
    let (body, is_status) = (&step["body"], text("sub") == "status");
    let time = format!("2026-01-01T00:00:{at:02}Z");
    let operation = if text("verb") == "apply" { Operation::Apply } else { Operation::Update };
    let api_version = live.unwrap_or(body)["apiVersion"].as_str().expect("a version").to_owned();
    let manager =
        Manager { name: text("manager"), operation, api_version: &api_version, subresource: text("sub"), time: &time };
    let mut new = match text("verb") {
        "create" | "update" => body.clone(),
        "merge" => patch::merge(live.expect("an object"), body)?,
        "json" => patch::json(live.expect("an object"), body)?,
        "strategic" => patch::strategic(live.expect("an object"), body, schema)?,
        _ => apply(live, body, &manager, step["force"] == true, schema)?,
    };
    schema.prune(&mut new);
    schema.default(&mut new);
    let kept = if is_status { "spec" } else { "status" };
    match live.and_then(|live| live.get(kept)) {
        Some(value) => new[kept] = value.clone(),
        None => drop(new.as_object_mut().expect("an object").remove(kept)),
    }
    if operation == Operation::Update {
        track_update(live, &mut new, &manager, schema);
    }
    let causes = schema.validate(&new, live);
    if causes.is_empty() { Ok(new) } else { Err(Status::invalid("", "", "", causes)) }
}

fn schema_of(recorded: &Value, kind: &str) -> std::sync::Arc<Schema> {
    match kind {
        "Thing" => Schema::from_crd(&recorded["schema"]).expect("a schema").into(),
        "Deployment" => builtin_schema::schema("apps", "v1", kind).expect("a built-in kind"),
        _ => builtin_schema::schema("", "v1", kind).expect("a built-in kind"),
    }
}

#[test]
fn every_recorded_answer_of_a_real_server_is_ours_too() {
    let recorded: Value = serde_json::from_str(RECORDED).expect("a recording");
    let mut wrong = Vec::new();
    for case in recorded["cases"].as_array().expect("cases") {
        let kind = case["kind"].as_str().expect("a kind");
        let schema = schema_of(&recorded, kind);
        let mut live: Option<Value> = None;
        for (at, step) in case["steps"].as_array().expect("steps").iter().enumerate() {
            let name = format!("{} #{at}", case["name"]);
            let (code, answer) = (step["code"].as_u64().unwrap_or_default(), &step["answer"]);
            match replay(step, at, live.as_ref(), &schema) {
                // Of kinds whose defaults are code we know the fields we were told.
                Ok(mut ours) if code < 300 => {
                    let has_defaults = kind == "Service" || (live.is_none() && kind == "Deployment");
                    let mut theirs = answer.clone();
                    if has_defaults {
                        ours = ours["metadata"].take();
                        theirs = theirs["metadata"].take();
                    }
                    if ours != theirs {
                        wrong.push(format!("{name}:\n ours   {ours}\n theirs {theirs}"));
                    }
                }
                Err(status) if u64::from(status.code) == code => {
                    let fields = |status: &Value| {
                        let mut fields: Vec<String> = status["details"]["causes"]
                            .as_array()
                            .into_iter()
                            .flatten()
                            .map(|cause| cause.to_string())
                            .collect();
                        fields.sort();
                        fields
                    };
                    let ours = status.to_json();
                    // The real server goes through maps in any order.
                    let lines = |text: &Value| {
                        let mut lines: Vec<String> =
                            text.as_str().unwrap_or_default().lines().map(str::to_owned).collect();
                        lines.sort();
                        lines
                    };
                    let same_text = code == 422 || lines(&ours["message"]) == lines(&answer["message"]);
                    if fields(&ours) != fields(answer) || !same_text {
                        wrong.push(format!("{name}:\n ours   {ours}\n theirs {answer}"));
                    }
                }
                ours => wrong.push(format!("{name}: {code}\n ours   {ours:?}\n theirs {answer}")),
            }
            if code < 300 {
                live = Some(answer.clone());
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
}
