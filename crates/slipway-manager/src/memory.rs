//! What the process remembers of a Runtime between passes. All of it can be lost: a restart asks the world again.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use slipway_kube::runtime::{ImageRegistryCache, RuntimeStatus};

/// What is remembered of one Runtime.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    /// What was applied last: until the cache shows it, it is not applied again.
    pub applied: Option<Applied>,
    /// What Gardener refused: not sent again before something changes or the resync comes.
    pub refused: Option<Refused>,
    /// The generation of the Shoot that is known to be as we want it; none until Gardener is done with our input.
    pub aligned: Option<i64>,
    /// When something was last put back that somebody else had changed.
    pub put_back_at: Option<Duration>,
    /// What that was, until Gardener is done with it.
    pub putting_back: Option<String>,
    /// The status last written: the cache may be behind.
    pub status: Option<RuntimeStatus>,
    /// The version of the Runtime at which it had our finalizer: the cache may be behind.
    pub finalizer_at: u64,
    /// The highest generation acknowledged.
    pub acknowledged: i64,
    /// Failed tries in a row at one place, and the place: who gets further starts with short pauses again.
    pub attempts: u32,
    /// See above.
    pub failed_at: &'static str,
    /// Since when the garden answers 403.
    pub forbidden_since: Option<Duration>,
    /// Since when the Shoot is `Failed` with this input, and when another attempt was last asked for.
    pub failed_since: Option<Duration>,
    /// Since when no Seed matches.
    pub no_seed_since: Option<Duration>,
    /// When the cluster was last prepared or looked after.
    pub prepared_at: Option<Duration>,
    /// When the present generation was first seen, for the alignment figures.
    pub changed_at: Option<Duration>,
    /// When the Shoot of this generation was applied, and when Gardener was done.
    pub applied_at: Option<Duration>,
    /// See above.
    pub settled_at: Option<Duration>,
    /// The GardenerCluster and its Secret are being deleted on purpose: nobody makes the Secret anew.
    pub cluster_going: bool,
    /// They were.
    pub cluster_deleted: bool,
    /// What it asks for and does not get, as last rendered; none if this process has not rendered it.
    pub notes: Option<Vec<String>>,
    /// When to look at the registry caches that its cluster asks for; none where nobody looks.
    pub caches_due: Option<Duration>,
    /// They are not looked at before this.
    pub caches_not_before: Duration,
    /// Looks that failed in a row.
    pub caches_failures: u32,
    /// The caches that it should have, as last looked at.
    pub caches_wanted: Option<Vec<ImageRegistryCache>>,
    /// They are not in the Shoot yet: to be looked at when it has followed.
    pub caches_unsettled: bool,
    /// Hash of the structured authentication last written.
    pub auth_config: Option<String>,
}

/// What was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The input hash.
    pub hash: String,
    /// The Shoot's generation in the answer.
    pub generation: i64,
    /// When.
    pub at: Duration,
}

/// What was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The input hash.
    pub hash: String,
    /// What the Runtime was told.
    pub said: crate::outcome::Said,
    /// When.
    pub at: Duration,
}

/// One Runtime's memory, and the lock that orders its status writes.
#[derive(Debug, Default)]
pub struct Cell {
    memory: Mutex<Memory>,
    /// Held while a status is written: an acknowledgement is never overwritten by an older report.
    pub writing: tokio::sync::Mutex<()>,
}

impl Cell {
    /// The memory.
    pub fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The memories of all Runtimes.
#[derive(Debug, Default)]
pub struct Memories(Mutex<HashMap<String, Arc<Cell>>>);

impl Memories {
    /// That of one.
    pub fn of(&self, name: &str) -> Arc<Cell> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(name.to_owned()).or_default().clone()
    }

    /// Forgets one that is gone.
    pub fn forget(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    /// Forgets those that are no longer ours: somebody else writes them now.
    pub fn keep(&self, ours: impl Fn(&str) -> bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|name, _| ours(name));
    }
}
