//! The clouds: what each wants to be told about networks and control plane.
//!
//! A row per cloud; its file knows its shape. A configuration of a living cluster is edited, never
//! rebuilt: it may hold what we do not know (an existing network, gateways, identities), and a zone
//! whose last pool is gone still owns its subnets.

mod alicloud;
mod aws;
mod azure;
mod gcp;
mod gdch;
mod openstack;

use serde_json::{Value, json};

use crate::{
    runtime::{ProviderType, Raw},
    subnets::{self, Cidr},
};

/// Why a configuration cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The network of nodes does not serve.
    #[error(transparent)]
    Network(#[from] subnets::Error),
    /// Too many or too few zones.
    #[error("{0}")]
    Zones(String),
    /// The configuration of the living cluster is not as its cloud has them.
    #[error("{0}")]
    Existing(String),
}

/// What a configuration is made from.
#[derive(Clone, Copy, Debug)]
pub struct Cluster<'a> {
    /// The network of nodes.
    pub nodes: Cidr,
    /// The distinct zones of all pools, in the order of their first appearance.
    pub zones: &'a [&'a str],
    /// Whether nodes have IPv6 addresses too.
    pub is_dual_stack: bool,
    /// What only Google Distributed Cloud wants.
    pub gdch_parent: &'a ParentReference,
}

/// The network on Google Distributed Cloud in which clusters are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParentReference {
    /// Its name.
    pub name: String,
    /// Its namespace, if any.
    pub namespace: String,
    /// Its type, if any.
    pub kind: String,
}

/// A cloud.
pub struct Shape {
    /// Which.
    pub provider: ProviderType,
    /// Where Gardener describes what it offers, unless configured otherwise.
    pub cloud_profile: &'static str,
    /// The API group of its configurations.
    pub api_version: &'static str,
    /// How its API servers are exposed, if it matters.
    pub exposure_class: Option<&'static str>,
    /// Whether nodes can have IPv6 addresses too.
    pub has_dual_stack: bool,
    /// Whether access to API servers can be restricted by address.
    pub has_acl: bool,
    infrastructure: fn(&Cluster<'_>) -> Result<Value, Error>,
    control_plane: fn(&Cluster<'_>) -> Result<Value, Error>,
    /// Adds zones to a configuration that has some.
    add_zones: fn(&mut Raw, &Cluster<'_>) -> Result<(), Error>,
}

/// All clouds.
pub static SHAPES: &[&Shape] =
    &[&aws::SHAPE, &azure::SHAPE, &gcp::SHAPE, &openstack::SHAPE, &alicloud::SHAPE, &gdch::SHAPE];

/// The cloud of a type.
pub fn shape(provider: ProviderType) -> &'static Shape {
    match provider {
        ProviderType::Aws => &aws::SHAPE,
        ProviderType::Azure => &azure::SHAPE,
        ProviderType::Gcp => &gcp::SHAPE,
        ProviderType::Openstack => &openstack::SHAPE,
        ProviderType::Alicloud => &alicloud::SHAPE,
        ProviderType::Gdch => &gdch::SHAPE,
    }
}

impl Shape {
    /// The infrastructure of a new cluster.
    pub fn infrastructure(&self, cluster: &Cluster<'_>) -> Result<Raw, Error> {
        check_zones(cluster)?;
        Ok(self.named("InfrastructureConfig", (self.infrastructure)(cluster)?))
    }

    /// The control plane of a new cluster.
    pub fn control_plane(&self, cluster: &Cluster<'_>) -> Result<Raw, Error> {
        Ok(self.named("ControlPlaneConfig", (self.control_plane)(cluster)?))
    }

    /// The infrastructure of a living cluster, with those of the zones that it does not have yet.
    /// Everything else in it stays.
    pub fn with_zones(&self, existing: &Raw, cluster: &Cluster<'_>) -> Result<Raw, Error> {
        check_zones(cluster)?;
        let mut config = existing.clone();
        (self.add_zones)(&mut config, cluster)?;
        Ok(config)
    }

    fn named(&self, kind: &str, content: Value) -> Raw {
        let Value::Object(mut config) = content else { unreachable!("shapes are objects") };
        config.insert("apiVersion".to_owned(), json!(self.api_version));
        config.insert("kind".to_owned(), json!(kind));
        config
    }
}

fn check_zones(cluster: &Cluster<'_>) -> Result<(), Error> {
    let zones = cluster.zones;
    let mut seen = std::collections::BTreeSet::new();
    match zones.iter().find(|zone| !seen.insert(**zone)) {
        Some(twice) => Err(Error::Zones(format!("zone {twice} is named twice"))),
        None if zones.len() > subnets::MAX_ZONES => {
            Err(Error::Zones(format!("{} zones are too many; all pools together may use 8", zones.len())))
        }
        None => Ok(()),
    }
}

/// Clouds whose infrastructure has no zones keep it as it is.
fn no_zones_to_add(_: &mut Raw, _: &Cluster<'_>) -> Result<(), Error> {
    Ok(())
}

/// Clouds that need nothing for their control plane.
fn empty(_: &Cluster<'_>) -> Result<Value, Error> {
    Ok(json!({}))
}

/// The zones of a living cluster's infrastructure.
fn zones_of(config: &mut Raw) -> Result<&mut Vec<Value>, Error> {
    config
        .get_mut("networks")
        .and_then(|networks| networks.get_mut("zones"))
        .and_then(Value::as_array_mut)
        .ok_or_else(|| Error::Existing("the infrastructureConfig of the Shoot has no networks.zones".to_owned()))
}

/// The names of the zones that are already there, numbers as text.
fn names(zones: &[Value]) -> Vec<String> {
    let name = |zone: &Value| match &zone["name"] {
        Value::String(name) => name.clone(),
        other => other.to_string(),
    };
    zones.iter().map(name).collect()
}

/// Every network in the entries of zones, whatever its field is called.
fn networks_of(zones: &[Value]) -> Vec<Cidr> {
    let texts = zones.iter().filter_map(Value::as_object).flat_map(|zone| zone.values()).filter_map(Value::as_str);
    texts.filter_map(|text| text.parse().ok()).collect()
}

/// The first slot whose subnets are all free.
fn free_slot<T>(
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

#[cfg(test)]
mod tests;
