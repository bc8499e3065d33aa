//! Zones and ranges: the block of the chosen cloud, its defaults, and what must hold among them.

use std::collections::BTreeSet;

use slipway_kube::{
    Cidr,
    subnets::{self, MAX_ZONES},
};

use super::{
    cluster::set,
    provider::{
        AlicloudConfig, AlicloudZone, AwsConfig, AwsZone, AzureConfig, AzureZone, GcpConfig, OpenStackConfig, Provider,
        ProviderConfig,
    },
    provision::Rules,
    spec::ClusterSpec,
    violations::{Violations, quoted},
    wire::{
        AlicloudProviderConfigInput, AwsProviderConfigInput, AzureProviderConfigInput, GcpProviderConfigInput,
        OpenStackProviderConfigInput, ProviderSpecificInput,
    },
};
use crate::settings::Settings;

const AWS_ZONES: &str = "providerSpecificConfig.awsConfig.awsZones";
const ALICLOUD_ZONES: &str = "providerSpecificConfig.alicloudConfig.alicloudZones";

/// What was asked for.
pub(super) struct Asked<'a> {
    pub(super) provider: Provider,
    pub(super) blocks: Option<ProviderSpecificInput>,
    pub(super) region: &'a str,
    pub(super) worker_cidr: Option<String>,
    /// The oldest clients' only zone.
    pub(super) zone: Option<String>,
}

/// The block of one cloud.
#[derive(Debug, Clone)]
pub(super) enum Block {
    Gcp(GcpProviderConfigInput),
    Azure(AzureProviderConfigInput),
    Aws(AwsProviderConfigInput),
    Openstack(OpenStackProviderConfigInput),
    Alicloud(AlicloudProviderConfigInput),
}

/// The block of this cloud. Others beside it are said to have no effect: the reference's own
/// end-to-end request sends two. Another one instead of it is an error.
pub(super) fn block(
    provider: Provider,
    blocks: Option<ProviderSpecificInput>,
    at: &str,
    found: &mut Violations,
) -> Option<Block> {
    let ProviderSpecificInput { gcp_config, azure_config, aws_config, open_stack_config, alicloud_config } = blocks?;
    let given = [
        (Provider::Gcp, gcp_config.map(Block::Gcp)),
        (Provider::Azure, azure_config.map(Block::Azure)),
        (Provider::Aws, aws_config.map(Block::Aws)),
        (Provider::Openstack, open_stack_config.map(Block::Openstack)),
        (Provider::Alicloud, alicloud_config.map(Block::Alicloud)),
    ];
    let (mut chosen, mut others) = (None, Vec::new());
    for (owner, block) in given {
        match block {
            Some(block) if owner == provider => chosen = Some(block),
            Some(_) => others.push(owner.block()),
            None => {}
        }
    }
    match (&chosen, others.as_slice()) {
        (_, []) => {}
        (Some(_), others) => {
            found.warn(format!("{} has no effect beside {}", others.join(", "), provider.block()));
        }
        (None, [other, ..]) => found.add(
            format!("{at}.providerSpecificConfig.{other}"),
            "V7",
            format!("is for another cloud; provider {provider} takes {}", provider.block()),
        ),
    }
    chosen
}

