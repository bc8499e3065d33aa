//! How an apply says that others own what it wants.

use super::{
    ApplyError,
    managed::Entry,
    set::{Element, shown},
};
use crate::status::{Cause, CauseReason};

/// A field somebody else owns with another value.
pub(super) type Conflict = (Entry, Vec<Element>);

/// The refusal: one sentence for one conflict, a list by manager for several.
pub(super) fn refuse(conflicts: &[Conflict]) -> ApplyError {
    let causes = conflicts.iter().map(|(entry, path)| Cause {
        field: shown(path),
        reason: CauseReason::FieldManagerConflict,
        message: format!("conflict with {}", entry.shown()),
    });
    let message = if let [(entry, path)] = conflicts {
        format!("Apply failed with 1 conflict: conflict with {}: {}", entry.shown(), shown(path))
    } else {
        let mut managers: Vec<String> = conflicts.iter().map(|(entry, _)| entry.shown()).collect();
        managers.sort();
        managers.dedup();
        let lines = managers.iter().flat_map(|manager| {
            let paths = conflicts.iter().filter(move |(entry, _)| entry.shown() == *manager);
            let paths = paths.map(|(_, path)| format!("- {}", shown(path)));
            std::iter::once(format!("conflicts with {manager}:")).chain(paths)
        });
        format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.collect::<Vec<_>>().join("\n"))
    };
    ApplyError::Conflict { message, causes: causes.collect() }
}
