//! CustomResourceDefinitions: kinds that come as objects.
//!
//! A definition is checked when it is written, and served from the moment it is stored. Its status
//! follows (`controllers/definitions.rs`), so that clients which wait for `Established` see it come.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    kind::{CUSTOM, Cell, Column, Ctx, Generation, Kind, ServedBy, Strategy, Subresource},
    metadata, names,
    schema::Schema,
    status::{Cause, Status},
};

/// The table definitions are in.
pub const TABLE: &str = "customresourcedefinitions.apiextensions.k8s.io";

const GROUP: &str = "apiextensions.k8s.io";
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

#[derive(Debug)]
pub(super) struct Definitions;

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn versions(definition: &Value) -> impl Iterator<Item = &Value> {
    definition["spec"]["versions"].as_array().into_iter().flatten()
}

impl Definitions {
    fn settle(object: &mut Value) {
        let kind = text(&object["spec"]["names"], "kind").to_owned();
        let names = &mut object["spec"]["names"];
        if text(names, "singular").is_empty() {
            names["singular"] = json!(kind.to_lowercase());
        }
        if text(names, "listKind").is_empty() && !kind.is_empty() {
            names["listKind"] = json!(format!("{kind}List"));
        }
        if object["spec"]["conversion"].is_null() {
            object["spec"]["conversion"] = json!({ "strategy": "None" });
        }
        for version in object["spec"]["versions"].as_array_mut().into_iter().flatten() {
            for column in version["additionalPrinterColumns"].as_array_mut().into_iter().flatten() {
                if let Some(fields) = column.as_object_mut() {
                    fields.retain(|key, value| key != "priority" || value != &json!(0));
                }
            }
            // Indexing above leaves a null where there is nothing.
            if let Some(fields) = version.as_object_mut() {
                fields.retain(|_, value| !value.is_null());
            }
        }
    }

    fn check(object: &Value) -> Result<(), Status> {
        let (spec, names) = (&object["spec"], &object["spec"]["names"]);
        let (group, plural) = (text(spec, "group"), text(names, "plural"));
        let name = metadata::text(object, "name");
        let mut causes = Vec::new();
        if name != format!("{plural}.{group}") {
            let rule = "must be spec.names.plural+\".\"+spec.group";
            causes.push(Cause::invalid("metadata.name", &json!(name), rule));
        }
        if group.is_empty() {
            causes.push(Cause::required("spec.group", ""));
        } else if !group.contains('.') {
            let rule = "should be a domain with at least one dot";
            causes.push(Cause::invalid("spec.group", &spec["group"], rule));
        } else {
            let wrong = names::subdomain(group);
            causes.extend(wrong.iter().map(|rule| Cause::invalid("spec.group", &spec["group"], rule)));
        }
        causes.extend(approval(object, group));
        if !["Cluster", "Namespaced"].contains(&text(spec, "scope")) {
            if text(spec, "scope").is_empty() {
                causes.push(Cause::required("spec.scope", ""));
            } else {
                causes.push(Cause::not_supported("spec.scope", &spec["scope"], &["Cluster", "Namespaced"]));
            }
        }
        for key in ["plural", "singular", "kind", "listKind"] {
            if text(names, key).is_empty() {
                causes.push(Cause::required(format!("spec.names.{key}"), ""));
            }
        }
        if !text(names, "kind").is_empty() && names["kind"] == names["listKind"] {
            let rule = "kind and listKind may not be the same";
            causes.push(Cause::invalid("spec.names.listKind", &names["listKind"], rule));
        }
        causes.extend(Self::check_versions(object));
        Status::unless_valid(GROUP, "CustomResourceDefinition", name, causes)
    }

