//! `gardenerConfig` of a request for a new cluster: aliases resolved, defaults filled in.

use slipway_kube::{
    cloud::Offer,
    runtime::ProviderType,
    violations::{Violations, quoted},
};
use slipway_model::{
    ports::Random,
    runtime_record::{ProjectName, ShootName},
};

use super::{
    checks, networks,
    spec::{ClusterSpec, RuntimeInfo},
    wire::GardenerConfigInput,
};
use crate::settings::Settings;

/// Gardener makes host names of both, and a certificate's name has 63 characters with all that is
/// added; so it takes 21 characters for project and Shoot together.
const PROJECT_AND_SHOOT_MAX: usize = 21;

/// Reads it. None when so much is wrong that the rest cannot be judged.
pub(super) fn read(
    input: GardenerConfigInput,
    at: &str,
    credentials: Option<String>,
    info: RuntimeInfo,
    settings: &Settings,
    random: &dyn Random,
    found: &mut Violations,
) -> Option<ClusterSpec> {
    let path = |field: &str| format!("{at}.{field}");
    let defaults = &settings.defaults;
    outdated(&input, at, found);

    let name = name(input.name, at, settings, random, found);
    let target_secret = target_secret(input.target_secret, credentials, at, found);
    found.word(&path("region"), &input.region);
    found.word_if(&path("seed"), input.seed.as_ref());
    found.word_if(&path("licenceType"), input.licence_type.as_ref());
    let provider = provider(&input.provider, at, settings, found)?;
    let data = &provider.cloud().data;
    let offer = data.offer();

    let platform_region = set(input.platform_region).or_else(|| info.label("platform_region").map(str::to_owned));
    found.word_if(&path("platformRegion"), platform_region.as_ref());
    let (auto_scaler_min, auto_scaler_max) = sizes(
        (input.size.or(input.node_count), input.auto_scaler_min, input.auto_scaler_max),
        (defaults.auto_scaler_min, defaults.auto_scaler_max),
        at,
        found,
    );
    let given_worker_cidr = set(input.worker_cidr).or_else(|| set(input.cidr));
    let (provider_config, worker_cidr) = networks::read(
        networks::Asked {
            provider,
            blocks: input.provider_specific_config,
            region: &input.region,
            worker_cidr: given_worker_cidr,
            zone: input.zone,
        },
        at,
        settings,
        found,
    )?;
    let zones = provider_config.zones().len();
    let (disk_type, volume_size_gb) = disk(input.disk_type, input.volume_size_gb, input.volume_size, offer, at, found);
    let spec = ClusterSpec {
        name,
        kubernetes_version: set(input.kubernetes_version).unwrap_or_else(|| defaults.kubernetes_version.clone()),
        target_secret,
        region: input.region,
        platform_region: platform_region.unwrap_or_default(),
        seed: set(input.seed),
        machine_type: machine(set(input.machine_type), input.memory, offer, at, found),
        // The version stands without an image if the client said so, and V2 refuses it.
        machine_image: set(input.machine_image)
            .or_else(|| input.machine_image_version.is_none().then(|| offer.machine_image.clone())),
        machine_image_version: set(input.machine_image_version),
        disk_type,
        volume_size_gb,
        worker_cidr,
        pods_cidr: set(input.pods_cidr).unwrap_or_else(|| defaults.pods_cidr.clone()),
        services_cidr: set(input.services_cidr).unwrap_or_else(|| defaults.services_cidr.clone()),
        auto_scaler_min,
        auto_scaler_max,
        max_surge: input.max_surge.unwrap_or_else(|| i32::try_from(zones.max(1)).unwrap_or(1)),
        max_unavailable: input.max_unavailable.unwrap_or(0),
        purpose: set(input.purpose).unwrap_or_else(|| defaults.purpose.clone()),
        licence_type: set(input.licence_type),
        kubernetes_version_auto_update: input
            .enable_kubernetes_version_auto_update
            .unwrap_or(defaults.kubernetes_version_auto_update),
        machine_image_version_auto_update: input
            .enable_machine_image_version_auto_update
            .unwrap_or(defaults.machine_image_version_auto_update),
        allow_privileged_containers: input.allow_privileged_containers,
        provider_config,
        dns: input.dns_config.map(|dns| checks::dns(dns, &path("dnsConfig"), settings, found)),
        oidc: input.oidc_config.and_then(|oidc| checks::oidc(oidc, &path("oidcConfig"), found)),
        exposure_class_name: set(input.exposure_class_name).or_else(|| data.exposure_class.clone()),
        networking_filter_disabled: input.shoot_networking_filter_disabled.unwrap_or(true),
        control_plane_failure_tolerance: tolerance(input.control_plane_failure_tolerance, at, found),
        eu_access: input.eu_access.unwrap_or(false),
        shoot_and_seed_same_region: input.shoot_and_seed_same_region.unwrap_or(false),
        hibernated: false,
        info,
    };
    checks::cluster(&spec, at, settings, found);
    networks::check(&spec, at, settings, found);
    Some(spec)
}

