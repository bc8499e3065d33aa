//! Amazon Web Services: three subnets for each zone.

use serde_json::{Value, json};

use super::{Cluster, Error, Shape, free_slot, names, networks_of, zones_of};
use crate::{
    runtime::{ProviderType, Raw},
    subnets::{self, AwsZone},
};

pub(super) static SHAPE: Shape = Shape {
    provider: ProviderType::Aws,
    cloud_profile: "aws",
    api_version: "aws.provider.extensions.gardener.cloud/v1alpha1",
    exposure_class: None,
    has_dual_stack: true,
    has_acl: true,
    infrastructure,
    control_plane,
    add_zones,
};

fn infrastructure(cluster: &Cluster<'_>) -> Result<Value, Error> {
    if cluster.zones.is_empty() {
        return Err(Error::Zones("aws needs at least one zone".to_owned()));
    }
    let zones = cluster.zones.iter().enumerate().map(|(slot, name)| Ok(zone(name, subnets::aws(cluster.nodes, slot)?)));
    let zones: Vec<Value> = zones.collect::<Result<_, Error>>()?;
    let mut config = json!({ "networks": { "vpc": { "cidr": cluster.nodes.to_string() }, "zones": zones } });
    if cluster.is_dual_stack {
        config["dualStack"] = json!({ "enabled": true });
    }
    Ok(config)
}

fn zone(name: &str, subnets: AwsZone) -> Value {
    let AwsZone { workers, public, internal } = subnets;
    json!({
        "name": name, "workers": workers.to_string(), "public": public.to_string(), "internal": internal.to_string(),
    })
}

fn control_plane(cluster: &Cluster<'_>) -> Result<Value, Error> {
    Ok(if cluster.is_dual_stack { json!({ "loadBalancerController": { "enabled": true } }) } else { json!({}) })
}

fn add_zones(config: &mut Raw, cluster: &Cluster<'_>) -> Result<(), Error> {
    let zones = zones_of(config)?;
    for name in cluster.zones {
        if !names(zones).iter().any(|known| known == name) {
            let subnets = free_slot(cluster.nodes, &networks_of(zones), subnets::aws, |zone| zone.all().to_vec())?;
            zones.push(zone(name, subnets));
        }
    }
    Ok(())
}
