//! Google Distributed Cloud: equal parts for up to three zones, in a network that exists.
//!
//! Only a Runtime can ask for it; the provisioner's requests cannot.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::{
    cloud::{
        CLOUD_PROFILE_MEMBER, Cloud, Cluster, Data, Error, LandscapeMember, Networks, Parameters, Shape, add_missing,
        zones_of,
    },
    runtime::Raw,
    subnets::{self, Cidr},
};

pub(super) static CLOUD: Cloud = Cloud {
    name: "gdch",
    aliases: &[],
    api_version: "gdch.provider.extensions.gardener.gdc.goog/v1alpha1",
    has_dual_stack: false,
    has_acl: false,
    needs_overlay: true,
    data: LazyLock::new(|| Data::read(include_str!("../../providers/gdch.yaml"))),
    landscape: &[
        text(CLOUD_PROFILE_MEMBER, "cloud profile of gdch (default `cat`)"),
        text("parentReferenceName", "the network clusters of gdch are in"),
        text("parentReferenceNamespace", "its namespace"),
        text("parentReferenceType", "its type"),
    ],
    shape: Shape::of::<Gdch>(),
    requests: None,
};

const fn text(name: &'static str, meaning: &'static str) -> LandscapeMember {
    LandscapeMember { name, is_switch: false, meaning }
}

const MOST_ZONES: usize = 3;

struct Gdch {
    zones: Vec<(String, Cidr)>,
    /// The network that exists, as the landscape names it.
    parent: Value,
}

fn entry(name: &str, part: Cidr) -> Value {
    json!({ "name": name, "CIDR": part.to_string() })
}

fn few_zones(count: usize) -> Result<(), Error> {
    let is_few = (1..=MOST_ZONES).contains(&count);
    is_few.then_some(()).ok_or_else(|| Error::Zones("gdch takes one to three zones".to_owned()))
}

impl Parameters for Gdch {
    const FIXED: &'static [&'static str] = &[
        "infrastructureConfig.networks.nodeCIDR",
        "infrastructureConfig.networks.parentReference",
        "infrastructureConfig.networks.zones",
        "infrastructureConfig.networks.zones[].CIDR",
    ];

    fn cut(cluster: &Cluster<'_>) -> Result<Self, Error> {
        few_zones(cluster.zones.len())?;
        let parts = subnets::equal_parts(cluster.nodes, cluster.zones.len())?;
        let said = |member: &str| cluster.landscape.get(member).and_then(Value::as_str).unwrap_or_default();
        let mut parent = json!({ "name": said("parentReferenceName") });
        for (field, member) in [("namespace", "parentReferenceNamespace"), ("type", "parentReferenceType")] {
            if !said(member).is_empty() {
                parent[field] = json!(said(member));
            }
        }
        Ok(Self { zones: cluster.zones.iter().map(|&zone| zone.to_owned()).zip(parts).collect(), parent })
    }

    fn infrastructure(&self, networks: Networks<'_>) -> Value {
        let zones: Vec<Value> = self.zones.iter().map(|(name, part)| entry(name, *part)).collect();
        json!({
            "enableEgress": true,
            "networks": { "nodeCIDR": networks.workers, "zones": zones, "parentReference": self.parent },
        })
    }

    /// The parts of the zones that are there stay; a new zone gets the first quarter that is free.
    /// A cluster that was created with one or two zones has none.
    fn add_zones(living: &mut Raw, cluster: &Cluster<'_>) -> Result<(), Error> {
        let zones = zones_of(living)?;
        let [low, high] = subnets::halves(cluster.nodes)?;
        let quarters = [subnets::halves(low)?, subnets::halves(high)?].concat();
        add_missing(zones, cluster, |name, taken| {
            let free = quarters.iter().find(|part| !taken.iter().any(|other| part.overlaps(*other)));
            Ok(entry(name, *free.ok_or(subnets::Error::Full(cluster.nodes))?))
        })?;
        few_zones(zones.len())
    }
}
