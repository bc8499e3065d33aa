//! Alibaba Cloud: each zone has an eighth of the network.

use serde_json::{Value, json};

use super::{Cluster, Error, Shape, empty, free_slot, names, networks_of, zones_of};
use crate::{
    runtime::{ProviderType, Raw},
    subnets::{self, Cidr},
};

pub(super) static SHAPE: Shape = Shape {
    provider: ProviderType::Alicloud,
    cloud_profile: "alicloud",
    api_version: "alicloud.provider.extensions.gardener.cloud/v1alpha1",
    exposure_class: None,
    has_dual_stack: false,
    has_acl: false,
    infrastructure,
    control_plane: empty,
    add_zones,
};

fn infrastructure(cluster: &Cluster<'_>) -> Result<Value, Error> {
    if cluster.zones.is_empty() {
        return Err(Error::Zones("alicloud needs at least one zone".to_owned()));
    }
    let zones =
        cluster.zones.iter().enumerate().map(|(slot, name)| Ok(zone(name, subnets::eighth(cluster.nodes, slot)?)));
    let zones: Vec<Value> = zones.collect::<Result<_, Error>>()?;
    Ok(json!({ "networks": { "vpc": { "cidr": cluster.nodes.to_string() }, "zones": zones } }))
}

fn zone(name: &str, subnet: Cidr) -> Value {
    json!({ "name": name, "workers": subnet.to_string() })
}

fn add_zones(config: &mut Raw, cluster: &Cluster<'_>) -> Result<(), Error> {
    let zones = zones_of(config)?;
    for name in cluster.zones {
        if !names(zones).iter().any(|known| known == name) {
            let subnet = free_slot(cluster.nodes, &networks_of(zones), subnets::eighth, |subnet| vec![*subnet])?;
            zones.push(zone(name, subnet));
        }
    }
    Ok(())
}
