//! What a cloud is to us: one value, [`Cloud`], with all that any service must know of it.
//!
//! The services pass it and its [`Block`] on and never ask which cloud it is: what differs stands in
//! the cloud's own file beside `providers.rs`, as an implementation of [`Parameters`] and, where
//! requests may ask for it, of [`Requested`]. A configuration of a living cluster is edited, never
//! rebuilt: it may hold what we do not know (an existing network, gateways, identities), and a zone
//! whose last pool is gone still owns its subnets.

mod block;
mod change;
mod data;
mod zones;

use std::sync::LazyLock;

use serde_json::{Value, json};

pub(crate) use self::{
    block::left_out_or_empty,
    zones::{add_missing, cut, free_slot, zones_of},
};
pub use self::{
    block::{Block, Found, Requested, Requests, Usual},
    data::{Data, MachineOffer, Offer},
};
use crate::{
    runtime::Raw,
    subnets::{self, Cidr},
};

/// Why a configuration cannot be made or changed.
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
    /// A living cluster cannot have it.
    #[error("{message}")]
    Refused {
        /// The member, from `infrastructureConfig` or `controlPlaneConfig` on.
        path: String,
        /// Why not.
        message: String,
    },
}

/// What a configuration is made from where nobody names one.
#[derive(Clone, Copy, Debug)]
pub struct Cluster<'a> {
    /// The network of nodes.
    pub nodes: Cidr,
    /// The distinct zones of all pools, in the order of their first appearance. For a living cluster:
    /// none unless there are new ones.
    pub zones: &'a [&'a str],
    /// Whether nodes have IPv6 addresses too.
    pub is_dual_stack: bool,
    /// What the landscape sets for this cloud.
    pub landscape: &'a Raw,
}

/// The two documents in which a cloud is told about a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Configs {
    /// Networks.
    pub infrastructure: Option<Raw>,
    /// What the control plane must know.
    pub control_plane: Option<Raw>,
}

/// The networks of a cluster, as far as parameters do not say.
#[derive(Clone, Copy, Debug)]
pub struct Networks<'a> {
    /// The range of all workers.
    pub workers: &'a str,
    /// Whether nodes have IPv6 addresses too.
    pub is_dual_stack: bool,
}

/// The typed parameters of a cloud: how they become its documents, and what of those may change.
pub trait Parameters: Sized {
    /// Members of both documents that no living cluster changes, from `infrastructureConfig` or
    /// `controlPlaneConfig` on; `[]` stands for the entries of a list.
    const FIXED: &'static [&'static str];

    /// The parameters of a cluster of which only networks and zones are known.
    fn cut(cluster: &Cluster<'_>) -> Result<Self, Error>;

    /// The document about networks.
    fn infrastructure(&self, networks: Networks<'_>) -> Value;

    /// The document about the control plane.
    fn control_plane(&self, _: Networks<'_>) -> Value {
        json!({})
    }

    /// The configuration that a landscape demands of all machines, if any.
    fn machines(_landscape: &Raw) -> Option<Value> {
        None
    }

    /// Puts what is wanted into the words of the living document, before one is laid over the other.
    fn align(_living: &mut Raw, _wanted: &mut Raw) {}

    /// Adds the zones that the living document does not have; clouds without such a list have no need.
    fn add_zones(_living: &mut Raw, _cluster: &Cluster<'_>) -> Result<(), Error> {
        Ok(())
    }
}

/// What a landscape may set for a cloud, in the converter configuration.
#[derive(Debug)]
pub struct LandscapeMember {
    /// Its name.
    pub name: &'static str,
    /// Whether it is a switch; a text otherwise.
    pub is_switch: bool,
    /// For the page.
    pub meaning: &'static str,
}

/// The name under which a landscape may set another cloud profile.
pub const CLOUD_PROFILE_MEMBER: &str = "cloudProfileName";

/// A cloud.
pub struct Cloud {
    /// The word on the wire, in lower case.
    pub name: &'static str,
    /// Old names that requests may use.
    pub aliases: &'static [&'static str],
    /// The API group of its documents.
    pub api_version: &'static str,
    /// Whether nodes can have IPv6 addresses too.
    pub has_dual_stack: bool,
    /// Whether access to API servers can be restricted by address.
    pub has_acl: bool,
    /// Whether its pods need a network of their own laid over that of the nodes.
    pub needs_overlay: bool,
    /// Its data file.
    pub data: LazyLock<Data>,
    /// What a landscape may set for it.
    pub landscape: &'static [LandscapeMember],
    /// How parameters become documents.
    pub shape: Shape,
    /// How requests ask for it; none if they cannot.
    pub requests: Option<Requests>,
}