    fn check_versions(object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        if versions(object).filter(|version| version["storage"] == json!(true)).count() != 1 {
            let rule = "must have exactly one version marked as storage version";
            causes.push(Cause::invalid("spec.versions", &object["spec"]["versions"], rule));
        }
        for (index, version) in versions(object).enumerate() {
            let field = format!("spec.versions[{index}]");
            if versions(object).take(index).any(|other| other["name"] == version["name"]) {
                causes.push(Cause::invalid(
                    "spec.versions",
                    &object["spec"]["versions"],
                    "must contain unique version names",
                ));
            }
            let place = format!("{field}.schema.openAPIV3Schema");
            match version["schema"].get("openAPIV3Schema").filter(|schema| !schema.is_null()) {
                None => causes.push(Cause::required(place, "schemas are required")),
                Some(schema) => {
                    let is_common = versions(object).all(|other| other["schema"] == version["schema"]);
                    if !is_common || index == 0 {
                        let read =
                            if is_common { Schema::from_crd(schema) } else { Schema::from_crd_at(&place, schema) };
                        causes.extend(read.err().unwrap_or_default());
                    }
                }
            }
            for (index, column) in version["additionalPrinterColumns"].as_array().into_iter().flatten().enumerate() {
                let field = format!("{field}.additionalPrinterColumns[{index}]");
                let kinds = ["boolean", "date", "integer", "number", "string"];
                if !kinds.contains(&text(column, "type")) {
                    causes.push(Cause::not_supported(format!("{field}.type"), &column["type"], &kinds));
                }
                if text(column, "jsonPath").is_empty() {
                    causes.push(Cause::required(format!("{field}.JSONPath"), ""));
                }
            }
        }
        causes
    }
}

/// Groups of the Kubernetes project need its approval.
fn approval(object: &Value, group: &str) -> Option<Cause> {
    const KEY: &str = "api-approved.kubernetes.io";
    let is_protected =
        ["k8s.io", "kubernetes.io"].iter().any(|own| group == *own || group.ends_with(&format!(".{own}")));
    let found = object["metadata"]["annotations"][KEY].as_str().unwrap_or_default();
    if !is_protected || found.starts_with("https://") || found.starts_with("unapproved") {
        return None;
    }
    let field = format!("metadata.annotations[{KEY}]");
    let rule = format!(
        "protected groups must have approval annotation {KEY:?}, see https://github.com/kubernetes/enhancements/pull/1111"
    );
    Some(if found.is_empty() { Cause::required(field, &rule) } else { Cause::invalid(field, &json!(found), &rule) })
}

impl Strategy for Definitions {
    fn create(&self, object: &mut Value, _: &Ctx<'_>) -> Result<(), Status> {
        Self::settle(object);
        Self::check(object)?;
        let stored: Vec<&Value> = versions(object)
            .filter(|version| version["storage"] == json!(true))
            .map(|version| &version["name"])
            .collect();
        object["status"] = json!({
            "conditions": [], "acceptedNames": { "plural": "", "kind": "" }, "storedVersions": stored,
        });
        Ok(())
    }

    fn update(&self, new: &mut Value, old: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        if ctx.subresource == "status" {
            return Ok(());
        }
        Self::settle(new);
        Self::check(new)?;
        let mut causes = Vec::new();
        for (field, before, after) in [
            ("spec.group", &old["spec"]["group"], &new["spec"]["group"]),
            ("spec.names.plural", &old["spec"]["names"]["plural"], &new["spec"]["names"]["plural"]),
            ("spec.scope", &old["spec"]["scope"], &new["spec"]["scope"]),
            ("spec.names.kind", &old["spec"]["names"]["kind"], &new["spec"]["names"]["kind"]),
        ] {
            if before != after {
                causes.push(Cause::invalid(field, after, "field is immutable"));
            }
        }
        let known: Vec<&Value> = versions(new).map(|version| &version["name"]).collect();
        for (index, stored) in old["status"]["storedVersions"].as_array().into_iter().flatten().enumerate() {
            if !known.contains(&stored) {
                let rule = "missing from spec.versions; v1 was previously a storage version, and must remain in \
                    spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 \
                    from status.storedVersions";
                let rule = rule.replace("v1", stored.as_str().unwrap_or_default());
                causes.push(Cause::invalid(format!("status.storedVersions[{index}]"), stored, &rule));
            }
        }
        Status::unless_valid(GROUP, "CustomResourceDefinition", metadata::text(new, "name"), causes)?;
        let storage = versions(new).find(|version| version["storage"] == json!(true)).map(|one| one["name"].clone());
        if let (Some(storage), Some(stored)) = (storage, new["status"]["storedVersions"].as_array_mut())
            && !stored.contains(&storage)
        {
            stored.push(storage);
        }
        Ok(())
    }

