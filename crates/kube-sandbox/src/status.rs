//! `Status`: how a Kubernetes API says no.
//!
//! Clients decide by `code` and `reason`, people by `message`, and kubectl turns some of them into
//! advice; so the texts are those of the real server, and they stand here once.

use std::fmt;

use serde_json::{Value, json};

/// A refusal, as it goes over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// HTTP status code.
    pub code: u16,
    /// What a program decides by; empty for a refusal without a class.
    pub reason: &'static str,
    /// What a person reads.
    pub message: String,
    /// About what, and which fields.
    pub details: Option<Box<Details>>,
}

/// What a refusal is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Details {
    /// Name of the object.
    pub name: String,
    /// Its API group.
    pub group: String,
    /// Its resource, or its kind where the refusal is about content.
    pub kind: String,
    /// Its uid.
    pub uid: String,
    /// One for each field.
    pub causes: Vec<Cause>,
    /// When to ask again; 0 says nothing.
    pub retry_after_seconds: u32,
}

/// Why one field was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Path of the field.
    pub field: String,
    /// The class of the refusal.
    pub reason: CauseReason,
    /// What a person reads, without the field.
    pub message: String,
}

/// Declares the classes with their two spellings, so that none can lack one.
macro_rules! cause_reasons {
    ($($(#[$doc:meta])* $name:ident, $title:literal;)*) => {
        /// The classes of refusals, as Kubernetes spells them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum CauseReason { $($(#[$doc])* $name,)* }

        impl CauseReason {
            /// As programs read it, in `details.causes[].reason`.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// As people read it, at the start of a message.
            fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }
        }
    };
}

cause_reasons! {
    /// It names something that does not exist.
    FieldValueNotFound, "Not found";
    /// It is missing.
    FieldValueRequired, "Required value";
    /// It is there twice.
    FieldValueDuplicate, "Duplicate value";
    /// Its value is malformed.
    FieldValueInvalid, "Invalid value";
    /// Its value is none of the allowed ones.
    FieldValueNotSupported, "Unsupported value";
    /// It may not be set or changed here.
    FieldValueForbidden, "Forbidden";
    /// It is too long.
    FieldValueTooLong, "Too long";
    /// It has too many items.
    FieldValueTooMany, "Too many";
    /// The check itself failed.
    InternalError, "Internal error";
    /// It has the wrong type.
    FieldValueTypeInvalid, "Invalid value";
    /// Another manager owns it.
    FieldManagerConflict, "Conflict";
    /// The version asked for is in the future.
    ResourceVersionTooLarge, "Too large resource version";
    /// Its namespace is going.
    NamespaceTerminating, "Terminating";
    /// No class; left out of the answer.
    Unclassed, "unknown";
}

impl Cause {
    /// A field that must be there is not.
    pub fn required(field: impl Into<String>, detail: &str) -> Self {
        Self::plain(field, CauseReason::FieldValueRequired, detail)
    }

    /// A field that may not be set or changed is.
    pub fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self::plain(field, CauseReason::FieldValueForbidden, detail)
    }

    /// A field is too long.
    pub fn too_long(field: impl Into<String>, max_bytes: usize) -> Self {
        Self::plain(field, CauseReason::FieldValueTooLong, &format!("may not be more than {max_bytes} bytes"))
    }

    /// A malformed value.
    pub fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self::valued(field, CauseReason::FieldValueInvalid, value, detail)
    }

    /// A value of the wrong type.
    pub fn type_invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self::valued(field, CauseReason::FieldValueTypeInvalid, value, detail)
    }

    /// A value that is there twice.
    pub fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self::valued(field, CauseReason::FieldValueDuplicate, value, "")
    }

    /// A value that names nothing.
    pub fn not_found(field: impl Into<String>, value: &Value) -> Self {
        Self::valued(field, CauseReason::FieldValueNotFound, value, "")
    }

    /// A value that is none of the supported ones.
    pub fn not_supported(field: impl Into<String>, value: &Value, supported: &[&str]) -> Self {
        let listed: Vec<String> = supported.iter().map(|one| format!("{one:?}")).collect();
        let detail = if listed.is_empty() { String::new() } else { format!("supported values: {}", listed.join(", ")) };
        Self::valued(field, CauseReason::FieldValueNotSupported, value, &detail)
    }

    /// A list or map with too many items.
    pub fn too_many(field: impl Into<String>, actual: usize, max: usize) -> Self {
        let items = if max == 1 { "item" } else { "items" };
        let detail = format!("must have at most {max} {items}");
        Self::valued(field, CauseReason::FieldValueTooMany, &json!(actual), &detail)
    }

    fn plain(field: impl Into<String>, reason: CauseReason, detail: &str) -> Self {
        let colon = if detail.is_empty() { "" } else { ": " };
        Self { field: field.into(), reason, message: format!("{}{colon}{detail}", reason.title()) }
    }

    fn valued(field: impl Into<String>, reason: CauseReason, value: &Value, detail: &str) -> Self {
        // The real server prints strings quoted, a missing value as the quoted word, the rest as JSON.
        let shown = if value.is_null() { "\"null\"".to_owned() } else { value.to_string() };
        let colon = if detail.is_empty() { "" } else { ": " };
        Self { field: field.into(), reason, message: format!("{}: {shown}{colon}{detail}", reason.title()) }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// `deployments.apps`, or `secrets` in the core group.
pub fn qualified(group: &str, name: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}

impl Status {
    /// A refusal without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None }
    }

    fn about(self, group: &str, kind: &str, name: &str) -> Self {
        self.with(Details { name: name.into(), group: group.into(), kind: kind.into(), ..Details::default() })
    }

    /// The same with these details.
    pub fn with(mut self, details: Details) -> Self {
        // Boxed, because every function that may refuse hands a place for this back.
        self.details = Some(Box::new(details));
        self
    }

    /// 400: the request makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 401: we do not know who asks.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 403: they may not; `why` ends the sentence the real server starts.
    pub fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let message = if resource.is_empty() {
            format!("forbidden: {why}")
        } else if name.is_empty() {
            format!("{} is forbidden: {why}", qualified(group, resource))
        } else {
            format!("{} {name:?} is forbidden: {why}", qualified(group, resource))
        };
        Self::new(403, "Forbidden", message).about(group, resource, name)
    }

    /// 404: no such object.
    pub fn not_found(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {name:?} not found", qualified(group, resource));
        Self::new(404, "NotFound", message).about(group, resource, name)
    }

    /// 404: no such resource.
    pub fn unknown_resource() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource").with(Details::default())
    }

    /// 405: the resource has no such verb.
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message).with(Details::default())
    }

    /// 406: we cannot answer in a form they take.
    pub fn not_acceptable(supported: &[&str]) -> Self {
        let message = format!("only the following media types are accepted: {}", supported.join(", "));
        Self::new(406, "NotAcceptable", message)
    }

    /// 409: the name is taken.
    pub fn already_exists(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", qualified(group, resource));
        Self::new(409, "AlreadyExists", message).about(group, resource, name)
    }

    /// 409 with the usual reason: somebody else wrote first.
    pub fn modified(group: &str, resource: &str, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(group, resource, name, why)
    }

    /// 409: the object is not in the state the request assumes.
    pub fn conflict(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} {name:?}: {why}", qualified(group, resource));
        Self::new(409, "Conflict", message).about(group, resource, name)
    }

    /// 410: that version of the data is no longer known.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 413: the body is too large.
    pub fn too_large(limit: usize) -> Self {
        Self::new(413, "RequestEntityTooLarge", format!("Request entity too large: limit is {limit}"))
    }

    /// 415: we do not read this form.
    pub fn unsupported_media_type(supported: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            supported.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 422: the content breaks rules.
    pub fn invalid(group: &str, kind: &str, name: &str, causes: Vec<Cause>) -> Self {
        let said: Vec<String> = causes.iter().map(ToString::to_string).collect();
        let all = if let [one] = &said[..] { one.clone() } else { format!("[{}]", said.join(", ")) };
        let message = format!("{} {name:?} is invalid: {all}", qualified(group, kind));
        let mut status = Self::new(422, "Invalid", message).about(group, kind, name);
        if let Some(details) = &mut status.details {
            details.causes = causes;
        }
        status
    }

    /// `Ok` where there is nothing to complain about, else 422.
    pub fn unless_valid(group: &str, kind: &str, name: &str, causes: Vec<Cause>) -> Result<(), Self> {
        if causes.is_empty() { Ok(()) } else { Err(Self::invalid(group, kind, name, causes)) }
    }

    /// 500: our own fault.
    pub fn internal(message: impl fmt::Display) -> Self {
        let cause = Cause { field: String::new(), reason: CauseReason::Unclassed, message: message.to_string() };
        Self::new(500, "InternalError", format!("Internal error occurred: {message}"))
            .with(Details { causes: vec![cause], ..Details::default() })
    }

    /// 500 without a class: an error of the real server that nobody thought of wrapping.
    pub fn internal_plain(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// 504: a list was asked for at a version that does not exist yet.
    pub fn version_too_large(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let reason = CauseReason::ResourceVersionTooLarge;
        let cause = Cause { field: String::new(), reason, message: reason.title().to_owned() };
        Self::new(504, "Timeout", message).with(Details {
            causes: vec![cause],
            retry_after_seconds: 1,
            ..Details::default()
        })
    }

    /// As it goes over the wire.
    pub fn to_json(&self) -> Value {
        let mut answer = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            answer["reason"] = json!(self.reason);
        }
        if let Some(details) = &self.details {
            answer["details"] = details.to_json();
        }
        answer
    }
}

