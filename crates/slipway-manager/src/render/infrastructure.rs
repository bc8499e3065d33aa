//! The cloud's own configurations: made for a new cluster, edited for one that lives.

use serde_json::Value;
use slipway_kube::{
    Cidr,
    providers::{Cluster, Error, ParentReference},
    runtime::Raw,
};

use super::{Context, RenderError, draft::Draft, networking, workers};

const INFRASTRUCTURE: &str = "spec.provider.infrastructureConfig";
const CONTROL_PLANE: &str = "spec.provider.controlPlaneConfig";

pub(super) fn create(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let provider = &context.shoot.provider;
    let zones = distinct(provider.workers.iter().chain(&provider.additional_workers).flat_map(|worker| &worker.zones));
    let parent = parent(context);
    let cluster = cluster(context, &zones, &parent)?;
    // Whoever names a configuration gets it; it may lie in a network that exists.
    let infrastructure = match given(provider.infrastructure_config.as_ref()) {
        Some(config) => config.clone(),
        None => context.shape.infrastructure(&cluster).map_err(told)?,
    };
    let control_plane = match given(provider.control_plane_config.as_ref()) {
        Some(config) => config.clone(),
        None => context.shape.control_plane(&cluster).map_err(told)?,
    };
    draft.set(INFRASTRUCTURE, infrastructure);
    draft.set(CONTROL_PLANE, control_plane);
    Ok(())
}

pub(super) fn patch(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let existing = context.existing(INFRASTRUCTURE).and_then(Value::as_object).ok_or_else(|| {
        RenderError::new(
            format!("shoot:{INFRASTRUCTURE}"),
            "is missing; the Shoot was not made by us and cannot be taken over",
        )
    })?;
    draft.set_some(CONTROL_PLANE, context.existing(CONTROL_PLANE).cloned());
    let before = workers::zones_of(context.existing(workers::PATH));
    let after = workers::zones_of(draft.get(workers::PATH));
    let has_new = after.iter().any(|zone| !before.contains(zone));
    let config = if has_new {
        let parent = parent(context);
        let zones: Vec<&str> = distinct_texts(before.iter().chain(&after).copied());
        context.shape.with_zones(existing, &cluster(context, &zones, &parent)?).map_err(told)?
    } else {
        existing.clone()
    };
    draft.set(INFRASTRUCTURE, config);
    Ok(())
}

fn given(config: Option<&Raw>) -> Option<&Raw> {
    config.filter(|config| !config.is_empty())
}

fn cluster<'a>(
    context: &Context<'_>,
    zones: &'a [&'a str],
    parent: &'a ParentReference,
) -> Result<Cluster<'a>, RenderError> {
    let nodes: Cidr = context.shoot.networking.nodes.parse().map_err(|error: slipway_kube::subnets::Error| {
        RenderError::new("spec.shoot.networking.nodes", error.to_string())
    })?;
    Ok(Cluster { nodes, zones, is_dual_stack: networking::is_dual_stack(context), gdch_parent: parent })
}

fn parent(context: &Context<'_>) -> ParentReference {
    let config = &context.converter.provider.gdch;
    ParentReference {
        name: config.parent_reference_name.clone(),
        namespace: config.parent_reference_namespace.clone(),
        kind: config.parent_reference_type.clone(),
    }
}

fn distinct<'a>(zones: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    distinct_texts(zones.map(String::as_str))
}

/// In the order of their first appearance.
fn distinct_texts<'a>(zones: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for zone in zones {
        if !seen.contains(&zone) {
            seen.push(zone);
        }
    }
    seen
}

fn told(error: Error) -> RenderError {
    let path = match &error {
        Error::Network(_) => "spec.shoot.networking.nodes",
        Error::Zones(_) => "spec.shoot.provider.workers[*].zones",
        Error::Existing(_) => "shoot:spec.provider.infrastructureConfig",
    };
    RenderError::new(path, error.to_string())
}
