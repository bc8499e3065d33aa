//! What a client is told when its request is not met: a class, a reason for programs, the part that
//! is to blame, and a sentence for people.
//!
//! The known client decides by `error_reason` first (`err_db_not_found`), then by `error_code`: 400 to
//! 499 is for good, all else is tried again. So everything that is the client's to mend must carry a
//! 4xx code, errors of the document included, or a malformed request is repeated for an hour.

use juniper::{FieldError, IntoFieldError, ScalarValue};
use serde_json::{Map, Value, json};
use slipway_model::{
    Component, LastError, Operation, OperationId, Reason, ports::StoreError, runtime_record::RuntimeId,
};

use crate::input::{IMMUTABLE, Violation, Violations};

/// The class of an error; its number is contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The request is wrong, or contradicts what is.
    BadRequest,
    /// The caller may not.
    Forbidden,
    /// There is no such thing.
    NotFound,
    /// A defect of ours.
    Internal,
    /// Another system failed.
    External,
    /// The Director does not take our credentials.
    BadGateway,
    /// Not now.
    Overloaded,
}

impl Class {
    /// The number, in the manner of HTTP.
    pub const fn code(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::Internal => 500,
            Self::External => 501,
            Self::BadGateway => 502,
            Self::Overloaded => 503,
        }
    }
}

/// The parts that are to blame; the spelling is contract.
pub mod component {
    /// Ourselves.
    pub const PROVISIONER: &str = "provisioner";
    /// Our database.
    pub const DB: &str = "db - provisioner";
    /// Calls to the control plane's Kubernetes.
    pub const K8S: &str = "k8s client - provisioner";
    /// The Director, when it cannot be reached.
    pub const DIRECTOR_CLIENT: &str = "compass director client";
    /// The Director, when it says no.
    pub const DIRECTOR: &str = "compass director";
    /// The agent's connection.
    pub const CONNECTION: &str = "compass connection";
    /// Gardener.
    pub const GARDENER: &str = "gardener";
    /// Who installs Kyma.
    pub const INSTALLER: &str = "kyma installer";
    /// The infrastructure manager.
    pub const MANAGER: &str = "infrastructure manager";
}

/// The reasons that requests are refused for; the spelling is contract.
pub mod reason {
    /// A defect of ours.
    pub const INTERNAL: &str = "err_provisioner_internal";
    /// A deadline has passed.
    pub const TIMEOUT: &str = "err_provisioner_timeout";
    /// The database failed.
    pub const DB_INTERNAL: &str = "err_db_internal";
    /// There is no such row.
    pub const NOT_FOUND: &str = "err_db_not_found";
    /// There is such a row already.
    pub const ALREADY_EXISTS: &str = "err_db_already_exists";
    /// The Director answered nothing.
    pub const DIRECTOR_NIL: &str = "err_director_nil_response";
    /// The Director answered for another runtime.
    pub const DIRECTOR_MISMATCH: &str = "err_director_runtime_id_mismatch";
    /// The request is wrong.
    pub const VALIDATION: &str = "err_validation";
    /// No token, or not a good one.
    pub const UNAUTHENTICATED: &str = "err_unauthenticated";
    /// The token does not allow this.
    pub const FORBIDDEN: &str = "err_forbidden";
    /// No tenant is named.
    pub const TENANT_MISSING: &str = "err_tenant_missing";
    /// The runtime belongs to another tenant.
    pub const TENANT_MISMATCH: &str = "err_tenant_mismatch";
    /// Another operation of the runtime has not ended.
    pub const IN_PROGRESS: &str = "err_operation_in_progress";
    /// The name belongs to another runtime.
    pub const NAME_CONFLICT: &str = "err_runtime_name_conflict";
    /// The last operation failed, and only a removal helps.
    pub const NEEDS_DEPROVISIONING: &str = "err_runtime_needs_deprovisioning";
    /// Kyma was not installed by us.
    pub const KYMA_NOT_MANAGED: &str = "err_kyma_not_managed";
    /// There is no upgrade to take back.
    pub const ROLLBACK_NOT_ALLOWED: &str = "err_rollback_not_allowed";
    /// The cluster sleeps.
    pub const HIBERNATED: &str = "err_runtime_hibernated";
    /// Gardener does not let the cluster sleep.
    pub const HIBERNATION_NOT_POSSIBLE: &str = "err_hibernation_not_possible";
    /// A field that cannot change.
    pub const IMMUTABLE_FIELD: &str = "err_immutable_field";
}

