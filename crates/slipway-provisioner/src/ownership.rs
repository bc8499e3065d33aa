//! Whose a Runtime is.
//!
//! Runtimes are named by ids, ids are chosen by callers, and others write Runtimes into the control plane too. So a
//! Runtime is a stored record's only if it carries the mark that we wrote with it: the moment the record was stored.
//! An id may be used twice, that moment may not; and a tenant would be no mark, because runtimes move. Whoever
//! reads, changes or removes a Runtime, or opens its cluster, needs an [`OwnRuntime`], and the way to one is
//! [`OwnRuntime::prove`].

use std::ops::Deref;

use slipway_kube::{Runtime, annotations};
use slipway_model::{
    Timestamp,
    runtime_record::{RuntimeId, RuntimeRecord},
};

/// The value of [`annotations::RECORD`] for a record that was stored then.
pub(crate) fn mark(created_at: Timestamp) -> String {
    created_at.as_micros().to_string()
}

/// The Runtime of a name is not the one of the record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the Runtime resource {0} in the control plane was not made for this runtime, so it was neither read nor \
     touched; an operator must see whose it is"
)]
pub struct Foreign(RuntimeId);

/// A Runtime that is proven to be the one of a stored record.
#[derive(Debug, Clone)]
pub struct OwnRuntime(Runtime);

impl OwnRuntime {
    /// The proof.
    pub fn prove(runtime: Runtime, record: &RuntimeRecord) -> Result<Self, Foreign> {
        let found = runtime.metadata.annotations.as_ref().and_then(|all| all.get(annotations::RECORD));
        if found == Some(&mark(record.created_at)) { Ok(Self(runtime)) } else { Err(Foreign(record.id)) }
    }

    /// What tells it from every other object of its name; empty for one that no server has seen.
    pub fn uid(&self) -> &str {
        self.0.metadata.uid.as_deref().unwrap_or_default()
    }

    /// The runtime's id.
    pub fn name(&self) -> &str {
        self.0.metadata.name.as_deref().unwrap_or_default()
    }
}

impl Deref for OwnRuntime {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        &self.0
    }
}
