//! Tables: what `kubectl get` prints is made here, not in kubectl.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::json_path;
use crate::{
    kind::{Cell, Column, Kind},
    kinds::since,
};

/// How much of the object goes with its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Include {
    /// Nothing.
    None,
    /// Its metadata.
    Metadata,
    /// All of it.
    Object,
}

impl Include {
    /// Reads the parameter `includeObject`.
    pub fn parse(text: &str) -> Self {
        match text {
            "None" => Self::None,
            "Object" => Self::Object,
            _ => Self::Metadata,
        }
    }
}

/// A table of these objects.
pub fn table(kind: &Kind, objects: &[Value], metadata: Value, include: Include, now: Timestamp) -> Value {
    let rows: Vec<Value> = objects.iter().map(|object| row(kind, object, include, now)).collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": headings(kind), "rows": rows,
    })
}

/// The metadata of an object alone.
pub fn partial(object: &Value) -> Value {
    json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"] })
}

fn has_own_name(kind: &Kind) -> bool {
    // Events put their name last, and only where there is room.
    kind.columns.iter().any(|column| column.name == "Name")
}

fn headings(kind: &Kind) -> Value {
    let heading = |column: &Column| {
        json!({
            "name": column.name, "type": column.kind, "format": column.format,
            "description": column.description, "priority": column.priority,
        })
    };
    let name = json!({
        "name": "Name", "type": "string", "format": "name", "priority": 0,
        "description": "Name must be unique within a namespace.",
    });
    let first = (!has_own_name(kind)).then_some(name);
    first.into_iter().chain(kind.columns.iter().map(heading)).collect()
}

fn row(kind: &Kind, object: &Value, include: Include, now: Timestamp) -> Value {
    let name = (!has_own_name(kind)).then(|| object["metadata"]["name"].clone());
    let cells: Vec<Value> = name.into_iter().chain(kind.columns.iter().map(|one| cell(one, object, now))).collect();
    let mut row = json!({ "cells": cells });
    match include {
        Include::None => {}
        Include::Metadata => row["object"] = partial(object),
        Include::Object => row["object"] = object.clone(),
    }
    row
}

fn cell(column: &Column, object: &Value, now: Timestamp) -> Value {
    let path = match &column.cell {
        Cell::Of(of) => return of(object, now),
        Cell::Path(path) => path,
    };
    let found = json_path::find(object, path);
    let Some(first) = found.first().copied().filter(|value| !value.is_null()) else {
        // A missing string is an empty cell in built-in tables, none at all in custom ones; kubectl prints both alike.
        return if column.kind == "date" { json!("<unknown>") } else { Value::Null };
    };
    match column.kind.as_str() {
        "integer" => first.as_i64().map_or(Value::Null, |number| json!(number)),
        "number" => first.as_f64().map_or(Value::Null, |number| json!(number)),
        "boolean" => first.as_bool().map_or(Value::Null, |truth| json!(truth)),
        "date" => json!(since(first, now)),
        _ => {
            let texts: Vec<String> = found.iter().map(|value| plain(value)).collect();
            json!(texts.join(" "))
        }
    }
}

/// A value as text: strings without quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_come_from_paths_and_functions() {
        let mut kind = Kind::new("g.io", "v1", "Thing", "things");
        kind.columns = vec![
            Column::path("Phase", ".status.phase"),
            Column { kind: "integer".into(), ..Column::path("Size", ".spec.size") },
            Column::path("Ready", r#".status.conditions[?(@.type=="Ready")].status"#),
            Column::age(),
        ];
        let now = "2026-01-01T00:10:00Z".parse().expect("a time");
        let object = json!({
            "metadata": { "name": "a", "creationTimestamp": "2026-01-01T00:00:00Z" }, "spec": { "size": 3 },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }] },
        });
        let table = table(&kind, &[object], json!({}), Include::None, now);
        assert_eq!(table["rows"][0], json!({ "cells": ["a", null, 3, "True", "10m"] }));
        assert_eq!(table["columnDefinitions"].as_array().map(Vec::len), Some(5));
    }
}
