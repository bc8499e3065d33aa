//! What an operator, or a competing operation, can ask of an operation, and how the wish is kept
//! until the engine meets it. Every action is recorded with who and why.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    id::OperationId,
    ledger::StepRecord,
    operation::Operation,
    recorder::RecordKind,
    state::{OperationState, OperationType},
    time::Timestamp,
};

/// An action on one operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Look again at once instead of when the timer says.
    RetryNow,
    /// Give up the named step and go on; refused once the step is no longer the current one.
    SkipStep {
        /// The step to give up.
        step: String,
    },
    /// End the operation at the next step boundary or wait.
    Cancel,
    /// Take no further step until resumed. Budgets stand still meanwhile.
    Pause,
    /// Go on after a pause.
    Resume,
}

impl Action {
    /// What the action does to an operation and its ledger, and the entry for the flight recorder;
    /// or the sentence that refuses it. The stores call this inside their transaction.
    pub fn apply(
        &self,
        op: &mut Operation,
        steps: &mut [StepRecord],
        by: &str,
        why: &str,
        now: Timestamp,
    ) -> Result<RecordKind, String> {
        let id = op.id;
        if op.state.is_finished() {
            return Err(format!("operation {id} has already ended: {}", op.state));
        }
        let request = Request { by: by.to_owned(), why: why.to_owned(), at: now, preempted_by: None };
        match (self, op.control.pause.take()) {
            (Self::RetryNow, Some(pause)) => {
                op.control.pause = Some(pause);
                return Err(format!("operation {id} is paused; resume it instead"));
            }
            (Self::Pause, Some(pause)) => {
                op.control.pause = Some(pause);
                return Err(format!("operation {id} is paused already"));
            }
            (Self::Resume, None) => return Err(format!("operation {id} is not paused")),
            (Self::RetryNow, None) => {}
            (Self::Pause, None) => op.control.pause = Some(request),
            (Self::Resume, Some(pause)) => forget_pause(op, steps, now.since(pause.at)),
            (Self::Cancel, pause) => {
                op.control.pause = pause;
                op.control.cancel = Some(request);
            }
            (Self::SkipStep { step }, pause) => {
                op.control.pause = pause;
                if !steps.iter().any(|record| record.step == *step && !record.status.is_settled()) {
                    return Err(format!(
                        "step {step} of operation {id} is not waiting or retrying, so it cannot be skipped"
                    ));
                }
                op.control.skip = Some(SkipRequest { step: step.clone(), request });
            }
        }
        op.notice(now);
        Ok(RecordKind::Action {
            action: self.name().to_owned(),
            by: by.to_owned(),
            why: why.to_owned(),
            step: match self {
                Self::SkipStep { step } => Some(step.clone()),
                _ => None,
            },
        })
    }

    /// The word for the recorder and the command line.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::RetryNow => "retry_now",
            Self::SkipStep { .. } => "skip_step",
            Self::Cancel => "cancel",
            Self::Pause => "pause",
            Self::Resume => "resume",
        }
    }
}

/// Budgets stand still while an operation is paused: moves their origins on by its length.
fn forget_pause(op: &mut Operation, steps: &mut [StepRecord], length: Duration) {
    let shift = |at: &mut Option<Timestamp>| *at = at.map(|at| at + length);
    shift(&mut op.budget_from);
    for step in steps.iter_mut().filter(|step| !step.status.is_settled()) {
        shift(&mut step.first_run_at);
        shift(&mut step.first_failure_at);
    }
}

impl Operation {
    /// Makes sure that a wish just written into `control` is seen: a waiting operation is due at
    /// once, and a running one learns of it with its next commit.
    pub(crate) fn notice(&mut self, now: Timestamp) {
        self.control.seq += 1;
        // Nobody runs it: it is parked, held, or pending behind another one.
        if self.schedule.due_at.is_some() || self.schedule.owner.is_none() {
            self.schedule.due_at = Some(now);
        }
    }
}

/// Who asked, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The person or part that asked.
    pub by: String,
    /// Their reason.
    pub why: String,
    /// When.
    pub at: Timestamp,
    /// For a cancel by a deprovisioning: that operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preempted_by: Option<OperationId>,
}

/// A request to skip one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkipRequest {
    /// The step to skip.
    pub step: String,
    /// Who and why.
    #[serde(flatten)]
    pub request: Request,
}

/// The wishes an operation has not met yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Control {
    /// Raised by every action. A lease holder that parks an operation says which number it has
    /// seen; if the row has a higher one, the operation is due at once. So no wish is slept over.
    pub seq: u64,
    /// Asked to end.
    pub cancel: Option<Request>,
    /// Asked to hold.
    pub pause: Option<Request>,
    /// Asked to skip a step.
    pub skip: Option<SkipRequest>,
}

impl Request {
    /// How a canceled operation ends: its state and the sentence its user reads.
    ///
    /// A canceled provisioning has not delivered, so it is `failed`. An update or upgrade that had
    /// not begun when a deprovisioning took its place has nothing left to do: `succeeded`.
    pub fn end_of(&self, kind: OperationType, state: OperationState) -> (OperationState, String) {
        let pending = state == OperationState::Pending;
        let end = match (kind, self.preempted_by) {
            (OperationType::Provision, _) if pending => OperationState::Canceled,
            (OperationType::Provision, _) => OperationState::Failed,
            (OperationType::Deprovision, _) => OperationState::Canceled,
            (_, Some(_)) if pending => OperationState::Succeeded,
            (OperationType::Update | OperationType::UpgradeKyma | OperationType::UpgradeCluster, _) => {
                OperationState::Canceled
            }
        };
        let description = match self.preempted_by {
            Some(id) => format!("operation preempted by deprovisioning {id}"),
            None => format!("operation canceled by {}: {}", self.by, self.why),
        };
        (end, description)
    }
}