/// An error as a client gets it.
#[derive(Debug, Clone)]
pub struct ApiError {
    /// Class.
    pub class: Class,
    /// Reason, for programs.
    pub reason: String,
    /// Who is to blame.
    pub component: &'static str,
    /// A sentence for people. Data, never a format.
    pub message: String,
    /// All that is wrong with the request.
    pub violations: Box<[Violation]>,
    /// The operation it is about.
    pub operation: Option<OperationId>,
    /// The runtime it is about.
    pub runtime: Option<RuntimeId>,
}

impl ApiError {
    /// An error of ours.
    pub fn new(class: Class, reason: &str, message: impl Into<String>) -> Self {
        Self {
            class,
            reason: reason.to_owned(),
            component: component::PROVISIONER,
            message: message.into(),
            violations: Box::default(),
            operation: None,
            runtime: None,
        }
    }

    /// The request is wrong.
    pub fn bad(reason: &str, message: impl Into<String>) -> Self {
        Self::new(Class::BadRequest, reason, message)
    }

    /// One field of the request is wrong.
    pub fn field(path: &str, rule: &'static str, message: impl Into<String>) -> Self {
        let mut found = Violations::default();
        found.add(path, rule, message);
        found.into()
    }

    /// There is no such thing.
    pub fn not_found(what: &str, id: impl std::fmt::Display) -> Self {
        let message = format!("there is no {what} {id}");
        Self::new(Class::NotFound, reason::NOT_FOUND, message).blaming(component::DB)
    }

    /// A defect; the log has the details.
    pub fn internal() -> Self {
        Self::new(Class::Internal, reason::INTERNAL, "the provisioner met a defect; its log has the details")
    }

    /// Another operation has not ended.
    pub fn busy(operation: &Operation) -> Self {
        let kind = crate::OperationKind::of(&operation.process).map_or("operation", crate::OperationKind::as_str);
        let message = format!("operation {} ({kind}) of this runtime is in progress; wait for its end", operation.id);
        Self { operation: Some(operation.id), ..Self::bad(reason::IN_PROGRESS, message) }
    }

    /// The same with another part to blame.
    pub fn blaming(self, component: &'static str) -> Self {
        Self { component, ..self }
    }

    /// The same about a runtime.
    pub fn about(self, runtime: RuntimeId) -> Self {
        Self { runtime: Some(runtime), ..self }
    }

    /// What goes under `extensions`.
    pub fn extensions(&self) -> Value {
        let mut all = Map::new();
        all.insert("error_code".to_owned(), self.class.code().into());
        all.insert("error_reason".to_owned(), self.reason.clone().into());
        all.insert("error_component".to_owned(), self.component.into());
        if let Some(operation) = self.operation {
            all.insert("operation_id".to_owned(), operation.to_string().into());
        }
        if let Some(runtime) = self.runtime {
            all.insert("runtime_id".to_owned(), runtime.to_string().into());
        }
        if !self.violations.is_empty() {
            let rows = self.violations.iter();
            let rows = rows.map(|v| json!({ "path": v.path, "rule": v.rule, "message": v.message }));
            all.insert("violations".to_owned(), rows.collect());
        }
        Value::Object(all)
    }
}

