//! Process tables: which steps make up an operation, in which order.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use slipway_model::{OperationType, ProcessKey, time::spell};

use crate::context::DEPROVISIONING_GIVE_UP_MAX;
use crate::step::{Domain, DynStep};

/// One row of a process table.
pub struct Row<D: Domain> {
    /// The stage: finished once, never repeated.
    pub stage: &'static str,
    /// Order within a run of rows of one stage; lets a deployment put its own step in between.
    pub weight: u32,
    /// The step.
    pub step: &'static dyn DynStep<D>,
}

impl<D: Domain> Clone for Row<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Domain> Copy for Row<D> {}

/// A row; short, so that the table reads as a table.
pub const fn row<D: Domain>(stage: &'static str, weight: u32, step: &'static dyn DynStep<D>) -> Row<D> {
    Row { stage, weight, step }
}

/// A process as it is written: one static table. A table in use is never edited: copy it, raise
/// the version, and keep the old one until no unfinished operation needs it.
pub struct ProcessTable<D: Domain> {
    /// Name.
    pub name: &'static str,
    /// Version; an operation finishes on the version it began with.
    pub version: u32,
    /// The type of operation it serves.
    pub kind: OperationType,
    /// How long the whole operation may take.
    pub budget: Duration,
    /// The rows, in order. A stage may be interrupted by another one: it keeps one memory and one
    /// finished mark over all its parts.
    pub rows: &'static [Row<D>],
    /// Rows that run before the end, whatever it is: success, failure, cancel or timeout.
    pub finalizers: &'static [Row<D>],
}

/// A process as it runs: a checked table plus the rows a deployment added.
pub struct Process<D: Domain> {
    /// Name and version.
    pub key: ProcessKey,
    /// The type of operation it serves.
    pub kind: OperationType,
    /// How long the whole operation may take.
    pub budget: Duration,
    /// The rows, in the order they run.
    pub rows: Vec<Row<D>>,
    /// Rows that run before the end, whatever it is.
    pub finalizers: Vec<Row<D>>,
}

impl<D: Domain> Process<D> {
    /// Checks a table and adds a deployment's own rows by stage and weight.
    pub fn of(table: &ProcessTable<D>, extra: &[Row<D>]) -> Result<Self, TableError> {
        let key = ProcessKey { name: table.name.to_owned(), version: table.version };
        let mut rows = table.rows.to_vec();
        check_order(&key, &rows)?;
        check_order(&key, table.finalizers)?;
        for new in extra {
            insert(&key, &mut rows, *new)?;
        }
        check_names(&key, rows.iter().chain(table.finalizers))?;
        check_budgets(&key, table, &rows)?;
        let stages: BTreeSet<_> = rows.iter().map(|row| row.stage).collect();
        if let Some(row) = table.finalizers.iter().find(|row| stages.contains(row.stage)) {
            return Err(TableError::new(
                &key,
                format!("stage {} is both a finalizer and an ordinary stage", row.stage),
            ));
        }
        Ok(Self { key, kind: table.kind, budget: table.budget, rows, finalizers: table.finalizers.to_vec() })
    }

    /// The last row of a stage; after it the stage is finished.
    pub fn closes_stage(rows: &[Row<D>], index: usize) -> bool {
        !rows[index + 1..].iter().any(|row| row.stage == rows[index].stage)
    }
}

/// Puts a row behind those of its stage that are not heavier; in a stage of several parts, into
/// the first part that has a heavier or equal row, else at the end of the last.
fn insert<D: Domain>(key: &ProcessKey, rows: &mut Vec<Row<D>>, new: Row<D>) -> Result<(), TableError> {
    let of_stage = |row: &Row<D>| row.stage == new.stage;
    let heavier = rows.iter().position(|row| of_stage(row) && row.weight > new.weight);
    let behind = rows.iter().rposition(of_stage).map(|last| last + 1);
    match heavier.or(behind) {
        Some(at) => {
            rows.insert(at, new);
            Ok(())
        }
        None => {
            Err(TableError::new(key, format!("there is no stage {} to put step {} into", new.stage, new.step.name())))
        }
    }
}

