//! Rules that hold for a new cluster and for a changed one alike.

use slipway_kube::violations::{Violations, quoted};

use super::{
    spec::{ClusterSpec, DnsProviderSpec, DnsSpec, OidcSpec},
    version::Version,
    wire::{DnsConfigInput, OidcConfigInput},
};
use crate::settings::Settings;

/// Purposes a client may choose; Gardener keeps `infrastructure` for itself.
const PURPOSES: [&str; 4] = ["development", "evaluation", "testing", "production"];

/// Signatures the API server of Kubernetes knows.
const SIGNING_ALGS: [&str; 9] = ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512"];

/// Below this many GiB a node runs out of room for images; the reference's documentation says so.
const SMALL_VOLUME_GB: i32 = 35;

/// What holds for the whole of a cluster, whatever was changed. `at` is the place of `gardenerConfig`.
pub(super) fn cluster(spec: &ClusterSpec, at: &str, settings: &Settings, found: &mut Violations) {
    let path = |field: &str| format!("{at}.{field}");
    found.require(
        spec.machine_image_version.is_none() || spec.machine_image.is_some(),
        path("machineImageVersion"),
        "V2",
        "needs machineImage: a version alone says nothing",
    );
    if spec.provider().cloud().data.offer().disk_type.is_none() {
        let why = format!("is not for {}, where disks come with the machine; leave it out", spec.provider());
        found.require(spec.disk_type.is_none(), path("diskType"), "V3", why.as_str());
        found.require(spec.volume_size_gb.is_none(), path("volumeSizeGB"), "V3", why);
    }
    if let Some(size) = spec.volume_size_gb {
        found.require(size > 0, path("volumeSizeGB"), "V10", "must be greater than 0");
        if let Some(least) = settings.limits.min_volume_gb {
            found.require(size >= least, path("volumeSizeGB"), "V10", format!("must be at least {least}"));
        }
        if (1..SMALL_VOLUME_GB).contains(&size) {
            found.warn(format!(
                "volumeSizeGB {size} is small: below {SMALL_VOLUME_GB} nodes run out of room for images"
            ));
        }
    }
    autoscaler(spec, at, found);
    if let Err(problem) = spec.kubernetes_version.parse::<Version>() {
        let message = format!("{} {problem}", quoted(&spec.kubernetes_version));
        found.add(path("kubernetesVersion"), "V11", message);
    }
    found.require(
        PURPOSES.contains(&spec.purpose.as_str()),
        path("purpose"),
        "purpose",
        format!("{} must be one of {}", quoted(&spec.purpose), PURPOSES.join(", ")),
    );
    found.word(&path("machineType"), &spec.machine_type);
    found.word_if(&path("machineImage"), spec.machine_image.as_ref());
    found.word_if(&path("machineImageVersion"), spec.machine_image_version.as_ref());
    found.word_if(&path("diskType"), spec.disk_type.as_ref());
    found.word_if(&path("exposureClassName"), spec.exposure_class_name.as_ref());
}

fn autoscaler(spec: &ClusterSpec, at: &str, found: &mut Violations) {
    let path = |field: &str| format!("{at}.{field}");
    found.require(spec.auto_scaler_min >= 1, path("autoScalerMin"), "V10", "must be at least 1");
    found.require(
        spec.auto_scaler_max >= spec.auto_scaler_min,
        path("autoScalerMax"),
        "V10",
        format!("must be at least autoScalerMin, which is {}", spec.auto_scaler_min),
    );
    found.require(spec.max_surge >= 0, path("maxSurge"), "V10", "must be 0 or more");
    found.require(spec.max_unavailable >= 0, path("maxUnavailable"), "V10", "must be 0 or more");
    found.require(
        spec.max_surge != 0 || spec.max_unavailable != 0,
        path("maxSurge"),
        "V10",
        "and maxUnavailable must not both be 0: no machine could ever be replaced",
    );
}

/// The login, or none where all of it is empty: the known client sends empty texts for "unset".
pub(super) fn oidc(input: OidcConfigInput, at: &str, found: &mut Violations) -> Option<OidcSpec> {
    let OidcConfigInput { client_id, groups_claim, issuer_url, signing_algs, username_claim, username_prefix } = input;
    let spec = OidcSpec { client_id, groups_claim, issuer_url, signing_algs, username_claim, username_prefix };
    if spec.client_id.is_empty() && spec.issuer_url.is_empty() {
        return None;
    }
    let path = |field: &str| format!("{at}.{field}");
    found.require(!spec.client_id.is_empty(), path("clientID"), "V13", "is missing beside issuerURL");
    let is_https = spec.issuer_url.strip_prefix("https://").is_some_and(|rest| !rest.is_empty());
    let is_plain = spec.issuer_url.len() <= 2048 && spec.issuer_url.bytes().all(|byte| byte.is_ascii_graphic());
    found.require(is_https && is_plain, path("issuerURL"), "V13", "must be an address that begins with https://");
    for (index, alg) in spec.signing_algs.iter().enumerate() {
        let known = SIGNING_ALGS.contains(&alg.as_str());
        let message = format!("{} is none of {}", quoted(alg), SIGNING_ALGS.join(", "));
        found.require(known, path(&format!("signingAlgs[{index}]")), "V13", message);
    }
    let claims = [
        ("clientID", &spec.client_id),
        ("groupsClaim", &spec.groups_claim),
        ("usernameClaim", &spec.username_claim),
        ("usernamePrefix", &spec.username_prefix),
    ];
    for (field, text) in claims {
        found.free_text(&path(field), text, 253);
    }
    Some(spec)
}

/// The domain.
pub(super) fn dns(input: DnsConfigInput, at: &str, settings: &Settings, found: &mut Violations) -> DnsSpec {
    let mut providers: Vec<DnsProviderSpec> = Vec::new();
    for (index, provider) in input.providers.unwrap_or_default().into_iter().flatten().enumerate() {
        let at = format!("{at}.providers[{index}]");
        found.object_name(&format!("{at}.secretName"), &provider.secret_name);
        found.word(&format!("{at}.type"), &provider.provider_type);
        for (index, domain) in provider.domains_include.iter().enumerate() {
            found.object_name(&format!("{at}.domainsInclude[{index}]"), domain);
        }
        let forced = settings.compat.dns_force_domain_include;
        let domains_include = if forced { vec![input.domain.clone()] } else { provider.domains_include };
        providers.push(DnsProviderSpec {
            domains_include,
            primary: provider.primary,
            secret_name: provider.secret_name,
            provider_type: provider.provider_type,
        });
    }
    found.object_name(&format!("{at}.domain"), &input.domain);
    let primaries = providers.iter().filter(|provider| provider.primary).count();
    found.require(primaries <= 1, format!("{at}.providers"), "dns", "at most one provider may be primary");
    DnsSpec { domain: input.domain, providers }
}

/// V15.
pub(super) fn administrators(list: &[String], at: &str, settings: &Settings, found: &mut Violations) {
    let most = settings.limits.administrators;
    found.require(list.len() <= most, at, "V15", format!("has {} entries; at most {most} are taken", list.len()));
    for (index, name) in list.iter().enumerate().take(most) {
        let path = format!("{at}[{index}]");
        let fits = (1..=253).contains(&name.chars().count()) && !name.chars().any(char::is_control);
        found.require(fits, path.clone(), "V15", "must have 1 to 253 characters and no control characters");
        found.require(!list[..index].contains(name), path, "V15", "stands in the list twice");
    }
}
