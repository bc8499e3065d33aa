//! What a step is.

use std::{future::Future, time::Duration};

use secrecy::SecretString;
use serde::{Serialize, de::DeserializeOwned};
use slipway_model::{Component, InstanceId, OperationId, OperationType, Timestamp, ports::BoxFuture, time::mins};

use crate::{context::StepCtx, outcome::StepResult};

/// A service that runs operations: the shape of their data and the systems their steps call.
pub trait Domain: Send + Sync + 'static {
    /// Outputs of steps, stored as JSON. Never a secret: those go to stage memory or into the
    /// operation's `secrets`.
    type Data: Serialize + DeserializeOwned + Clone + Send + Sync + 'static;
    /// Clients of the outside systems.
    type Systems: Send + Sync + 'static;
}

/// What a step sees of its operation.
#[derive(Debug, Clone)]
pub struct Op<D: Domain> {
    /// Id.
    pub id: OperationId,
    /// The instance it works on.
    pub instance_id: InstanceId,
    /// What it does.
    pub kind: OperationType,
    /// A suspension.
    pub temporary: bool,
    /// The plan's name.
    pub plan: String,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// Outputs of steps so far.
    pub data: D::Data,
    /// Secret input, decrypted.
    pub secrets: Option<SecretString>,
}

/// The smallest unit of work. It must be safe to run again at any time: after a crash the whole
/// unfinished stage runs again from its first step.
pub trait Step<D: Domain>: Send + Sync + 'static {
    /// Contract name: appears in logs, metrics, ledger and events.
    fn name(&self) -> &'static str;

    /// Who is blamed by default.
    fn component(&self) -> Component {
        Component::Keb
    }

    /// Condition; if false the step is recorded as not applicable and not run. Pure.
    fn applies(&self, op: &Op<D>) -> bool {
        let _ = op;
        true
    }

    /// How long one run may take before it is given up and tried again. The default leaves room
    /// for one slow call of two minutes, the longest request timeout of an outside system.
    fn deadline(&self) -> Duration {
        mins(3)
    }

    /// How long [`StepCtx::retry_without_fail`] tries before it skips this step. A
    /// deprovisioning table refuses more than five minutes.
    fn gives_up_after(&self) -> Duration {
        mins(5)
    }

    /// One run.
    fn run(&self, ctx: &mut StepCtx<D>) -> impl Future<Output = StepResult> + Send;
}

/// [`Step`] as a trait object, for the tables. Implemented for every step.
pub trait DynStep<D: Domain>: Send + Sync + 'static {
    /// See [`Step::name`].
    fn name(&self) -> &'static str;
    /// See [`Step::component`].
    fn component(&self) -> Component;
    /// See [`Step::applies`].
    fn applies(&self, op: &Op<D>) -> bool;
    /// See [`Step::deadline`].
    fn deadline(&self) -> Duration;
    /// See [`Step::gives_up_after`].
    fn gives_up_after(&self) -> Duration;
    /// See [`Step::run`].
    fn run<'a>(&'a self, ctx: &'a mut StepCtx<D>) -> BoxFuture<'a, StepResult>;
}

impl<D: Domain, S: Step<D>> DynStep<D> for S {
    fn name(&self) -> &'static str {
        Step::name(self)
    }

    fn component(&self) -> Component {
        Step::component(self)
    }

    fn applies(&self, op: &Op<D>) -> bool {
        Step::applies(self, op)
    }

    fn deadline(&self) -> Duration {
        Step::deadline(self)
    }

    fn gives_up_after(&self) -> Duration {
        Step::gives_up_after(self)
    }

    fn run<'a>(&'a self, ctx: &'a mut StepCtx<D>) -> BoxFuture<'a, StepResult> {
        Box::pin(Step::run(self, ctx))
    }
}
