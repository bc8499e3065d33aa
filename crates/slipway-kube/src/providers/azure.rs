//! Microsoft Azure: zones are numbers, each with a subnet and a gateway of its own.
//!
//! Old clusters have no zones in their document: those they use share one subnet. They stay so:
//! Azure cannot move a cluster from one layout to the other.

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
    violations::IMMUTABLE,
};

pub(super) static CLOUD: Cloud = Cloud {
    name: "azure",
    aliases: &["aks"],
    api_version: "azure.provider.extensions.gardener.cloud/v1alpha1",
    has_dual_stack: false,
    has_acl: true,
    needs_overlay: false,
    data: LazyLock::new(|| Data::read(include_str!("../../providers/azure.yaml"))),
    landscape: &[],
    shape: Shape::of::<Azure>(),
    requests: Some(Requests::by::<Azure>("azureConfig")),
};

/// Minutes after which an idle connection through a gateway ends, if nobody said; Azure's own default.
const IDLE_MINUTES: i32 = 4;

const GATEWAY: &str = "natGateway";

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Azure {
    /// Range of the virtual network, and of the nodes.
    vnet_cidr: String,
    /// Zones that share one subnet. None, and no others: the cluster is outside of zones.
    zones: Vec<String>,
    azure_zones: Vec<Zone>,
    /// Outgoing traffic takes a gateway.
    enable_nat_gateway: bool,
    idle_connection_timeout_minutes: Option<i32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Zone {
    name: i32,
    cidr: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Asked {
    vnet_cidr: Option<String>,
    zones: Option<Vec<String>>,
    azure_zones: Option<Vec<Zone>>,
    enable_nat_gateway: Option<bool>,
    idle_connection_timeout_minutes: Option<i32>,
}

impl Zone {
    fn new(name: &str, subnet: Cidr) -> Result<Self, Error> {
        let number = name.parse().ok().filter(|number: &i32| (1..=8).contains(number) && number.to_string() == name);
        let wrong = || Error::Zones(format!("`{name}` is no zone of azure; zones are the numbers 1 to 8"));
        Ok(Self { name: number.ok_or_else(wrong)?, cidr: subnet.to_string() })
    }

    fn entry(&self, gateway: &Value) -> Value {
        json!({ "name": self.name, "cidr": self.cidr, GATEWAY: gateway })
    }
}

fn open_gateway(idle_minutes: Option<i32>) -> Value {
    json!({ "enabled": true, "idleConnectionTimeoutMinutes": idle_minutes.unwrap_or(IDLE_MINUTES) })
}

/// A gateway that is off is none, with all that was set for it.
fn close_gateway(living: Option<&mut Value>, wanted: &mut Value) {
    if wanted[GATEWAY]["enabled"] == json!(false) {
        for place in [Some(wanted), living].into_iter().flatten().filter_map(Value::as_object_mut) {
            place.remove(GATEWAY);
        }
    }
}

impl Parameters for Azure {
    const FIXED: &'static [&'static str] = &[
        "infrastructureConfig.zoned",
        "infrastructureConfig.resourceGroup",
        "infrastructureConfig.networks.vnet",
        "infrastructureConfig.networks.workers",
        "infrastructureConfig.networks.zones",
        "infrastructureConfig.networks.zones[].cidr",
    ];

    fn cut(cluster: &Cluster<'_>) -> Result<Self, Error> {
        Ok(Self {
            vnet_cidr: cluster.nodes.to_string(),
            zones: Vec::new(),
            azure_zones: cut(cluster, |name, nodes, slot| Zone::new(name, subnets::eighth(nodes, slot)?))?,
            enable_nat_gateway: true,
            idle_connection_timeout_minutes: None,
        })
    }

    fn infrastructure(&self, networks: Networks<'_>) -> Value {
        let gateway = match self.enable_nat_gateway {
            true => open_gateway(self.idle_connection_timeout_minutes),
            // Said, because what is not said stays as it is.
            false => json!({ "enabled": false }),
        };
        let is_zoned = !self.azure_zones.is_empty() || !self.zones.is_empty();
        let mut document = json!({ "networks": { "vnet": { "cidr": self.vnet_cidr } }, "zoned": is_zoned });
        if !self.azure_zones.is_empty() {
            document["networks"]["zones"] = self.azure_zones.iter().map(|zone| zone.entry(&gateway)).collect();
            return document;
        }
        document["networks"]["workers"] = json!(networks.workers);
        if is_zoned {
            document["networks"][GATEWAY] = gateway;
        }
        document
    }

    fn align(living: &mut Raw, wanted: &mut Raw) {
        let Some(wanted) = wanted.get_mut("networks").filter(|networks| networks.is_object()) else { return };
        close_gateway(living.get_mut("networks"), wanted);
        for zone in wanted.get_mut("zones").and_then(Value::as_array_mut).into_iter().flatten() {
            let there =
                zones_of(living).ok().and_then(|zones| zones.iter_mut().find(|there| there["name"] == zone["name"]));
            if zone.is_object() {
                close_gateway(there, zone);
            }
        }
    }

    fn add_zones(living: &mut Raw, cluster: &Cluster<'_>) -> Result<(), Error> {
        if living.get("networks").is_none_or(|networks| networks.get("zones").is_none()) {
            return Ok(());
        }
        add_missing(zones_of(living)?, cluster, |name, taken| {
            let subnet = free_slot(cluster.nodes, taken, subnets::eighth, |subnet| vec![*subnet])?;
            Ok(Zone::new(name, subnet)?.entry(&open_gateway(None)))
        })
    }
}

impl Requested for Azure {
    type Asked = Asked;

    const MAY_HAVE_NO_ZONES: bool = true;

    fn complete(asked: Asked, usual: &Usual<'_>, found: &mut Found<'_>) -> Self {
        usual.ignore_zone(found);
        let azure_zones = asked.azure_zones.unwrap_or_default();
        let mut zones = asked.zones.unwrap_or_default();
        if !zones.is_empty() && !azure_zones.is_empty() {
            found.warn("zones has no effect beside azureZones");
            zones.clear();
        }
        Self {
            vnet_cidr: usual.network(asked.vnet_cidr),
            zones,
            azure_zones,
            enable_nat_gateway: asked.enable_nat_gateway.unwrap_or(false),
            idle_connection_timeout_minutes: asked.idle_connection_timeout_minutes,
        }
    }

    fn amend(&mut self, asked: Asked, found: &mut Found<'_>) {
        let Asked { vnet_cidr, zones, azure_zones, enable_nat_gateway, idle_connection_timeout_minutes } = asked;
        found.same("vnetCidr", vnet_cidr, &self.vnet_cidr);
        if let Some(given) = azure_zones.filter(|zones| !zones.is_empty()) {
            let message = "cannot be given to a cluster that was made without a subnet per zone";
            found.require(!self.azure_zones.is_empty(), "azureZones", IMMUTABLE, message);
            self.azure_zones = found.added("azureZones", &self.azure_zones, given, |zone| zone.name.to_string());
        } else if let Some(given) = zones.filter(|zones| !zones.is_empty()) {
            let message = match (self.azure_zones.is_empty(), self.zones.is_empty()) {
                (false, _) => Some("cannot replace zones with a subnet each; use azureZones"),
                (true, true) => Some("cannot be given to a cluster that was made outside of zones"),
                (true, false) => None,
            };
            found.require(message.is_none(), "zones", IMMUTABLE, message.unwrap_or_default());
            self.zones = found.added("zones", &self.zones, given, Clone::clone);
        }
        enable_nat_gateway.inspect(|on| self.enable_nat_gateway = *on);
        idle_connection_timeout_minutes.inspect(|minutes| self.idle_connection_timeout_minutes = Some(*minutes));
    }

    fn zones(&self) -> (&'static str, Vec<String>) {
        match self.azure_zones.is_empty() {
            true => ("zones", self.zones.clone()),
            false => ("azureZones", self.azure_zones.iter().map(|zone| zone.name.to_string()).collect()),
        }
    }

    fn network(&self) -> Option<(&'static str, &str)> {
        Some(("vnetCidr", &self.vnet_cidr))
    }

    fn subnets(&self) -> Vec<(String, &str)> {
        let zones = self.azure_zones.iter().enumerate();
        zones.map(|(n, zone)| (format!("azureZones[{n}].cidr"), zone.cidr.as_str())).collect()
    }

    fn check(&self, found: &mut Found<'_>) {
        for (index, zone) in self.azure_zones.iter().enumerate() {
            let place = format!("azureZones[{index}].name");
            found.require(zone.name >= 1, &place, "V9", "must be the number of a zone, 1 or more");
        }
        let minutes = self.idle_connection_timeout_minutes;
        let fits = minutes.is_none_or(|minutes| (4..=120).contains(&minutes));
        found.require(fits, "idleConnectionTimeoutMinutes", "V10", "must be 4 to 120");
        if minutes.is_some() && !self.enable_nat_gateway {
            found.warn("idleConnectionTimeoutMinutes has no effect without enableNatGateway");
        }
        if self.enable_nat_gateway && self.zones.is_empty() && self.azure_zones.is_empty() {
            found.warn("enableNatGateway has no effect for a cluster outside of zones");
        }
    }

    fn echo(&self) -> Value {
        let mut shown = json!(self);
        shown["zones"] = json!(Requested::zones(self).1);
        shown
    }
}