/// What of [`Parameters`] is needed where their type is not known.
pub struct Shape {
    make: fn(&Cluster<'_>) -> Result<(Value, Value), Error>,
    machines: fn(&Raw) -> Option<Value>,
    align: fn(&mut Raw, &mut Raw),
    add_zones: fn(&mut Raw, &Cluster<'_>) -> Result<(), Error>,
    fixed: &'static [&'static str],
}

impl Shape {
    /// The shape of a cloud with these parameters.
    pub const fn of<P: Parameters>() -> Self {
        Self {
            make: |cluster| {
                let workers = cluster.nodes.to_string();
                let networks = Networks { workers: &workers, is_dual_stack: cluster.is_dual_stack };
                let parameters = P::cut(cluster)?;
                Ok((parameters.infrastructure(networks), parameters.control_plane(networks)))
            },
            machines: P::machines,
            align: P::align,
            add_zones: P::add_zones,
            fixed: P::FIXED,
        }
    }
}

impl Cloud {
    /// The documents of a new cluster. Whoever names one gets it: it may lie in a network that exists.
    pub fn create(&self, wanted: &Configs, cluster: &Cluster<'_>) -> Result<Configs, Error> {
        check_zones(cluster)?;
        let made = || (self.shape.make)(cluster);
        let infrastructure = match named(wanted.infrastructure.as_ref()) {
            Some(config) => {
                let mut config = config.clone();
                (self.shape.align)(&mut Raw::new(), &mut config);
                config
            }
            None => self.document("InfrastructureConfig", made()?.0),
        };
        let control_plane = match named(wanted.control_plane.as_ref()) {
            Some(config) => config.clone(),
            None => self.document("ControlPlaneConfig", made()?.1),
        };
        Ok(Configs { infrastructure: Some(infrastructure), control_plane: Some(control_plane) })
    }

    /// The documents of a living cluster: what is wanted laid over what is there, and those of the
    /// zones that it does not have yet. Everything else in it stays.
    pub fn change(&self, living: &Configs, wanted: &Configs, cluster: &Cluster<'_>) -> Result<Configs, Error> {
        let mut infrastructure = living.infrastructure.clone().unwrap_or_default();
        if let Some(wanted) = named(wanted.infrastructure.as_ref()) {
            let mut wanted = wanted.clone();
            (self.shape.align)(&mut infrastructure, &mut wanted);
            change::lay_over(&mut infrastructure, wanted, "infrastructureConfig", self.shape.fixed)?;
        }
        if !cluster.zones.is_empty() {
            check_zones(cluster)?;
            (self.shape.add_zones)(&mut infrastructure, cluster)?;
        }
        let mut control_plane = living.control_plane.clone();
        if let Some(wanted) = named(wanted.control_plane.as_ref()) {
            let there = control_plane.get_or_insert_default();
            change::lay_over(there, wanted.clone(), "controlPlaneConfig", self.shape.fixed)?;
        }
        Ok(Configs { infrastructure: Some(infrastructure), control_plane })
    }

    /// The configuration that a landscape demands of all machines, if any.
    pub fn machines(&self, landscape: &Raw) -> Option<Raw> {
        (self.shape.machines)(landscape).map(|config| self.document("WorkerConfig", config))
    }

    fn document(&self, kind: &str, content: Value) -> Raw {
        let Value::Object(mut config) = content else { unreachable!("parameters become objects") };
        config.insert("apiVersion".to_owned(), json!(self.api_version));
        config.insert("kind".to_owned(), json!(kind));
        config
    }
}

/// An empty document says nothing.
fn named(config: Option<&Raw>) -> Option<&Raw> {
    config.filter(|config| !config.is_empty())
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
