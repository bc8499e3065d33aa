//! A request for a new cluster.

use slipway_model::ports::Random;

use super::{
    checks, cluster,
    kyma::{self, KymaSecrets, KymaSpec},
    spec::{ClusterSecrets, ClusterSpec, RuntimeInfo},
    violations::Violations,
    wire::{GardenerConfigInput, GcpConfigInput, GcpProviderConfigInput, ProviderSpecificInput, ProvisionRuntimeInput},
};
use crate::{catalogue::Catalogue, settings::Settings};

/// What an input is read by.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// Defaults, limits and switches.
    pub settings: &'a Settings,
    /// What the clouds offer.
    pub catalogue: &'a Catalogue,
}

/// A checked request for a new cluster.
#[derive(Debug, Clone)]
pub struct Provision {
    /// The cluster.
    pub cluster: ClusterSpec,
    /// What of it is kept encrypted.
    pub secrets: ClusterSecrets,
    /// Kyma.
    pub kyma: Option<(KymaSpec, KymaSecrets)>,
    /// The client chose the name, so a repeat can be told from a second wish.
    pub has_chosen_name: bool,
    /// What the client should know.
    pub warnings: Vec<String>,
}

/// Reads a request for a new cluster: everything it is to be, or everything that is wrong.
pub fn provision(input: ProvisionRuntimeInput, rules: Rules<'_>, random: &dyn Random) -> Result<Provision, Violations> {
    let ProvisionRuntimeInput { runtime_input, cluster_config, kyma_config, credentials } = input;
    let mut found = Violations::default();

    let labels = runtime_input.labels.map(|labels| labels.0).unwrap_or_default();
    let info = RuntimeInfo { name: runtime_input.name, description: runtime_input.description, labels };
    check_info(&info, &mut found);

    let administrators = cluster_config.administrators.unwrap_or_default();
    checks::administrators(&administrators, "config.clusterConfig.administrators", rules.settings, &mut found);

    let gardener = match (cluster_config.gardener_config, cluster_config.gcp_config) {
        (Some(gardener), None) => Some((gardener, "config.clusterConfig.gardenerConfig")),
        (None, Some(gcp)) if rules.settings.compat.allow_direct_gcp => {
            found.warn("gcpConfig is outdated and was read as gardenerConfig with provider gcp");
            Some((translate(gcp), "config.clusterConfig.gcpConfig"))
        }
        (None, Some(_)) => {
            found.add(
                "config.clusterConfig.gcpConfig",
                "V1",
                "is no longer taken; use gardenerConfig with provider gcp",
            );
            None
        }
        (Some(_), Some(_)) => {
            found.add("config.clusterConfig", "V1", "has gardenerConfig and gcpConfig; give exactly one of them");
            None
        }
        (None, None) => {
            found.add("config.clusterConfig.gardenerConfig", "V1", "is missing");
            None
        }
    };
    let has_chosen_name = gardener.as_ref().is_some_and(|(gardener, _)| gardener.name.is_some());
    let secret_name = credentials.map(|credentials| credentials.secret_name);
    let cluster =
        gardener.and_then(|(gardener, at)| cluster::read(gardener, at, secret_name, info, rules, random, &mut found));
    let kyma = kyma_config.map(|kyma| kyma::read(kyma, "config.kymaConfig", rules.settings, &mut found));

    match cluster {
        Some(cluster) if found.is_empty() => Ok(Provision {
            cluster,
            secrets: ClusterSecrets { administrators },
            kyma,
            has_chosen_name,
            warnings: found.warnings,
        }),
        _ => Err(found),
    }
}

fn check_info(info: &RuntimeInfo, found: &mut Violations) {
    let at = "config.runtimeInput";
    found.require(!info.name.trim().is_empty(), format!("{at}.name"), "V1", "is empty");
    found.free_text(&format!("{at}.name"), &info.name, 253);
    if let Some(description) = &info.description {
        found.free_text(&format!("{at}.description"), description, 2000);
    }
    // An annotation holds them, and all annotations of an object share 256 KiB.
    let length = serde_json::to_string(&info.labels).map_or(usize::MAX, |text| text.len());
    found.require(length <= 16 * 1024, format!("{at}.labels"), "text", "must be at most 16 KiB of JSON");
}

/// The oldest clients' way to ask for a cluster, in today's words.
fn translate(gcp: GcpConfigInput) -> GardenerConfigInput {
    GardenerConfigInput {
        name: gcp.name,
        kubernetes_version: gcp.kubernetes_version,
        provider: "gcp".to_owned(),
        region: gcp.region.unwrap_or_default(),
        machine_type: gcp.machine_type,
        volume_size_gb: gcp.boot_disk_size_gb,
        size: gcp.number_of_nodes,
        project_name: gcp.project_name,
        provider_specific_config: gcp.zone.map(|zone| ProviderSpecificInput {
            gcp_config: Some(GcpProviderConfigInput { zones: Some(vec![zone]), zone: None }),
            ..ProviderSpecificInput::default()
        }),
        ..GardenerConfigInput::default()
    }
}