impl From<Violations> for ApiError {
    fn from(found: Violations) -> Self {
        let only_immutable = found.list.iter().all(|violation| violation.rule == IMMUTABLE);
        let reason = if only_immutable { reason::IMMUTABLE_FIELD } else { reason::VALIDATION };
        let lines: Vec<String> = found.list.iter().map(|v| format!("{}: {}", v.path, v.message)).collect();
        Self { violations: found.list.into(), ..Self::bad(reason, lines.join("; ")) }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let said = match &error {
            StoreError::Unavailable(_) => Self::new(
                Class::Overloaded,
                reason::DB_INTERNAL,
                "the database cannot be reached; nothing accepted is lost, and this may be repeated",
            ),
            StoreError::NotFound { what, id } => Self::not_found(what, id),
            StoreError::Refused(problem) => Self::bad(reason::VALIDATION, problem.clone()),
            StoreError::Unreadable(_) => {
                Self::new(Class::Internal, reason::DB_INTERNAL, "stored data cannot be read; the log has the details")
            }
        };
        if !matches!(error, StoreError::NotFound { .. }) {
            tracing::warn!(%error, "the store did not do what a request needs");
        }
        said.blaming(component::DB)
    }
}

impl<S: ScalarValue> IntoFieldError<S> for ApiError {
    fn into_field_error(self) -> FieldError<S> {
        FieldError::new(&self.message, graphql_value(&self.extensions()))
    }
}

/// JSON as the GraphQL library has it.
fn graphql_value<S: ScalarValue>(value: &Value) -> juniper::Value<S> {
    match value {
        Value::Null => juniper::Value::Null,
        Value::Bool(yes) => juniper::Value::scalar(*yes),
        Value::Number(number) => match number.as_i64().and_then(|number| i32::try_from(number).ok()) {
            Some(number) => juniper::Value::scalar(number),
            None => juniper::Value::scalar(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => juniper::Value::scalar(text.clone()),
        Value::Array(list) => juniper::Value::list(list.iter().map(graphql_value).collect()),
        Value::Object(map) => {
            let mut object = juniper::Object::with_capacity(map.len());
            for (key, value) in map {
                object.add_field(key.as_str(), graphql_value(value));
            }
            juniper::Value::object(object)
        }
    }
}

/// The part and the reason of a failed operation, in the words of this contract: the engine has its
/// own for a few of them.
pub fn spelled(error: &LastError) -> (&str, &str) {
    let reason = match &error.reason {
        Reason::KebInternal => reason::INTERNAL,
        Reason::KebTimeout => reason::TIMEOUT,
        other => other.as_str(),
    };
    let component = match error.component {
        Component::Keb | Component::Provisioner => component::PROVISIONER,
        Component::Db => component::DB,
        Component::K8sClient => component::K8S,
        // The manager passes Gardener's codes on; whoever reads them wants to know whose they are.
        Component::InfrastructureManager if reason.starts_with("ERR_") => component::GARDENER,
        Component::InfrastructureManager => component::MANAGER,
        Component::Reconciler | Component::LifecycleManager => component::INSTALLER,
        Component::Director => component::DIRECTOR,
        other => other.as_str(),
    };
    (component, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_its_number() {
        let classes = [
            (Class::BadRequest, 400),
            (Class::Forbidden, 403),
            (Class::NotFound, 404),
            (Class::Internal, 500),
            (Class::External, 501),
            (Class::BadGateway, 502),
            (Class::Overloaded, 503),
        ];
        for (class, code) in classes {
            assert_eq!(ApiError::new(class, "r", "m").extensions()["error_code"], json!(code));
        }
    }

    #[test]
    fn a_text_with_percent_signs_and_braces_stays_what_it_is() {
        let said = "100% of {} %s %!d(MISSING)";
        let error: FieldError = ApiError::bad("r", said).into_field_error();
        assert_eq!(error.message(), said);
    }

    #[test]
    fn what_the_database_says_about_itself_stays_in_the_log() {
        for error in [StoreError::Unavailable("host=db1".to_owned()), StoreError::Unreadable("row 7".to_owned())] {
            let said = ApiError::from(error);
            assert!(!said.message.contains("db1") && !said.message.contains("row 7"), "{said:?}");
            assert_eq!(said.component, component::DB);
        }
    }
}