/// An empty text is none: clients in Go send it for "unset".
pub(super) fn set(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

/// What is accepted without effect is said, never dropped in silence.
fn outdated(input: &GardenerConfigInput, at: &str, found: &mut Violations) {
    if input.project_name.is_some() {
        found.warn("projectName has no effect: the project is configured");
    }
    if input.allow_privileged_containers.is_some() {
        found.warn("allowPrivilegedContainers has no effect since Kubernetes 1.25");
    }
    if let Some(target) = &input.target_provider {
        let same =
            ProviderType::parse(target).is_some_and(|target| Some(target) == ProviderType::parse(&input.provider));
        if !same {
            found.warn("targetProvider has no effect: provider says which cloud");
        }
    }
    if let (Some(_), Some(_)) = (&input.worker_cidr, &input.cidr) {
        found.warn("cidr has no effect beside workerCidr");
    }
    if let (Some(size), Some(count)) = (input.size, input.node_count) {
        found.require(
            size == count,
            format!("{at}.nodeCount"),
            "V10",
            "is an old name of size and must be equal to it",
        );
    }
}

fn name(given: Option<String>, at: &str, settings: &Settings, random: &dyn Random, found: &mut Violations) -> String {
    let project: &str = &settings.project;
    debug_assert!(project.parse::<ProjectName>().is_ok(), "the project is checked at start");
    let Some(name) = given else {
        return format!("c-{:07x}", random.next_u64() & 0x0fff_ffff);
    };
    if let Err(problem) = name.parse::<ShootName>() {
        found.add(format!("{at}.name"), "name", problem.to_string());
    } else if project.len() + name.len() > PROJECT_AND_SHOOT_MAX {
        let left = PROJECT_AND_SHOOT_MAX.saturating_sub(project.len());
        found.add(
            format!("{at}.name"),
            "name",
            format!("has {} characters; at most {left} are left beside the name of the project", name.len()),
        );
    }
    name
}

fn provider(text: &str, at: &str, settings: &Settings, found: &mut Violations) -> Option<ProviderType> {
    let allowed = |provider: &ProviderType| {
        let requests = provider.cloud().requests.as_ref();
        requests.is_some_and(|requests| requests.is_known_to_clients || settings.compat.allow_unknown_clouds)
    };
    let provider = ProviderType::parse(text).filter(allowed);
    if provider.is_none() {
        let names: Vec<&str> = ProviderType::all().filter(allowed).map(ProviderType::as_str).collect();
        found.add(format!("{at}.provider"), "V7", format!("{} is none of {}", quoted(text), names.join(", ")));
    }
    provider
}

fn target_secret(given: Option<String>, credentials: Option<String>, at: &str, found: &mut Violations) -> String {
    let path = format!("{at}.targetSecret");
    let (given, credentials) = (set(given), set(credentials));
    if let (Some(given), Some(credentials)) = (&given, &credentials) {
        found.require(
            given == credentials,
            "config.credentials.secretName",
            "credentials",
            "is an old name of targetSecret and must be equal to it",
        );
    }
    match given.or(credentials) {
        Some(secret) => {
            found.object_name(&path, &secret);
            secret
        }
        None => {
            found.add(path, "credentials", "is missing: name the secret binding of the cloud account");
            String::new()
        }
    }
}

type Sizes = (Option<i32>, Option<i32>, Option<i32>);

fn sizes((size, min, max): Sizes, (usual_min, usual_max): (i32, i32), at: &str, found: &mut Violations) -> (i32, i32) {
    if let Some(size) = size {
        for (field, given) in [("autoScalerMin", min), ("autoScalerMax", max)] {
            let same = given.is_none_or(|given| given == size);
            found.require(same, format!("{at}.{field}"), "V10", "contradicts size; give size alone, or both limits");
        }
        return (size, size);
    }
    match (min, max) {
        (Some(min), Some(max)) => (min, max),
        (Some(min), None) => (min, usual_max.max(min)),
        (None, Some(max)) => (usual_min.min(max), max),
        (None, None) => (usual_min, usual_max),
    }
}

fn machine(given: Option<String>, memory: Option<String>, offer: &Offer, at: &str, found: &mut Violations) -> String {
    let path = format!("{at}.memory");
    let usual = offer.machine_type.clone();
    match (given, set(memory)) {
        (Some(machine), None) => machine,
        (Some(machine), Some(_)) => {
            found.add(path, "memory", "and machineType both choose a machine; give one of them");
            machine
        }
        (None, None) => usual,
        (None, Some(memory)) => match gibibytes(&memory).map(|gib| (gib, offer.machine_with(gib))) {
            Some((_, Some(machine))) => machine.name.clone(),
            Some((gib, None)) => {
                found.add(path, "memory", format!("no machine is known with {gib} GiB; name one with machineType"));
                usual
            }
            None => {
                found.add(path, "memory", format!("{} must be a quantity such as 16Gi", quoted(&memory)));
                usual
            }
        },
    }
}

/// A quantity of Kubernetes in GiB, rounded up; at least 1.
fn gibibytes(text: &str) -> Option<u32> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u128 = number.parse().ok()?;
    let bytes: u128 = match unit {
        "" => 1,
        "k" => 1000,
        "M" => 1000_u128.pow(2),
        "G" => 1000_u128.pow(3),
        "T" => 1000_u128.pow(4),
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        _ => return None,
    };
    let gib = number.checked_mul(bytes)?.div_ceil(1 << 30);
    u32::try_from(gib).ok().filter(|gib| *gib > 0)
}

