//! What the process remembers of a Runtime between passes. All of it can be lost: a restart asks the world again.
//!
//! One type for each concern, with its changes beside it, so that nothing can be remembered that cannot be.
//!
//! | concern | type |
//! |---|---|
//! | what Gardener was given, and what it made of it | [`ShootMemory`] |
//! | since when something is wrong | [`Troubles`] |
//! | how often a pass failed at one place | [`Retries`] |
//! | how long an alignment takes | [`Alignment`] |
//! | whether the GardenerCluster is on its way out | [`ClusterEnd`] |
//! | whether the cluster takes its kubeconfig | [`KubeconfigMemory`] |
//! | what was said in the status | [`Reported`] |
//! | registry caches | [`registry_caches::Memory`] |

mod alignment;
mod kubeconfig;
mod reported;
mod retries;
mod shoot;
mod troubles;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

pub(crate) use self::{
    alignment::{Alignment, Phases},
    kubeconfig::KubeconfigMemory,
    reported::Reported,
    retries::{FailedAt, Retries},
    shoot::ShootMemory,
    troubles::Troubles,
};
use crate::registry_caches;

/// What is remembered of one Runtime.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    /// What Gardener was given.
    pub(crate) shoot: ShootMemory,
    /// What is wrong, and since when.
    pub(crate) troubles: Troubles,
    /// Failed tries in a row.
    pub(crate) retries: Retries,
    /// The times of the present change.
    pub(crate) alignment: Alignment,
    /// What becomes of the GardenerCluster.
    pub(crate) cluster: ClusterEnd,
    /// Whether the cluster takes its kubeconfig.
    pub(crate) kubeconfig: KubeconfigMemory,
    /// What was said in the status.
    pub(crate) reported: Reported,
    /// The version of the Runtime at which it had our finalizer: the cache may be behind.
    pub(crate) finalizer_at: u64,
    /// When the cluster was last prepared or looked after.
    pub(crate) prepared_at: Option<Duration>,
    /// What it asks for and does not get, as last rendered; none if this process has not rendered it.
    pub(crate) notes: Option<Vec<String>>,
    /// Hash of the structured authentication last written.
    pub(crate) auth_config: Option<String>,
    pub(crate) registry_caches: registry_caches::Memory,
}

/// What becomes of the GardenerCluster and its Secret.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ClusterEnd {
    /// They are wanted.
    #[default]
    Kept,
    /// They are being deleted on purpose: nobody makes the Secret anew.
    Going,
    /// Their deletion was taken.
    Deleted,
}

/// One Runtime's memory, and the lock that orders its status writes.
#[derive(Debug, Default)]
pub(crate) struct Cell {
    memory: Mutex<Memory>,
    /// Held while a status is written: an acknowledgement is never overwritten by an older report.
    pub(crate) writing: tokio::sync::Mutex<()>,
}

impl Cell {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The memories of all Runtimes, by name.
#[derive(Debug, Default)]
pub(crate) struct Memories(Mutex<HashMap<String, Arc<Cell>>>);

impl Memories {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Cell>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// That of one Runtime; empty if nothing is remembered of it.
    pub(crate) fn of_runtime(&self, name: &str) -> Arc<Cell> {
        self.all().entry(name.to_owned()).or_default().clone()
    }

    /// Forgets one that is gone.
    pub(crate) fn forget(&self, name: &str) {
        self.all().remove(name);
    }

    /// Forgets those that are no longer ours: somebody else writes them now.
    pub(crate) fn keep(&self, ours: impl Fn(&str) -> bool) {
        self.all().retain(|name, _| ours(name));
    }
}
