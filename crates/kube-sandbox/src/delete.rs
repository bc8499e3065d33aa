//! Deleting: at once, or when every finalizer is done.
//!
//! The server itself only marks and removes. What depends on the object is the garbage collector's
//! (`controllers/garbage.rs`), which is told by a finalizer to act before the owner goes, or finds
//! the orphans after it went.

use serde_json::{Value, json};

use super::{
    metadata,
    status::Status,
    store::{Expect, WriteError},
    write::{Call, is_finished},
};
use crate::clock;

/// Waits for dependents.
pub const FOREGROUND: &str = "foregroundDeletion";
/// Dependents stay.
pub const ORPHAN: &str = "orphan";

/// What becomes of dependents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// They go after their owner.
    Background,
    /// They go before their owner.
    Foreground,
    /// They stay, without owner.
    Orphan,
}

/// How to delete: the query's and the body's `DeleteOptions` together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Only if it is this very object.
    pub uid: Option<String>,
    /// Only in this version.
    pub version: Option<String>,
    /// What becomes of dependents, if the client cares.
    pub propagation: Option<Propagation>,
}

impl Options {
    /// Reads a `DeleteOptions` object.
    pub fn parse(body: &Value) -> Result<Self, Status> {
        let owned = |value: &Value| value.as_str().map(ToOwned::to_owned);
        let propagation = match (body["propagationPolicy"].as_str(), body["orphanDependents"].as_bool()) {
            (Some("Background"), None) => Some(Propagation::Background),
            (Some("Foreground"), None) => Some(Propagation::Foreground),
            (Some("Orphan"), None) | (None, Some(true)) => Some(Propagation::Orphan),
            (None, Some(false)) => Some(Propagation::Background),
            (None, None) => None,
            (Some(_), Some(_)) => {
                let rule = "orphanDependents and deletionPropagation cannot be both set";
                let cause = super::status::Cause::invalid("propagationPolicy", &body["propagationPolicy"], rule);
                return Err(Status::invalid("meta.k8s.io", "DeleteOptions", "", vec![cause]));
            }
            (Some(other), None) => {
                let known = ["Foreground", "Background", "Orphan", "nil"];
                let cause = super::status::Cause::not_supported("propagationPolicy", &json!(other), &known);
                return Err(Status::invalid("meta.k8s.io", "DeleteOptions", "", vec![cause]));
            }
        };
        let conditions = &body["preconditions"];
        Ok(Self { uid: owned(&conditions["uid"]), version: owned(&conditions["resourceVersion"]), propagation })
    }
}

/// What came of a deletion.
#[derive(Debug)]
pub enum Deleted {
    /// It is gone; its last state.
    Gone(Value),
    /// It is marked and waits for its finalizers.
    Waiting(Value),
}

impl Call<'_> {
    /// Deletes one object.
    pub async fn delete(&self, name: &str, options: &Options) -> Result<Deleted, Status> {
        let (store, cluster, table) = (self.cluster.store(), self.cluster.name(), &self.kind.stored_as);
        let mut asked = false;
        loop {
            let Some(stored) = self.stored(name) else { return Err(self.kind.not_found(name)) };
            let object = self.read(&stored);
            self.check_conditions(name, &object, options)?;
            if !asked {
                self.may_delete(&object)?;
                asked = true;
            }
            let marked = self.mark(&object, options);
            let place = stored_name(self, name);
            let done = if is_finished(&marked) {
                if self.dry_run {
                    return Ok(Deleted::Gone(object));
                }
                let removed = store.remove(cluster, table, place, stored.version).await;
                removed.map(|last| {
                    let last = self.read(&last);
                    self.removed_definition(&last);
                    Deleted::Gone(last)
                })
            } else {
                if self.dry_run || metadata::is_same(&marked, &object) {
                    return Ok(Deleted::Waiting(marked));
                }
                let (draft, _) = self.draft_of(marked);
                let put = store.put(cluster, table, place, Expect::Version(stored.version), draft).await;
                put.map(|marked| Deleted::Waiting(self.read(&marked)))
            };
            match done {
                Ok(done) => return Ok(done),
                // Somebody changed it in between: look again, the conditions may not hold any more.
                Err(WriteError::Conflict(_)) => {}
                Err(error) => return Err(Status::from(error)),
            }
        }
    }

    fn check_conditions(&self, name: &str, object: &Value, options: &Options) -> Result<(), Status> {
        let versions = (metadata::text(object, "resourceVersion"), "modified");
        for (what, wanted, (found, guess)) in [
            ("UID", &options.uid, (metadata::text(object, "uid"), "deleted and then recreated")),
            ("ResourceVersion", &options.version, versions),
        ] {
            if let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != found) {
                let why = format!(
                    "the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). \
                     The object might have been {guess}"
                );
                // The kind, not the resource: the real server mixes them up here.
                return Err(Status::conflict(&self.kind.group, &self.kind.kind, name, &why));
            }
        }
        Ok(())
    }

    /// The object as it would be kept while it is being deleted.
    fn mark(&self, object: &Value, options: &Options) -> Value {
        let mut marked = object.clone();
        let mut finalizers: Vec<String> = metadata::finalizers(object).into_iter().map(ToOwned::to_owned).collect();
        if let Some(propagation) = options.propagation {
            let wanted = match propagation {
                Propagation::Background => "",
                Propagation::Foreground => FOREGROUND,
                Propagation::Orphan => ORPHAN,
            };
            finalizers.retain(|one| one != FOREGROUND && one != ORPHAN);
            if !wanted.is_empty() {
                finalizers.push(wanted.to_owned());
            }
        }
        let fields = metadata::of(&mut marked);
        if finalizers.is_empty() {
            fields.remove("finalizers");
        } else {
            fields.insert("finalizers".to_owned(), json!(finalizers));
        }
        if !metadata::is_deleting(object) {
            let fields = metadata::of(&mut marked);
            fields.insert("deletionTimestamp".to_owned(), json!(clock::seconds(self.now)));
            fields.insert("deletionGracePeriodSeconds".to_owned(), json!(0));
            if let Some(generation) = object["metadata"]["generation"].as_i64() {
                fields.insert("generation".to_owned(), json!(generation + 1));
            }
            self.kind.strategy.mark_deleted(&mut marked);
        }
        marked
    }
}

fn stored_name(call: &Call<'_>, name: &str) -> super::object::Name {
    super::object::Name::new(if call.kind.namespaced { call.namespace } else { "" }, name)
}