    fn mark_deleted(&self, object: &mut Value) {
        // The cleanup finalizer keeps the definition until its objects are gone.
        if !metadata::finalizers(object).contains(&CLEANUP) {
            let mut finalizers = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
            finalizers.push(json!(CLEANUP));
            object["metadata"]["finalizers"] = json!(finalizers);
        }
    }
}

/// The finalizer that keeps a definition until its objects are gone.
pub(crate) const fn cleanup_finalizer() -> &'static str {
    CLEANUP
}

/// Names of this definition that another one of its group has already: reason and sentence.
pub fn conflicts(definition: &Value, others: &[Value]) -> Option<(&'static str, String)> {
    let names = &definition["spec"]["names"];
    let accepted = |other: &&Value| {
        other["spec"]["group"] == definition["spec"]["group"]
            && other["metadata"]["uid"] != definition["metadata"]["uid"]
            && other["status"]["acceptedNames"]["plural"] != ""
    };
    for other in others.iter().filter(accepted) {
        let taken = &other["status"]["acceptedNames"];
        for (key, reason) in [
            ("plural", "PluralConflict"),
            ("singular", "SingularConflict"),
            ("kind", "KindConflict"),
            ("listKind", "ListKindConflict"),
        ] {
            if !text(names, key).is_empty() && names[key] == taken[key] {
                return Some((reason, format!("{} is already in use", names[key])));
            }
        }
        for short in names["shortNames"].as_array().into_iter().flatten() {
            if taken["shortNames"].as_array().is_some_and(|names| names.contains(short)) {
                return Some(("ShortNamesConflict", format!("{short} is already in use")));
            }
        }
    }
    None
}

/// The kinds a definition makes, one for each served version.
pub fn served(definition: &Value) -> Vec<Kind> {
    let (spec, names) = (&definition["spec"], &definition["spec"]["names"]);
    let list = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
    };
    versions(definition)
        .filter(|version| version["served"] == json!(true))
        .map(|version| {
            let mut kind =
                Kind::new(text(spec, "group"), text(version, "name"), text(names, "kind"), text(names, "plural"));
            kind.list_kind = text(names, "listKind").to_owned();
            kind.singular = text(names, "singular").to_owned();
            kind.short_names = list(&names["shortNames"]);
            kind.categories = list(&names["categories"]);
            kind.namespaced = text(spec, "scope") == "Namespaced";
            kind.generation = Generation::AllButStatus;
            kind.served_by = ServedBy::Definition;
            kind.updates_name_version = true;
            kind.verbs = CUSTOM;
            kind.columns = columns(&version["additionalPrinterColumns"]);
            let schema = version["schema"].get("openAPIV3Schema").and_then(|schema| Schema::from_crd(schema).ok());
            kind.schema = Arc::new(schema.unwrap_or_else(Schema::open));
            let selectable = version["selectableFields"].as_array().into_iter().flatten();
            kind.selectable = selectable
                .filter_map(|one| one["jsonPath"].as_str())
                .map(|path| path.trim_start_matches('.').to_owned())
                .collect();
            if version["subresources"]["status"].is_object() {
                kind.subresources.push(Subresource::Status);
            }
            let scale = &version["subresources"]["scale"];
            if scale.is_object() {
                kind.subresources.push(Subresource::Scale {
                    spec: text(scale, "specReplicasPath").to_owned(),
                    status: text(scale, "statusReplicasPath").to_owned(),
                    selector: scale["labelSelectorPath"].as_str().map(ToOwned::to_owned),
                });
            }
            kind
        })
        .collect()
}

fn columns(columns: &Value) -> Vec<Column> {
    let Some(columns) = columns.as_array().filter(|columns| !columns.is_empty()) else { return vec![Column::age()] };
    columns
        .iter()
        .map(|column| Column {
            name: text(column, "name").to_owned(),
            kind: text(column, "type").to_owned(),
            format: text(column, "format").to_owned(),
            description: text(column, "description").to_owned(),
            priority: column["priority"].as_i64().and_then(|number| i32::try_from(number).ok()).unwrap_or(0),
            cell: Cell::Path(text(column, "jsonPath").to_owned()),
        })
        .collect()
}
