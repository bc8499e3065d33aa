//! The clouds, and what only one of them has.
//!
//! A tagged enum, so that a configuration cannot belong to another cloud than the cluster; the
//! reference guessed the cloud by trial decoding.

use std::fmt;

use serde::{Deserialize, Serialize};
use slipway_kube::runtime::ProviderType;

/// A cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provider {
    /// Google Cloud.
    Gcp,
    /// Azure.
    Azure,
    /// Amazon Web Services.
    Aws,
    /// OpenStack.
    Openstack,
    /// Alibaba Cloud.
    Alicloud,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Gcp, Self::Azure, Self::Aws, Self::Openstack, Self::Alicloud];

    /// The word on the wire, in lower case as the known client demands.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gcp => "gcp",
            Self::Azure => "azure",
            Self::Aws => "aws",
            Self::Openstack => "openstack",
            Self::Alicloud => "alicloud",
        }
    }

    /// The cloud of this name in any case; `GKE` and `AKS` are old names of two of them.
    pub fn parse(text: &str) -> Option<Self> {
        let lower = text.to_ascii_lowercase();
        let name = match lower.as_str() {
            "gke" => "gcp",
            "aks" => "azure",
            other => other,
        };
        Self::ALL.into_iter().find(|provider| provider.as_str() == name)
    }

    /// The block of the input that belongs to it.
    pub const fn block(self) -> &'static str {
        match self {
            Self::Gcp => "gcpConfig",
            Self::Azure => "azureConfig",
            Self::Aws => "awsConfig",
            Self::Openstack => "openStackConfig",
            Self::Alicloud => "alicloudConfig",
        }
    }

    /// The cloud as a Runtime has it.
    pub const fn kube(self) -> ProviderType {
        match self {
            Self::Gcp => ProviderType::Gcp,
            Self::Azure => ProviderType::Azure,
            Self::Aws => ProviderType::Aws,
            Self::Openstack => ProviderType::Openstack,
            Self::Alicloud => ProviderType::Alicloud,
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What only one cloud has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "provider", rename_all = "lowercase")]
pub enum ProviderConfig {
    /// Google Cloud.
    Gcp(GcpConfig),
    /// Azure.
    Azure(AzureConfig),
    /// Amazon Web Services.
    Aws(AwsConfig),
    /// OpenStack.
    Openstack(OpenStackConfig),
    /// Alibaba Cloud.
    Alicloud(AlicloudConfig),
}

/// What only Google Cloud has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GcpConfig {
    /// Zones.
    pub zones: Vec<String>,
}

/// What only Azure has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AzureConfig {
    /// Range of the virtual network, and of the nodes.
    pub vnet_cidr: String,
    /// Zones that share one subnet. None, and no others: the cluster is outside of zones.
    pub zones: Vec<String>,
    /// Zones with a subnet each.
    pub azure_zones: Vec<AzureZone>,
    /// Outgoing traffic takes a NAT gateway.
    pub enable_nat_gateway: bool,
    /// Minutes after which an idle connection ends.
    pub idle_connection_timeout_minutes: Option<i32>,
}

/// A zone of Azure with its subnet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AzureZone {
    /// Number.
    pub name: i32,
    /// Range of its subnet.
    pub cidr: String,
}

/// What only Amazon Web Services have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AwsConfig {
    /// Range of the virtual network, and of the nodes.
    pub vpc_cidr: String,
    /// Zones.
    pub zones: Vec<AwsZone>,
    /// Machines only answer metadata requests that carry a session token.
    pub enable_imds_v2: bool,
}

/// A zone of Amazon Web Services with its subnets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AwsZone {
    /// Name.
    pub name: String,
    /// Range reachable from outside.
    pub public_cidr: String,
    /// Range of internal load balancers.
    pub internal_cidr: String,
    /// Range of nodes.
    pub worker_cidr: String,
}

/// What only OpenStack has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenStackConfig {
    /// Zones.
    pub zones: Vec<String>,
    /// Where floating addresses come from.
    pub floating_pool_name: String,
    /// Cloud profile.
    pub cloud_profile_name: String,
    /// Who balances.
    pub load_balancer_provider: String,
}

/// What only Alibaba Cloud has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AlicloudConfig {
    /// Range of the virtual network, and of the nodes.
    pub vpc_cidr: String,
    /// Zones.
    pub zones: Vec<AlicloudZone>,
}

/// A zone of Alibaba Cloud with its subnet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AlicloudZone {
    /// Name.
    pub name: String,
    /// Range of nodes.
    pub worker_cidr: String,
}

impl ProviderConfig {
    /// The cloud.
    pub const fn provider(&self) -> Provider {
        match self {
            Self::Gcp(_) => Provider::Gcp,
            Self::Azure(_) => Provider::Azure,
            Self::Aws(_) => Provider::Aws,
            Self::Openstack(_) => Provider::Openstack,
            Self::Alicloud(_) => Provider::Alicloud,
        }
    }

    /// The range of the virtual network where the cloud has one; it is that of the nodes then.
    pub fn network_cidr(&self) -> Option<&str> {
        match self {
            Self::Azure(azure) => Some(&azure.vnet_cidr),
            Self::Aws(aws) => Some(&aws.vpc_cidr),
            Self::Alicloud(alicloud) => Some(&alicloud.vpc_cidr),
            Self::Gcp(_) | Self::Openstack(_) => None,
        }
    }

    /// The names of all zones.
    pub fn zones(&self) -> Vec<String> {
        match self {
            Self::Gcp(gcp) => gcp.zones.clone(),
            Self::Azure(azure) if azure.azure_zones.is_empty() => azure.zones.clone(),
            Self::Azure(azure) => azure.azure_zones.iter().map(|zone| zone.name.to_string()).collect(),
            Self::Aws(aws) => aws.zones.iter().map(|zone| zone.name.clone()).collect(),
            Self::Openstack(openstack) => openstack.zones.clone(),
            Self::Alicloud(alicloud) => alicloud.zones.iter().map(|zone| zone.name.clone()).collect(),
        }
    }

    /// Ranges that must lie in the virtual network and apart from each other, with their places in
    /// the block of the input.
    pub fn subnets(&self) -> Vec<(String, &str)> {
        match self {
            Self::Gcp(_) | Self::Openstack(_) => Vec::new(),
            Self::Azure(azure) => {
                azure.azure_zones.iter().enumerate().map(|(n, z)| (format!("azureZones[{n}].cidr"), &*z.cidr)).collect()
            }
            Self::Aws(aws) => aws.zones.iter().enumerate().flat_map(|(n, zone)| aws_subnets(n, zone)).collect(),
            Self::Alicloud(alicloud) => (alicloud.zones.iter().enumerate())
                .map(|(n, zone)| (format!("alicloudZones[{n}].workerCidr"), &*zone.worker_cidr))
                .collect(),
        }
    }
}

fn aws_subnets(n: usize, zone: &AwsZone) -> [(String, &str); 3] {
    [("workerCidr", &zone.worker_cidr), ("publicCidr", &zone.public_cidr), ("internalCidr", &zone.internal_cidr)]
        .map(|(field, cidr)| (format!("awsZones[{n}].{field}"), cidr.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cloud_is_known_by_its_names_in_any_case() {
        for (text, provider) in [
            ("GCP", Provider::Gcp),
            ("gke", Provider::Gcp),
            ("AKS", Provider::Azure),
            ("OpenStack", Provider::Openstack),
        ] {
            assert_eq!(Provider::parse(text), Some(provider));
        }
        assert_eq!(Provider::parse("ec2"), None);
        assert_eq!(Provider::parse(""), None);
    }
}
