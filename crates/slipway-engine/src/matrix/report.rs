//! What the matrix has seen.

use std::fmt;

use slipway_model::ProcessKey;

use super::fault::{Fault, RowName};

/// One run.
#[derive(Debug, Clone)]
pub struct Cell {
    /// What went wrong; none for the undisturbed run.
    pub fault: Option<Fault>,
    /// What was seen, or what is wrong with it.
    pub seen: Result<String, String>,
}

impl Cell {
    pub(super) fn undisturbed(seen: Result<String, String>) -> Self {
        Self { fault: None, seen }
    }

    pub(super) fn of(fault: Fault, seen: Result<String, String>) -> Self {
        Self { fault: Some(fault), seen }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (row, call, what) = match &self.fault {
            None => ("-".to_owned(), "-".to_owned(), "undisturbed".to_owned()),
            Some(Fault { place, kind, call }) => {
                let call = call.as_ref().map_or("-".to_owned(), |call| format!("{} {}", call.number + 1, call.line));
                (place.to_string(), call, kind.to_string())
            }
        };
        let (mark, seen) = match &self.seen {
            Ok(seen) => ("ok ", seen),
            Err(problem) => ("BAD", problem),
        };
        write!(f, "{mark} {row:<24} {what:<30} {call:<52} {seen}")
    }
}

/// All runs of a process.
#[derive(Debug, Clone)]
pub struct Report {
    /// The process.
    pub process: String,
    /// The runs.
    pub cells: Vec<Cell>,
    /// Rows that did not run, so that nothing is known about them.
    pub never_ran: Vec<RowName>,
}

impl Report {
    pub(super) fn new(key: &ProcessKey) -> Self {
        Self { process: key.to_string(), cells: Vec::new(), never_ran: Vec::new() }
    }

    pub(super) fn add(&mut self, cell: Cell) {
        self.cells.push(cell);
    }

    pub(super) fn never_ran(&mut self, place: RowName) {
        self.never_ran.push(place);
    }

    /// Adds what was seen of the same process in another world: a row has run if it ran in one.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.cells.extend(other.cells);
        self.never_ran.retain(|place| other.never_ran.contains(place));
        self
    }

    /// The runs that did not go as they should.
    pub fn findings(&self) -> Vec<&Cell> {
        self.cells.iter().filter(|cell| cell.seen.is_err()).collect()
    }

    /// Panics with everything that is wrong.
    pub fn assert_sound(&self) {
        let mut text = String::new();
        for cell in self.findings() {
            text.push_str(&format!("{cell}\n"));
        }
        for place in &self.never_ran {
            text.push_str(&format!("{place} never ran; add a world in which it applies\n"));
        }
        assert!(text.is_empty(), "{}:\n{text}", self.process);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for cell in &self.cells {
            writeln!(f, "{cell}")?;
        }
        let bad = self.findings().len();
        write!(f, "{}: {} runs, {bad} bad, {} rows never ran", self.process, self.cells.len(), self.never_ran.len())
    }
}
