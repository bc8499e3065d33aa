//! The clouds in the GraphQL schema: the only place of the service that names them, because a schema
//! is a list of types.
//!
//! What is asked goes to the cloud's own module as JSON, and what it shows comes back so; its names
//! are those of this schema. Lists of zones have one type in all clouds: a published query selects
//! `zones` of two of them under one name, and strict readers refuse that where the types differ.
//!
//! The file is long because it is a list: one line and one sentence per field of the contract.

use juniper::{GraphQLInputObject, GraphQLObject, GraphQLUnion};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use slipway_kube::cloud::Block;

use crate::{
    input::{Violations, wire::GardenerConfigInput},
    mapping::{Mapping, applied, chooses},
    settings::Settings,
};

/// Where the fields of the clouds' blocks end up.
#[rustfmt::skip]
pub(crate) static FIELDS: &[Mapping] = &[
    applied("gcpConfig.zones",                      &["/spec/shoot/provider/workers/0/zones"], "the same"),
    chooses("gcpConfig.zone",                       "gcpConfig.zones"),
    applied("azureConfig.vnetCidr",                 &["/spec/shoot/networking/nodes", "/spec/shoot/provider/infrastructureConfig/networks/vnet/cidr"], "spec.networking.nodes, infrastructureConfig"),
    applied("azureConfig.zones",                    &["/spec/shoot/provider/workers/0/zones"], "the same"),
    applied("azureConfig.azureZones",               &["/spec/shoot/provider/infrastructureConfig/networks/zones", "/spec/shoot/provider/workers/0/zones"], "the same"),
    applied("azureConfig.enableNatGateway",         &["/spec/shoot/provider/infrastructureConfig/networks/natGateway/enabled"], "the same"),
    applied("azureConfig.idleConnectionTimeoutMinutes", &["/spec/shoot/provider/infrastructureConfig/networks/natGateway/idleConnectionTimeoutMinutes"], "the same"),
    applied("awsConfig.vpcCidr",                    &["/spec/shoot/networking/nodes", "/spec/shoot/provider/infrastructureConfig/networks/vpc/cidr"], "spec.networking.nodes, infrastructureConfig"),
    applied("awsConfig.awsZones",                   &["/spec/shoot/provider/infrastructureConfig/networks/zones", "/spec/shoot/provider/workers/0/zones"], "the same"),
    applied("awsConfig.enableIMDSv2",               &["/spec/shoot/provider/workers/0/providerConfig"], "the same"),
    chooses("awsConfig.zone",                       "awsConfig.awsZones"),
    chooses("awsConfig.publicCidr",                 "awsConfig.awsZones"),
    chooses("awsConfig.internalCidr",               "awsConfig.awsZones"),
    applied("openStackConfig.zones",                &["/spec/shoot/provider/workers/0/zones"], "the same"),
    applied("openStackConfig.floatingPoolName",     &["/spec/shoot/provider/infrastructureConfig/floatingPoolName"], "the same"),
    applied("openStackConfig.cloudProfileName",     &["/spec/shoot/cloudProfileName"], "spec.cloudProfileName"),
    applied("openStackConfig.loadBalancerProvider", &["/spec/shoot/provider/controlPlaneConfig/loadBalancerProvider"], "the same"),
    applied("alicloudConfig.vpcCidr",               &["/spec/shoot/networking/nodes", "/spec/shoot/provider/infrastructureConfig/networks/vpc/cidr"], "spec.networking.nodes, infrastructureConfig"),
    applied("alicloudConfig.alicloudZones",         &["/spec/shoot/provider/infrastructureConfig/networks/zones", "/spec/shoot/provider/workers/0/zones"], "the same"),
];

impl ProviderSpecificInput {
    /// What was asked for, by block.
    pub(crate) fn into_blocks(self) -> Map<String, Value> {
        let Ok(Value::Object(mut blocks)) = serde_json::to_value(self) else { unreachable!("an input is an object") };
        blocks.retain(|_, block| block.is_object());
        blocks
    }
}

