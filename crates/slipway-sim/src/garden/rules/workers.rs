//! W1 to W6, W12 to W14, W16: what can be said about pools without looking elsewhere.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Case;
use crate::garden::{
    names::{self, percent},
    problems::Problems,
    shoot::allows_system_components,
    value::{at, has, list, number, text, texts},
};

const WORKERLESS: &str = "this field should not be set for workerless Shoot clusters";

pub(super) fn w1(case: &Case<'_>, problems: &mut Problems) {
    let mut seen = Vec::new();
    for (path, worker, _) in case.workers() {
        let (path, called) = (format!("{path}.name"), text(worker, "name"));
        names::check_dns_label(&path, called, problems);
        if called.len() > 15 {
            problems.too_long(path.as_str(), 15);
        }
        if seen.contains(&called) {
            problems.duplicate(path, called);
        }
        seen.push(called);
    }
}

pub(super) fn w2(case: &Case<'_>, problems: &mut Problems) {
    for (path, worker, _) in case.workers() {
        if text(worker, "machine.type").is_empty() {
            problems.required(format!("{path}.machine.type"), "must specify a machine type");
        }
        if !has(worker, "machine.image") {
            problems.required(format!("{path}.machine.image"), "must specify a machine image");
            continue;
        }
        if text(worker, "machine.image.name").is_empty() {
            problems.required(format!("{path}.machine.image.name"), "must specify a machine image name");
        }
        if text(worker, "machine.image.version").is_empty() {
            problems.required(format!("{path}.machine.image.version"), "must specify a machine image version");
        }
    }
}

pub(super) fn w3(case: &Case<'_>, problems: &mut Problems) {
    for (path, worker, _) in case.workers() {
        let (least, most) = (number(worker, "minimum"), number(worker, "maximum"));
        if least < 0 {
            problems.invalid(format!("{path}.minimum"), least, "minimum value must not be negative");
        }
        if most < 0 {
            problems.invalid(format!("{path}.maximum"), most, "maximum value must not be negative");
        }
        if most < least {
            problems.forbidden(format!("{path}.maximum"), "maximum value must not be less than minimum value");
        }
    }
}

pub(super) fn w4(case: &Case<'_>, problems: &mut Problems) {
    for (path, worker, _) in case.workers() {
        let manual = text(worker, "updateStrategy") == "ManualInPlaceUpdate";
        for field in ["maxSurge", "maxUnavailable"] {
            let (path, value) = (format!("{path}.{field}"), at(worker, field));
            match value {
                Value::String(text) if percent(text).is_none() => {
                    problems.invalid(path.as_str(), value.clone(), "must be an integer or percentage (e.g '5%')");
                }
                Value::String(text) if field == "maxUnavailable" && percent(text) > Some(100) => {
                    problems.invalid(path.as_str(), value.clone(), "must not be greater than 100%");
                }
                value => problems.non_negative(path.as_str(), value),
            }
            if manual && !value.is_null() {
                let detail = "should not be set when `updateStrategy` is `ManualInPlaceUpdate`";
                problems.invalid(path, value.clone(), detail);
            }
        }
        let is_zero = |field: &str| match at(worker, field) {
            Value::String(text) => percent(text).is_none_or(|percent| percent == 0),
            value => value.as_i64().unwrap_or_default() == 0,
        };
        if !manual && is_zero("maxSurge") && is_zero("maxUnavailable") {
            let value = at(worker, "maxUnavailable").clone();
            problems.invalid(format!("{path}.maxUnavailable"), value, "may not be 0 when `maxSurge` is 0");
        }
    }
}

/// Pools with the same set of zones count together: one of them must be able to fill all zones.
pub(super) fn w5(case: &Case<'_>, problems: &mut Problems) {
    if case.is_workerless() {
        return;
    }
    let mut too_small: BTreeMap<Vec<&str>, Option<String>> = BTreeMap::new();
    for (path, worker, _) in case.workers() {
        let most = number(worker, "maximum");
        if !allows_system_components(worker) || most == 0 {
            continue;
        }
        let mut zones = texts(worker, "zones");
        let enough = most >= i64::try_from(zones.len()).unwrap_or(i64::MAX);
        zones.sort_unstable();
        zones.dedup();
        let found = too_small.entry(zones).or_insert_with(|| Some(path.clone()));
        if enough {
            *found = None;
        } else if found.is_some() {
            *found = Some(path);
        }
    }
    if too_small.is_empty() {
        let detail = "at least one active (workers[i].maximum > 0) worker pool with systemComponents.allow=true needed";
        problems.forbidden("spec.provider.workers", detail);
    }
    for path in too_small.into_values().flatten() {
        let detail =
            "maximum node count should be greater than or equal to the number of zones specified for this pool";
        problems.forbidden(format!("{path}.maximum"), detail);
    }
}

