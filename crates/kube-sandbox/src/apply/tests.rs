//! Apply against recorded answers of a real kube-apiserver (1.36), and its laws.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{set::Set, *};
use crate::{builtin_schema, patch};

/// Conversations with a real server: each step with its answer, uids and the like taken out, times
/// counted in steps.
const RECORDED: &str = include_str!("../../testdata/apply.json");

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

fn things() -> &'static Schema {
    static THINGS: LazyLock<Schema> = LazyLock::new(|| {
        let recorded: Value = serde_json::from_str(RECORDED).expect("a recording");
        Schema::from_crd(&recorded["schema"]).expect("a schema")
    });
    &THINGS
}

fn by<'a>(name: &'a str, operation: Operation, time: &'a str) -> Manager<'a> {
    Manager { name, operation, api_version: "merge.example/v1", subresource: "", time }
}

fn thing(spec: Value) -> Value {
    json!({ "apiVersion": "merge.example/v1", "kind": "Thing", "metadata": { "name": "t" }, "spec": spec })
}

/// A spec as an applier might write it.
fn any_spec() -> impl Strategy<Value = Value> {
    let port = (1..4u16, prop::option::of("TCP|UDP"), prop::option::of("[a-c]"));
    let ports = prop::collection::btree_map(1..4u16, port, 0..3);
    let tags = prop::collection::btree_set("[a-d]", 0..4);
    let settings = prop::collection::btree_map("[a-d]", "[a-c]", 0..4);
    let args = prop::option::of(prop::collection::vec("[a-c]", 1..3));
    (any::<bool>(), ports, tags, settings, args).prop_map(|(has_name, ports, tags, settings, args)| {
        let mut spec = json!({ "size": 1 });
        if has_name {
            spec["name"] = json!("abc");
        }
        let ports: Vec<Value> = ports
            .into_iter()
            .map(|(port, (_, protocol, name))| {
                let mut item = json!({ "port": port });
                item["protocol"] = json!(protocol.unwrap_or_else(|| "TCP".to_owned()));
                if let Some(name) = name {
                    item["name"] = json!(name);
                }
                item
            })
            .collect();
        for (name, list) in [("ports", json!(ports)), ("tags", json!(tags))] {
            if list.as_array().is_some_and(|list| !list.is_empty()) {
                spec[name] = list;
            }
        }
        if !settings.is_empty() {
            spec["settings"] = json!(settings);
        }
        if let Some(args) = args {
            spec["args"] = json!(args);
        }
        spec
    })
}

fn without_managed(mut object: Value) -> Value {
    managed::remove(&mut object);
    object
}

proptest! {
    #[test]
    fn fields_survive_being_written_down(spec in any_spec()) {
        let schema = things();
        let set = walk::fields_of(Shape::Node(schema.root(), None), &thing(spec));
        prop_assert_eq!(Set::decode(&set.encode()), set);
    }

    #[test]
    fn applying_twice_is_applying_once(first in any_spec(), second in any_spec()) {
        let schema = things();
        let (a, b) = (by("a", Operation::Apply, "1"), by("b", Operation::Apply, "2"));
        let live = apply(None, &thing(first), &a, false, schema).expect("the first");
        let once = apply(Some(&live), &thing(second.clone()), &b, true, schema).expect("the second");
        let again = by("b", Operation::Apply, "3");
        let twice = apply(Some(&once), &thing(second), &again, false, schema).expect("the second again");
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn what_an_applier_says_is_so_and_what_it_drops_is_gone(first in any_spec(), second in any_spec()) {
        let schema = things();
        let (a, b) = (by("a", Operation::Apply, "1"), by("b", Operation::Apply, "2"));
        let alone = apply(None, &thing(first), &a, false, schema).expect("the first");
        let other = json!({ "size": 1 });
        let both = apply(Some(&alone), &thing(other.clone()), &b, true, schema).expect("a small second");
        if let Ok(more) = apply(Some(&both), &thing(second), &b, false, schema) {
            let less = apply(Some(&more), &thing(other), &b, false, schema).expect("less again");
            prop_assert_eq!(without_managed(less), without_managed(alone));
        }
    }

    #[test]
    fn updates_are_owned_by_whoever_made_them(first in any_spec(), second in any_spec()) {
        let schema = things();
        let mut old = thing(first);
        track_update(None, &mut old, &by("a", Operation::Update, "1"), schema);
        let mut new = thing(second);
        track_update(Some(&old), &mut new, &by("b", Operation::Update, "2"), schema);
        let shape = Shape::Node(schema.root(), None);
        let difference = compare(shape, &without_managed(old.clone()), &without_managed(new.clone()));
        let changed = difference.modified.union(&difference.added);
        let entries = managed::decode(Some(&new));
        let owned = |name: &str| {
            entries.iter().find(|entry| entry.manager == name).map(|entry| entry.set.clone()).unwrap_or_default()
        };
        prop_assert_eq!(owned("b"), changed.clone());
        prop_assert!(owned("a").intersection(&changed).is_empty());
        prop_assert!(owned("a").intersection(&difference.removed).is_empty());
    }
}