impl ProviderSpecificConfig {
    /// What of a cluster only its cloud has. None for a cloud that this schema does not know.
    pub(crate) fn of(block: &Block) -> Option<Self> {
        serde_json::from_value(block.echo()).ok()
    }
}

impl ClusterConfigInput {
    /// The cluster as Gardener is to make it, and its place in the input.
    pub(crate) fn describe(
        self,
        settings: &Settings,
        found: &mut Violations,
    ) -> Option<(GardenerConfigInput, &'static str)> {
        match (self.gardener_config, self.gcp_config) {
            (Some(gardener), None) => return Some((gardener, "config.clusterConfig.gardenerConfig")),
            (None, Some(gcp)) if settings.compat.allow_direct_gcp => {
                found.warn("gcpConfig is outdated and was read as gardenerConfig with provider gcp");
                return Some((gcp.translate(), "config.clusterConfig.gcpConfig"));
            }
            (None, Some(_)) => found.add(
                "config.clusterConfig.gcpConfig",
                "V1",
                "is no longer taken; use gardenerConfig with provider gcp",
            ),
            (Some(_), Some(_)) => {
                found.add("config.clusterConfig", "V1", "has gardenerConfig and gcpConfig; give exactly one of them");
            }
            (None, None) => found.add("config.clusterConfig.gardenerConfig", "V1", "is missing"),
        }
        None
    }
}

impl GcpConfigInput {
    /// The oldest clients' way to ask for a cluster, in today's words.
    fn translate(self) -> GardenerConfigInput {
        GardenerConfigInput {
            name: self.name,
            kubernetes_version: self.kubernetes_version,
            provider: "gcp".to_owned(),
            region: self.region.unwrap_or_default(),
            machine_type: self.machine_type,
            volume_size_gb: self.boot_disk_size_gb,
            size: self.number_of_nodes,
            project_name: self.project_name,
            provider_specific_config: self.zone.map(|zone| ProviderSpecificInput {
                gcp_config: Some(GcpProviderConfigInput { zones: Some(vec![zone]), zone: None }),
                ..ProviderSpecificInput::default()
            }),
            ..GardenerConfigInput::default()
        }
    }
}

/// The cluster: exactly one of the two blocks.
#[derive(Debug, Clone, Default, GraphQLInputObject)]
pub struct ClusterConfigInput {
    /// A cluster by Gardener.
    pub gardener_config: Option<GardenerConfigInput>,
    /// Users who administrate the cluster.
    pub administrators: Option<Vec<String>>,
    /// A cluster on Google Cloud, as the oldest clients ask for it.
    #[graphql(deprecated = "use gardenerConfig")]
    pub gcp_config: Option<GcpConfigInput>,
}

/// A cluster on Google Cloud, as the oldest clients ask for it.
#[derive(Debug, Clone, Default, GraphQLInputObject)]
#[graphql(name = "GCPConfigInput")]
pub struct GcpConfigInput {
    /// Name of the cluster.
    pub name: Option<String>,
    /// Name of the project.
    pub project_name: Option<String>,
    /// Kubernetes version.
    pub kubernetes_version: Option<String>,
    /// Number of machines.
    pub number_of_nodes: Option<i32>,
    /// Size of the disk in GiB.
    #[graphql(name = "bootDiskSizeGB")]
    pub boot_disk_size_gb: Option<i32>,
    /// Machine type.
    pub machine_type: Option<String>,
    /// Region.
    pub region: Option<String>,
    /// Zone.
    pub zone: Option<String>,
}

/// What only one cloud has; the block of the chosen cloud counts.
#[derive(Debug, Clone, Default, GraphQLInputObject, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderSpecificInput {
    /// Google Cloud.
    pub gcp_config: Option<GcpProviderConfigInput>,
    /// Azure.
    pub azure_config: Option<AzureProviderConfigInput>,
    /// Amazon Web Services.
    pub aws_config: Option<AwsProviderConfigInput>,
    /// OpenStack.
    pub open_stack_config: Option<OpenStackProviderConfigInput>,
    /// Alibaba Cloud.
    pub alicloud_config: Option<AlicloudProviderConfigInput>,
}

