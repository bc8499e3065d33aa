//! A request for a new cluster.

use slipway_kube::violations::Violations;
use slipway_model::ports::Random;

use super::{
    checks, cluster,
    kyma::{self, KymaSecrets, KymaSpec},
    spec::{ClusterSecrets, ClusterSpec, RuntimeInfo},
    wire::ProvisionRuntimeInput,
};
use crate::settings::Settings;

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
pub fn provision(
    input: ProvisionRuntimeInput,
    settings: &Settings,
    random: &dyn Random,
) -> Result<Provision, Violations> {
    let ProvisionRuntimeInput { runtime_input, mut cluster_config, kyma_config, credentials } = input;
    let mut found = Violations::default();

    let labels = runtime_input.labels.map(|labels| labels.0).unwrap_or_default();
    let info = RuntimeInfo { name: runtime_input.name, description: runtime_input.description, labels };
    check_info(&info, &mut found);

    let administrators = cluster_config.administrators.take().unwrap_or_default();
    checks::administrators(&administrators, "config.clusterConfig.administrators", settings, &mut found);

    let gardener = cluster_config.describe(settings, &mut found);
    let has_chosen_name = gardener.as_ref().is_some_and(|(gardener, _)| gardener.name.is_some());
    let secret_name = credentials.map(|credentials| credentials.secret_name);
    let cluster = gardener
        .and_then(|(gardener, at)| cluster::read(gardener, at, secret_name, info, settings, random, &mut found));
    let kyma = kyma_config.map(|kyma| kyma::read(kyma, "config.kymaConfig", settings, &mut found));

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
