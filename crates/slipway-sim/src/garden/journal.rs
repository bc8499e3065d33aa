//! What happened, one JSON line each: writes of the engine, faults, what was told to the clock.

use std::{
    collections::{BTreeMap, VecDeque},
    io::Write as _,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use jiff::Timestamp;
use serde_json::{Value, json};

/// Lines kept in memory; a file keeps them all.
const KEPT: usize = 10_000;

/// The journal. Clones are the same journal.
#[derive(Debug, Clone, Default)]
pub struct Journal(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    lines: VecDeque<Value>,
    file: Option<std::fs::File>,
    count: u64,
    counts: BTreeMap<String, u64>,
}

impl Journal {
    /// One that is also written to a file.
    pub fn at(path: &Path) -> std::io::Result<Self> {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self(Arc::new(Mutex::new(Inner { file: Some(file), ..Inner::default() }))))
    }

    /// Adds a line.
    pub fn record(&self, now: Timestamp, what: &str, about: &str, more: Value) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.count += 1;
        *inner.counts.entry(what.to_owned()).or_default() += 1;
        let line = json!({"n": inner.count, "time": now.to_string(), "what": what, "about": about, "more": more});
        if let Some(file) = &mut inner.file {
            // A journal that cannot be written must not stop what it tells about.
            let _ = writeln!(file, "{line}");
        }
        inner.lines.push_back(line);
        if inner.lines.len() > KEPT {
            inner.lines.pop_front();
        }
    }

    /// How many lines of each sort there were.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).counts.clone()
    }

    /// The lines behind a number.
    pub fn since(&self, number: u64) -> Vec<Value> {
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.lines.iter().filter(|line| line["n"].as_u64() > Some(number)).cloned().collect()
    }
}
