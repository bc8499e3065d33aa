//! What happened, one JSON line each: requests, writes of the engine, faults, what was told to the clock.
//!
//! Bounded, in memory and on disk: a garden that runs for weeks must not fill either.

use std::{
    collections::{BTreeMap, VecDeque},
    io::Write as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use jiff::Timestamp;
use serde_json::{Value, json};

/// Lines kept in memory.
const KEPT: usize = 10_000;

/// Bytes of a file; then it makes room for the next one and stays as the only old one.
const FILE_BYTES: u64 = 64 << 20;

/// The journal. Clones are the same journal.
#[derive(Debug, Clone, Default)]
pub struct Journal(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    lines: VecDeque<Value>,
    file: Option<File>,
    count: u64,
    counts: BTreeMap<String, u64>,
}

#[derive(Debug)]
struct File {
    path: PathBuf,
    file: std::fs::File,
    bytes: u64,
    most: u64,
}

impl File {
    fn open(path: &Path, most: u64) -> std::io::Result<Self> {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, bytes, most })
    }

    fn write(&mut self, line: &Value) -> std::io::Result<()> {
        if self.bytes >= self.most {
            std::fs::rename(&self.path, self.path.with_extension("journal.old"))?;
            *self = Self::open(&self.path, self.most)?;
        }
        let text = format!("{line}\n");
        self.bytes += text.len() as u64;
        self.file.write_all(text.as_bytes())
    }
}

impl Journal {
    /// One that is also written to a file.
    pub fn at(path: &Path) -> std::io::Result<Self> {
        Self::bounded(path, FILE_BYTES)
    }

    fn bounded(path: &Path, most: u64) -> std::io::Result<Self> {
        let file = File::open(path, most)?;
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
            let _ = file.write(&line);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_memory_nor_the_disk_fills_up() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("garden.journal");
        let journal = Journal::bounded(&path, 1000).expect("journal");
        for number in 0..KEPT + 5 {
            journal.record(Timestamp::UNIX_EPOCH, "write", "garden-dev/shop", json!(number));
        }
        let lines = journal.since(0);
        assert_eq!((lines.len(), &lines[0]["more"]), (KEPT, &json!(5)), "the oldest are gone");
        assert_eq!(journal.counts()["write"], KEPT as u64 + 5);
        let sizes: Vec<u64> = std::fs::read_dir(folder.path())
            .expect("folder")
            .map(|entry| entry.expect("entry").metadata().expect("metadata").len())
            .collect();
        assert!(sizes.len() == 2 && sizes.iter().all(|size| *size < 1200), "{sizes:?}");
        let text = std::fs::read_to_string(&path).expect("text");
        assert!(text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    }
}
