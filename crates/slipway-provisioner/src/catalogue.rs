//! What the clouds offer, as far as a missing value must be filled in.
//!
//! One data file per cloud in `catalogue/`, built into the program and read once at start: a new
//! machine is a line of data. It is no list of what is allowed: a request may name any machine, and
//! Gardener knows better than any file whether there is one.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::input::Provider;

/// What all clouds offer.
#[derive(Debug, Clone)]
pub struct Catalogue(BTreeMap<Provider, Offer>);

/// What one cloud offers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// The machine if none is asked for.
    pub machine_type: String,
    /// The operating system if none is asked for.
    pub machine_image: String,
    /// The disk, where there is a choice.
    #[serde(default)]
    pub disk_type: Option<String>,
    /// Its size in GiB.
    #[serde(default)]
    pub volume_size_gb: Option<i32>,
    /// Machines in ascending order of memory.
    pub machines: Vec<MachineOffer>,
    zone_letters: BTreeMap<String, Vec<String>>,
    zone_name: String,
    /// OpenStack: how the API server is exposed.
    #[serde(default)]
    pub exposure_class: Option<String>,
    /// OpenStack: where floating addresses come from.
    #[serde(default)]
    pub floating_pool: Option<String>,
    /// OpenStack: the cloud profile.
    #[serde(default)]
    pub cloud_profile: Option<String>,
    /// OpenStack: who balances.
    #[serde(default)]
    pub load_balancer: Option<String>,
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

static FILES: &[(Provider, &str)] = &[
    (Provider::Gcp, include_str!("../catalogue/gcp.yaml")),
    (Provider::Azure, include_str!("../catalogue/azure.yaml")),
    (Provider::Aws, include_str!("../catalogue/aws.yaml")),
    (Provider::Openstack, include_str!("../catalogue/openstack.yaml")),
    (Provider::Alicloud, include_str!("../catalogue/alicloud.yaml")),
];

impl Catalogue {
    /// The built-in catalogue.
    pub fn built_in() -> Self {
        let read = |text| serde_saphyr::from_str(text).expect("a test reads every built-in file");
        Self(FILES.iter().map(|(provider, text)| (*provider, read(text))).collect())
    }

    /// What a cloud offers.
    pub fn offer(&self, provider: Provider) -> &Offer {
        self.0.get(&provider).expect("a test finds a file for every cloud")
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
    use super::*;

    #[test]
    fn every_cloud_has_an_offer_with_its_machines_in_order() {
        let catalogue = Catalogue::built_in();
        for provider in Provider::ALL {
            let offer = catalogue.offer(provider);
            assert!(offer.machines.windows(2).all(|pair| pair[0].memory < pair[1].memory), "{provider}");
            assert!(offer.machines.iter().any(|machine| machine.name == offer.machine_type), "{provider}");
            assert!(!offer.zones("some-region").is_empty(), "{provider}");
            assert_eq!(offer.disk_type.is_none(), provider == Provider::Openstack);
        }
    }

    #[test]
    fn memory_takes_the_smallest_machine_that_has_it() {
        let catalogue = Catalogue::built_in();
        let offer = catalogue.offer(Provider::Gcp);
        assert_eq!(offer.machine_with(9).map(|machine| machine.name.as_str()), Some("n2-standard-4"));
        assert!(offer.machine_with(100_000).is_none());
        assert_eq!(offer.zones("europe-west1"), ["europe-west1-b", "europe-west1-c", "europe-west1-d"]);
    }
}
