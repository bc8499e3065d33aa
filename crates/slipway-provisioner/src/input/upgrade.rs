//! A change of a living cluster: what is left out stays, what cannot change is refused by name.
//!
//! The table of the contract, field by field, is [`upgrade_shoot`]; it takes the input apart without
//! `..`, so a new field cannot be forgotten here.

use slipway_kube::{
    cloud::Found,
    runtime::ProviderType,
    violations::{IMMUTABLE, Violations, quoted},
};

use super::{
    checks,
    cluster::set,
    networks,
    spec::{ClusterSecrets, ClusterSpec},
    version::Version,
    wire::{GardenerUpgradeInput, UpgradeShootInput},
};
use crate::settings::Settings;

const AT: &str = "config.gardenerConfig";

/// A living cluster: what was asked of it last, and what is known of it.
#[derive(Debug, Clone)]
pub struct Living {
    /// What was asked of it last.
    pub spec: ClusterSpec,
    /// What of it is kept encrypted.
    pub secrets: ClusterSecrets,
    /// The version it has; maintenance may have raised it.
    pub actual_version: Option<String>,
    /// The seed that Gardener chose.
    pub actual_seed: Option<String>,
    /// Whether the filter is off in truth; an operator may have changed it.
    pub filter_disabled: Option<bool>,
}

/// What a change makes of a cluster.
#[derive(Debug, Clone)]
pub struct Changed {
    /// What it shall be.
    pub spec: ClusterSpec,
    /// What of it is kept encrypted.
    pub secrets: ClusterSecrets,
    /// Which fields of the input changed something.
    pub paths: Vec<String>,
    /// What the client should know.
    pub warnings: Vec<String>,
}

/// Reads a change.
pub fn upgrade_shoot(input: UpgradeShootInput, living: &Living, settings: &Settings) -> Result<Changed, Violations> {
    let UpgradeShootInput { gardener_config, administrators } = input;
    let GardenerUpgradeInput {
        name,
        kubernetes_version,
        provider,
        target_secret,
        machine_type,
        volume_size_gb,
        disk_type,
        region,
        seed,
        worker_cidr,
        auto_scaler_min,
        auto_scaler_max,
        max_surge,
        max_unavailable,
        provider_specific_config,
        machine_image,
        machine_image_version,
        purpose,
        enable_kubernetes_version_auto_update,
        enable_machine_image_version_auto_update,
        oidc_config,
        exposure_class_name,
        shoot_networking_filter_disabled,
    } = gardener_config;
    let compat = &settings.compat;
    let mut change = Change { spec: living.spec.clone(), found: Violations::default() };
    let was = &living.spec;

    change.immutable("name", name, &[&was.name]);
    change.immutable("region", region, &[&was.region]);
    let provider = provider.map(|text| ProviderType::parse(&text).map_or(text, |known| known.as_str().to_owned()));
    change.immutable("provider", provider, &[was.provider().as_str()]);
    let seeds: Vec<&str> = was.seed.iter().chain(&living.actual_seed).map(String::as_str).collect();
    change.immutable("seed", set(seed), &seeds);
    if compat.allow_target_secret_change {
        change.text("targetSecret", target_secret, |spec| &mut spec.target_secret);
        let secret = change.spec.target_secret.clone();
        change.found.object_name(&format!("{AT}.targetSecret"), &secret);
    } else {
        change.immutable("targetSecret", target_secret, &[&was.target_secret]);
    }
    change.worker_cidr(worker_cidr, compat.force_worker_cidr);

    change.text("machineType", machine_type, |spec| &mut spec.machine_type);
    change.text("purpose", purpose, |spec| &mut spec.purpose);
    change.optional("diskType", disk_type, |spec| &mut spec.disk_type);
    change.optional("machineImage", set(machine_image), |spec| &mut spec.machine_image);
    change.optional("machineImageVersion", set(machine_image_version), |spec| &mut spec.machine_image_version);
    change.optional("exposureClassName", set(exposure_class_name), |spec| &mut spec.exposure_class_name);
    if let Some(text) = kubernetes_version {
        change.version(&text, living.actual_version.as_deref(), &format!("{AT}.kubernetesVersion"));
    }
    let spec = &mut change.spec;
    volume_size_gb.inspect(|size| spec.volume_size_gb = Some(*size));
    auto_scaler_min.inspect(|count| spec.auto_scaler_min = *count);
    auto_scaler_max.inspect(|count| spec.auto_scaler_max = *count);
    max_surge.inspect(|count| spec.max_surge = *count);
    max_unavailable.inspect(|count| spec.max_unavailable = *count);
    enable_kubernetes_version_auto_update.inspect(|on| spec.kubernetes_version_auto_update = *on);
    enable_machine_image_version_auto_update.inspect(|on| spec.machine_image_version_auto_update = *on);
    if let Some(disabled) = shoot_networking_filter_disabled.or(living.filter_disabled) {
        spec.networking_filter_disabled = disabled;
    }
    if let Some(oidc) = oidc_config {
        spec.oidc = checks::oidc(oidc, &format!("{AT}.oidcConfig"), &mut change.found);
    }
    if let Some(block) = networks::block(was.provider(), provider_specific_config, AT, &mut change.found) {
        let place = networks::place(AT, was.provider());
        change.spec.provider_config.amend(block, &mut Found::at(place, &mut change.found));
    }
    let secrets = match administrators {
        Some(list) => {
            checks::administrators(&list, "config.administrators", settings, &mut change.found);
            ClusterSecrets { administrators: list }
        }
        None => living.secrets.clone(),
    };
    checks::cluster(&change.spec, AT, settings, &mut change.found);
    if change.spec.provider_config != was.provider_config || change.spec.worker_cidr != was.worker_cidr {
        networks::check(&change.spec, AT, settings, &mut change.found);
    }
    change.done(secrets, living)
}

