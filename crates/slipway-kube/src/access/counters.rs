//! How many requests of which kind were answered how: the garden's owners ask for this first.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::Verb;

/// What is counted apart. No names of objects: their number has no bound.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counted {
    /// Cluster.
    pub cluster: &'static str,
    /// Verb.
    pub verb: Verb,
    /// Resource.
    pub resource: &'static str,
    /// Part of it, or empty.
    pub subresource: &'static str,
    /// HTTP status; 0 where none came. All successes are 200.
    pub code: u16,
}

/// The counts. Clones are the same counts.
#[derive(Debug, Clone, Default)]
pub struct Counters(Arc<Mutex<BTreeMap<Counted, u64>>>);

impl Counters {
    pub(super) fn count(
        &self,
        cluster: &'static str,
        verb: Verb,
        resource: &'static str,
        subresource: &'static str,
        code: Option<u16>,
    ) {
        let counted = Counted { cluster, verb, resource, subresource, code: code.unwrap_or(0) };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(counted).or_default() += 1;
    }

    /// All counts.
    pub fn all(&self) -> Vec<(Counted, u64)> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(counted, count)| (counted.clone(), *count)).collect()
    }

    /// The sum of those that are meant.
    pub fn sum(&self, meant: impl Fn(&Counted) -> bool) -> u64 {
        self.all().into_iter().filter(|(counted, _)| meant(counted)).map(|(_, count)| count).sum()
    }
}