/// The configuration of the chosen cloud and the range of nodes. None when the wrong block was given.
pub(super) fn read(
    asked: Asked<'_>,
    at: &str,
    rules: Rules<'_>,
    found: &mut Violations,
) -> Option<(ProviderConfig, String)> {
    let Asked { provider, blocks, region, worker_cidr, zone } = asked;
    let wrong_before = found.list.len();
    let block = block(provider, blocks, at, found);
    if found.list.len() > wrong_before {
        return None;
    }
    let offer = rules.catalogue.offer(provider);
    let usual = || rules.settings.defaults.worker_cidr.clone();
    let zone = set(zone);
    if zone.is_some() && matches!(provider, Provider::Azure | Provider::Aws | Provider::Alicloud) {
        found.warn("zone has no effect: zones of this cloud stand in providerSpecificConfig");
    }
    let zones_or = |given: Option<Vec<String>>, one: Option<String>| match given {
        Some(zones) => zones,
        None => one.or(zone.clone()).map_or_else(|| offer.zones(region), |zone| vec![zone]),
    };
    Some(match (provider, block) {
        (Provider::Gcp, block) => {
            let gcp = match block {
                Some(Block::Gcp(gcp)) => gcp,
                _ => GcpProviderConfigInput::default(),
            };
            let config = GcpConfig { zones: zones_or(gcp.zones, set(gcp.zone)) };
            (ProviderConfig::Gcp(config), worker_cidr.unwrap_or_else(usual))
        }
        (Provider::Openstack, block) => {
            let openstack = match block {
                Some(Block::Openstack(openstack)) => openstack,
                _ => OpenStackProviderConfigInput::default(),
            };
            let or = |given: Option<String>, usual: &Option<String>| set(given).or(usual.clone()).unwrap_or_default();
            let config = OpenStackConfig {
                zones: zones_or(openstack.zones, None),
                floating_pool_name: or(openstack.floating_pool_name, &offer.floating_pool),
                cloud_profile_name: or(openstack.cloud_profile_name, &offer.cloud_profile),
                load_balancer_provider: or(openstack.load_balancer_provider, &offer.load_balancer),
            };
            (ProviderConfig::Openstack(config), worker_cidr.unwrap_or_else(usual))
        }
        (Provider::Azure, block) => {
            let azure = match block {
                Some(Block::Azure(azure)) => azure,
                _ => AzureProviderConfigInput::default(),
            };
            let vnet_cidr = set(azure.vnet_cidr).or_else(|| worker_cidr.clone()).unwrap_or_else(usual);
            let zone = |zone: super::wire::AzureZoneInput| AzureZone { name: zone.name, cidr: zone.cidr };
            let azure_zones: Vec<AzureZone> = azure.azure_zones.unwrap_or_default().into_iter().map(zone).collect();
            let zones = azure.zones.unwrap_or_default();
            if !zones.is_empty() && !azure_zones.is_empty() {
                found.warn("zones has no effect beside azureZones");
            }
            let config = AzureConfig {
                zones: if azure_zones.is_empty() { zones } else { Vec::new() },
                azure_zones,
                enable_nat_gateway: azure.enable_nat_gateway.unwrap_or(false),
                idle_connection_timeout_minutes: azure.idle_connection_timeout_minutes,
                vnet_cidr: vnet_cidr.clone(),
            };
            (ProviderConfig::Azure(config), worker_cidr.unwrap_or(vnet_cidr))
        }
        (Provider::Aws, block) => {
            let aws = match block {
                Some(Block::Aws(aws)) => aws,
                _ => AwsProviderConfigInput::default(),
            };
            let vpc_cidr = set(aws.vpc_cidr.clone()).or_else(|| worker_cidr.clone()).unwrap_or_else(usual);
            let enable_imds_v2 = aws.enable_imds_v2.unwrap_or(rules.settings.defaults.enable_imds_v2);
            let worker_cidr = worker_cidr.unwrap_or_else(|| vpc_cidr.clone());
            let zones = aws_zones(aws, &worker_cidr, &vpc_cidr, &offer.zones(region), at, found);
            (ProviderConfig::Aws(AwsConfig { vpc_cidr, zones, enable_imds_v2 }), worker_cidr)
        }
        (Provider::Alicloud, block) => {
            let alicloud = match block {
                Some(Block::Alicloud(alicloud)) => alicloud,
                _ => AlicloudProviderConfigInput::default(),
            };
            let vpc_cidr = set(alicloud.vpc_cidr).or_else(|| worker_cidr.clone()).unwrap_or_else(usual);
            let zone =
                |zone: super::wire::AlicloudZoneInput| AlicloudZone { name: zone.name, worker_cidr: zone.worker_cidr };
            let zones = match alicloud.alicloud_zones {
                Some(zones) => zones.into_iter().map(zone).collect(),
                None => {
                    let zone = |name: &str, worker: Cidr| AlicloudZone {
                        name: name.to_owned(),
                        worker_cidr: worker.to_string(),
                    };
                    let cut = |vpc, slot, name: &str| Ok(zone(name, subnets::eighth(vpc, slot)?));
                    split(&vpc_cidr, &offer.zones(region), cut, &format!("{at}.{ALICLOUD_ZONES}"), found)
                }
            };
            let worker_cidr = worker_cidr.unwrap_or_else(|| vpc_cidr.clone());
            (ProviderConfig::Alicloud(AlicloudConfig { vpc_cidr, zones }), worker_cidr)
        }
    })
}