pub(super) fn w6(case: &Case<'_>, problems: &mut Problems) {
    for (path, worker, _) in case.workers() {
        if has(worker, "volume") {
            if has(worker, "volume.name") {
                volume_name(&format!("{path}.volume.name"), text(worker, "volume.name"), problems);
            }
            size(&format!("{path}.volume.size"), text(worker, "volume.size"), "volume size", problems);
        }
        let data = list(worker, "dataVolumes");
        if !data.is_empty() && !has(worker, "volume") {
            problems.required(format!("{path}.volume"), "a worker volume must be defined if data volumes are defined");
        }
        let mut seen = Vec::new();
        for (index, volume) in data.iter().enumerate() {
            let path = format!("{path}.dataVolumes[{index}]");
            let called = text(volume, "name");
            volume_name(&format!("{path}.name"), called, problems);
            if seen.contains(&called) {
                problems.duplicate(format!("{path}.name"), called);
            }
            seen.push(called);
            size(&format!("{path}.size"), text(volume, "size"), "data volume size", problems);
        }
        let kubelet = text(worker, "kubeletDataVolumeName");
        if !kubelet.is_empty() && !seen.contains(&kubelet) {
            let detail = format!("KubeletDataVolumeName refers to unrecognized data volume {kubelet}");
            problems.invalid(format!("{path}.kubeletDataVolumeName"), kubelet, &detail);
        }
    }
}

fn volume_name(path: &str, called: &str, problems: &mut Problems) {
    if called.is_empty() {
        return problems.required(path, "must specify a name");
    }
    names::check_dns_label(path, called, problems);
    if called.len() > 15 {
        problems.too_long(path, 15);
    }
}

fn size(path: &str, given: &str, what: &str, problems: &mut Problems) {
    let digits = given.strip_suffix("Gi").unwrap_or_default();
    if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_digit()) {
        problems.invalid(path, given, &format!(r"{what} must match the regex ^(\d)+Gi$"));
    }
}

pub(super) fn w12(case: &Case<'_>, problems: &mut Problems) {
    const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    for (path, worker, _) in case.workers() {
        let mut seen = Vec::new();
        for (index, taint) in list(worker, "taints").iter().enumerate() {
            let path = format!("{path}.taints[{index}]");
            let (key, value, effect) = (text(taint, "key"), text(taint, "value"), text(taint, "effect"));
            if let Some(wrong) = names::wrong_qualified_name(key) {
                problems.invalid(format!("{path}.key"), key, &wrong);
            }
            if key == "node.gardener.cloud/critical-components-not-ready" {
                problems.forbidden(format!("{path}.key"), "taint key is reserved by gardener");
            }
            if let Some(wrong) = names::wrong_label_value(value) {
                problems.invalid(format!("{path}.value"), value, wrong);
            }
            if effect.is_empty() {
                problems.required(format!("{path}.effect"), "");
            } else if !EFFECTS.contains(&effect) {
                problems.unsupported(format!("{path}.effect"), effect, &EFFECTS);
            }
            if seen.contains(&(key, effect)) {
                problems.duplicate(path, taint.clone());
            }
            seen.push((key, effect));
        }
    }
}

