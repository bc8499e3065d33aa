//! The list of zones in the document of a cloud: `networks.zones`, each with a name and its subnets.

use serde_json::Value;

use super::{Cluster, Error};
use crate::{
    runtime::Raw,
    subnets::{self, Cidr},
};

/// The zones of a living cluster.
pub(crate) fn zones_of(config: &mut Raw) -> Result<&mut Vec<Value>, Error> {
    config
        .get_mut("networks")
        .and_then(|networks| networks.get_mut("zones"))
        .and_then(Value::as_array_mut)
        .ok_or_else(|| Error::Existing("the infrastructureConfig of the Shoot has no networks.zones".to_owned()))
}

/// The name of an entry, a number as text.
pub(super) fn name_of(entry: &Value) -> String {
    match &entry["name"] {
        Value::String(name) => name.clone(),
        other => other.to_string(),
    }
}

/// Every network in the entries of zones, whatever its field is called.
pub(crate) fn networks_of(zones: &[Value]) -> Vec<Cidr> {
    let texts = zones.iter().filter_map(Value::as_object).flat_map(|zone| zone.values()).filter_map(Value::as_str);
    texts.filter_map(|text| text.parse().ok()).collect()
}

/// Parameters of all zones of a new cluster, each made of its slot.
pub(crate) fn cut<Z>(
    cluster: &Cluster<'_>,
    zone: impl Fn(&str, Cidr, usize) -> Result<Z, Error>,
) -> Result<Vec<Z>, Error> {
    cluster.zones.iter().enumerate().map(|(slot, name)| zone(name, cluster.nodes, slot)).collect()
}

/// Appends an entry for each zone that has none; `entry` is told which networks are taken.
pub(crate) fn add_missing(
    zones: &mut Vec<Value>,
    cluster: &Cluster<'_>,
    entry: impl Fn(&str, &[Cidr]) -> Result<Value, Error>,
) -> Result<(), Error> {
    for name in cluster.zones {
        if !zones.iter().any(|zone| name_of(zone) == *name) {
            let new = entry(name, &networks_of(zones))?;
            zones.push(new);
        }
    }
    Ok(())
}

/// The first slot whose subnets are all free.
pub(crate) fn free_slot<T>(
    nodes: Cidr,
    taken: &[Cidr],
    slot: impl Fn(Cidr, usize) -> Result<T, subnets::Error>,
    subnets_of: impl Fn(&T) -> Vec<Cidr>,
) -> Result<T, Error> {
    for index in 0..subnets::MAX_ZONES {
        let candidate = slot(nodes, index)?;
        if !subnets_of(&candidate).iter().any(|subnet| taken.iter().any(|other| subnet.overlaps(*other))) {
            return Ok(candidate);
        }
    }
    Err(subnets::Error::Full(nodes).into())
}
