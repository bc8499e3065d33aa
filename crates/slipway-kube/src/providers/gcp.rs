//! Google Cloud: one network over all zones; the control plane wants to know one of them.

use serde_json::{Value, json};

use super::{Cluster, Error, Shape, no_zones_to_add};
use crate::runtime::ProviderType;

pub(super) static SHAPE: Shape = Shape {
    provider: ProviderType::Gcp,
    cloud_profile: "gcp",
    api_version: "gcp.provider.extensions.gardener.cloud/v1alpha1",
    exposure_class: None,
    has_dual_stack: true,
    has_acl: false,
    infrastructure,
    control_plane,
    add_zones: no_zones_to_add,
};

fn infrastructure(cluster: &Cluster<'_>) -> Result<Value, Error> {
    let nodes = cluster.nodes.to_string();
    // Both spellings: which one is read depends on the age of Gardener's extension.
    Ok(json!({ "networks": { "worker": nodes, "workers": nodes } }))
}

fn control_plane(cluster: &Cluster<'_>) -> Result<Value, Error> {
    let first = cluster.zones.first().ok_or_else(|| Error::Zones("gcp needs at least one zone".to_owned()))?;
    Ok(json!({ "zone": first }))
}