/// Reads a change of the Kubernetes version alone, as `upgradeRuntime` has it.
pub fn upgrade_version(version: &str, living: &Living) -> Result<Changed, Violations> {
    let mut change = Change { spec: living.spec.clone(), found: Violations::default() };
    change.version(version, living.actual_version.as_deref(), "config.clusterConfig.version");
    change.done(living.secrets.clone(), living)
}

struct Change {
    spec: ClusterSpec,
    found: Violations,
}

impl Change {
    /// Accepted when it is what it was.
    fn immutable(&mut self, field: &str, given: Option<String>, current: &[&str]) {
        let Some(given) = given else { return };
        if !current.contains(&given.as_str()) {
            let now = current.last().map_or_else(|| "not set".to_owned(), |now| quoted(now));
            let message = format!("cannot change: it is {now}, not {}; leave it out", quoted(&given));
            self.found.add(format!("{AT}.{field}"), IMMUTABLE, message);
        }
    }

    /// V6: a text that is given is not empty.
    fn not_empty(&mut self, field: &str, text: &str) {
        self.found.require(!text.is_empty(), format!("{AT}.{field}"), "V6", "is empty; leave it out to keep it");
    }

    fn text(&mut self, field: &str, given: Option<String>, place: fn(&mut ClusterSpec) -> &mut String) {
        let Some(given) = given else { return };
        self.not_empty(field, &given);
        *place(&mut self.spec) = given;
    }

    fn optional(&mut self, field: &str, given: Option<String>, place: fn(&mut ClusterSpec) -> &mut Option<String>) {
        let Some(given) = given else { return };
        self.not_empty(field, &given);
        *place(&mut self.spec) = set(Some(given));
    }

    /// Upgrade only: a lower version than the actual one is no error, because the known broker
    /// always sends its default; the cluster keeps what it has, and the operation says so.
    fn version(&mut self, text: &str, actual: Option<&str>, path: &str) {
        if text.is_empty() {
            return self.found.add(path, "V6", "is empty; leave it out to keep it");
        }
        let asked = match text.parse::<Version>() {
            Ok(asked) => asked,
            Err(problem) => return self.found.add(path, "V11", format!("{} {problem}", quoted(text))),
        };
        // What was asked for last counts only while nobody has seen the cluster: Gardener may have refused it.
        let known = actual.unwrap_or(&self.spec.kubernetes_version).to_owned();
        match known.parse::<Version>() {
            Ok(highest) if asked < highest => {
                self.found.warn(format!(
                    "the cluster keeps Kubernetes {known}: {text} is lower, and a version is never lowered"
                ));
                self.spec.kubernetes_version = known;
            }
            _ => self.spec.kubernetes_version = text.to_owned(),
        }
    }

    fn worker_cidr(&mut self, given: Option<String>, forced: bool) {
        let Some(given) = given.filter(|given| *given != self.spec.worker_cidr) else { return };
        if forced {
            self.found.warn("workerCidr changes although there are nodes: Gardener may refuse it");
            self.spec.worker_cidr = given;
        } else {
            let message = format!(
                "cannot change while there are nodes: it is {}, not {}; leave it out",
                quoted(&self.spec.worker_cidr),
                quoted(&given)
            );
            self.found.add(format!("{AT}.workerCidr"), "nodes", message);
        }
    }

    fn done(self, secrets: ClusterSecrets, living: &Living) -> Result<Changed, Violations> {
        if !self.found.is_empty() {
            return Err(self.found);
        }
        let mut paths = differences(&living.spec, &self.spec);
        if secrets != living.secrets {
            paths.push("administrators".to_owned());
        }
        Ok(Changed { spec: self.spec, secrets, paths, warnings: self.found.warnings })
    }
}

/// The top-level fields of the stored document that differ: for the audit log, never a value.
fn differences(before: &ClusterSpec, after: &ClusterSpec) -> Vec<String> {
    let object = |spec| match serde_json::to_value(spec) {
        Ok(serde_json::Value::Object(map)) => map,
        _ => serde_json::Map::new(),
    };
    let (before, after) = (object(before), object(after));
    after.into_iter().filter(|(key, value)| before.get(key) != Some(value)).map(|(key, _)| key).collect()
}
