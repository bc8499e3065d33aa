//! Zones and ranges: the block of the chosen cloud, and what must hold among its ranges and the others.

use slipway_kube::{
    Cidr,
    cloud::{Block, Found, Usual},
    runtime::{ProviderType, Raw},
    subnets,
    violations::{Violations, quoted},
};

use super::{cluster::set, spec::ClusterSpec};
use crate::{graphql::clouds::ProviderSpecificInput, settings::Settings};

/// What was asked for.
pub(super) struct Asked<'a> {
    pub(super) provider: ProviderType,
    pub(super) blocks: Option<ProviderSpecificInput>,
    pub(super) region: &'a str,
    pub(super) worker_cidr: Option<String>,
    /// The oldest clients' only zone.
    pub(super) zone: Option<String>,
}

fn name_of_block(provider: ProviderType) -> &'static str {
    provider.cloud().requests.as_ref().map_or("", |requests| requests.block)
}

/// The place of a cloud's block in `gardenerConfig`.
pub(super) fn place(at: &str, provider: ProviderType) -> String {
    format!("{at}.providerSpecificConfig.{}", name_of_block(provider))
}

/// The block of this cloud. Others beside it are said to have no effect: the reference's own
/// end-to-end request sends two. Another one instead of it is an error.
pub(super) fn block(
    provider: ProviderType,
    blocks: Option<ProviderSpecificInput>,
    at: &str,
    found: &mut Violations,
) -> Option<Raw> {
    let mut blocks = blocks?.into_blocks();
    let own = name_of_block(provider);
    let chosen = blocks.remove(own);
    let others: Vec<&str> = blocks.keys().map(String::as_str).collect();
    match (&chosen, others.as_slice()) {
        (_, []) => {}
        (Some(_), others) => found.warn(format!("{} has no effect beside {own}", others.join(", "))),
        (None, [other, ..]) => found.add(
            format!("{at}.providerSpecificConfig.{other}"),
            "V7",
            format!("is for another cloud; provider {provider} takes {own}"),
        ),
    }
    chosen.and_then(|block| serde_json::from_value(block).ok())
}

/// The parameters of the chosen cloud and the range of nodes. None when the wrong block was given.
pub(super) fn read(asked: Asked<'_>, at: &str, settings: &Settings, found: &mut Violations) -> Option<(Block, String)> {
    let Asked { provider, blocks, region, worker_cidr, zone } = asked;
    let wrong_before = found.list.len();
    let block = block(provider, blocks, at, found);
    if found.list.len() > wrong_before {
        return None;
    }
    let zone = set(zone);
    let usual = Usual {
        region,
        worker_cidr: worker_cidr.as_deref(),
        nodes: &settings.defaults.worker_cidr,
        zone: zone.as_deref(),
        offer: provider.cloud().data.offer(),
    };
    let asked = settings.defaults.clouds.under(provider, block.unwrap_or_default());
    let block = Block::complete(provider, asked, &usual, &mut Found::at(place(at, provider), found))?;
    let of_nodes = block.network().map_or(usual.nodes, |(_, range)| range).to_owned();
    Some((block, worker_cidr.unwrap_or(of_nodes)))
}

/// What must hold among zones and ranges.
pub(super) fn check(spec: &ClusterSpec, at: &str, settings: &Settings, found: &mut Violations) {
    let block = place(at, spec.provider());
    spec.provider_config.check(&mut Found::at(&block, found));
    if !settings.compat.lenient_cidr {
        check_ranges(spec, at, &block, settings, found);
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
    let network = spec.provider_config.network().and_then(|(field, text)| read(format!("{block}.{field}"), text));
    let pods = read(format!("{at}.podsCidr"), &spec.pods_cidr);
    let services = read(format!("{at}.servicesCidr"), &spec.services_cidr);
    let subnets = spec.provider_config.subnets();
    let subnets: Vec<_> =
        subnets.into_iter().filter_map(|(field, text)| read(format!("{block}.{field}"), text)).collect();

    let has_network = spec.provider_config.network().is_some();
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
