//! Google Distributed Cloud: equal parts for up to three zones, in a network that exists.

use serde_json::{Value, json};

use super::{Cluster, Error, Shape, empty, names, networks_of, zones_of};
use crate::{
    runtime::{ProviderType, Raw},
    subnets,
};

pub(super) static SHAPE: Shape = Shape {
    provider: ProviderType::Gdch,
    cloud_profile: "cat",
    api_version: "gdch.provider.extensions.gardener.gdc.goog/v1alpha1",
    exposure_class: None,
    has_dual_stack: false,
    has_acl: false,
    infrastructure,
    control_plane: empty,
    add_zones,
};

fn infrastructure(cluster: &Cluster<'_>) -> Result<Value, Error> {
    if !(1..=3).contains(&cluster.zones.len()) {
        return Err(Error::Zones("gdch takes one to three zones".to_owned()));
    }
    let parts = subnets::equal_parts(cluster.nodes, cluster.zones.len())?;
    let zones: Vec<Value> =
        cluster.zones.iter().zip(parts).map(|(name, part)| json!({ "name": name, "CIDR": part.to_string() })).collect();
    let mut parent = json!({ "name": cluster.gdch_parent.name });
    for (field, value) in [("namespace", &cluster.gdch_parent.namespace), ("type", &cluster.gdch_parent.kind)] {
        if !value.is_empty() {
            parent[field] = json!(value);
        }
    }
    Ok(json!({
        "enableEgress": true,
        "networks": { "nodeCIDR": cluster.nodes.to_string(), "zones": zones, "parentReference": parent },
    }))
}

/// The parts of the zones that are there stay; a new zone gets the first part of the smallest size
/// that is free. A cluster that was created with one zone has none.
fn add_zones(config: &mut Raw, cluster: &Cluster<'_>) -> Result<(), Error> {
    let quarters = |nodes| -> Result<Vec<_>, Error> {
        let [low, high] = subnets::halves(nodes)?;
        let (low, high) = (subnets::halves(low)?, subnets::halves(high)?);
        Ok(vec![low[0], low[1], high[0], high[1]])
    };
    let zones = zones_of(config)?;
    for name in cluster.zones {
        if !names(zones).iter().any(|known| known == name) {
            let taken = networks_of(zones);
            let free =
                quarters(cluster.nodes)?.into_iter().find(|part| !taken.iter().any(|other| part.overlaps(*other)));
            let part = free.ok_or(subnets::Error::Full(cluster.nodes))?;
            zones.push(json!({ "name": name, "CIDR": part.to_string() }));
        }
    }
    Ok(())
}
