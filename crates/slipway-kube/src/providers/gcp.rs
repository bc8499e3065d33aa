//! Google Cloud: one network over all zones; the control plane wants to know one of them.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    cloud::left_out_or_empty,
    cloud::{Cloud, Cluster, Data, Error, Found, Networks, Parameters, Requested, Requests, Shape, Usual},
    runtime::Raw,
};

pub(super) static CLOUD: Cloud = Cloud {
    name: "gcp",
    aliases: &["gke"],
    api_version: "gcp.provider.extensions.gardener.cloud/v1alpha1",
    has_dual_stack: true,
    has_acl: false,
    needs_overlay: false,
    data: LazyLock::new(|| Data::read(include_str!("../../providers/gcp.yaml"))),
    landscape: &[],
    shape: Shape::of::<Gcp>(),
    requests: Some(Requests::by::<Gcp>("gcpConfig")),
};

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Gcp {
    zones: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    zones: Option<Vec<String>>,
    /// Before there was a list.
    zone: Option<String>,
}

impl Parameters for Gcp {
    const FIXED: &'static [&'static str] = &[
        "infrastructureConfig.networks.worker",
        "infrastructureConfig.networks.workers",
        "infrastructureConfig.networks.vpc",
        "controlPlaneConfig.zone",
    ];

    fn cut(cluster: &Cluster<'_>) -> Result<Self, Error> {
        if cluster.zones.is_empty() {
            return Err(Error::Zones("gcp needs at least one zone".to_owned()));
        }
        Ok(Self { zones: cluster.zones.iter().map(|&zone| zone.to_owned()).collect() })
    }

    fn infrastructure(&self, networks: Networks<'_>) -> Value {
        // Both spellings: which one is read depends on the age of Gardener's extension.
        json!({ "networks": { "worker": networks.workers, "workers": networks.workers } })
    }

    fn control_plane(&self, _: Networks<'_>) -> Value {
        json!({ "zone": self.zones.first() })
    }

    /// A cluster that was made with one of the two spellings keeps it.
    fn align(living: &mut Raw, wanted: &mut Raw) {
        let Some(Value::Object(wanted)) = wanted.get_mut("networks") else { return };
        for (one, other) in [("worker", "workers"), ("workers", "worker")] {
            let there = |name: &str| living.get("networks").and_then(|networks| networks.get(name));
            if there(one).is_none() && there(other).is_some() && there(other) == wanted.get(one) {
                wanted.remove(one);
            }
        }
    }
}

impl Requested for Gcp {
    type Asked = Asked;

    fn complete(asked: Asked, usual: &Usual<'_>, _: &mut Found<'_>) -> Self {
        Self { zones: usual.zones(asked.zones, asked.zone) }
    }

    fn amend(&mut self, asked: Asked, found: &mut Found<'_>) {
        if let Some(given) = asked.zones.or_else(|| left_out_or_empty(asked.zone).map(|zone| vec![zone])) {
            self.zones = found.added("zones", &self.zones, given, Clone::clone);
        }
    }

    fn zones(&self) -> (&'static str, Vec<String>) {
        ("zones", self.zones.clone())
    }

    fn echo(&self) -> Value {
        json!({ "zones": self.zones, "zone": self.zones.first() })
    }
}
