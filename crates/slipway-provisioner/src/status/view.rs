//! Stored documents as clients see them, with what Kubernetes knows better laid over.

use slipway_kube::{Runtime, runtime::Worker};

use crate::{
    graphql::{
        clouds::ProviderSpecificConfig,
        outputs::{
            ComponentConfiguration, ConfigEntry, DnsConfig, DnsProvider, GardenerConfig, KymaConfig, OidcConfig,
        },
    },
    input::{
        ClusterSecrets, ClusterSpec, KymaSecrets, KymaSpec,
        kyma::{EntrySpec, MASK},
    },
};

/// The cluster. Administrators are people's names: only for those who may see secrets.
pub(super) fn cluster(
    spec: &ClusterSpec,
    secrets: Option<&ClusterSecrets>,
    runtime: Option<&Runtime>,
) -> GardenerConfig {
    let mut view = GardenerConfig {
        name: Some(spec.name.clone()),
        kubernetes_version: Some(spec.kubernetes_version.clone()),
        provider: Some(spec.provider().as_str().to_owned()),
        target_secret: Some(spec.target_secret.clone()),
        region: Some(spec.region.clone()),
        seed: spec.seed.clone(),
        machine_type: Some(spec.machine_type.clone()),
        machine_image: spec.machine_image.clone(),
        machine_image_version: spec.machine_image_version.clone(),
        disk_type: spec.disk_type.clone(),
        volume_size_gb: spec.volume_size_gb,
        worker_cidr: Some(spec.worker_cidr.clone()),
        pods_cidr: Some(spec.pods_cidr.clone()),
        services_cidr: Some(spec.services_cidr.clone()),
        auto_scaler_min: Some(spec.auto_scaler_min),
        auto_scaler_max: Some(spec.auto_scaler_max),
        max_surge: Some(spec.max_surge),
        max_unavailable: Some(spec.max_unavailable),
        purpose: Some(spec.purpose.clone()),
        licence_type: spec.licence_type.clone(),
        enable_kubernetes_version_auto_update: Some(spec.kubernetes_version_auto_update),
        enable_machine_image_version_auto_update: Some(spec.machine_image_version_auto_update),
        allow_privileged_containers: spec.allow_privileged_containers,
        provider_specific_config: ProviderSpecificConfig::of(&spec.provider_config),
        dns_config: dns(spec),
        oidc_config: oidc(spec),
        exposure_class_name: spec.exposure_class_name.clone(),
        shoot_networking_filter_disabled: Some(spec.networking_filter_disabled),
        control_plane_failure_tolerance: spec.control_plane_failure_tolerance.clone(),
        eu_access: Some(spec.eu_access),
        shoot_and_seed_same_region: Some(spec.shoot_and_seed_same_region),
        platform_region: Some(spec.platform_region.clone()),
        administrators: secrets.map(|secrets| secrets.administrators.clone()),
    };
    if let Some(runtime) = runtime {
        overlay(&mut view, runtime);
    }
    view
}

/// What the Runtime asks for now, and what its cluster is really like.
fn overlay(view: &mut GardenerConfig, runtime: &Runtime) {
    let shoot = &runtime.spec.shoot;
    let facts = runtime.status.as_ref().map(|status| &status.facts);
    let actual_version = facts.and_then(|facts| facts.kubernetes_version.clone());
    if let Some(version) = actual_version.or_else(|| shoot.kubernetes.version.clone()) {
        view.kubernetes_version = Some(version);
    }
    if let Some(seed) = facts.and_then(|facts| facts.seed_name.clone()) {
        view.seed = Some(seed);
    }
    view.shoot_networking_filter_disabled = Some(!runtime.spec.security.networking.filter.egress.enabled);
    view.purpose = Some(shoot.purpose.clone());
    if let Some(worker) = shoot.provider.workers.first() {
        overlay_worker(view, worker);
    }
}

fn overlay_worker(view: &mut GardenerConfig, worker: &Worker) {
    view.machine_type = Some(worker.machine.machine_type.clone());
    view.auto_scaler_min = Some(worker.minimum);
    view.auto_scaler_max = Some(worker.maximum);
    if let Some(image) = &worker.machine.image {
        view.machine_image = Some(image.name.clone()).filter(|name| !name.is_empty());
        view.machine_image_version = image.version.clone();
    }
    let count = |key: &str| worker.rest.get(key)?.as_i64().and_then(|count| i32::try_from(count).ok());
    view.max_surge = count("maxSurge").or(view.max_surge);
    view.max_unavailable = count("maxUnavailable").or(view.max_unavailable);
}

fn dns(spec: &ClusterSpec) -> Option<DnsConfig> {
    let dns = spec.dns.as_ref()?;
    let provider = |provider: &crate::input::spec::DnsProviderSpec| DnsProvider {
        domains_include: provider.domains_include.clone(),
        primary: provider.primary,
        secret_name: provider.secret_name.clone(),
        provider_type: provider.provider_type.clone(),
    };
    let providers = dns.providers.iter().map(|entry| Some(provider(entry))).collect();
    Some(DnsConfig { domain: dns.domain.clone(), providers: Some(providers) })
}

fn oidc(spec: &ClusterSpec) -> Option<OidcConfig> {
    let oidc = spec.oidc.clone()?;
    Some(OidcConfig {
        client_id: oidc.client_id,
        groups_claim: oidc.groups_claim,
        issuer_url: oidc.issuer_url,
        signing_algs: oidc.signing_algs,
        username_claim: oidc.username_claim,
        username_prefix: oidc.username_prefix,
    })
}

/// Kyma. Secret values are masked unless the secrets are given.
pub(super) fn kyma(spec: &KymaSpec, secrets: Option<&KymaSecrets>) -> KymaConfig {
    let entries = |component: Option<usize>, list: &[EntrySpec]| {
        let entry = |(index, entry): (usize, &EntrySpec)| {
            let known = secrets.and_then(|secrets| secrets.value(component, index, entry));
            let value = entry.value.as_deref().or(known).unwrap_or(MASK);
            Some(ConfigEntry { key: entry.key.clone(), value: value.to_owned(), secret: Some(entry.is_secret()) })
        };
        Some(list.iter().enumerate().map(entry).collect())
    };
    let component = |(index, component): (usize, &crate::input::kyma::ComponentSpec)| {
        Some(ComponentConfiguration {
            component: component.component.clone(),
            namespace: component.namespace.clone(),
            configuration: entries(Some(index), &component.configuration),
            source_url: component.source_url.clone(),
        })
    };
    KymaConfig {
        version: Some(spec.version.clone()),
        profile: spec.profile,
        components: Some(spec.components.iter().enumerate().map(component).collect()),
        configuration: entries(None, &spec.configuration),
        modules: Some(spec.modules.clone()),
    }
}