/// What only Google Cloud has.
#[derive(Debug, Clone, Default, GraphQLInputObject, Serialize)]
#[serde(rename_all = "camelCase")]
#[graphql(name = "GCPProviderConfigInput")]
pub struct GcpProviderConfigInput {
    /// Zones.
    pub zones: Option<Vec<String>>,
    /// Use `zones`.
    #[graphql(deprecated = "use zones")]
    pub zone: Option<String>,
}

/// What only Azure has.
#[derive(Debug, Clone, Default, GraphQLInputObject, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AzureProviderConfigInput {
    /// Range of the virtual network, and of the nodes.
    pub vnet_cidr: Option<String>,
    /// Zones that share one subnet.
    pub zones: Option<Vec<String>>,
    /// Zones with a subnet each; they win over `zones`.
    pub azure_zones: Option<Vec<AzureZoneInput>>,
    /// Outgoing traffic takes a NAT gateway.
    pub enable_nat_gateway: Option<bool>,
    /// Minutes after which an idle connection through the NAT gateway ends, 4 to 120.
    pub idle_connection_timeout_minutes: Option<i32>,
}

/// A zone of Azure with its subnet.
#[derive(Debug, Clone, Default, GraphQLInputObject, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AzureZoneInput {
    /// Number of the zone.
    pub name: i32,
    /// Range of its subnet.
    pub cidr: String,
}

/// What only Amazon Web Services have.
#[derive(Debug, Clone, Default, GraphQLInputObject, Serialize)]
#[serde(rename_all = "camelCase")]
#[graphql(name = "AWSProviderConfigInput")]
pub struct AwsProviderConfigInput {
    /// Range of the virtual network, and of the nodes.
    pub vpc_cidr: Option<String>,
    /// Zones with their subnets.
    pub aws_zones: Option<Vec<Option<AwsZoneInput>>>,
    /// Machines only answer metadata requests that carry a session token.
    #[graphql(name = "enableIMDSv2")]
    #[serde(rename = "enableIMDSv2")]
    pub enable_imds_v2: Option<bool>,
    /// Use `awsZones`.
    #[graphql(deprecated = "use awsZones")]
    pub zone: Option<String>,
    /// Use `awsZones`.
    #[graphql(deprecated = "use awsZones")]
    pub public_cidr: Option<String>,
    /// Use `awsZones`.
    #[graphql(deprecated = "use awsZones")]
    pub internal_cidr: Option<String>,
}

/// A zone of Amazon Web Services with its subnets.
#[derive(Debug, Clone, Default, GraphQLInputObject, Serialize)]
#[serde(rename_all = "camelCase")]
#[graphql(name = "AWSZoneInput")]
pub struct AwsZoneInput {
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
#[derive(Debug, Clone, Default, GraphQLInputObject, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenStackProviderConfigInput {
    /// Zones.
    pub zones: Option<Vec<String>>,
    /// Where floating addresses come from.
    pub floating_pool_name: Option<String>,
    /// Cloud profile.
    pub cloud_profile_name: Option<String>,
    /// Who balances.
    pub load_balancer_provider: Option<String>,
}

/// What only Alibaba Cloud has.
#[derive(Debug, Clone, Default, GraphQLInputObject, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AlicloudProviderConfigInput {
    /// Range of the virtual network, and of the nodes.
    pub vpc_cidr: Option<String>,
    /// Zones with their subnets.
    pub alicloud_zones: Option<Vec<AlicloudZoneInput>>,
}

/// A zone of Alibaba Cloud with its subnet.
#[derive(Debug, Clone, Default, GraphQLInputObject, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AlicloudZoneInput {
    /// Name.
    pub name: String,
    /// Range of nodes.
    pub worker_cidr: String,
}

