//! An operation as clients see it. What costs a query of its own (the stage, the id in the Director) is
//! only looked up when it is asked for.

use juniper::graphql_object;
use serde::Deserialize;
use slipway_model::{Operation, StepRecord, runtime_record::RuntimeId};

use super::{
    outputs::{Error, LastError, OperationState, OperationType},
    request::Request,
};
use crate::{OperationKind, domain::Trouble, errors};

/// What a successful operation says; clients compare it.
const SUCCEEDED: &str = "Operation succeeded";

/// What the store writes first; in its place clients read what has begun.
const ACCEPTED: &str = "operation accepted";

/// What the steps keep with an operation, as far as clients see it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Kept {
    warnings: Vec<String>,
    errors: Vec<Trouble>,
}

fn told(trouble: Trouble) -> LastError {
    let Trouble { message, reason, component } = trouble;
    LastError { err_message: message, reason, component }
}

/// An operation.
#[derive(Debug, Clone)]
pub struct OperationStatus {
    operation: Operation,
    kind: OperationKind,
    director_id: Option<String>,
}

impl OperationStatus {
    /// An operation of this kind.
    pub fn new(operation: Operation, kind: OperationKind) -> Self {
        Self { operation, kind, director_id: None }
    }

    /// The same with the id in the Director.
    pub fn with_director_id(self, director_id: Option<String>) -> Self {
        Self { director_id, ..self }
    }

    /// The operation inside.
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// What the steps keep with the operation, as far as clients see it.
    fn kept(&self) -> Kept {
        self.operation.fields.data.to().unwrap_or_default()
    }

    /// The latest error. A failed operation has the engine's verdict; the part to blame is told more
    /// precisely by the step that met it, if it is the same error.
    fn latest_error(&self) -> Option<LastError> {
        let latest = self.kept().errors.pop();
        match OperationState::from(self.operation.state) {
            OperationState::Succeeded => None,
            OperationState::InProgress | OperationState::Pending => latest.map(told),
            OperationState::Failed => {
                let Some(verdict) = &self.operation.fields.last_error else { return latest.map(told) };
                let (component, reason) = errors::spelled(verdict);
                let is_it =
                    |trouble: &Trouble| trouble.reason == reason.as_str() || verdict.message.contains(&trouble.message);
                let error = latest.filter(is_it).map(told).unwrap_or_else(|| LastError {
                    err_message: String::new(),
                    reason: reason.to_string(),
                    component: component.to_string(),
                });
                Some(LastError { err_message: verdict.message.clone(), ..error })
            }
        }
    }

    /// The sentence about where it stands.
    fn sentence(&self) -> String {
        let fields = &self.operation.fields;
        match OperationState::from(self.operation.state) {
            OperationState::Succeeded => SUCCEEDED.to_owned(),
            OperationState::Failed => match &fields.last_error {
                Some(error) => error.message.clone(),
                None => fields.description.clone(),
            },
            OperationState::InProgress | OperationState::Pending => {
                let begun = fields.description == ACCEPTED || fields.description.is_empty();
                let said = if begun { self.kind.accepted() } else { &fields.description };
                let warnings = self.kept().warnings;
                if warnings.is_empty() { said.to_owned() } else { format!("{said}; {}", warnings.join("; ")) }
            }
        }
    }
}

/// An operation on a runtime.
#[graphql_object(context = Request)]
impl OperationStatus {
    /// The operation's id.
    fn id(&self) -> Option<String> {
        Some(self.operation.id.to_string())
    }

    /// What it does.
    #[graphql(name = "operation")]
    fn operation_type(&self) -> OperationType {
        self.kind.into()
    }

    /// Where it stands.
    fn state(&self) -> OperationState {
        self.operation.state.into()
    }

    /// Where it stands, in a sentence.
    fn message(&self) -> Option<String> {
        Some(self.sentence())
    }

    /// What went wrong so far, the latest last; also what was mended by trying again.
    fn errors(&self, #[graphql(context)] request: &Request) -> Option<Vec<Error>> {
        let mut messages: Vec<String> = self.kept().errors.into_iter().map(|trouble| trouble.message).collect();
        if let Some(verdict) = &self.operation.fields.last_error
            && messages.last() != Some(&verdict.message)
        {
            messages.push(verdict.message.clone());
        }
        let most = request.api.settings.limits.errors_shown;
        messages.drain(..messages.len().saturating_sub(most));
        Some(messages.into_iter().map(Error::of).collect())
    }

    /// What made it fail, or what it is trying to get over.
    fn last_error(&self, #[graphql(context)] request: &Request) -> Option<LastError> {
        let always = request.api.settings.compat.last_error_always_present;
        self.latest_error().or_else(|| always.then(LastError::default))
    }

    /// The runtime's id.
    #[graphql(name = "runtimeID")]
    fn runtime_id(&self) -> Option<String> {
        RuntimeId::of_instance(&self.operation.instance_id).map(|id| id.to_string())
    }

    /// The runtime's id in the Director, if it is registered there.
    #[graphql(name = "compassRuntimeID")]
    async fn compass_runtime_id(&self, #[graphql(context)] request: &Request) -> Option<String> {
        if self.director_id.is_some() {
            return self.director_id.clone();
        }
        let runtime = RuntimeId::of_instance(&self.operation.instance_id)?;
        request.api.runtimes.runtime(runtime).await.ok().flatten()?.director_id
    }

    /// The stage it is in; `Finished` at the end.
    async fn stage(&self, #[graphql(context)] request: &Request) -> Option<String> {
        if self.operation.state.is_finished() {
            return Some("Finished".to_owned());
        }
        let steps: Vec<StepRecord> = request.api.store.steps(self.operation.id).await.ok()?;
        steps
            .iter()
            .rev()
            .find(|step| !step.status.is_settled())
            .or_else(|| steps.last())
            .map(|step| step.stage.clone())
    }

    /// When it was accepted.
    fn started_at(&self) -> Option<String> {
        Some(self.operation.created_at.to_string())
    }

    /// When it ended.
    fn finished_at(&self) -> Option<String> {
        self.operation.finished_at.map(|at| at.to_string())
    }

    /// What was accepted without effect, or otherwise than it was asked for.
    fn warnings(&self) -> Option<Vec<String>> {
        Some(self.kept().warnings)
    }
}
