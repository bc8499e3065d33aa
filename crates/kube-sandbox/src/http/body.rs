//! From a request's body to an object, as strictly as the client wants.

use bytes::Bytes;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use super::{media::PROTOBUF, protobuf};
use crate::{
    kind::Kind,
    registry::Registry,
    schema,
    status::{Cause, Status},
    write::{Call, FieldValidation},
};

/// Larger bodies are refused, as the real server does by default.
pub const LIMIT: usize = 3 * 1024 * 1024;

/// So much of a body that is too large is read and thrown away: a client that is still sending when the
/// connection ends would see that, and not the answer.
const PATIENCE: usize = 16 * 1024 * 1024;

/// Reads all of a body.
pub async fn read<B>(body: B) -> Result<Bytes, Status>
where
    B: hyper::body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut body = std::pin::pin!(body);
    let (mut whole, mut length) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            Status::bad_request(format!("the body of the request could not be read: {}", error.into()))
        })?;
        let Ok(data) = frame.into_data() else { continue };
        length += data.len();
        if length <= LIMIT {
            whole.extend_from_slice(&data);
        } else if length > PATIENCE {
            break;
        }
    }
    if length > LIMIT { Err(Status::too_large(LIMIT)) } else { Ok(whole.into()) }
}

/// Parses a body of one of the media types an object can be sent in.
pub fn parse(body: &[u8], content_type: &str) -> Result<Value, Status> {
    match content_type {
        "" | "application/json" => json_or_yaml(body),
        "application/yaml" => yaml(body),
        PROTOBUF => protobuf::read(body).ok_or_else(|| {
            Status::bad_request("the object provided is unrecognized: this kind is not read as protobuf")
        }),
        _ => Err(Status::unsupported_media_type(&["application/json", "application/yaml", PROTOBUF])),
    }
}

/// JSON, or YAML where it is none: an apply patch may be either.
pub fn json_or_yaml(body: &[u8]) -> Result<Value, Status> {
    serde_json::from_slice(body)
        .map_err(|error| Status::bad_request(format!("couldn't get version/kind; json parse error: {error}")))
}

/// YAML, of which JSON is a part.
pub fn yaml(body: &[u8]) -> Result<Value, Status> {
    if let Ok(value) = serde_json::from_slice(body) {
        return Ok(value);
    }
    let wrong =
        |error: &dyn std::fmt::Display| Status::bad_request(format!("error converting YAML to JSON: yaml: {error}"));
    let text = std::str::from_utf8(body).map_err(|error| wrong(&error))?;
    serde_saphyr::from_str(text).map_err(|error| wrong(&error))
}

/// The kind and version a body must have; filled in where a built-in kind may do without.
pub fn check_kind(object: &mut Value, kind: &Kind, registry: &Registry, body: &[u8]) -> Result<(), Status> {
    if !object.is_object() {
        let why =
            format!("the object provided is unrecognized (must be of type {}): couldn't get version/kind", kind.kind);
        return Err(Status::bad_request(why));
    }
    let (version, name) =
        (object["apiVersion"].as_str().unwrap_or_default(), object["kind"].as_str().unwrap_or_default());
    if kind.is_custom() && (name.is_empty() || version.is_empty()) {
        let missing = if name.is_empty() { "Kind" } else { "apiVersion" };
        let text = String::from_utf8_lossy(body);
        return Err(Status::bad_request(format!("Object '{missing}' is missing in '{}'", text.trim())));
    }
    let is_other = !(version.is_empty() || name.is_empty()) && (version != kind.api_version() || name != kind.kind);
    if is_other && !kind.is_custom() && registry.by_kind(version, name).is_none() {
        let short = version.rsplit('/').next().unwrap_or_default();
        let why = format!(
            "{name} in version {short:?} cannot be handled as a {}: no kind {name:?} is registered for version {version:?} \
             in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
            kind.kind
        );
        return Err(Status::bad_request(why));
    }
    if !version.is_empty() && version != kind.api_version() {
        let expected = kind.api_version();
        let why =
            format!("the API version in the data ({version}) does not match the expected API version ({expected})");
        return Err(Status::bad_request(why));
    }
    if !name.is_empty() && name != kind.kind {
        let (short, wanted) = (&kind.version, &kind.kind);
        if kind.is_custom() {
            let cause = Cause::invalid("kind", &json!(name), &format!("must be {wanted}"));
            let named = object["metadata"]["name"].as_str().unwrap_or_default();
            return Err(Status::invalid(&kind.group, name, named, vec![cause]));
        }
        // The real server names its Go packages here: the first word of the group.
        let package = Some(kind.group.split('.').next().unwrap_or_default()).filter(|word| !word.is_empty());
        let package = package.unwrap_or("core");
        let why = format!(
            "{name} in version {short:?} cannot be handled as a {wanted}: \
             converting ({short}.{name}) to ({package}.{wanted}): unknown conversion"
        );
        return Err(Status::bad_request(why));
    }
    object["apiVersion"] = json!(kind.api_version());
    object["kind"] = json!(kind.kind);
    Ok(())
}

impl Call<'_> {
    /// Drops fields nobody knows, and says or refuses that as the client wants.
    pub fn prune(&self, object: &mut Value, body: &[u8]) -> Result<(), Status> {
        self.check_types(object)?;
        let unknown = self.kind.schema.prune(object);
        if self.validation == FieldValidation::Ignore {
            return Ok(());
        }
        let twice = schema::duplicate_fields(body);
        let said = twice.iter().map(|field| format!("duplicate field {field:?}"));
        let said: Vec<String> = unknown.iter().map(|field| format!("unknown field {field:?}")).chain(said).collect();
        if self.validation == FieldValidation::Strict && !said.is_empty() {
            let (kind, version) = (&self.kind.kind, &self.kind.version);
            return Err(Status::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a {kind}: strict decoding error: {}",
                said.join(", ")
            )));
        }
        said.into_iter().for_each(|sentence| self.warn(sentence));
        Ok(())
    }

    /// Where kinds have types, a value of another type is no invalid object but no object.
    fn check_types(&self, object: &Value) -> Result<(), Status> {
        match self.kind.schema.undecodable(object) {
            None => Ok(()),
            Some(why) => {
                let (kind, version) = (&self.kind.kind, &self.kind.version);
                Err(Status::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}")))
            }
        }
    }
}

/// The value at a field's path, as causes spell it: `spec.list[0].name`.
pub(crate) fn at<'a>(object: &'a Value, field: &str) -> Option<&'a Value> {
    field.split(['.', '[']).filter(|step| !step.is_empty()).try_fold(object, |value, step| {
        match step.strip_suffix(']').and_then(|index| index.parse::<usize>().ok()) {
            Some(index) => value.get(index),
            None => value.get(step.trim_end_matches(']')),
        }
    })
}