fn disk(
    disk_type: Option<String>,
    size: Option<i32>,
    old_size: Option<String>,
    offer: &Offer,
    at: &str,
    found: &mut Violations,
) -> (Option<String>, Option<i32>) {
    let old_size = set(old_size).and_then(|text| {
        let size = text.trim_end_matches("Gi").parse().ok();
        found.require(
            size.is_some(),
            format!("{at}.volumeSize"),
            "V10",
            format!("{} must look like 50Gi; better use volumeSizeGB", quoted(&text)),
        );
        size
    });
    let disk_type = set(disk_type);
    match (disk_type, size.or(old_size)) {
        // Both or none: the Runtime takes a volume only as a whole.
        (None, None) => (offer.disk_type.clone(), offer.volume_size_gb),
        (disk_type, size) => (disk_type.or_else(|| offer.disk_type.clone()), size.or(offer.volume_size_gb)),
    }
}

fn tolerance(given: Option<String>, at: &str, found: &mut Violations) -> Option<String> {
    let given = set(given)?;
    match given.as_str() {
        "node" => {}
        "zone" => found.warn("controlPlaneFailureTolerance zone needs a seed with three zones"),
        _ => found.add(
            format!("{at}.controlPlaneFailureTolerance"),
            "V12",
            format!("{} must be node or zone", quoted(&given)),
        ),
    }
    Some(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_a_quantity() {
        for (text, gib) in [("16Gi", Some(16)), ("16G", Some(15)), ("16384Mi", Some(16)), ("1", Some(1)), ("0", None)] {
            assert_eq!(gibibytes(text), gib, "{text}");
        }
        for bad in ["", "Gi", "16GB", "-1Gi", "1.5Gi", "99999999999999999999999999999999999999999Ti", "9999999999Ti"] {
            assert_eq!(gibibytes(bad), None, "{bad}");
        }
    }
}
