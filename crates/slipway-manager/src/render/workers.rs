//! Worker pools.
//!
//! A pool passes a short list of steps, each a file; what none of them touches stays as the Runtime
//! has it. For a Shoot that lives, its pools come first and in their order: Gardener keeps a pool's
//! zones for ever, and an order that moves would look like a change.

mod cloud;
mod drain;
mod gvisor;
mod image;
mod max_pods;

use serde_json::Value;
use slipway_kube::runtime::Worker;

use super::{Context, RenderError, draft::Draft};

pub(super) const PATH: &str = "spec.provider.workers";

/// What is done to every pool. The pool of the living Shoot comes with it, if it has one.
type Step = fn(&Context<'_>, &mut Worker, Option<&Value>);

static STEPS: &[Step] = &[image::fill, cloud::require, drain::fill, gvisor::allow_raw_sockets];

pub(super) fn create(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let workers = context.input.runtime.workers().cloned().map(|worker| (worker, None)).collect();
    write(context, draft, workers)
}

pub(super) fn patch(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let existing = context.existing(PATH).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if existing.is_empty() {
        return Err(RenderError::new(format!("shoot:{PATH}"), "is empty; a cluster without machines cannot get some"));
    }
    let index = |worker: &Worker| existing.iter().position(|pool| pool["name"] == worker.name.as_str());
    let mut workers: Vec<_> = context.input.runtime.workers().cloned().map(|worker| (index(&worker), worker)).collect();
    // Stable: new pools stay in the order of the Runtime, behind the known ones.
    workers.sort_by_key(|(index, _)| index.unwrap_or(usize::MAX));
    let mut merged = Vec::with_capacity(workers.len());
    for (index, mut worker) in workers {
        let pool = index.and_then(|index| existing.get(index));
        if let Some(pool) = pool {
            keep_zones(&mut worker, pool, draft);
            if worker.update_strategy.is_none() {
                worker.update_strategy = pool["updateStrategy"].as_str().map(str::to_owned);
            }
        }
        merged.push((worker, pool));
    }
    write(context, draft, merged)
}

/// A pool never loses a zone, and the zones it has keep their order.
fn keep_zones(worker: &mut Worker, pool: &Value, draft: &mut Draft) {
    let there: Vec<String> =
        pool["zones"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    for lost in there.iter().filter(|zone| !worker.zones.contains(zone)) {
        let path = format!("spec.shoot.provider.workers[{}].zones", worker.name);
        draft.note(path, format!("{lost} is gone, but a pool keeps its zones; make another pool instead"));
    }
    let new: Vec<String> = worker.zones.drain(..).filter(|zone| !there.contains(zone)).collect();
    worker.zones = there;
    worker.zones.extend(new);
}

fn write(
    context: &Context<'_>,
    draft: &mut Draft,
    mut workers: Vec<(Worker, Option<&Value>)>,
) -> Result<(), RenderError> {
    for (worker, pool) in &mut workers {
        for step in STEPS {
            step(context, worker, *pool);
        }
    }
    max_pods::limit(context, workers.iter_mut().map(|(worker, _)| worker))?;
    let pools: Result<Vec<Value>, _> = workers.iter().map(|(worker, _)| serde_json::to_value(worker)).collect();
    let pools = pools.map_err(|error| RenderError::new("spec.shoot.provider.workers", error.to_string()))?;
    draft.set("spec.provider.type", context.cloud.name);
    draft.set(PATH, pools);
    // Gardener's default would open machines for SSH.
    draft.set("spec.provider.workersSettings.sshAccess.enabled", false);
    Ok(())
}

/// The distinct zones of rendered pools, in the order of their first appearance.
pub(super) fn zones_of(pools: Option<&Value>) -> Vec<&str> {
    let mut zones = Vec::new();
    for pool in pools.and_then(Value::as_array).into_iter().flatten() {
        for zone in pool["zones"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !zones.contains(&zone) {
                zones.push(zone);
            }
        }
    }
    zones
}
