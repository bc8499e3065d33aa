//! Test machinery: the failure matrix of a process, made from its table.
//!
//! For every row of a process, and every call to the outside that the row makes, the process is run
//! once more with one thing going wrong at exactly that place: the call fails once or for good, its
//! answer is lost, the program dies before it, behind it, or around the commit of the row. What
//! should heal must end as the undisturbed run did, what should fail must say why, and the world
//! outside must hold nothing twice and nothing that belongs to nobody. A new row in a table is
//! covered at once, without a line of test.
//!
//! Runs on simulated time: call it in a test with `#[tokio::test(start_paused = true)]`.

mod fault;
mod judge;
mod report;
mod run;
mod store;
mod wire;

use std::sync::Arc;

use slipway_model::{
    NewOperation, Operation, OperationId, ProcessKey,
    ports::{Clock, Storage, Transport},
};

use crate::{
    config::EngineConfig,
    process::{Process, Registry, Row},
    step::Domain,
};

pub use fault::{Call, Fault, Kind, RowName};
pub use report::{Cell, Report};

use run::{Run, run};

/// One world to run a process in. The matrix makes a fresh one for every run.
pub trait World: Send + Sync {
    /// Whose processes run in it.
    type Domain: Domain;

    /// The store, empty.
    fn store(&self) -> Arc<dyn Storage>;

    /// The processes. Called for every engine that is started.
    fn registry(&self) -> Registry<Self::Domain>;

    /// The way to the simulators. Everything that steps do outside goes through it.
    fn wire(&self) -> Arc<dyn Transport>;

    /// The clients, over a wire that has the matrix's faults in it.
    fn systems(&self, wire: Arc<dyn Transport>) -> <Self::Domain as Domain>::Systems;

    /// The engine's settings.
    fn config(&self) -> EngineConfig {
        EngineConfig::default()
    }

    /// The operation to run.
    fn operation(&self, process: &Process<Self::Domain>, id: OperationId) -> NewOperation;

    /// What a row should do when its call fails for good. A row of the finalizers is never asked:
    /// it cannot change the verdict.
    fn gives_up(&self, row: &Row<Self::Domain>) -> GivesUp {
        let _ = row;
        GivesUp::ByFailing
    }

    /// The data of an ended operation as far as two runs must agree on them; all, unless some are
    /// drawn at random.
    fn comparable(&self, operation: &Operation) -> String {
        operation.fields.data.as_str().to_owned()
    }

    /// Looks for things that are there twice, that belong to nobody, or that are missing, and for
    /// complaints of the simulators. The operation may have ended well or not.
    fn check(&self, operation: &Operation) -> Result<(), String>;
}

/// How a row ends when its call fails for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivesUp {
    /// The operation fails, and says why.
    ByFailing,
    /// The row is skipped, that is on record, and the operation goes on.
    BySkipping,
}

/// Runs the matrix of one process. Findings are in the report; [`Report::assert_sound`] panics with
/// them.
pub async fn matrix<W: World>(make: impl Fn(Arc<dyn Clock>) -> W, key: &ProcessKey) -> Report {
    let calm = run(&make, key, None).await;
    let mut report = Report::new(key);
    report.add(Cell::undisturbed(judge::calm(&calm)));
    let Some(process) = calm.registry.get(key) else { return report };
    let rows = process.rows.iter().map(|row| (row, &process.rows, false));
    let finalizers = process.finalizers.iter().map(|row| (row, &process.finalizers, true));
    for (index, (row, group, is_finalizer)) in rows.chain(finalizers).enumerate() {
        let index = if is_finalizer { index - process.rows.len() } else { index };
        let place = RowName { stage: row.stage, step: row.step.name() };
        let faults = fault::faults_of(place, &calm);
        if faults.is_empty() {
            report.never_ran(place);
            continue;
        }
        let closes_stage = Process::closes_stage(group, index);
        for fault in faults {
            let disturbed = run(&make, key, Some(fault.clone())).await;
            let seen = judge::disturbed(&calm, &disturbed, &fault, &judge::Subject { row, is_finalizer, closes_stage });
            report.add(Cell::of(fault, seen));
        }
    }
    report
}
