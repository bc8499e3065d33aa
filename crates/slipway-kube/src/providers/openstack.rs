//! OpenStack, as in SAP Converged Cloud: one network over all zones.

use serde_json::{Value, json};

use super::{Cluster, Error, Shape, no_zones_to_add};
use crate::runtime::ProviderType;

pub(super) static SHAPE: Shape = Shape {
    provider: ProviderType::Openstack,
    cloud_profile: "converged-cloud-kyma",
    api_version: "openstack.provider.extensions.gardener.cloud/v1alpha1",
    exposure_class: Some("converged-cloud-internet"),
    has_dual_stack: false,
    has_acl: false,
    infrastructure,
    control_plane,
    add_zones: no_zones_to_add,
};

/// The pool of addresses the world reaches.
const FLOATING_POOL: &str = "FloatingIP-external-kyma-01";

/// The load balancers of Converged Cloud.
const LOAD_BALANCER: &str = "f5";

fn infrastructure(cluster: &Cluster<'_>) -> Result<Value, Error> {
    Ok(json!({ "floatingPoolName": FLOATING_POOL, "networks": { "workers": cluster.nodes.to_string() } }))
}

fn control_plane(_: &Cluster<'_>) -> Result<Value, Error> {
    Ok(json!({ "loadBalancerProvider": LOAD_BALANCER }))
}
