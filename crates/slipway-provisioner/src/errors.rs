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

/// An error as a client gets it.
#[derive(Debug, Clone)]
pub struct ApiError {
    /// Class.
    pub class: Class,
    /// Reason, for programs.
    pub reason: Reason,
    /// Who is to blame.
    pub component: Component,
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
    pub fn new(class: Class, reason: Reason, message: impl Into<String>) -> Self {
        Self {
            class,
            reason,
            component: Component::Provisioner,
            message: message.into(),
            violations: Box::default(),
            operation: None,
            runtime: None,
        }
    }

    /// The request is wrong.
    pub fn bad(reason: Reason, message: impl Into<String>) -> Self {
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
        Self::new(Class::NotFound, Reason::DbNotFound, message).blaming(Component::ProvisionerDb)
    }

    /// A defect; the log has the details.
    pub fn internal() -> Self {
        Self::new(Class::Internal, Reason::ProvisionerInternal, "the provisioner met a defect; its log has the details")
    }

    /// Another operation has not ended.
    pub fn busy(operation: &Operation) -> Self {
        let kind = crate::OperationKind::of(&operation.process).map_or("operation", crate::OperationKind::as_str);
        let message = format!("operation {} ({kind}) of this runtime is in progress; wait for its end", operation.id);
        Self { operation: Some(operation.id), ..Self::bad(Reason::OperationInProgress, message) }
    }

    /// The same with another part to blame.
    pub fn blaming(self, component: Component) -> Self {
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
        all.insert("error_reason".to_owned(), self.reason.as_str().into());
        all.insert("error_component".to_owned(), self.component.as_str().into());
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
        let reason = if only_immutable { Reason::ImmutableField } else { Reason::Validation };
        let lines: Vec<String> = found.list.iter().map(|v| format!("{}: {}", v.path, v.message)).collect();
        Self { violations: found.list.into(), ..Self::bad(reason, lines.join("; ")) }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let said = match &error {
            StoreError::Unavailable(_) => Self::new(
                Class::Overloaded,
                Reason::DbInternal,
                "the database cannot be reached; nothing accepted is lost, and this may be repeated",
            ),
            StoreError::NotFound { what, id } => Self::not_found(what, id),
            StoreError::Refused(problem) => Self::bad(Reason::Validation, problem.clone()),
            StoreError::Unreadable(_) => {
                Self::new(Class::Internal, Reason::DbInternal, "stored data cannot be read; the log has the details")
            }
        };
        if !matches!(error, StoreError::NotFound { .. }) {
            tracing::warn!(%error, "the store did not do what a request needs");
        }
        said.blaming(Component::ProvisionerDb)
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
pub fn spelled(error: &LastError) -> (Component, Reason) {
    let reason = match &error.reason {
        Reason::KebInternal => Reason::ProvisionerInternal,
        Reason::KebTimeout => Reason::ProvisionerTimeout,
        other => other.clone(),
    };
    let component = match error.component {
        Component::Keb => Component::Provisioner,
        Component::Db => Component::ProvisionerDb,
        Component::K8sClient => Component::ProvisionerK8s,
        // The manager passes Gardener's codes on; whoever reads them wants to know whose they are.
        Component::InfrastructureManager if reason.as_str().starts_with("ERR_") => Component::Gardener,
        Component::InfrastructureManager => Component::Infrastructure,
        Component::Reconciler | Component::LifecycleManager => Component::KymaInstaller,
        Component::Director => Component::CompassDirector,
        other => other,
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
            assert_eq!(ApiError::new(class, Reason::Validation, "m").extensions()["error_code"], json!(code));
        }
    }

    #[test]
    fn a_text_with_percent_signs_and_braces_stays_what_it_is() {
        let said = "100% of {} %s %!d(MISSING)";
        let error: FieldError = ApiError::bad(Reason::Validation, said).into_field_error();
        assert_eq!(error.message(), said);
    }

    #[test]
    fn what_the_database_says_about_itself_stays_in_the_log() {
        for error in [StoreError::Unavailable("host=db1".to_owned()), StoreError::Unreadable("row 7".to_owned())] {
            let said = ApiError::from(error);
            assert!(!said.message.contains("db1") && !said.message.contains("row 7"), "{said:?}");
            assert_eq!(said.component, Component::ProvisionerDb);
        }
    }
}
