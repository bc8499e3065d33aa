//! What of a cloud's own block may change in a living cluster: zones may be added where the cloud
//! allows it, a subnet in use never changes, and what is left out stays.

use super::{
    cluster::set,
    networks::{self, Block},
    provider::{AwsConfig, AzureConfig, AzureZone, GcpConfig, OpenStackConfig, ProviderConfig},
    upgrade::IMMUTABLE,
    violations::{Violations, quoted},
    wire::{
        AlicloudProviderConfigInput, AwsProviderConfigInput, AzureProviderConfigInput, GcpProviderConfigInput,
        OpenStackProviderConfigInput,
    },
};

/// Changes the configuration by the block of its cloud.
pub(super) fn merge(config: &mut ProviderConfig, block: Block, at: &str, found: &mut Violations) {
    let at = format!("{at}.providerSpecificConfig.{}", config.provider().block());
    match (config, block) {
        (ProviderConfig::Gcp(config), Block::Gcp(input)) => gcp(config, input, &at, found),
        (ProviderConfig::Azure(config), Block::Azure(input)) => azure(config, input, &at, found),
        (ProviderConfig::Aws(config), Block::Aws(input)) => aws(config, input, &at, found),
        (ProviderConfig::Openstack(config), Block::Openstack(input)) => openstack(config, input, &at, found),
        (
            ProviderConfig::Alicloud(config),
            Block::Alicloud(AlicloudProviderConfigInput { vpc_cidr, alicloud_zones }),
        ) => {
            same("vpcCidr", set(vpc_cidr), &config.vpc_cidr, &at, found);
            if let Some(zones) = alicloud_zones {
                let equal = zones.len() == config.zones.len()
                    && zones
                        .iter()
                        .zip(&config.zones)
                        .all(|(new, old)| new.name == old.name && new.worker_cidr == old.worker_cidr);
                found.require(
                    equal,
                    format!("{at}.alicloudZones"),
                    IMMUTABLE,
                    "cannot change on this cloud; leave it out",
                );
            }
        }
        // The caller chose the block by the configuration's own cloud.
        (
            ProviderConfig::Gcp(_)
            | ProviderConfig::Azure(_)
            | ProviderConfig::Aws(_)
            | ProviderConfig::Openstack(_)
            | ProviderConfig::Alicloud(_),
            _,
        ) => {}
    }
}

fn same(field: &str, given: Option<String>, current: &str, at: &str, found: &mut Violations) {
    if let Some(given) = given.filter(|given| given != current) {
        let message = format!("cannot change: it is {}, not {}; leave it out", quoted(current), quoted(&given));
        found.add(format!("{at}.{field}"), IMMUTABLE, message);
    }
}

/// The zones after a change: all that were there, in their order, and then the new ones.
fn added(current: &[String], given: Vec<String>, path: &str, found: &mut Violations) -> Vec<String> {
    for zone in current {
        if !given.contains(zone) {
            found.add(path, "zones", format!("lacks {}: zones can be added, never removed", quoted(zone)));
        }
    }
    for (index, zone) in given.iter().enumerate() {
        if given[..index].contains(zone) {
            found.add(path, "V9", format!("{} stands there twice", quoted(zone)));
        }
    }
    let mut zones = current.to_vec();
    zones.extend(given.into_iter().filter(|zone| !current.contains(zone)));
    zones
}

fn gcp(config: &mut GcpConfig, input: GcpProviderConfigInput, at: &str, found: &mut Violations) {
    let given = input.zones.or_else(|| set(input.zone).map(|zone| vec![zone]));
    if let Some(given) = given {
        config.zones = added(&config.zones, given, &format!("{at}.zones"), found);
    }
}

