//! Process tables: which steps make up an operation, in which order.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use slipway_model::{OperationType, ProcessKey, time::spell};

use crate::context::DEPROVISIONING_GIVE_UP_MAX;
use crate::step::{Domain, DynStep};
use crate::supervisor::Offer;

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
        check_order(&key, &rows)?;
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

/// Puts a row before the first heavier one of its stage, in whichever part that stands, else at the
/// end of the last part.
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
        if let Some(other) = self.newest(&key.name).filter(|other| other.kind != process.kind) {
            let (kind, of_other) = (process.kind, other.kind);
            return Err(TableError::new(&key, format!("it runs as {kind}, but {} runs as {of_other}", other.key)));
        }
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

    /// The newest version of a process: the one that new operations begin on. All versions of a name run
    /// as the same type of operation.
    pub fn newest(&self, name: &str) -> Option<&Process<D>> {
        self.processes.values().rfind(|process| process.key.name == name)
    }

    /// The newest version of each process.
    pub(crate) fn offers(&self) -> Vec<Offer> {
        let names: BTreeSet<&str> = self.processes.keys().map(|key| key.name.as_str()).collect();
        let newest = names.into_iter().filter_map(|name| self.newest(name));
        newest
            .map(|Process { key, kind, budget, .. }| Offer { process: key.clone(), kind: *kind, budget: *budget })
            .collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{A, B, C, D, STUBBORN, Sample, names, table};

    fn refused(rows: &'static [Row<Sample>], finalizers: &'static [Row<Sample>], extra: &[Row<Sample>]) -> String {
        match Process::of(&table(rows, finalizers), extra) {
            Ok(_) => panic!("the table should be refused"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn tables_that_cannot_be_run_are_refused_with_what_is_wrong() {
        static EMPTY: &[Row<Sample>] = &[];
        static WEIGHTLESS: &[Row<Sample>] = &[row("a", 0, &A)];
        static UNSORTED: &[Row<Sample>] = &[row("a", 2, &A), row("a", 1, &B)];
        static TWICE: &[Row<Sample>] = &[row("a", 1, &A), row("b", 1, &B), row("a", 1, &A)];
        static GOOD: &[Row<Sample>] = &[row("a", 1, &A)];
        static SLOW: &[Row<Sample>] = &[row("a", 1, &STUBBORN)];
        for (rows, finalizers, problem) in [
            (EMPTY, EMPTY, "it has no rows"),
            (WEIGHTLESS, EMPTY, "step A has weight 0; weights begin at 1"),
            (UNSORTED, EMPTY, "step A stands before B but weighs more"),
            (TWICE, EMPTY, "step A stands twice in stage a"),
            (SLOW, EMPTY, "step Stubborn gives up after 2h; at most 1h is allowed here"),
            (GOOD, UNSORTED, "step A stands before B but weighs more"),
            (GOOD, SLOW, "step Stubborn gives up after 2h; at most 1h is allowed here"),
        ] {
            assert_eq!(refused(rows, finalizers, &[]), format!("process table sample@1: {problem}"));
        }
        static OTHER: &[Row<Sample>] = &[row("a", 1, &B)];
        assert!(refused(GOOD, OTHER, &[]).ends_with("stage a is both a finalizer and an ordinary stage"));
    }

    #[test]
    fn in_a_deprovisioning_no_step_may_hold_up_the_rest_for_more_than_five_minutes() {
        static ROWS: &[Row<Sample>] = &[row("a", 1, &STUBBORN)];
        let table = ProcessTable { kind: OperationType::Deprovision, ..table(ROWS, &[]) };
        let Err(error) = Process::of(&table, &[]) else { panic!("refused") };
        assert!(error.to_string().ends_with("at most 5m is allowed here"), "{error}");
    }

    #[test]
    fn the_weights_of_two_stages_have_nothing_to_do_with_each_other() {
        static ROWS: &[Row<Sample>] = &[row("a", 9, &A), row("b", 1, &B), row("a", 1, &C)];
        assert_eq!(names(&Process::of(&table(ROWS, &[]), &[]).expect("a right table")), ["A", "B", "C"]);
    }

    #[test]
    fn a_row_of_the_deployment_goes_behind_those_of_its_stage_that_are_not_heavier() {
        static ROWS: &[Row<Sample>] = &[row("a", 2, &A), row("a", 4, &B), row("b", 1, &C)];
        for (weight, wanted) in [
            (1, ["D", "A", "B", "C"]),
            (2, ["A", "D", "B", "C"]),
            (3, ["A", "D", "B", "C"]),
            (4, ["A", "B", "D", "C"]),
            (9, ["A", "B", "D", "C"]),
        ] {
            let process = Process::of(&table(ROWS, &[]), &[row("a", weight, &D)]).expect("a right table");
            assert_eq!(names(&process), wanted, "weight {weight}");
        }
        assert!(refused(ROWS, &[], &[row("c", 1, &D)]).ends_with("there is no stage c to put step D into"));
        assert!(refused(ROWS, &[], &[row("a", 1, &A)]).ends_with("step A stands twice in stage a"));
        assert!(refused(ROWS, &[], &[row("a", 0, &D)]).ends_with("step D has weight 0; weights begin at 1"));
    }

    #[test]
    fn a_stage_of_several_parts_ends_with_its_last_row() {
        static ROWS: &[Row<Sample>] = &[row("a", 1, &A), row("b", 1, &B), row("a", 1, &C)];
        let closes: Vec<_> = (0..3).map(|index| Process::closes_stage(ROWS, index)).collect();
        assert_eq!(closes, [false, true, true]);
    }

    #[test]
    fn a_registry_refuses_the_same_table_twice_and_unknown_steps_to_switch_off() {
        static ROWS: &[Row<Sample>] = &[row("a", 1, &A)];
        let registry = || Registry::default().with(&table(ROWS, &[])).expect("a right table");
        assert!(registry().with(&table(ROWS, &[])).is_err());
        assert_eq!(registry().without_steps(["a".to_owned()]).err().as_deref(), Some("there is no step a to disable"));
        assert!(registry().without_steps(["A".to_owned()]).is_ok_and(|registry| registry.is_disabled("A")));
    }

    #[test]
    fn of_several_versions_the_newest_is_for_new_operations_and_all_run_as_the_same_type() {
        static OLD: &[Row<Sample>] = &[row("a", 1, &A)];
        static NEW: &[Row<Sample>] = &[row("a", 1, &A), row("b", 1, &B)];
        let version = |version, rows| ProcessTable { version, ..table(rows, &[]) };
        let registry = Registry::default().with(&version(10, NEW)).and_then(|registry| registry.with(&version(9, OLD)));
        let registry = registry.expect("two versions of one process");
        assert_eq!(names(registry.newest("sample").expect("a process")), ["A", "B"]);
        assert_eq!(registry.get(&"sample@9".parse().expect("a key")).map(names), Some(vec!["A"]));
        assert!(registry.newest("sampl").is_none());
        let other = ProcessTable { kind: OperationType::Provision, ..version(11, NEW) };
        let Err(error) = registry.with(&other) else { panic!("refused") };
        assert_eq!(error.to_string(), "process table sample@11: it runs as provision, but sample@10 runs as update");
    }
}