/// The zones as they are given, or the one zone of old clients, or the usual ones.
pub(super) fn aws_zones(
    aws: AwsProviderConfigInput,
    worker_cidr: &str,
    vpc_cidr: &str,
    usual: &[String],
    at: &str,
    found: &mut Violations,
) -> Vec<AwsZone> {
    let old = (set(aws.zone), set(aws.public_cidr), set(aws.internal_cidr));
    match (aws.aws_zones, old) {
        (Some(zones), old) => {
            if old != (None, None, None) {
                found.warn("zone, publicCidr and internalCidr have no effect beside awsZones");
            }
            let zone = |zone: super::wire::AwsZoneInput| AwsZone {
                name: zone.name,
                public_cidr: zone.public_cidr,
                internal_cidr: zone.internal_cidr,
                worker_cidr: zone.worker_cidr,
            };
            zones.into_iter().flatten().map(zone).collect()
        }
        (None, (Some(name), Some(public_cidr), Some(internal_cidr))) => {
            vec![AwsZone { name, public_cidr, internal_cidr, worker_cidr: worker_cidr.to_owned() }]
        }
        (None, (None, None, None)) => split(vpc_cidr, usual, aws_zone, &format!("{at}.{AWS_ZONES}"), found),
        (None, _) => {
            let path = format!("{at}.providerSpecificConfig.awsConfig.zone");
            found.add(path, "V16", "publicCidr and internalCidr belong together; better use awsZones");
            Vec::new()
        }
    }
}

fn aws_zone(vpc: Cidr, slot: usize, name: &str) -> Result<AwsZone, subnets::Error> {
    let zone = subnets::aws(vpc, slot)?;
    Ok(AwsZone {
        name: name.to_owned(),
        worker_cidr: zone.workers.to_string(),
        public_cidr: zone.public.to_string(),
        internal_cidr: zone.internal.to_string(),
    })
}

/// A virtual network cut among zones, in the way the infrastructure manager cuts it where nobody says.
fn split<Z>(
    vpc: &str,
    zones: &[String],
    cut: impl Fn(Cidr, usize, &str) -> Result<Z, subnets::Error>,
    path: &str,
    found: &mut Violations,
) -> Vec<Z> {
    let Ok(vpc) = vpc.parse::<Cidr>() else { return Vec::new() }; // Said by the check of ranges.
    let zones = zones.iter().enumerate().map(|(slot, name)| cut(vpc, slot, name));
    zones.collect::<Result<Vec<Z>, _>>().unwrap_or_else(|problem| {
        found.add(path, "V16", format!("{problem}; give the zones with their ranges"));
        Vec::new()
    })
}

/// What must hold among zones and ranges.
pub(super) fn check(spec: &ClusterSpec, at: &str, settings: &Settings, found: &mut Violations) {
    let block = format!("{at}.providerSpecificConfig.{}", spec.provider().block());
    check_zones(spec, &block, found);
    if let ProviderConfig::Azure(azure) = &spec.provider_config {
        let fits = azure.idle_connection_timeout_minutes.is_none_or(|minutes| (4..=120).contains(&minutes));
        found.require(fits, format!("{block}.idleConnectionTimeoutMinutes"), "V10", "must be 4 to 120");
        if azure.idle_connection_timeout_minutes.is_some() && !azure.enable_nat_gateway {
            found.warn("idleConnectionTimeoutMinutes has no effect without enableNatGateway");
        }
        if azure.enable_nat_gateway && spec.provider_config.zones().is_empty() {
            found.warn("enableNatGateway has no effect for a cluster outside of zones");
        }
    }
    if let ProviderConfig::Openstack(openstack) = &spec.provider_config {
        found.word(&format!("{block}.floatingPoolName"), &openstack.floating_pool_name);
        found.word(&format!("{block}.cloudProfileName"), &openstack.cloud_profile_name);
        found.word(&format!("{block}.loadBalancerProvider"), &openstack.load_balancer_provider);
    }
    if !settings.compat.lenient_cidr {
        check_ranges(spec, at, &block, settings, found);
    }
}

