//! The objects of one kind in one cluster, with the latest changes.
//!
//! The changes are what watches are served from. They also know what was there before, so a list
//! can go back in time: the pages of one long list all show the same moment, whatever happens
//! between them.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    ops::Bound,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use tokio::sync::watch;

use crate::object::{Name, Stored};

/// A version is older than the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too old resource version: {asked} ({oldest})")]
pub struct TooOld {
    /// The version asked for.
    pub asked: u64,
    /// The oldest one that could be answered.
    pub oldest: u64,
}

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added,
    /// It has another content.
    Modified,
    /// It is gone.
    Deleted,
}

impl Change {
    /// As watches spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// One change.
#[derive(Debug)]
pub struct Event {
    /// What happened.
    pub change: Change,
    /// To which object.
    pub name: Name,
    /// The object after it; its last state if it is gone, with the version of the deletion.
    pub object: Arc<Stored>,
    /// The object before it.
    pub before: Option<Arc<Stored>>,
    wire: OnceLock<Bytes>,
}

impl Event {
    /// A change, from the object before and after it.
    pub(super) fn new(name: Name, before: Option<Arc<Stored>>, after: Option<Arc<Stored>>, version: u64) -> Self {
        let (change, object) = match (&before, after) {
            (None, Some(new)) => (Change::Added, new),
            (Some(_), Some(new)) => (Change::Modified, new),
            (Some(old), None) => (Change::Deleted, Arc::new(old.gone(version))),
            (None, None) => unreachable!("the writer changes only what was or will be there"),
        };
        Self { change, name, object, before, wire: OnceLock::new() }
    }

    /// What is there, told as if it had just changed: how a controller starts.
    pub fn seen(name: Name, object: Arc<Stored>) -> Self {
        Self { change: Change::Modified, name, before: Some(object.clone()), object, wire: OnceLock::new() }
    }

    /// The version it happened at.
    pub fn version(&self) -> u64 {
        self.object.version
    }

    /// As a watch sends it. Written once, however many watch.
    pub fn wire(&self) -> Bytes {
        self.wire.get_or_init(|| frame(self.change.as_str(), &self.object)).clone()
    }
}

/// A line of a watch.
pub fn frame(change: &str, object: &Stored) -> Bytes {
    let mut line = Vec::with_capacity(object.text().0.len() + 64);
    line.extend_from_slice(format!("{{\"type\":\"{change}\",\"object\":").as_bytes());
    object.write(&mut line);
    line.extend_from_slice(b"}\n");
    line.into()
}

#[derive(Debug)]
pub(super) struct Table {
    pub(super) objects: BTreeMap<Name, Arc<Stored>>,
    pub(super) bell: watch::Sender<u64>,
    log: VecDeque<Arc<Event>>,
    /// Every change behind this version is in the log.
    complete_since: u64,
}

impl Table {
    pub(super) fn new(since: u64) -> Self {
        let (objects, log) = (BTreeMap::new(), VecDeque::new());
        Self { objects, bell: watch::Sender::new(since), log, complete_since: since }
    }

    /// Makes a change visible; whoever watches is rung for separately, once per group.
    pub(super) fn apply(&mut self, event: Arc<Event>, history: usize) {
        match event.change {
            Change::Added | Change::Modified => drop(self.objects.insert(event.name.clone(), event.object.clone())),
            Change::Deleted => drop(self.objects.remove(&event.name)),
        }
        self.log.push_back(event);
        while self.log.len() > history {
            if let Some(forgotten) = self.log.pop_front() {
                self.complete_since = forgotten.version();
            }
        }
    }

    pub(super) fn behind(&self, version: u64) -> Result<Vec<Arc<Event>>, TooOld> {
        if version < self.complete_since {
            return Err(TooOld { asked: version, oldest: self.complete_since });
        }
        let start = self.log.partition_point(|event| event.version() <= version);
        Ok(self.log.range(start..).cloned().collect())
    }

    /// Objects of one namespace or (empty) of all, behind a name.
    pub(super) fn range(&self, namespace: &str, behind: Option<&Name>) -> Vec<(Name, Arc<Stored>)> {
        let first = Name::new(namespace, "");
        let start = behind.map_or(Bound::Included(&first), Bound::Excluded);
        self.objects
            .range((start, Bound::Unbounded))
            .take_while(|(name, _)| namespace.is_empty() || *name.namespace == *namespace)
            .map(|(name, object)| (name.clone(), object.clone()))
            .collect()
    }

    /// The same as of an earlier version: today's objects with every later change undone.
    pub(super) fn range_at(
        &self,
        namespace: &str,
        behind: Option<&Name>,
        version: u64,
    ) -> Result<Vec<(Name, Arc<Stored>)>, TooOld> {
        let later = self.behind(version)?;
        // The first later change of an object says what it was before all of them.
        let mut undone: HashMap<&Name, Option<&Arc<Stored>>> = HashMap::new();
        for event in &later {
            undone.entry(&event.name).or_insert(event.before.as_ref());
        }
        let mut objects = self.range(namespace, behind);
        objects.retain(|(name, _)| !undone.contains_key(name));
        let fits = |name: &Name| {
            (namespace.is_empty() || *name.namespace == *namespace) && behind.is_none_or(|behind| name > behind)
        };
        let back = undone.into_iter().filter(|(name, _)| fits(name));
        objects.extend(back.filter_map(|(name, before)| Some((name.clone(), before?.clone()))));
        objects.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(objects)
    }
}
