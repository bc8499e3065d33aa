//! What a request says for one cloud only: checked, completed and stored without knowing which.
//!
//! A stored block carries the name of its cloud, so a configuration cannot belong to another cloud
//! than the cluster.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{Error, Networks, Offer, Parameters};
use crate::{
    providers::ProviderType,
    runtime::Raw,
    subnets::{Cidr, MAX_ZONES},
    violations::{IMMUTABLE, Violations, quoted},
};

/// The member of a stored block that names its cloud.
const TAG: &str = "provider";

/// Parameters that requests may ask for.
pub trait Requested: Parameters + Clone + fmt::Debug + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// What a request may say. What it leaves out is filled in for a new cluster and stays for a
    /// living one.
    type Asked: DeserializeOwned;

    /// The parameters of a new cluster.
    fn complete(asked: Self::Asked, usual: &Usual<'_>, found: &mut Found<'_>) -> Self;

    /// Changes those of a living one; what cannot change is refused by name.
    fn amend(&mut self, asked: Self::Asked, found: &mut Found<'_>);

    /// Where the block has its zones, and their names.
    fn zones(&self) -> (&'static str, Vec<String>);

    /// Whether a cluster may be outside of zones.
    const MAY_HAVE_NO_ZONES: bool = false;

    /// The range of the virtual network with its place, where the cloud has one; it is that of the nodes then.
    fn network(&self) -> Option<(&'static str, &str)> {
        None
    }

    /// Ranges that must lie in the virtual network and apart from each other, with their places.
    fn subnets(&self) -> Vec<(String, &str)> {
        Vec::new()
    }

    /// What must hold beside zones and ranges.
    fn check(&self, _found: &mut Found<'_>) {}

    /// The configuration of machines, if they need one.
    fn worker_config(&self) -> Option<Value> {
        None
    }

    /// Another cloud profile than the usual.
    fn cloud_profile(&self) -> Option<&str> {
        None
    }

    /// As clients see it.
    fn echo(&self) -> Value;
}

/// What a request is completed with.
#[derive(Clone, Copy, Debug)]
pub struct Usual<'a> {
    /// The region.
    pub region: &'a str,
    /// The range of workers that the request names.
    pub worker_cidr: Option<&'a str>,
    /// The range of nodes if it names none.
    pub nodes: &'a str,
    /// The oldest clients' only zone.
    pub zone: Option<&'a str>,
    /// What the cloud offers.
    pub offer: &'a Offer,
}

impl Usual<'_> {
    /// The range of the virtual network: what is asked for it, or that of workers.
    pub(crate) fn network(&self, asked: Option<String>) -> String {
        left_out_or_empty(asked).unwrap_or_else(|| self.worker_cidr.unwrap_or(self.nodes).to_owned())
    }

    /// The zones where a cloud has nothing but their names.
    pub(crate) fn zones(&self, asked: Option<Vec<String>>, one: Option<String>) -> Vec<String> {
        let one = || left_out_or_empty(one).or_else(|| self.zone.map(str::to_owned));
        asked.unwrap_or_else(|| one().map_or_else(|| self.offer.zones(self.region), |zone| vec![zone]))
    }

    /// A virtual network cut among the usual zones, as it is for a cluster of which nobody says more.
    pub(crate) fn split<Z>(
        &self,
        network: &str,
        zone: impl Fn(&str, Cidr, usize) -> Result<Z, Error>,
        field: &str,
        found: &mut Found<'_>,
    ) -> Vec<Z> {
        let Ok(network) = network.parse::<Cidr>() else { return Vec::new() }; // Said by the check of ranges.
        let zones = self.offer.zones(self.region);
        let zones = zones.iter().enumerate().map(|(slot, name)| zone(name, network, slot));
        zones.collect::<Result<Vec<Z>, _>>().unwrap_or_else(|problem| {
            found.add(field, "V16", format!("{problem}; give the zones with their ranges"));
            Vec::new()
        })
    }

    /// Says that the oldest clients' only zone has no effect where a zone has subnets.
    pub(crate) fn ignore_zone(&self, found: &mut Found<'_>) {
        if self.zone.is_some() {
            found.warn("zone has no effect: zones of this cloud stand in providerSpecificConfig");
        }
    }
}

/// An empty text is none: clients in Go send it for "unset".
pub(crate) fn left_out_or_empty(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

/// What is wrong with a block so far; its places are those in the block.
pub struct Found<'a> {
    at: String,
    all: &'a mut Violations,
}

impl<'a> Found<'a> {
    /// Notes about the block at this place.
    pub fn at(at: impl Into<String>, all: &'a mut Violations) -> Self {
        Self { at: at.into(), all }
    }

    fn path(&self, field: &str) -> String {
        if field.is_empty() { self.at.clone() } else { format!("{}.{field}", self.at) }
    }

    /// Notes that something is wrong.
    pub fn add(&mut self, field: &str, rule: &'static str, message: impl Into<String>) {
        let path = self.path(field);
        self.all.add(path, rule, message);
    }

    /// Notes that something is wrong unless it holds.
    pub fn require(&mut self, holds: bool, field: &str, rule: &'static str, message: impl Into<String>) {
        if !holds {
            self.add(field, rule, message);
        }
    }

