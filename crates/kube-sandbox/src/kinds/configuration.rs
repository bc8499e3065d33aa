//! Secrets, ConfigMaps and Leases: small content, many rules.

use base64::{Engine as _, prelude::BASE64_STANDARD as BASE64};
use serde_json::{Map, Value, json};

use crate::{
    kind::{Ctx, Strategy},
    metadata,
    status::{Cause, Status},
};

/// All values of one object together.
const LIMIT: usize = 1_048_576;

/// Keys each type of Secret must have.
const REQUIRED: [(&str, &[&str]); 4] = [
    ("kubernetes.io/dockercfg", &[".dockercfg"]),
    ("kubernetes.io/dockerconfigjson", &[".dockerconfigjson"]),
    ("kubernetes.io/ssh-auth", &["ssh-privatekey"]),
    ("kubernetes.io/tls", &["tls.crt", "tls.key"]),
];

const KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const FIXED: &str = "field is immutable when `immutable` is set";

#[derive(Debug)]
pub(super) struct Secrets;

#[derive(Debug)]
pub(super) struct ConfigMaps;

#[derive(Debug)]
pub(super) struct Leases;

fn fields<'a>(object: &'a Value, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    object[key].as_object().into_iter().flatten()
}

/// Absent and empty are the same.
fn drop_empty(object: &mut Value, parts: &[&str]) {
    if let Some(fields) = object.as_object_mut() {
        let empty = |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
        fields.retain(|key, value| !(parts.contains(&key.as_str()) && empty(value)));
    }
}

fn keys(object: &Value, part: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (key, _) in fields(object, part) {
        let field = format!("{part}[{key}]");
        if key.len() > 253 {
            causes.push(Cause::invalid(&field, &json!(key), "must be no more than 253 bytes"));
        }
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)) {
            causes.push(Cause::invalid(&field, &json!(key), KEY));
        } else if key == "." || key.starts_with("..") {
            let rule = if key.len() < 3 { format!("must not be '{key}'") } else { "must not start with '..'".into() };
            causes.push(Cause::invalid(&field, &json!(key), &rule));
        }
    }
    causes
}

fn fixed(new: &Value, old: &Value, parts: &[&str]) -> Vec<Cause> {
    let mut causes = Vec::new();
    if old["immutable"] == json!(true) {
        if new["immutable"] != json!(true) {
            causes.push(Cause::forbidden("immutable", FIXED));
        }
        let same = |part: &&&str| {
            new[**part].as_object().unwrap_or(&Map::new()) == old[**part].as_object().unwrap_or(&Map::new())
        };
        causes.extend(parts.iter().filter(|part| !same(part)).map(|part| Cause::forbidden(*part, FIXED)));
    }
    causes
}

impl Secrets {
    fn settle(object: &mut Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        if let Some(Value::Object(texts)) = object.as_object_mut().and_then(|fields| fields.remove("stringData")) {
            for (key, text) in texts {
                object["data"][key] = json!(BASE64.encode(text.as_str().unwrap_or_default()));
            }
        }
        if object["type"].as_str().is_none_or(str::is_empty) {
            object["type"] = json!("Opaque");
        }
        let mut size = 0;
        for (_, value) in fields(object, "data").filter(|(_, value)| !value.is_null()) {
            let text = value.as_str().unwrap_or_default();
            let bytes = BASE64.decode(text).map_err(|_| {
                let at = text
                    .bytes()
                    .position(|b| !b.is_ascii_alphanumeric() && !b"+/=".contains(&b))
                    .unwrap_or(text.len() / 4 * 4);
                Status::bad_request(format!(
                    "Secret in version \"v1\" cannot be handled as a Secret: illegal base64 data at input byte {at}"
                ))
            })?;
            size += bytes.len();
        }
        drop_empty(object, &["data"]);
        let mut causes = keys(object, "data");
        if size > LIMIT {
            causes.push(Cause::too_long("data", LIMIT));
        }
        causes.extend(Self::by_type(object));
        Status::unless_valid("", "Secret", metadata::text(object, "name"), causes)?;
        let _ = ctx;
        Ok(())
    }

