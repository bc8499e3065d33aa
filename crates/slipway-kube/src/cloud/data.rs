//! What is data about a cloud: one YAML file each, built into the program.
//!
//! It is no list of what is allowed: a request may name any machine, and Gardener knows better than
//! any file whether there is one.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The data of one cloud.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// Where Gardener describes what the cloud has, unless configured otherwise.
    pub cloud_profile: String,
    /// How its API servers are exposed, if it matters.
    #[serde(default)]
    pub exposure_class: Option<String>,
    /// What only the module of this cloud asks for, by name.
    #[serde(default)]
    own: BTreeMap<String, String>,
    #[serde(default)]
    offer: Option<Offer>,
}

/// What takes the place of values that a request leaves out.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// The machine if none is asked for.
    pub machine_type: String,
    /// The operating system if none is asked for.
    pub machine_image: String,
    /// The disk; none where disks come with the machine.
    #[serde(default)]
    pub disk_type: Option<String>,
    /// Its size in GiB.
    #[serde(default)]
    pub volume_size_gb: Option<i32>,
    /// Machines in ascending order of memory.
    machines: Vec<MachineOffer>,
    zone_letters: BTreeMap<String, Vec<String>>,
    zone_name: String,
}

/// A machine.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineOffer {
    /// Its name.
    pub name: String,
    /// Its memory in GiB.
    pub memory: u32,
}

impl Data {
    /// Reads a built-in file.
    pub fn read(text: &str) -> Self {
        serde_saphyr::from_str(text).expect("a test reads every built-in file")
    }

    /// What a request is completed with.
    pub fn offer(&self) -> &Offer {
        self.offer.as_ref().expect("a test finds the offer of every cloud that can be asked for")
    }

    /// What only the module of this cloud asks for.
    pub(crate) fn own(&self, name: &str) -> &str {
        self.own.get(name).expect("the module and its file agree; a test makes a cluster on every cloud")
    }
}

impl Offer {
    /// The smallest machine with at least so much memory.
    pub fn machine_with(&self, gib: u32) -> Option<&MachineOffer> {
        self.machines.iter().find(|machine| machine.memory >= gib)
    }

    /// The usual zones of a region. Always the same, so that a repeated request is the same request.
    pub fn zones(&self, region: &str) -> Vec<String> {
        let letters = self.zone_letters.get(region).or_else(|| self.zone_letters.get("default"));
        let name = |letter: &String| self.zone_name.replace("{region}", region).replace("{letter}", letter);
        letters.into_iter().flatten().map(name).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::providers::CLOUDS;

    #[test]
    fn every_cloud_that_can_be_asked_for_has_an_offer_with_its_machines_in_order() {
        for cloud in CLOUDS {
            assert!(!cloud.data.cloud_profile.is_empty(), "{}", cloud.name);
            if cloud.requests.is_none() {
                assert!(cloud.data.offer.is_none(), "{}", cloud.name);
                continue;
            }
            let offer = cloud.data.offer();
            assert!(offer.machines.windows(2).all(|pair| pair[0].memory < pair[1].memory), "{}", cloud.name);
            assert!(offer.machines.iter().any(|machine| machine.name == offer.machine_type), "{}", cloud.name);
            assert!(!offer.zones("some-region").is_empty(), "{}", cloud.name);
            assert_eq!(offer.disk_type.is_none(), offer.volume_size_gb.is_none(), "{}", cloud.name);
        }
    }

    #[test]
    fn memory_takes_the_smallest_machine_that_has_it() {
        let gcp = CLOUDS.iter().find(|cloud| cloud.name == "gcp").expect("a row");
        let offer = gcp.data.offer();
        assert_eq!(offer.machine_with(9).map(|machine| machine.name.as_str()), Some("n2-standard-4"));
        assert!(offer.machine_with(100_000).is_none());
        assert_eq!(offer.zones("europe-west1"), ["europe-west1-b", "europe-west1-c", "europe-west1-d"]);
    }
}