fn azure(config: &mut AzureConfig, input: AzureProviderConfigInput, at: &str, found: &mut Violations) {
    let AzureProviderConfigInput { vnet_cidr, zones, azure_zones, enable_nat_gateway, idle_connection_timeout_minutes } =
        input;
    same("vnetCidr", set(vnet_cidr), &config.vnet_cidr, at, found);
    match azure_zones.filter(|zones| !zones.is_empty()) {
        Some(given) => {
            let path = format!("{at}.azureZones");
            found.require(
                config.zones.is_empty(),
                path.clone(),
                IMMUTABLE,
                "cannot replace zones that share one subnet; use zones",
            );
            let given = given.into_iter().map(|zone| AzureZone { name: zone.name, cidr: zone.cidr }).collect();
            config.azure_zones = added_azure(&config.azure_zones, given, &path, found);
        }
        None => {
            if let Some(given) = zones.filter(|zones| !zones.is_empty()) {
                let path = format!("{at}.zones");
                found.require(
                    config.azure_zones.is_empty(),
                    path.clone(),
                    IMMUTABLE,
                    "cannot replace zones with a subnet each; use azureZones",
                );
                let was_outside = config.zones.is_empty() && config.azure_zones.is_empty();
                found.require(
                    !was_outside,
                    path.clone(),
                    IMMUTABLE,
                    "cannot be given to a cluster that was made outside of zones",
                );
                config.zones = added(&config.zones, given, &path, found);
            }
        }
    }
    enable_nat_gateway.inspect(|on| config.enable_nat_gateway = *on);
    idle_connection_timeout_minutes.inspect(|minutes| config.idle_connection_timeout_minutes = Some(*minutes));
}

fn added_azure(current: &[AzureZone], given: Vec<AzureZone>, path: &str, found: &mut Violations) -> Vec<AzureZone> {
    if current.is_empty() {
        found.add(path, IMMUTABLE, "cannot be given to a cluster that was made without a subnet per zone");
        return given;
    }
    for zone in current {
        match given.iter().find(|new| new.name == zone.name) {
            None => found.add(path, "zones", format!("lacks {}: zones can be added, never removed", zone.name)),
            Some(new) if new.cidr != zone.cidr => {
                let message =
                    format!("zone {} has {}, which cannot become {}", zone.name, zone.cidr, quoted(&new.cidr));
                found.add(path, "zones", message);
            }
            Some(_) => {}
        }
    }
    for (index, zone) in given.iter().enumerate() {
        if given[..index].iter().any(|earlier| earlier.name == zone.name) {
            found.add(path, "V9", format!("{} stands there twice", zone.name));
        }
    }
    let mut zones = current.to_vec();
    zones.extend(given.into_iter().filter(|zone| !current.iter().any(|old| old.name == zone.name)));
    zones
}

fn aws(config: &mut AwsConfig, input: AwsProviderConfigInput, at: &str, found: &mut Violations) {
    same("vpcCidr", set(input.vpc_cidr.clone()), &config.vpc_cidr, at, found);
    match input.enable_imds_v2 {
        Some(false) if config.enable_imds_v2 => {
            found.add(format!("{at}.enableIMDSv2"), IMMUTABLE, "can be switched on, never off");
        }
        Some(on) => config.enable_imds_v2 |= on,
        None => {}
    }
    let gives_zones = input.aws_zones.is_some() || set(input.zone.clone()).is_some();
    if gives_zones {
        let worker = config.zones.first().map(|zone| zone.worker_cidr.clone()).unwrap_or_default();
        let given = networks::aws_zones(input, &worker, &config.vpc_cidr, &[], at, found);
        found.require(
            given == config.zones,
            format!("{at}.awsZones"),
            IMMUTABLE,
            "cannot change on this cloud; leave it out",
        );
    }
}

fn openstack(config: &mut OpenStackConfig, input: OpenStackProviderConfigInput, at: &str, found: &mut Violations) {
    let OpenStackProviderConfigInput { zones, floating_pool_name, cloud_profile_name, load_balancer_provider } = input;
    same("floatingPoolName", set(floating_pool_name), &config.floating_pool_name, at, found);
    same("cloudProfileName", set(cloud_profile_name), &config.cloud_profile_name, at, found);
    same("loadBalancerProvider", set(load_balancer_provider), &config.load_balancer_provider, at, found);
    if let Some(zones) = zones {
        found.require(
            zones == config.zones,
            format!("{at}.zones"),
            IMMUTABLE,
            "cannot change on this cloud; leave it out",
        );
    }
}
