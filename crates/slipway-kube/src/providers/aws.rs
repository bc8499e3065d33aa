//! Amazon Web Services: three subnets for each zone.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    cloud::{
        Cloud, Cluster, Data, Error, Found, LandscapeMember, Networks, Parameters, Requested, Requests, Shape, Usual,
        add_missing, cut, free_slot, left_out_or_empty, zones_of,
    },
    runtime::Raw,
    subnets::{self, Cidr},
    violations::IMMUTABLE,
};

pub(super) static CLOUD: Cloud = Cloud {
    name: "aws",
    aliases: &[],
    api_version: "aws.provider.extensions.gardener.cloud/v1alpha1",
    has_dual_stack: true,
    has_acl: true,
    needs_overlay: false,
    data: LazyLock::new(|| Data::read(include_str!("../../providers/aws.yaml"))),
    landscape: &[LandscapeMember {
        name: TOKENS_MEMBER,
        is_switch: true,
        meaning: "machines serve metadata by version 2 of the protocol only",
    }],
    shape: Shape::of::<Aws>(),
    requests: Some(Requests::by::<Aws>("awsConfig")),
};

/// Both a landscape and a request may want metadata to be asked for with a token.
const TOKENS_MEMBER: &str = "enableIMDSv2";

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Aws {
    /// Range of the virtual network, and of the nodes.
    vpc_cidr: String,
    zones: Vec<Zone>,
    /// Machines only answer metadata requests that carry a session token, which a request forged
    /// through a workload does not.
    enable_imds_v2: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Zone {
    name: String,
    /// Range reachable from outside.
    public_cidr: String,
    /// Range of internal load balancers.
    internal_cidr: String,
    worker_cidr: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Asked {
    vpc_cidr: Option<String>,
    aws_zones: Option<Vec<Option<Zone>>>,
    #[serde(rename = "enableIMDSv2")]
    enable_imds_v2: Option<bool>,
    /// Before a cluster could have many zones: these three, and the range of workers.
    zone: Option<String>,
    public_cidr: Option<String>,
    internal_cidr: Option<String>,
}

/// The subnets of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subnets {
    pub(crate) workers: Cidr,
    pub(crate) public: Cidr,
    pub(crate) internal: Cidr,
}

impl Subnets {
    pub(crate) fn all(self) -> [Cidr; 3] {
        [self.workers, self.public, self.internal]
    }
}

/// The subnets in a slot. The first three slots take three quarters of the network; the other five
/// share the last quarter, each a quarter as large in every subnet.
pub(crate) fn slot(nodes: Cidr, slot: usize) -> Result<Subnets, subnets::Error> {
    let (p, index) = (subnets::cuttable(nodes)?, subnets::slot_number(nodes, slot)?);
    let unit = 1_u32 << (28 - p);
    Ok(if index < 3 {
        let start = nodes.start() + 4 * index * unit;
        Subnets {
            workers: Cidr::at(start, p + 3),
            public: Cidr::at(start + 2 * unit, p + 4),
            internal: Cidr::at(start + 3 * unit, p + 4),
        }
    } else {
        let small = unit / 4;
        let start = nodes.start() + 12 * unit + 3 * (index - 3) * small;
        Subnets {
            workers: Cidr::at(start, p + 6),
            public: Cidr::at(start + small, p + 6),
            internal: Cidr::at(start + 2 * small, p + 6),
        }
    })
}

impl Zone {
    fn new(name: &str, subnets: Subnets) -> Self {
        let Subnets { workers, public, internal } = subnets;
        Self {
            name: name.to_owned(),
            public_cidr: public.to_string(),
            internal_cidr: internal.to_string(),
            worker_cidr: workers.to_string(),
        }
    }

    fn entry(&self) -> Value {
        let Self { name, public_cidr, internal_cidr, worker_cidr } = self;
        json!({ "name": name, "workers": worker_cidr, "public": public_cidr, "internal": internal_cidr })
    }
}

fn demand_tokens() -> Value {
    json!({ "instanceMetadataOptions": { "httpTokens": "required", "httpPutResponseHopLimit": 2 } })
}

impl Parameters for Aws {
    const FIXED: &'static [&'static str] = &[
        "infrastructureConfig.dualStack",
        "infrastructureConfig.networks.vpc.cidr",
        "infrastructureConfig.networks.vpc.id",
        "infrastructureConfig.networks.zones",
        "infrastructureConfig.networks.zones[].workers",
        "infrastructureConfig.networks.zones[].public",
        "infrastructureConfig.networks.zones[].internal",
    ];

    fn cut(cluster: &Cluster<'_>) -> Result<Self, Error> {
        if cluster.zones.is_empty() {
            return Err(Error::Zones("aws needs at least one zone".to_owned()));
        }
        let zones = cut(cluster, |name, nodes, number| Ok(Zone::new(name, slot(nodes, number)?)))?;
        Ok(Self { vpc_cidr: cluster.nodes.to_string(), zones, enable_imds_v2: false })
    }

    fn infrastructure(&self, networks: Networks<'_>) -> Value {
        let zones: Vec<Value> = self.zones.iter().map(Zone::entry).collect();
        let mut config = json!({ "networks": { "vpc": { "cidr": self.vpc_cidr }, "zones": zones } });
        if networks.is_dual_stack {
            config["dualStack"] = json!({ "enabled": true });
        }
        config
    }

    fn control_plane(&self, networks: Networks<'_>) -> Value {
        if networks.is_dual_stack { json!({ "loadBalancerController": { "enabled": true } }) } else { json!({}) }
    }

    fn machines(landscape: &Raw) -> Option<Value> {
        (landscape.get(TOKENS_MEMBER) == Some(&Value::Bool(true))).then(demand_tokens)
    }

    fn add_zones(living: &mut Raw, cluster: &Cluster<'_>) -> Result<(), Error> {
        add_missing(zones_of(living)?, cluster, |name, taken| {
            let subnets = free_slot(cluster.nodes, taken, slot, |zone| zone.all().to_vec())?;
            Ok(Zone::new(name, subnets).entry())
        })
    }
}