impl Details {
    fn to_json(&self) -> Value {
        let mut answer = json!({});
        for (key, text) in [("name", &self.name), ("group", &self.group), ("kind", &self.kind), ("uid", &self.uid)] {
            if !text.is_empty() {
                answer[key] = json!(text);
            }
        }
        if !self.causes.is_empty() {
            answer["causes"] = self.causes.iter().map(Cause::to_json).collect();
        }
        if self.retry_after_seconds > 0 {
            answer["retryAfterSeconds"] = json!(self.retry_after_seconds);
        }
        answer
    }
}

impl Cause {
    fn to_json(&self) -> Value {
        let mut answer = json!({ "message": self.message });
        if self.reason != CauseReason::Unclassed {
            answer["reason"] = json!(self.reason.as_str());
        }
        if !self.field.is_empty() {
            answer["field"] = json!(self.field);
        }
        answer
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} {})", self.message, self.code, self.reason)
    }
}

impl std::error::Error for Status {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cause_stands_alone_and_several_in_brackets() {
        let one = vec![Cause::required("spec.a", "must be set")];
        let two = vec![Cause::invalid("spec.b", &json!("x"), "no"), Cause::not_supported("c", &json!(1), &["a", "b"])];
        let said = Status::invalid("g.io", "Thing", "t", one).message;
        assert_eq!(said, r#"Thing.g.io "t" is invalid: spec.a: Required value: must be set"#);
        let said = Status::invalid("", "Secret", "t", two).message;
        assert_eq!(
            said,
            r#"Secret "t" is invalid: [spec.b: Invalid value: "x": no, c: Unsupported value: 1: supported values: "a", "b"]"#
        );
    }

    #[test]
    fn empty_details_are_left_out() {
        let wire = Status::not_found("", "secrets", "a").to_json();
        assert_eq!(wire["details"], json!({ "name": "a", "kind": "secrets" }));
        assert_eq!(Status::unauthorized().to_json().get("details"), None);
    }
}
