//! Events: one kind with two faces. The older one is stored; the newer renames half of its fields.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::cells;
use crate::{
    kind::{Column, Convert, Ctx, Kind, Strategy},
    metadata,
    status::{Cause, Status},
};

/// Stored name and the newer kind's name of the same field.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Fields that can be selected, in the older kind's names.
const SELECTABLE: [&str; 11] = [
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];

/// The kind of the core group.
pub(super) fn core() -> Kind {
    let kind = Kind::new("", "v1", "Event", "events").namespaced().short(&["ev"]).creates_on_update();
    kind.selectable(&SELECTABLE).strategy(Events).columns(vec![
        Column::of("Last Seen", "string", last_seen),
        Column::path("Type", ".type"),
        Column::path("Reason", ".reason"),
        Column::of("Object", "string", object),
        Column::path("Subobject", ".involvedObject.fieldPath").wide(),
        Column::of("Source", "string", source).wide(),
        Column::of("Message", "string", message),
        Column::of("First Seen", "string", first_seen).wide(),
        Column::of("Count", "string", count).wide(),
        Column::path("Name", ".metadata.name").wide(),
    ])
}

#[derive(Debug)]
struct Events;

impl Strategy for Events {
    fn create(&self, event: &mut Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        let about = field(event, "involvedObject")["namespace"].as_str().unwrap_or_default();
        // What is in no namespace is told about in `default`.
        if about == ctx.namespace || (about.is_empty() && ctx.namespace == "default") {
            return Ok(());
        }
        let cause = Cause::invalid("involvedObject.namespace", &json!(about), "does not match event.namespace");
        Err(ctx.kind.invalid(metadata::text(event, "name"), vec![cause]))
    }
}

/// The kind of `events.k8s.io`.
pub(super) fn newer() -> Kind {
    let mut kind = core();
    kind.group = "events.k8s.io".to_owned();
    kind.convert = Some(Convert { from_stored: to_newer, to_stored: to_core });
    kind.columns = core().columns.into_iter().map(|column| Column { cell: column.cell.clone(), ..column }).collect();
    kind
}

fn to_newer(event: &mut Value) {
    rename(event, NAMES.map(|(core, newer)| (core, newer)));
}

fn to_core(event: &mut Value) {
    rename(event, NAMES.map(|(core, newer)| (newer, core)));
    event["apiVersion"] = json!("v1");
}

fn rename(event: &mut Value, names: [(&str, &str); 7]) {
    let Some(fields) = event.as_object_mut() else { return };
    for (from, to) in names {
        if let Some(value) = fields.remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
}

/// The field under either name.
fn field<'a>(event: &'a Value, core: &str) -> &'a Value {
    let newer = NAMES.iter().find(|(name, _)| *name == core).map_or(core, |(_, newer)| newer);
    event.get(core).or_else(|| event.get(newer)).unwrap_or(&Value::Null)
}

fn last_seen(event: &Value, now: Timestamp) -> Value {
    let series = &event["series"]["lastObservedTime"];
    let last = [series, field(event, "lastTimestamp"), field(event, "firstTimestamp"), &event["eventTime"]];
    json!(cells::since(last.into_iter().find(|time| time.is_string()).unwrap_or(&Value::Null), now))
}

fn first_seen(event: &Value, now: Timestamp) -> Value {
    let first = [field(event, "firstTimestamp"), &event["eventTime"]];
    json!(cells::since(first.into_iter().find(|time| time.is_string()).unwrap_or(&Value::Null), now))
}

fn object(event: &Value, _: Timestamp) -> Value {
    let object = field(event, "involvedObject");
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    json!(format!("{}/{}", text("kind").to_lowercase(), text("name")))
}

fn source(event: &Value, _: Timestamp) -> Value {
    let source = field(event, "source");
    let host = source["host"].as_str().map(|host| format!(", {host}")).unwrap_or_default();
    json!(format!("{}{host}", source["component"].as_str().unwrap_or_default()))
}

fn message(event: &Value, _: Timestamp) -> Value {
    json!(field(event, "message").as_str().unwrap_or_default().trim())
}

fn count(event: &Value, _: Timestamp) -> Value {
    let series = event["series"]["count"].as_i64();
    json!(series.or_else(|| field(event, "count").as_i64()).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_two_faces() {
        let stored = json!({ "apiVersion": "v1", "message": "m", "involvedObject": { "kind": "Pod", "name": "p" } });
        let mut event = stored.clone();
        to_newer(&mut event);
        assert_eq!((&event["note"], &event["regarding"]["name"]), (&json!("m"), &json!("p")));
        assert_eq!(object(&event, Timestamp::UNIX_EPOCH), object(&stored, Timestamp::UNIX_EPOCH));
        to_core(&mut event);
        assert_eq!(event, stored);
    }
}
