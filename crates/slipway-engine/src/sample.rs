//! A domain, steps and an operation for the unit tests of the pure parts.

use std::time::Duration;

use slipway_model::{
    JsonText, NewOperation, Operation, OperationState, OperationType, ProcessKey, Timestamp,
    time::{hours, mins},
};

use crate::{
    context::StepCtx,
    outcome::StepResult,
    process::{Process, ProcessTable, Row},
    step::{Domain, Op, Step},
};

#[derive(Debug, Clone)]
pub(crate) struct Sample;

impl Domain for Sample {
    type Data = ();
    type Systems = ();
}

/// A step that is looked at and never run.
pub(crate) struct Named {
    pub(crate) name: &'static str,
    pub(crate) applies: bool,
    pub(crate) gives_up_after: Duration,
}

impl Named {
    const fn new(name: &'static str) -> Self {
        Self { name, applies: true, gives_up_after: mins(5) }
    }
}

pub(crate) static A: Named = Named::new("A");
pub(crate) static B: Named = Named::new("B");
pub(crate) static C: Named = Named::new("C");
pub(crate) static D: Named = Named::new("D");
pub(crate) static UNFIT: Named = Named { name: "Unfit", applies: false, gives_up_after: mins(5) };
pub(crate) static STUBBORN: Named = Named { name: "Stubborn", applies: true, gives_up_after: hours(2) };

impl Step<Sample> for Named {
    fn name(&self) -> &'static str {
        self.name
    }

    fn applies(&self, _: &Op<Sample>) -> bool {
        self.applies
    }

    fn gives_up_after(&self) -> Duration {
        self.gives_up_after
    }

    async fn run(&self, ctx: &mut StepCtx<Sample>) -> StepResult {
        ctx.done()
    }
}

/// A table of an update that may take an hour.
pub(crate) fn table(rows: &'static [Row<Sample>], finalizers: &'static [Row<Sample>]) -> ProcessTable<Sample> {
    ProcessTable { name: "sample", version: 1, kind: OperationType::Update, budget: hours(1), rows, finalizers }
}

/// The names of a process's rows, in the order they run.
pub(crate) fn names(process: &Process<Sample>) -> Vec<&'static str> {
    process.rows.iter().map(|row| row.step.name()).collect()
}

/// The beginning of time in these tests.
pub(crate) const BEGIN: Timestamp = Timestamp::from_micros(1_000_000_000);

/// An operation in progress, accepted at [`BEGIN`].
pub(crate) fn operation() -> Operation {
    let new = NewOperation {
        id: "0198c0de-0000-7000-8000-000000000000".parse().expect("id"),
        instance_id: "shop".parse().expect("instance"),
        kind: OperationType::Update,
        temporary: false,
        plan: "sample".to_owned(),
        process: ProcessKey { name: "sample".to_owned(), version: 1 },
        budget: hours(1),
        data: JsonText::empty(),
        secrets: None,
        by: "test".to_owned(),
    };
    Operation { state: OperationState::InProgress, ..new.accepted(BEGIN) }
}

/// The same as steps see it.
pub(crate) fn op(operation: &Operation) -> Op<Sample> {
    Op {
        id: operation.id,
        instance_id: operation.instance_id.clone(),
        kind: operation.kind,
        temporary: false,
        plan: operation.plan.clone(),
        created_at: operation.created_at,
        data: (),
        secrets: None,
    }
}