pub(super) fn w13(case: &Case<'_>, problems: &mut Problems) {
    for (path, worker, _) in case.workers() {
        names::check_labels(&format!("{path}.labels"), at(worker, "labels"), problems);
        names::check_annotations(&format!("{path}.annotations"), at(worker, "annotations"), problems);
        if has(worker, "priority") && number(worker, "priority") < -1 {
            problems.invalid(format!("{path}.priority"), number(worker, "priority"), "can not be less than -1");
        }
        let bundle = text(worker, "caBundle");
        let is_certificate =
            || x509_parser::pem::parse_x509_pem(bundle.as_bytes()).is_ok_and(|(_, pem)| pem.parse_x509().is_ok());
        if has(worker, "caBundle") && !is_certificate() {
            problems.invalid(format!("{path}.caBundle"), bundle, "caBundle is not a valid PEM-encoded certificate");
        }
        for name in at(worker, "sysctls").as_object().into_iter().flatten().map(|(name, _)| name) {
            let legal = name.len() <= 253
                && !name.is_empty()
                && name.split(['.', '/']).all(|part| {
                    !part.is_empty()
                        && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c))
                });
            if !legal {
                let detail = "must have at most 253 characters and match regex ^([a-z0-9][-_a-z0-9]*[\\./])*[a-z0-9][-_a-z0-9]*$";
                problems.invalid(format!("{path}.sysctls[{name}]"), name.as_str(), detail);
            }
        }
    }
}

pub(super) fn w14(case: &Case<'_>, problems: &mut Problems) {
    for (path, worker, _) in case.workers() {
        let cri = text(worker, "cri.name");
        if has(worker, "cri") && cri != "containerd" {
            problems.unsupported(format!("{path}.cri.name"), cri, &["containerd"]);
        }
        let architecture = text(worker, "machine.architecture");
        if has(worker, "machine.architecture") && !matches!(architecture, "amd64" | "arm64") {
            problems.unsupported(format!("{path}.machine.architecture"), architecture, &["amd64", "arm64"]);
        }
        let strategy = text(worker, "updateStrategy");
        let known = ["AutoInPlaceUpdate", "AutoRollingUpdate", "ManualInPlaceUpdate"];
        if !strategy.is_empty() && !known.contains(&strategy) {
            problems.unsupported(format!("{path}.updateStrategy"), strategy, &known);
        } else if strategy.contains("InPlace") && case.is_create() {
            let detail = "can not configure `AutoInPlaceUpdate` or `ManualInPlaceUpdate` update strategies when the `InPlaceNodeUpdates` feature gate is disabled.";
            problems.invalid(format!("{path}.updateStrategy"), strategy, detail);
        }
    }
}

pub(super) fn w16(case: &Case<'_>, problems: &mut Problems) {
    if !case.is_workerless() {
        if !has(case.new, "spec.networking") {
            problems.required("spec.networking", "networking should not be nil for a Shoot with workers");
        } else if text(case.new, "spec.networking.type").is_empty() {
            problems.required("spec.networking.type", "networking type must be provided");
        }
        return;
    }
    // The real server names two of the paths with a capital S; so do we.
    const FIELDS: [(&str, &str); 17] = [
        ("spec.provider.infrastructureConfig", ""),
        ("spec.provider.controlPlaneConfig", ""),
        ("spec.provider.workersSettings", ""),
        ("spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize", ""),
        ("spec.kubernetes.kubeControllerManager.nodeCIDRMaskSizeIPv6", ""),
        ("spec.kubernetes.kubeControllerManager.horizontalPodAutoscaler", ""),
        ("spec.kubernetes.kubeControllerManager.nodeMonitorGracePeriod", ""),
        ("spec.kubernetes.kubeScheduler", ""),
        ("spec.kubernetes.kubeProxy", ""),
        ("spec.kubernetes.kubelet", ""),
        ("spec.kubernetes.clusterAutoscaler", "spec.kubernetes.clusterAutoScaler"),
        ("spec.kubernetes.verticalPodAutoscaler", "spec.kubernetes.verticalPodAutoScaler"),
        ("spec.networking.type", ""),
        ("spec.networking.providerConfig", ""),
        ("spec.networking.pods", ""),
        ("spec.networking.nodes", ""),
        ("spec.maintenance.autoUpdate.machineImageVersion", ""),
    ];
    for (path, shown) in FIELDS {
        if has(case.new, path) {
            problems.forbidden(if shown.is_empty() { path } else { shown }, WORKERLESS);
        }
    }
    if has(case.new, "spec.addons") {
        problems.forbidden("spec.addons", "addons cannot be enabled for Workerless Shoot clusters");
    }
}

pub(super) fn w16_system_components(case: &Case<'_>, problems: &mut Problems) {
    if case.is_workerless() && has(case.new, "spec.systemComponents") {
        problems.forbidden("spec.systemComponents", WORKERLESS);
    }
}
