//! OpenStack, as in SAP Converged Cloud: one network over all zones, and disks that come with the machine.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::cloud::{
    Cloud, Cluster, Data, Error, Found, Networks, Parameters, Requested, Requests, Shape, Usual, left_out_or_empty,
};

pub(super) static CLOUD: Cloud = Cloud {
    name: "openstack",
    aliases: &[],
    api_version: "openstack.provider.extensions.gardener.cloud/v1alpha1",
    has_dual_stack: false,
    has_acl: false,
    needs_overlay: false,
    data: LazyLock::new(|| Data::read(include_str!("../../providers/openstack.yaml"))),
    landscape: &[],
    shape: Shape::of::<Openstack>(),
    requests: Some(Requests::by::<Openstack>("openStackConfig")),
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Openstack {
    zones: Vec<String>,
    /// Where the addresses come from that the world reaches.
    floating_pool_name: String,
    cloud_profile_name: String,
    load_balancer_provider: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Asked {
    zones: Option<Vec<String>>,
    floating_pool_name: Option<String>,
    cloud_profile_name: Option<String>,
    load_balancer_provider: Option<String>,
}

impl Openstack {
    fn with(asked: Asked, zones: Vec<String>) -> Self {
        let or = |given: Option<String>, usual: &str| left_out_or_empty(given).unwrap_or_else(|| usual.to_owned());
        Self {
            zones,
            floating_pool_name: or(asked.floating_pool_name, CLOUD.data.own("floating_pool")),
            cloud_profile_name: or(asked.cloud_profile_name, &CLOUD.data.cloud_profile),
            load_balancer_provider: or(asked.load_balancer_provider, CLOUD.data.own("load_balancer")),
        }
    }
}

impl Parameters for Openstack {
    const FIXED: &'static [&'static str] = &[
        "infrastructureConfig.floatingPoolName",
        "infrastructureConfig.networks.id",
        "infrastructureConfig.networks.router",
        "infrastructureConfig.networks.workers",
        "controlPlaneConfig.loadBalancerProvider",
    ];

    fn cut(cluster: &Cluster<'_>) -> Result<Self, Error> {
        Ok(Self::with(Asked::default(), cluster.zones.iter().map(|&zone| zone.to_owned()).collect()))
    }

    fn infrastructure(&self, networks: Networks<'_>) -> Value {
        json!({ "floatingPoolName": self.floating_pool_name, "networks": { "workers": networks.workers } })
    }

    fn control_plane(&self, _: Networks<'_>) -> Value {
        json!({ "loadBalancerProvider": self.load_balancer_provider })
    }
}

impl Requested for Openstack {
    type Asked = Asked;

    fn complete(mut asked: Asked, usual: &Usual<'_>, _: &mut Found<'_>) -> Self {
        let zones = usual.zones(asked.zones.take(), None);
        Self::with(asked, zones)
    }

    fn amend(&mut self, asked: Asked, found: &mut Found<'_>) {
        let Asked { zones, floating_pool_name, cloud_profile_name, load_balancer_provider } = asked;
        found.same("floatingPoolName", floating_pool_name, &self.floating_pool_name);
        found.same("cloudProfileName", cloud_profile_name, &self.cloud_profile_name);
        found.same("loadBalancerProvider", load_balancer_provider, &self.load_balancer_provider);
        found.unchanged(zones.is_none_or(|zones| zones == self.zones), "zones");
    }

    fn zones(&self) -> (&'static str, Vec<String>) {
        ("zones", self.zones.clone())
    }

    fn check(&self, found: &mut Found<'_>) {
        found.word("floatingPoolName", &self.floating_pool_name);
        found.word("cloudProfileName", &self.cloud_profile_name);
        found.word("loadBalancerProvider", &self.load_balancer_provider);
    }

    fn cloud_profile(&self) -> Option<&str> {
        Some(&self.cloud_profile_name)
    }

    fn echo(&self) -> Value {
        json!(self)
    }
}