    /// Notes what the caller should know.
    pub fn warn(&mut self, message: impl Into<String>) {
        self.all.warn(message);
    }

    /// The text must be a name in a cloud.
    pub fn word(&mut self, field: &str, text: &str) {
        let path = self.path(field);
        self.all.word(&path, text);
    }

    /// A text that never changes; an empty one is left out.
    pub fn same(&mut self, field: &str, given: Option<String>, current: &str) {
        if let Some(given) = left_out_or_empty(given).filter(|given| given != current) {
            let message = format!("cannot change: it is {}, not {}; leave it out", quoted(current), quoted(&given));
            self.add(field, IMMUTABLE, message);
        }
    }

    /// What a cloud never changes may only be repeated.
    pub fn unchanged(&mut self, is_same: bool, field: &str) {
        self.require(is_same, field, IMMUTABLE, "cannot change on this cloud; leave it out");
    }

    /// Zones after a change: all that were there, in their order, and then the new ones. `name_of`
    /// tells zones apart; one that is there may not become another.
    pub fn added<Z: Clone + PartialEq>(
        &mut self,
        field: &str,
        current: &[Z],
        given: Vec<Z>,
        name_of: impl Fn(&Z) -> String,
    ) -> Vec<Z> {
        for zone in current {
            let name = name_of(zone);
            match given.iter().find(|new| name_of(new) == name) {
                None => self.add(field, "zones", format!("lacks {}: zones can be added, never removed", quoted(&name))),
                Some(new) if new != zone => {
                    self.add(field, "zones", format!("zone {} is in use and cannot get other ranges", quoted(&name)));
                }
                Some(_) => {}
            }
        }
        for (index, zone) in given.iter().enumerate() {
            if given[..index].iter().any(|earlier| name_of(earlier) == name_of(zone)) {
                self.add(field, "V9", format!("{} stands there twice", quoted(&name_of(zone))));
            }
        }
        let is_new = |zone: &Z| !current.iter().any(|there| name_of(there) == name_of(zone));
        let mut zones = current.to_vec();
        zones.extend(given.into_iter().filter(is_new));
        zones
    }
}

/// How requests ask for a cloud.
pub struct Requests {
    /// The block of the input that belongs to it.
    pub block: &'static str,
    /// Whether the known client can read back a cluster on it.
    pub is_known_to_clients: bool,
    understand: fn(Value) -> Result<(), serde_json::Error>,
    complete: Complete,
    open: fn(Value) -> Result<Box<dyn Erased>, serde_json::Error>,
}

type Complete = fn(Value, &Usual<'_>, &mut Found<'_>) -> Option<Box<dyn Erased>>;

impl Requests {
    /// Requests by the block of this name.
    pub const fn by<P: Requested>(block: &'static str) -> Self {
        Self {
            block,
            is_known_to_clients: true,
            understand: |asked| P::Asked::deserialize(asked).map(drop),
            complete: |asked, usual, found| {
                let asked = understand::<P>(asked, found)?;
                Some(Box::new(P::complete(asked, usual, found)))
            },
            open: |stored| Ok(Box::new(P::deserialize(stored)?)),
        }
    }

    /// The known client cannot read back a cluster on it.
    pub const fn unknown_to_clients(mut self) -> Self {
        self.is_known_to_clients = false;
        self
    }

    /// Whether a block can be read, such as that of an operator's defaults.
    pub fn understand(&self, asked: &Raw) -> Result<(), serde_json::Error> {
        (self.understand)(Value::Object(asked.clone()))
    }
}

/// The types of the schema and of the cloud agree, and an operator's defaults are read at the start;
/// whoever breaks that is told instead of losing a wish.
fn understand<P: Requested>(asked: Value, found: &mut Found<'_>) -> Option<P::Asked> {
    P::Asked::deserialize(asked).map_err(|problem| found.add("", "V7", format!("cannot be read: {problem}"))).ok()
}