fn check_zones(spec: &ClusterSpec, block: &str, found: &mut Violations) {
    let field = match &spec.provider_config {
        ProviderConfig::Azure(azure) if !azure.azure_zones.is_empty() => "azureZones",
        ProviderConfig::Aws(_) => "awsZones",
        ProviderConfig::Alicloud(_) => "alicloudZones",
        ProviderConfig::Gcp(_) | ProviderConfig::Openstack(_) | ProviderConfig::Azure(_) => "zones",
    };
    let path = format!("{block}.{field}");
    let zones = spec.provider_config.zones();
    if zones.is_empty() && spec.provider() != Provider::Azure {
        found.add(path.clone(), "V9", "must have at least one zone");
    }
    let most = format!("must have at most {MAX_ZONES} zones");
    found.require(zones.len() <= MAX_ZONES, path.clone(), "V9", most);
    let mut seen = BTreeSet::new();
    for (index, zone) in zones.iter().take(64).enumerate() {
        found.word(&format!("{path}[{index}]"), zone);
        found.require(
            seen.insert(zone),
            format!("{path}[{index}]"),
            "V9",
            format!("{} stands there twice", quoted(zone)),
        );
    }
    if let ProviderConfig::Azure(azure) = &spec.provider_config {
        for (index, zone) in azure.azure_zones.iter().enumerate() {
            found.require(
                zone.name >= 1,
                format!("{path}[{index}].name"),
                "V9",
                "must be the number of a zone, 1 or more",
            );
        }
    }
}

fn check_ranges(spec: &ClusterSpec, at: &str, block: &str, settings: &Settings, found: &mut Violations) {
    let mut read = |path: String, text: &str| match text.parse::<Cidr>() {
        Ok(range) => Some((path, range)),
        Err(problem) => {
            let right = match problem {
                subnets::Error::HostBits { meant, .. } => {
                    format!("has bits set behind its prefix; {meant} would be right")
                }
                _ => "must look like 10.250.0.0/16".to_owned(),
            };
            found.add(path, "V8", format!("{} {right}", quoted(text)));
            None
        }
    };
    let worker = read(format!("{at}.workerCidr"), &spec.worker_cidr);
    let network_field = if spec.provider() == Provider::Azure { "vnetCidr" } else { "vpcCidr" };
    let network = spec.provider_config.network_cidr().and_then(|text| read(format!("{block}.{network_field}"), text));
    let pods = read(format!("{at}.podsCidr"), &spec.pods_cidr);
    let services = read(format!("{at}.servicesCidr"), &spec.services_cidr);
    let subnets = spec.provider_config.subnets();
    let subnets: Vec<_> =
        subnets.into_iter().filter_map(|(field, text)| read(format!("{block}.{field}"), text)).collect();

    let has_network = spec.provider_config.network_cidr().is_some();
    let nodes = if has_network { network.clone() } else { worker.clone() };
    apart(&[nodes, pods, services].into_iter().flatten().collect::<Vec<_>>(), found);
    apart(&subnets, found);
    if let Some((network_path, network)) = &network {
        // With a subnet per zone the range of all workers is only where the zones' defaults come from.
        let worker = worker.filter(|_| subnets.is_empty());
        for (path, range) in worker.iter().chain(&subnets) {
            let message = format!("{range} must lie in {network} ({network_path})");
            found.require(network.contains(*range), path.clone(), "V8", message);
        }
    }
    let all = [
        (format!("{at}.workerCidr"), spec.nodes_cidr()),
        (format!("{at}.podsCidr"), &spec.pods_cidr),
        (format!("{at}.servicesCidr"), &spec.services_cidr),
    ];
    for (path, range) in all.into_iter().filter_map(|(path, text)| Some((path, text.parse::<Cidr>().ok()?))) {
        for reserved in settings.networking.reserved_cidrs.iter().filter_map(|text| text.parse::<Cidr>().ok()) {
            let message = format!("{range} overlaps {reserved}, which is reserved");
            found.require(!range.overlaps(reserved), path.clone(), "V8", message);
        }
    }
}

fn apart(ranges: &[(String, Cidr)], found: &mut Violations) {
    for (index, (path, range)) in ranges.iter().enumerate() {
        if let Some((other_path, other)) = ranges[..index].iter().find(|(_, other)| range.overlaps(*other)) {
            found.add(path.clone(), "V8", format!("{range} overlaps {other} ({other_path})"));
        }
    }
}
