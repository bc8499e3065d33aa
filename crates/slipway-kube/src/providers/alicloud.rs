//! Alibaba Cloud: each zone has an eighth of the network.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    cloud::{
        Cloud, Cluster, Data, Error, Found, Networks, Parameters, Requested, Requests, Shape, Usual, add_missing, cut,
        free_slot, zones_of,
    },
    runtime::Raw,
    subnets::{self, Cidr},
};

pub(super) static CLOUD: Cloud = Cloud {
    name: "alicloud",
    aliases: &[],
    api_version: "alicloud.provider.extensions.gardener.cloud/v1alpha1",
    has_dual_stack: false,
    has_acl: false,
    needs_overlay: false,
    data: LazyLock::new(|| Data::read(include_str!("../../providers/alicloud.yaml"))),
    landscape: &[],
    shape: Shape::of::<Alicloud>(),
    requests: Some(Requests::by::<Alicloud>("alicloudConfig").unknown_to_clients()),
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Alicloud {
    /// Range of the virtual network, and of the nodes.
    vpc_cidr: String,
    zones: Vec<Zone>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Zone {
    name: String,
    worker_cidr: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Asked {
    vpc_cidr: Option<String>,
    alicloud_zones: Option<Vec<Zone>>,
}

impl Zone {
    fn new(name: &str, workers: Cidr) -> Self {
        Self { name: name.to_owned(), worker_cidr: workers.to_string() }
    }

    fn entry(&self) -> Value {
        json!({ "name": self.name, "workers": self.worker_cidr })
    }
}

impl Parameters for Alicloud {
    const FIXED: &'static [&'static str] = &[
        "infrastructureConfig.networks.vpc.cidr",
        "infrastructureConfig.networks.vpc.id",
        "infrastructureConfig.networks.zones",
        "infrastructureConfig.networks.zones[].workers",
    ];

    fn cut(cluster: &Cluster<'_>) -> Result<Self, Error> {
        if cluster.zones.is_empty() {
            return Err(Error::Zones("alicloud needs at least one zone".to_owned()));
        }
        let zones = cut(cluster, |name, nodes, slot| Ok(Zone::new(name, subnets::eighth(nodes, slot)?)))?;
        Ok(Self { vpc_cidr: cluster.nodes.to_string(), zones })
    }

    fn infrastructure(&self, _: Networks<'_>) -> Value {
        let zones: Vec<Value> = self.zones.iter().map(Zone::entry).collect();
        json!({ "networks": { "vpc": { "cidr": self.vpc_cidr }, "zones": zones } })
    }

    fn add_zones(living: &mut Raw, cluster: &Cluster<'_>) -> Result<(), Error> {
        add_missing(zones_of(living)?, cluster, |name, taken| {
            let subnet = free_slot(cluster.nodes, taken, subnets::eighth, |subnet| vec![*subnet])?;
            Ok(Zone::new(name, subnet).entry())
        })
    }
}

impl Requested for Alicloud {
    type Asked = Asked;

    fn complete(asked: Asked, usual: &Usual<'_>, found: &mut Found<'_>) -> Self {
        usual.ignore_zone(found);
        let vpc_cidr = usual.network(asked.vpc_cidr);
        let usual_zones = || {
            let zone = |name: &str, vpc, slot| Ok(Zone::new(name, subnets::eighth(vpc, slot)?));
            usual.split(&vpc_cidr, zone, "alicloudZones", found)
        };
        let zones = asked.alicloud_zones.unwrap_or_else(usual_zones);
        Self { vpc_cidr, zones }
    }

    fn amend(&mut self, asked: Asked, found: &mut Found<'_>) {
        found.same("vpcCidr", asked.vpc_cidr, &self.vpc_cidr);
        found.unchanged(asked.alicloud_zones.is_none_or(|zones| zones == self.zones), "alicloudZones");
    }

    fn zones(&self) -> (&'static str, Vec<String>) {
        ("alicloudZones", self.zones.iter().map(|zone| zone.name.clone()).collect())
    }

    fn network(&self) -> Option<(&'static str, &str)> {
        Some(("vpcCidr", &self.vpc_cidr))
    }

    fn subnets(&self) -> Vec<(String, &str)> {
        let zones = self.zones.iter().enumerate();
        zones.map(|(n, zone)| (format!("alicloudZones[{n}].workerCidr"), zone.worker_cidr.as_str())).collect()
    }

    fn echo(&self) -> Value {
        json!({ "vpcCidr": self.vpc_cidr, "alicloudZones": self.zones })
    }
}
