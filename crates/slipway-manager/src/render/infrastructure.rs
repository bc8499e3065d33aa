//! The cloud's own documents: made for a new cluster, changed for one that lives.

use serde_json::Value;
use slipway_kube::{
    Cidr,
    cloud::{Cluster, Configs, Error},
    runtime::Raw,
};

use super::{Context, RenderError, draft::Draft, networking, workers};

const INFRASTRUCTURE: &str = "spec.provider.infrastructureConfig";
const CONTROL_PLANE: &str = "spec.provider.controlPlaneConfig";

pub(super) fn create(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let zones = distinct(context.input.runtime.workers().flat_map(|worker| &worker.zones).map(String::as_str));
    let landscape = context.landscape();
    let configs = context.cloud.create(&wanted(context), &cluster(context, &zones, &landscape)?);
    write(configs, draft)
}

pub(super) fn patch(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let existing = |path| context.existing(path).and_then(Value::as_object).cloned();
    let living = Configs { infrastructure: existing(INFRASTRUCTURE), control_plane: existing(CONTROL_PLANE) };
    if living.infrastructure.is_none() {
        return Err(RenderError::new(
            format!("shoot:{INFRASTRUCTURE}"),
            "is missing; the Shoot was not made by us and cannot be taken over",
        ));
    }
    let before = workers::zones_of(context.existing(workers::PATH));
    let after = workers::zones_of(draft.get(workers::PATH));
    let has_new = after.iter().any(|zone| !before.contains(zone));
    let zones = if has_new { distinct(before.iter().chain(&after).copied()) } else { Vec::new() };
    let landscape = context.landscape();
    let configs = context.cloud.change(&living, &wanted(context), &cluster(context, &zones, &landscape)?);
    write(configs, draft)
}

fn write(configs: Result<Configs, Error>, draft: &mut Draft) -> Result<(), RenderError> {
    let Configs { infrastructure, control_plane } = configs.map_err(explain)?;
    draft.set_some(INFRASTRUCTURE, infrastructure);
    draft.set_some(CONTROL_PLANE, control_plane);
    Ok(())
}

/// What the Runtime names.
fn wanted(context: &Context<'_>) -> Configs {
    let provider = &context.shoot.provider;
    Configs {
        infrastructure: provider.infrastructure_config.clone(),
        control_plane: provider.control_plane_config.clone(),
    }
}

fn cluster<'a>(context: &Context<'_>, zones: &'a [&'a str], landscape: &'a Raw) -> Result<Cluster<'a>, RenderError> {
    let nodes: Cidr = context.shoot.networking.nodes.parse().map_err(|error: slipway_kube::subnets::Error| {
        RenderError::new("spec.shoot.networking.nodes", error.to_string())
    })?;
    Ok(Cluster { nodes, zones, is_dual_stack: networking::is_dual_stack(context), landscape })
}

/// In the order of their first appearance.
fn distinct<'a>(zones: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for zone in zones {
        if !seen.contains(&zone) {
            seen.push(zone);
        }
    }
    seen
}

fn explain(error: Error) -> RenderError {
    let path = match &error {
        Error::Network(_) => "spec.shoot.networking.nodes".to_owned(),
        Error::Zones(_) => "spec.shoot.provider.workers[*].zones".to_owned(),
        Error::Existing(_) => format!("shoot:{INFRASTRUCTURE}"),
        Error::Refused { path, .. } => format!("spec.shoot.provider.{path}"),
    };
    RenderError::new(path, error.to_string())
}