    fn by_type(object: &Value) -> Vec<Cause> {
        let kind = object["type"].as_str().unwrap_or_default();
        let has = |key: &str| object["data"].get(key).is_some();
        let required = REQUIRED.iter().filter(|(name, _)| *name == kind).flat_map(|(_, keys)| keys.iter());
        let mut causes: Vec<Cause> =
            required.filter(|key| !has(key)).map(|key| Cause::required(format!("data[{key}]"), "")).collect();
        match kind {
            "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
                causes.push(Cause::required("data[username]", ""));
                causes.push(Cause::required("data[password]", ""));
            }
            "kubernetes.io/service-account-token" => {
                let key = "kubernetes.io/service-account.name";
                if object["metadata"]["annotations"][key].as_str().is_none_or(str::is_empty) {
                    causes.push(Cause::required(format!("metadata.annotations[{key}]"), ""));
                }
            }
            "kubernetes.io/dockerconfigjson" | "kubernetes.io/dockercfg" => {
                let key = kind.replace("kubernetes.io/", ".");
                let bytes = object["data"][&key].as_str().and_then(|text| BASE64.decode(text).ok());
                if bytes.is_some_and(|bytes| serde_json::from_slice::<Map<String, Value>>(&bytes).is_err()) {
                    let hidden = json!("<secret contents redacted>");
                    causes.push(Cause::invalid(format!("data[{key}]"), &hidden, "invalid character"));
                }
            }
            _ => {}
        }
        causes
    }
}

impl Strategy for Secrets {
    fn create(&self, object: &mut Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        Self::settle(object, ctx)
    }

    fn update(&self, new: &mut Value, old: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        if new["type"].as_str().is_none_or(str::is_empty) {
            new["type"] = old["type"].clone();
        }
        Self::settle(new, ctx)?;
        let mut causes = Vec::new();
        if new["type"] != old["type"] {
            causes.push(Cause::invalid("type", &new["type"], "field is immutable"));
        }
        causes.extend(fixed(new, old, &["data"]));
        Status::unless_valid("", "Secret", metadata::text(new, "name"), causes)
    }
}

impl ConfigMaps {
    fn check(object: &Value) -> Vec<Cause> {
        let mut causes = keys(object, "data");
        causes.extend(keys(object, "binaryData"));
        for (key, _) in fields(object, "binaryData").filter(|(key, _)| object["data"].get(key.as_str()).is_some()) {
            let rule = "duplicate of key present in data";
            causes.push(Cause::invalid(format!("binaryData[{key}]"), &json!(key), rule));
        }
        let size = |part: &str| -> usize {
            fields(object, part).map(|(_, value)| value.as_str().unwrap_or_default().len()).sum()
        };
        if size("data") + size("binaryData") * 3 / 4 > LIMIT {
            // The real server names no field here, and prints the empty list of names.
            causes.push(Cause::too_long("[]", LIMIT));
        }
        causes
    }
}

impl Strategy for ConfigMaps {
    fn create(&self, object: &mut Value, _: &Ctx<'_>) -> Result<(), Status> {
        drop_empty(object, &["data", "binaryData"]);
        Status::unless_valid("", "ConfigMap", metadata::text(object, "name"), Self::check(object))
    }

    fn update(&self, new: &mut Value, old: &Value, _: &Ctx<'_>) -> Result<(), Status> {
        drop_empty(new, &["data", "binaryData"]);
        let mut causes = fixed(new, old, &["data", "binaryData"]);
        causes.extend(Self::check(new));
        Status::unless_valid("", "ConfigMap", metadata::text(new, "name"), causes)
    }
}

impl Leases {
    fn check(object: &Value) -> Result<(), Status> {
        let mut causes = Vec::new();
        for (key, least, rule) in [
            ("leaseDurationSeconds", 1, "must be greater than 0"),
            ("leaseTransitions", 0, "must be greater than or equal to 0"),
        ] {
            let value = &object["spec"][key];
            if value.as_i64().is_some_and(|number| number < least) {
                causes.push(Cause::invalid(format!("spec.{key}"), value, rule));
            }
        }
        Status::unless_valid("coordination.k8s.io", "Lease", metadata::text(object, "name"), causes)
    }
}

impl Strategy for Leases {
    fn create(&self, object: &mut Value, _: &Ctx<'_>) -> Result<(), Status> {
        Self::check(object)
    }

    fn update(&self, new: &mut Value, _: &Value, _: &Ctx<'_>) -> Result<(), Status> {
        Self::check(new)
    }
}
