//! Wishes in the query and the media type of a write: dry run, manager, strictness, kind of patch.

use serde_json::{Value, json};

use super::{body, media::PROTOBUF, path::Query};
use crate::{
    delete::Options,
    kind::Kind,
    patching::Patch,
    status::{Cause, Status},
    write::FieldValidation,
};

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// How to write.
#[derive(Debug, Clone, Copy)]
pub struct Write<'a> {
    /// Who the fields will belong to.
    pub manager: &'a str,
    /// Store nothing.
    pub dry_run: bool,
    /// What to do about unknown fields.
    pub validation: FieldValidation,
}

impl Default for Write<'_> {
    fn default() -> Self {
        Self { manager: "", dry_run: false, validation: FieldValidation::Ignore }
    }
}

/// Reads the wishes of a write.
pub fn write<'a>(verb: &str, query: &'a Query, agent: &'a str, content_type: &str) -> Result<Write<'a>, Status> {
    let kind = match verb {
        "create" => "CreateOptions",
        "update" => "UpdateOptions",
        "patch" => "PatchOptions",
        _ => "DeleteOptions",
    };
    let refuse = |cause: Cause| Err(Status::invalid("meta.k8s.io", kind, "", vec![cause]));
    let dry_runs: Vec<&str> = query.all("dryRun").collect();
    if dry_runs.iter().any(|one| *one != "All") {
        return refuse(Cause::not_supported("dryRun", &json!(dry_runs), &["All"]));
    }
    let validation = match query.get("fieldValidation") {
        "" | "Warn" => FieldValidation::Warn,
        "Ignore" => FieldValidation::Ignore,
        "Strict" => FieldValidation::Strict,
        other => {
            return refuse(Cause::not_supported("fieldValidation", &json!(other), &["", "Ignore", "Strict", "Warn"]));
        }
    };
    let named = query.get("fieldManager");
    if named.len() > 128 {
        return refuse(Cause::too_long("fieldManager", 128));
    }
    if content_type == APPLY {
        if named.is_empty() {
            return refuse(Cause::required("fieldManager", "is required for apply patch"));
        }
    } else if verb == "patch" && !query.get("force").is_empty() {
        return refuse(Cause::forbidden("force", "may not be specified for non-apply patch"));
    }
    // Without a name, the program's: the part of its user agent before the version.
    let program = agent.split('/').next().unwrap_or_default();
    let manager = if named.is_empty() { program } else { named };
    Ok(Write { manager, dry_run: !dry_runs.is_empty(), validation })
}

/// Reads a patch.
pub fn patch(kind: &Kind, content_type: &str, body: &[u8], query: &Query) -> Result<Patch, Status> {
    let parse = || {
        serde_json::from_slice::<Value>(body)
            .map_err(|error| Status::bad_request(format!("error decoding patch: {error}")))
    };
    match content_type {
        JSON => Ok(Patch::Json(parse()?)),
        MERGE => Ok(Patch::Merge(parse()?)),
        STRATEGIC if !kind.is_custom() => Ok(Patch::Strategic(parse()?)),
        APPLY => {
            let object = body::yaml(body)
                .map_err(|error| Status::bad_request(format!("error decoding YAML: {}", error.message)))?;
            Ok(Patch::Apply { object, force: query.is("force") })
        }
        _ if kind.is_custom() => Err(Status::unsupported_media_type(&[JSON, MERGE, APPLY])),
        _ => Err(Status::unsupported_media_type(&[JSON, MERGE, STRATEGIC, APPLY])),
    }
}

/// Reads how to delete, and whether only to pretend.
pub fn delete(query: &Query, body: &[u8], content_type: &str) -> Result<(Options, bool), Status> {
    let mut options = if body.is_empty() {
        json!({})
    } else if ["", "application/json", "application/yaml", PROTOBUF].contains(&content_type) {
        body::parse(body, content_type)?
    } else {
        return Err(Status::unsupported_media_type(&["application/json", "application/yaml", PROTOBUF]));
    };
    check_delete_options(&options)?;
    for key in ["propagationPolicy", "orphanDependents"] {
        if !query.get(key).is_empty() {
            let text = query.get(key);
            options[key] = if key == "orphanDependents" { json!(text == "true") } else { json!(text) };
        }
    }
    let dry_run = options["dryRun"].as_array().is_some_and(|all| !all.is_empty()) || !query.get("dryRun").is_empty();
    Ok((Options::parse(&options)?, dry_run))
}

/// Refuses what is no `DeleteOptions` at all: deleting by mistake cannot be undone.
fn check_delete_options(options: &Value) -> Result<(), Status> {
    let kind = options["kind"].as_str().unwrap_or("DeleteOptions");
    if kind != "DeleteOptions" || !options.is_object() {
        let version = options["apiVersion"].as_str().unwrap_or_default();
        let why = format!("converting ({version}.{kind}) to (v1.DeleteOptions): unknown conversion");
        return Err(Status::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a DeleteOptions: {why}"
        )));
    }
    for (key, fits, wanted) in [
        (
            "gracePeriodSeconds",
            options["gracePeriodSeconds"].is_i64() || options["gracePeriodSeconds"].is_null(),
            "int64",
        ),
        (
            "propagationPolicy",
            options["propagationPolicy"].is_string() || options["propagationPolicy"].is_null(),
            "string",
        ),
        (
            "preconditions",
            options["preconditions"].is_object() || options["preconditions"].is_null(),
            "v1.Preconditions",
        ),
    ] {
        if !fits {
            return Err(Status::bad_request(format!(
                "DeleteOptions in version \"v1\" cannot be handled as a DeleteOptions: \
                 json: cannot unmarshal value into Go struct field DeleteOptions.{key} of type {wanted}"
            )));
        }
    }
    Ok(())
}
