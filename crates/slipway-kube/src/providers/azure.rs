//! Microsoft Azure: zones are numbers, each with an eighth of the network and a gateway of its own.
//!
//! Old clusters have no zones in their configuration. They stay as they are: Azure cannot move a
//! cluster from one layout to the other.

use serde_json::{Value, json};

use super::{Cluster, Error, Shape, empty, free_slot, names, networks_of, zones_of};
use crate::{
    runtime::{ProviderType, Raw},
    subnets::{self, Cidr},
};

pub(super) static SHAPE: Shape = Shape {
    provider: ProviderType::Azure,
    cloud_profile: "az",
    api_version: "azure.provider.extensions.gardener.cloud/v1alpha1",
    exposure_class: None,
    has_dual_stack: false,
    has_acl: true,
    infrastructure,
    control_plane: empty,
    add_zones,
};

fn infrastructure(cluster: &Cluster<'_>) -> Result<Value, Error> {
    let nodes = cluster.nodes.to_string();
    if cluster.zones.is_empty() {
        return Ok(json!({ "zoned": false, "networks": { "vnet": { "cidr": nodes }, "workers": nodes } }));
    }
    let zones = cluster.zones.iter().enumerate().map(|(slot, name)| zone(name, subnets::eighth(cluster.nodes, slot)?));
    let zones: Vec<Value> = zones.collect::<Result<_, Error>>()?;
    Ok(json!({ "zoned": true, "networks": { "vnet": { "cidr": nodes }, "zones": zones } }))
}

fn zone(name: &str, subnet: Cidr) -> Result<Value, Error> {
    let number = name
        .parse::<u8>()
        .ok()
        .filter(|number| (1..=8).contains(number) && number.to_string() == name)
        .ok_or_else(|| Error::Zones(format!("`{name}` is no zone of azure; zones are the numbers 1 to 8")))?;
    Ok(json!({
        "name": number, "cidr": subnet.to_string(),
        "natGateway": { "enabled": true, "idleConnectionTimeoutMinutes": 4 },
    }))
}

fn add_zones(config: &mut Raw, cluster: &Cluster<'_>) -> Result<(), Error> {
    let is_without_zones = config.get("networks").is_none_or(|networks| networks.get("zones").is_none());
    if is_without_zones {
        return Ok(());
    }
    let zones = zones_of(config)?;
    for name in cluster.zones {
        if !names(zones).iter().any(|known| known == name) {
            let subnet = free_slot(cluster.nodes, &networks_of(zones), subnets::eighth, |subnet| vec![*subnet])?;
            zones.push(zone(name, subnet)?);
        }
    }
    Ok(())
}
