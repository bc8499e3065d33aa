//! What a Runtime must be before anything is rendered.
//!
//! Its API server checks most of this too, but may carry an older definition of the kind; and only
//! here is the living Shoot known. Everything that could destroy a cluster is refused here, with the
//! field and what to do.

use std::collections::BTreeSet;

use serde_json::Value;
use slipway_kube::{Cidr, annotations, labels, subnets};

use super::{Context, RenderError, RenderInput, draft};

pub(super) fn check(context: &Context<'_>) -> Result<(), RenderError> {
    required_labels(context)?;
    pools(context)?;
    networks(context)?;
    owner(context)?;
    unchangeable(context.input).into_iter().next().map_or(Ok(()), Err)
}

fn required_labels(context: &Context<'_>) -> Result<(), RenderError> {
    let missing = labels::REQUIRED.iter().find(|key| context.input.runtime.label(key).is_none());
    missing.map_or(Ok(()), |key| {
        Err(RenderError::new(format!("metadata.labels[{key}]"), "is missing or empty; set it to a value"))
    })
}

fn pools(context: &Context<'_>) -> Result<(), RenderError> {
    let provider = &context.shoot.provider;
    if provider.workers.len() != 1 {
        let message = format!(
            "has {} pools; it must have exactly one, others belong into additionalWorkers",
            provider.workers.len()
        );
        return Err(RenderError::new("spec.shoot.provider.workers", message));
    }
    let mut names = BTreeSet::new();
    let mut zones = BTreeSet::new();
    for (at, worker) in context.input.runtime.workers().enumerate() {
        let path = |field: &str| match at {
            0 => format!("spec.shoot.provider.workers[0].{field}"),
            _ => format!("spec.shoot.provider.additionalWorkers[{}].{field}", at - 1),
        };
        if !names.insert(&worker.name) {
            return Err(RenderError::new(
                path("name"),
                format!("`{}` is the name of another pool too; names must be unique", worker.name),
            ));
        }
        if worker.minimum > worker.maximum {
            let message = format!("{} is greater than the maximum of {}", worker.minimum, worker.maximum);
            return Err(RenderError::new(path("minimum"), message));
        }
        zones.extend(&worker.zones);
        if zones.len() > subnets::MAX_ZONES {
            return Err(RenderError::new(
                path("zones"),
                format!("makes {} zones; all pools together may use 8", zones.len()),
            ));
        }
    }
    Ok(())
}

fn networks(context: &Context<'_>) -> Result<(), RenderError> {
    let networking = &context.shoot.networking;
    let mut seen: Vec<(&str, Cidr)> = Vec::new();
    for (name, text) in [("nodes", &networking.nodes), ("pods", &networking.pods), ("services", &networking.services)] {
        let path = || format!("spec.shoot.networking.{name}");
        let network: Cidr =
            text.parse().map_err(|error: subnets::Error| RenderError::new(path(), error.to_string()))?;
        if let Some((other, taken)) = seen.iter().find(|(_, taken)| taken.overlaps(network)) {
            return Err(RenderError::new(
                path(),
                format!("{network} overlaps the {other} network {taken}; choose another"),
            ));
        }
        seen.push((name, network));
    }
    Ok(())
}

/// A Shoot of somebody else is never written, whatever its name.
fn owner(context: &Context<'_>) -> Result<(), RenderError> {
    let path = "metadata.annotations";
    let owner = context.existing(path).and_then(|noted| noted.get(annotations::RUNTIME_ID)).and_then(Value::as_str);
    match owner {
        Some(owner) if !owner.is_empty() && context.input.runtime.label(labels::RUNTIME_ID) != Some(owner) => {
            let message =
                format!("the Shoot {} belongs to the Runtime {owner}; choose another name", context.shoot.name);
            Err(RenderError::new("spec.shoot.name", message))
        }
        _ => Ok(()),
    }
}

/// Every wish that only another cluster could fulfil.
pub fn unchangeable(input: &RenderInput<'_>) -> Vec<RenderError> {
    let Some(existing) = input.existing else { return Vec::new() };
    let shoot = &input.runtime.spec.shoot;
    let network_type = draft::given(shoot.networking.network_type.as_ref());
    [
        ("spec.shoot.name", "metadata.name", Some(shoot.name.as_str())),
        ("spec.shoot.region", "spec.region", Some(&shoot.region)),
        ("spec.shoot.provider.type", "spec.provider.type", Some(shoot.provider.provider_type.as_str())),
        ("spec.shoot.networking.type", "spec.networking.type", network_type),
        ("spec.shoot.networking.nodes", "spec.networking.nodes", Some(&shoot.networking.nodes)),
        ("spec.shoot.networking.pods", "spec.networking.pods", Some(&shoot.networking.pods)),
        ("spec.shoot.networking.services", "spec.networking.services", Some(&shoot.networking.services)),
    ]
    .into_iter()
    .filter_map(|(path, of_shoot, wanted)| {
        let (wanted, there) = (wanted?, draft::at(existing, of_shoot)?.as_str()?);
        let message = || format!("cannot change from {there} to {wanted}; create another Runtime instead");
        (wanted != there).then(|| RenderError::new(path, message()))
    })
    .collect()
}