impl Asked {
    /// The zones as they are given, or the one zone of old clients. None if nothing is said.
    fn zones(self, worker_cidr: &str, found: &mut Found<'_>) -> Option<Vec<Zone>> {
        let old =
            (left_out_or_empty(self.zone), left_out_or_empty(self.public_cidr), left_out_or_empty(self.internal_cidr));
        match (self.aws_zones, old) {
            (Some(zones), old) => {
                if old != (None, None, None) {
                    found.warn("zone, publicCidr and internalCidr have no effect beside awsZones");
                }
                Some(zones.into_iter().flatten().collect())
            }
            (None, (Some(name), Some(public_cidr), Some(internal_cidr))) => {
                Some(vec![Zone { name, public_cidr, internal_cidr, worker_cidr: worker_cidr.to_owned() }])
            }
            (None, (None, None, None)) => None,
            (None, _) => {
                found.add("zone", "V16", "publicCidr and internalCidr belong together; better use awsZones");
                Some(Vec::new())
            }
        }
    }
}

impl Requested for Aws {
    type Asked = Asked;

    fn complete(mut asked: Asked, usual: &Usual<'_>, found: &mut Found<'_>) -> Self {
        usual.ignore_zone(found);
        let vpc_cidr = usual.network(asked.vpc_cidr.take());
        let enable_imds_v2 = asked.enable_imds_v2.unwrap_or(false);
        let zones = asked.zones(usual.worker_cidr.unwrap_or(&vpc_cidr), found).unwrap_or_else(|| {
            let zone = |name: &str, vpc, number| Ok(Zone::new(name, slot(vpc, number)?));
            usual.split(&vpc_cidr, zone, "awsZones", found)
        });
        Self { vpc_cidr, zones, enable_imds_v2 }
    }

    fn amend(&mut self, mut asked: Asked, found: &mut Found<'_>) {
        found.same("vpcCidr", asked.vpc_cidr.take(), &self.vpc_cidr);
        match asked.enable_imds_v2 {
            Some(false) if self.enable_imds_v2 => found.add(TOKENS_MEMBER, IMMUTABLE, "can be switched on, never off"),
            Some(on) => self.enable_imds_v2 |= on,
            None => {}
        }
        let worker = self.zones.first().map(|zone| zone.worker_cidr.clone()).unwrap_or_default();
        let zones = asked.zones(&worker, found);
        found.unchanged(zones.is_none_or(|zones| zones == self.zones), "awsZones");
    }

    fn zones(&self) -> (&'static str, Vec<String>) {
        ("awsZones", self.zones.iter().map(|zone| zone.name.clone()).collect())
    }

    fn network(&self) -> Option<(&'static str, &str)> {
        Some(("vpcCidr", &self.vpc_cidr))
    }

    fn subnets(&self) -> Vec<(String, &str)> {
        let mut all = Vec::new();
        for (n, zone) in self.zones.iter().enumerate() {
            let Zone { name: _, public_cidr, internal_cidr, worker_cidr } = zone;
            for (field, cidr) in
                [("workerCidr", worker_cidr), ("publicCidr", public_cidr), ("internalCidr", internal_cidr)]
            {
                all.push((format!("awsZones[{n}].{field}"), cidr.as_str()));
            }
        }
        all
    }

    fn worker_config(&self) -> Option<Value> {
        self.enable_imds_v2.then(demand_tokens)
    }

    fn echo(&self) -> Value {
        let first = self.zones.first();
        json!({
            "vpcCidr": self.vpc_cidr, "awsZones": self.zones, TOKENS_MEMBER: self.enable_imds_v2,
            "zone": first.map(|zone| &zone.name),
            "publicCidr": first.map(|zone| &zone.public_cidr),
            "internalCidr": first.map(|zone| &zone.internal_cidr),
        })
    }
}