/// [`Requested`] without its types.
trait Erased: fmt::Debug + Send + Sync {
    fn boxed(&self) -> Box<dyn Erased>;
    fn stored(&self) -> Value;
    fn amend(&mut self, asked: Value, found: &mut Found<'_>);
    fn zones(&self) -> (&'static str, Vec<String>);
    fn may_have_no_zones(&self) -> bool;
    fn network(&self) -> Option<(&'static str, &str)>;
    fn subnets(&self) -> Vec<(String, &str)>;
    fn check(&self, found: &mut Found<'_>);
    fn documents(&self, networks: Networks<'_>) -> (Value, Value);
    fn worker_config(&self) -> Option<Value>;
    fn cloud_profile(&self) -> Option<&str>;
    fn echo(&self) -> Value;
}

impl<P: Requested> Erased for P {
    fn boxed(&self) -> Box<dyn Erased> {
        Box::new(self.clone())
    }

    fn stored(&self) -> Value {
        serde_json::to_value(self).expect("parameters are JSON")
    }

    fn amend(&mut self, asked: Value, found: &mut Found<'_>) {
        if let Some(asked) = understand::<P>(asked, found) {
            Requested::amend(self, asked, found);
        }
    }

    fn zones(&self) -> (&'static str, Vec<String>) {
        Requested::zones(self)
    }

    fn may_have_no_zones(&self) -> bool {
        P::MAY_HAVE_NO_ZONES
    }

    fn network(&self) -> Option<(&'static str, &str)> {
        Requested::network(self)
    }

    fn subnets(&self) -> Vec<(String, &str)> {
        Requested::subnets(self)
    }

    fn check(&self, found: &mut Found<'_>) {
        Requested::check(self, found);
    }

    fn documents(&self, networks: Networks<'_>) -> (Value, Value) {
        (self.infrastructure(networks), self.control_plane(networks))
    }

    fn worker_config(&self) -> Option<Value> {
        Requested::worker_config(self)
    }

    fn cloud_profile(&self) -> Option<&str> {
        Requested::cloud_profile(self)
    }

    fn echo(&self) -> Value {
        Requested::echo(self)
    }
}

/// The parameters of one cluster on its cloud.
#[derive(Debug)]
pub struct Block {
    cloud: ProviderType,
    parameters: Box<dyn Erased>,
}

impl Block {
    /// The parameters of a new cluster. None when what was asked for cannot be read.
    pub fn complete(cloud: ProviderType, asked: Raw, usual: &Usual<'_>, found: &mut Found<'_>) -> Option<Self> {
        let requests = cloud.cloud().requests.as_ref()?;
        let parameters = (requests.complete)(Value::Object(asked), usual, found)?;
        Some(Self { cloud, parameters })
    }

    /// Changes them for a living cluster.
    pub fn amend(&mut self, asked: Raw, found: &mut Found<'_>) {
        self.parameters.amend(Value::Object(asked), found);
    }

    /// What must hold among zones, and what only this cloud demands.
    pub fn check(&self, found: &mut Found<'_>) {
        let (field, zones) = self.parameters.zones();
        if zones.is_empty() && !self.parameters.may_have_no_zones() {
            found.add(field, "V9", "must have at least one zone");
        }
        found.require(zones.len() <= MAX_ZONES, field, "V9", format!("must have at most {MAX_ZONES} zones"));
        for (index, zone) in zones.iter().take(64).enumerate() {
            let place = format!("{field}[{index}]");
            found.word(&place, zone);
            let is_new = !zones[..index].contains(zone);
            found.require(is_new, &place, "V9", format!("{} stands there twice", quoted(zone)));
        }
        self.parameters.check(found);
    }

    /// The cloud.
    pub fn cloud(&self) -> ProviderType {
        self.cloud
    }

    /// The names of all zones.
    pub fn zones(&self) -> Vec<String> {
        self.parameters.zones().1
    }

    /// The range of the virtual network with its place in the block, where the cloud has one.
    pub fn network(&self) -> Option<(&'static str, &str)> {
        self.parameters.network()
    }

    /// The ranges of zones with their places in the block.
    pub fn subnets(&self) -> Vec<(String, &str)> {
        self.parameters.subnets()
    }

    /// Both documents about a cluster whose workers have this range.
    pub fn documents(&self, workers: &str) -> super::Configs {
        let (infrastructure, control_plane) = self.parameters.documents(Networks { workers, is_dual_stack: false });
        let cloud = self.cloud.cloud();
        super::Configs {
            infrastructure: Some(cloud.document("InfrastructureConfig", infrastructure)),
            control_plane: Some(cloud.document("ControlPlaneConfig", control_plane)),
        }
    }

    /// The configuration of machines, if they need one.
    pub fn worker_config(&self) -> Option<Raw> {
        Some(self.cloud.cloud().document("WorkerConfig", self.parameters.worker_config()?))
    }

    /// Another cloud profile than the usual.
    pub fn cloud_profile(&self) -> Option<&str> {
        self.parameters.cloud_profile()
    }

    /// As clients see it, with the name of the cloud.
    pub fn echo(&self) -> Value {
        self.tagged(self.parameters.echo())
    }

    fn tagged(&self, mut parameters: Value) -> Value {
        parameters[TAG] = json!(self.cloud.as_str());
        parameters
    }
}

impl Clone for Block {
    fn clone(&self) -> Self {
        Self { cloud: self.cloud, parameters: self.parameters.boxed() }
    }
}

impl PartialEq for Block {
    fn eq(&self, other: &Self) -> bool {
        self.cloud == other.cloud && self.parameters.stored() == other.parameters.stored()
    }
}

impl Serialize for Block {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.tagged(self.parameters.stored()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let mut stored = Raw::deserialize(deserializer)?;
        let cloud = stored.remove(TAG).ok_or_else(|| D::Error::missing_field(TAG))?;
        let cloud = ProviderType::deserialize(cloud).map_err(D::Error::custom)?;
        let requests = cloud.cloud().requests.as_ref();
        let requests = requests.ok_or_else(|| D::Error::custom(format!("{cloud} has no block")))?;
        let parameters = (requests.open)(Value::Object(stored)).map_err(D::Error::custom)?;
        Ok(Self { cloud, parameters })
    }
}