/// What only one cloud has.
#[derive(Debug, Clone, GraphQLUnion, Deserialize)]
#[serde(tag = "provider", rename_all = "lowercase")]
pub enum ProviderSpecificConfig {
    /// Google Cloud.
    Gcp(GcpProviderConfig),
    /// Azure.
    Azure(AzureProviderConfig),
    /// Amazon Web Services.
    Aws(AwsProviderConfig),
    /// OpenStack.
    OpenStack(OpenStackProviderConfig),
    /// Alibaba Cloud.
    Alicloud(AlicloudProviderConfig),
}

/// What only Google Cloud has.
#[derive(Debug, Clone, GraphQLObject, Deserialize)]
#[serde(rename_all = "camelCase")]
#[graphql(name = "GCPProviderConfig")]
pub struct GcpProviderConfig {
    /// Zones.
    pub zones: Option<Vec<String>>,
    /// Use `zones`.
    #[graphql(deprecated = "use zones")]
    pub zone: Option<String>,
}

/// What only Azure has.
#[derive(Debug, Clone, GraphQLObject, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AzureProviderConfig {
    /// Range of the virtual network.
    pub vnet_cidr: Option<String>,
    /// Zones that share one subnet.
    pub zones: Option<Vec<String>>,
    /// Zones with a subnet each.
    pub azure_zones: Option<Vec<AzureZone>>,
    /// Outgoing traffic takes a NAT gateway.
    pub enable_nat_gateway: Option<bool>,
    /// Minutes after which an idle connection ends.
    pub idle_connection_timeout_minutes: Option<i32>,
}

/// A zone of Azure with its subnet.
#[derive(Debug, Clone, GraphQLObject, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AzureZone {
    /// Number.
    pub name: i32,
    /// Range of its subnet.
    pub cidr: String,
}

/// What only Amazon Web Services have.
#[derive(Debug, Clone, GraphQLObject, Deserialize)]
#[serde(rename_all = "camelCase")]
#[graphql(name = "AWSProviderConfig")]
pub struct AwsProviderConfig {
    /// Zones with their subnets.
    pub aws_zones: Vec<Option<AwsZone>>,
    /// Range of the virtual network.
    pub vpc_cidr: Option<String>,
    /// Machines only answer metadata requests that carry a session token.
    #[graphql(name = "enableIMDSv2")]
    #[serde(rename = "enableIMDSv2")]
    pub enable_imds_v2: Option<bool>,
    /// Of the first zone.
    #[graphql(deprecated = "use awsZones")]
    pub zone: Option<String>,
    /// Of the first zone.
    #[graphql(deprecated = "use awsZones")]
    pub public_cidr: Option<String>,
    /// Of the first zone.
    #[graphql(deprecated = "use awsZones")]
    pub internal_cidr: Option<String>,
}

/// A zone of Amazon Web Services with its subnets.
#[derive(Debug, Clone, GraphQLObject, Deserialize)]
#[serde(rename_all = "camelCase")]
#[graphql(name = "AWSZone")]
pub struct AwsZone {
    /// Name.
    pub name: Option<String>,
    /// Range reachable from outside.
    pub public_cidr: Option<String>,
    /// Range of internal load balancers.
    pub internal_cidr: Option<String>,
    /// Range of nodes.
    pub worker_cidr: Option<String>,
}

/// What only OpenStack has.
#[derive(Debug, Clone, GraphQLObject, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenStackProviderConfig {
    /// Zones.
    pub zones: Option<Vec<String>>,
    /// Where floating addresses come from.
    pub floating_pool_name: String,
    /// Cloud profile.
    pub cloud_profile_name: String,
    /// Who balances.
    pub load_balancer_provider: String,
}

/// What only Alibaba Cloud has.
#[derive(Debug, Clone, GraphQLObject, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AlicloudProviderConfig {
    /// Range of the virtual network.
    pub vpc_cidr: Option<String>,
    /// Zones with their subnets.
    pub alicloud_zones: Option<Vec<AlicloudZone>>,
}

/// A zone of Alibaba Cloud with its subnet.
#[derive(Debug, Clone, GraphQLObject, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AlicloudZone {
    /// Name.
    pub name: String,
    /// Range of nodes.
    pub worker_cidr: String,
}
