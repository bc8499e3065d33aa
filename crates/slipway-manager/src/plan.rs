//! What a change of a Runtime would do to its cluster, before it does.
//!
//! The Shoot is rendered and compared with the one that lives; each field that differs is labelled
//! with what it costs. The labels are a table, made from what Gardener documents and its API server
//! answers; Gardener itself has the last word.

mod difference;
mod effects;

use std::fmt;

use serde::Serialize;
use serde_json::Value;
use slipway_kube::{Runtime, annotations};

pub use self::difference::projection;
use crate::render::{RenderInput, render, unchangeable};

/// What a change costs, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Effect {
    /// The cluster takes it while it runs.
    InPlace,
    /// Machines are replaced or removed, and what runs on them moves.
    RollsNodes,
    /// Only another cluster can have it.
    Recreates,
    /// It cannot be had, or is not sent.
    Refused,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InPlace => "in place",
            Self::RollsNodes => "rolls nodes",
            Self::Recreates => "recreates",
            Self::Refused => "refused",
        })
    }
}

/// One field that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Of the Shoot; of the Runtime where the change does not get as far.
    pub path: String,
    /// What is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What would be there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// What it costs.
    pub effect: Effect,
    /// Why.
    pub reason: String,
}

/// What would happen.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Plan {
    /// Whether there is no Shoot yet, so that one would be created.
    pub creates: bool,
    /// What differs.
    pub changes: Vec<Change>,
}

impl Plan {
    /// The worst that would happen.
    pub fn worst(&self) -> Option<Effect> {
        self.changes.iter().map(|change| change.effect).max()
    }
}

/// Plans a change. What cannot be rendered is part of the answer: it is refused.
pub fn plan(input: &RenderInput<'_>) -> Plan {
    let mut changes: Vec<Change> = unchangeable(input)
        .into_iter()
        .map(|error| of_runtime(input, error.path, error.message, Effect::Recreates))
        .collect();
    // The rest of the change is worth knowing too, so it is rendered with what the cluster has.
    let runtime = without_unchangeable(input);
    match render(&RenderInput { runtime: &runtime, ..*input }) {
        Ok(document) => {
            for note in document.notes() {
                changes.push(of_runtime(input, note.path.clone(), note.message.clone(), Effect::Refused));
            }
            if let Some(existing) = input.existing {
                let manager = &input.config.converter.gardener.field_manager;
                let differences = difference::between(existing, document.value(), manager);
                changes.extend(differences.into_iter().filter(|one| !is_bookkeeping(&one.path)).map(effects::label));
            }
        }
        Err(error) => changes.push(of_runtime(input, error.path, error.message, Effect::Refused)),
    }
    Plan { creates: input.existing.is_none(), changes }
}

/// A wish that does not get as far as the Shoot.
fn of_runtime(input: &RenderInput<'_>, path: String, reason: String, effect: Effect) -> Change {
    let runtime = serde_json::to_value(input.runtime).unwrap_or_default();
    let after = path.split('.').try_fold(&runtime, |at, name| at.get(name)).filter(|value| !value.is_null()).cloned();
    Change { path, before: None, after, effect, reason }
}

/// The Runtime as if nobody had touched what cannot change.
fn without_unchangeable(input: &RenderInput<'_>) -> Runtime {
    let mut runtime = input.runtime.clone();
    let Some(existing) = input.existing else { return runtime };
    let text = |pointer: &str| existing.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let shoot = &mut runtime.spec.shoot;
    for error in unchangeable(input) {
        match error.path.as_str() {
            "spec.shoot.name" => shoot.name = text("/metadata/name").unwrap_or_default(),
            "spec.shoot.region" => shoot.region = text("/spec/region").unwrap_or_default(),
            "spec.shoot.provider.type" => {
                let there = existing.pointer("/spec/provider/type").cloned().unwrap_or_default();
                shoot.provider.provider_type = serde_json::from_value(there).unwrap_or(shoot.provider.provider_type);
            }
            "spec.shoot.networking.type" => shoot.networking.network_type = text("/spec/networking/type"),
            "spec.shoot.networking.nodes" => {
                shoot.networking.nodes = text("/spec/networking/nodes").unwrap_or_default()
            }
            "spec.shoot.networking.pods" => shoot.networking.pods = text("/spec/networking/pods").unwrap_or_default(),
            "spec.shoot.networking.services" => {
                shoot.networking.services = text("/spec/networking/services").unwrap_or_default()
            }
            other => unreachable!("{other} is not among the fields that cannot change"),
        }
    }
    runtime
}

/// What we write to remember what we did; it changes with every change.
fn is_bookkeeping(path: &str) -> bool {
    [annotations::INPUT_HASH, annotations::RUNTIME_GENERATION, annotations::RUNTIME_UID]
        .iter()
        .any(|key| path == format!("metadata.annotations[{key}]"))
}

#[cfg(test)]
mod tests;