fn check_order<D: Domain>(key: &ProcessKey, rows: &[Row<D>]) -> Result<(), TableError> {
    if let Some(row) = rows.iter().find(|row| row.weight == 0) {
        return Err(TableError::new(key, format!("step {} has weight 0; weights begin at 1", row.step.name())));
    }
    for pair in rows.windows(2) {
        if pair[0].stage == pair[1].stage && pair[0].weight > pair[1].weight {
            let (first, second) = (pair[0].step.name(), pair[1].step.name());
            return Err(TableError::new(key, format!("step {first} stands before {second} but weighs more")));
        }
    }
    Ok(())
}

fn check_names<'a, D: Domain>(key: &ProcessKey, rows: impl Iterator<Item = &'a Row<D>>) -> Result<(), TableError> {
    let mut seen = BTreeSet::new();
    for row in rows {
        if !seen.insert((row.stage, row.step.name())) {
            return Err(TableError::new(key, format!("step {} stands twice in stage {}", row.step.name(), row.stage)));
        }
    }
    if seen.is_empty() {
        return Err(TableError::new(key, "it has no rows".to_owned()));
    }
    Ok(())
}

fn check_budgets<D: Domain>(key: &ProcessKey, table: &ProcessTable<D>, rows: &[Row<D>]) -> Result<(), TableError> {
    let max = match table.kind {
        OperationType::Deprovision => DEPROVISIONING_GIVE_UP_MAX.min(table.budget),
        _ => table.budget,
    };
    match rows.iter().chain(table.finalizers).find(|row| row.step.gives_up_after() > max) {
        None => Ok(()),
        Some(row) => Err(TableError::new(
            key,
            format!(
                "step {} gives up after {}; at most {} is allowed here",
                row.step.name(),
                spell(row.step.gives_up_after()),
                spell(max)
            ),
        )),
    }
}

/// Why a table cannot be run. Found at start, never in the middle of an operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("process table {process}: {problem}")]
pub struct TableError {
    process: String,
    problem: String,
}

impl TableError {
    fn new(key: &ProcessKey, problem: String) -> Self {
        Self { process: key.to_string(), problem }
    }
}

/// All processes a program can run.
pub struct Registry<D: Domain> {
    processes: BTreeMap<ProcessKey, Process<D>>,
    disabled: BTreeSet<String>,
}

impl<D: Domain> Default for Registry<D> {
    fn default() -> Self {
        Self { processes: BTreeMap::new(), disabled: BTreeSet::new() }
    }
}

impl<D: Domain> Registry<D> {
    /// Adds a process table.
    pub fn with(self, table: &ProcessTable<D>) -> Result<Self, TableError> {
        self.with_rows(table, &[])
    }

    /// Adds a process table with rows of the deployment's own.
    pub fn with_rows(mut self, table: &ProcessTable<D>, extra: &[Row<D>]) -> Result<Self, TableError> {
        let process = Process::of(table, extra)?;
        let key = process.key.clone();
        match self.processes.insert(key.clone(), process) {
            None => Ok(self),
            Some(_) => Err(TableError::new(&key, "it is registered twice".to_owned())),
        }
    }

    /// Switches steps off by configuration. Names that no table has are refused: a typing error
    /// must not leave a step running that somebody meant to stop.
    pub fn without_steps(mut self, names: impl IntoIterator<Item = String>) -> Result<Self, String> {
        for name in names {
            let known =
                self.processes.values().any(|p| p.rows.iter().chain(&p.finalizers).any(|r| r.step.name() == name));
            if !known {
                return Err(format!("there is no step {name} to disable"));
            }
            self.disabled.insert(name);
        }
        Ok(self)
    }

    /// The process of this key.
    pub fn get(&self, key: &ProcessKey) -> Option<&Process<D>> {
        self.processes.get(key)
    }

    /// All processes, by name and version.
    pub fn processes(&self) -> impl Iterator<Item = &Process<D>> {
        self.processes.values()
    }

    /// All keys.
    pub fn keys(&self) -> Vec<ProcessKey> {
        self.processes.keys().cloned().collect()
    }

    /// Whether configuration switched this step off.
    pub fn is_disabled(&self, step: &str) -> bool {
        self.disabled.contains(step)
    }
}
