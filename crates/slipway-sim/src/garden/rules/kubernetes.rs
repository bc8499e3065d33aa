//! C12 to C14: settings of Kubernetes' components.

use serde_json::Value;

use super::Case;
use crate::garden::{
    names::{duration_seconds, go_duration},
    problems::Problems,
    value::{at, entries, has, list, number, text, texts},
    version,
};

const SERVER: &str = "spec.kubernetes.kubeAPIServer";

pub(super) fn c12(case: &Case<'_>, problems: &mut Problems) {
    let server = at(case.new, SERVER);
    for field in ["structuredAuthentication", "structuredAuthorization"] {
        if has(server, field) && text(server, &format!("{field}.configMapName")).is_empty() {
            problems.forbidden(format!("{SERVER}.{field}.configMapName"), "must provide a name");
        }
    }
    if !text(server, "structuredAuthorization.configMapName").is_empty()
        && list(server, "structuredAuthorization.kubeconfigs").is_empty()
    {
        let detail = "must provide kubeconfig secret references if an authorization config is configured";
        problems.required(format!("{SERVER}.structuredAuthorization.kubeconfigs"), detail);
    }
    let audit = "auditConfig.auditPolicy.configMapRef";
    if has(server, audit) && text(server, &format!("{audit}.name")).is_empty() {
        problems.required(format!("{SERVER}.{audit}.name"), "must provide a name");
    }
}

pub(super) fn c13(case: &Case<'_>, problems: &mut Problems) {
    if case.version().is_empty() {
        return problems.required("spec.kubernetes.version", "kubernetes version must not be empty");
    }
    let server = at(case.new, SERVER);
    if let Some(seconds) = duration_seconds(text(server, "eventTTL")).filter(|_| has(server, "eventTTL")) {
        let value = go_duration(seconds);
        if seconds < 0.0 {
            problems.invalid(format!("{SERVER}.eventTTL"), value, "can not be negative");
        } else if seconds > 24.0 * 3600.0 {
            problems.invalid(format!("{SERVER}.eventTTL"), value, "can not be longer than 24h");
        }
    }
    let token = "serviceAccountConfig.maxTokenExpiration";
    if let Some(seconds) = duration_seconds(text(server, token)).filter(|_| has(server, token)) {
        let path = format!("{SERVER}.{token}");
        if seconds < 0.0 {
            problems.invalid(path.as_str(), go_duration(seconds), "can not be negative");
        } else if seconds > 0.0 && seconds < 720.0 * 3600.0 {
            problems.forbidden(path.as_str(), "must be at least 720h (30d)");
        } else if seconds > 2160.0 * 3600.0 {
            problems.forbidden(path, "must be at most 2160h (90d)");
        }
    }
    for (field, most) in [("maxNonMutatingInflight", 5000), ("maxMutatingInflight", 2500)] {
        let path = format!("{SERVER}.requests.{field}");
        let value = number(server, &format!("requests.{field}"));
        problems.non_negative(path.as_str(), &value.into());
        if value > most {
            problems.invalid(path, value, &format!("cannot set higher than {most}"));
        }
    }
    for field in ["defaultNotReadyTolerationSeconds", "defaultUnreachableTolerationSeconds", "logging.verbosity"] {
        problems.non_negative(format!("{SERVER}.{field}"), at(server, field));
    }
    encryption(server, problems);
    one_of(case.new, "spec.kubernetes.kubeProxy.mode", &["IPTables", "IPVS", "NFTables"], problems);
    one_of(case.new, "spec.kubernetes.kubeScheduler.profile", &["balanced", "bin-packing"], problems);
    one_of(case.new, &format!("{SERVER}.tlsMinVersion"), &["VersionTLS12", "VersionTLS13"], problems);
    autoscaler(at(case.new, "spec.kubernetes.clusterAutoscaler"), problems);
    kubelet(at(case.new, "spec.kubernetes.kubelet"), "spec.kubernetes.kubelet", problems);
    for (path, worker, _) in case.workers() {
        kubelet(at(worker, "kubernetes.kubelet"), &format!("{path}.kubernetes.kubelet"), problems);
    }
    for (key, _) in entries(server, "runtimeConfig") {
        if key.split('/').count() > 3 || key.is_empty() {
            problems.invalid(format!("{SERVER}.runtimeConfig[{key}]"), key, "invalid API group version");
        }
    }
}

fn one_of(shoot: &Value, path: &str, known: &[&str], problems: &mut Problems) {
    if has(shoot, path) && !known.contains(&text(shoot, path)) {
        problems.unsupported(path, text(shoot, path), known);
    }
}

fn encryption(server: &Value, problems: &mut Problems) {
    let resources = texts(server, "encryptionConfig.resources");
    for (index, resource) in resources.iter().enumerate() {
        let path = format!("{SERVER}.encryptionConfig.resources[{index}]");
        if resource.to_lowercase() != *resource {
            problems.invalid(path.as_str(), *resource, "resource must be lower case");
        }
        if resource.contains('*') {
            problems.invalid(path.as_str(), *resource, "wildcards are not supported");
        }
        if matches!(*resource, "secrets" | "secrets.") {
            problems.forbidden(path.as_str(), &format!("{resource:?} are always encrypted"));
        }
        if resources[..index].contains(resource) {
            problems.duplicate(path, *resource);
        }
    }
    let path = format!("{SERVER}.encryptionConfig.provider.type");
    let kind = text(server, "encryptionConfig.provider.type");
    let known = ["aescbc", "aesgcm", "secretbox"];
    if !kind.is_empty() && !known.contains(&kind) {
        problems.unsupported(path, kind, &known);
    }
}

fn autoscaler(settings: &Value, problems: &mut Problems) {
    const PATH: &str = "spec.kubernetes.clusterAutoscaler";
    let threshold = at(settings, "scaleDownUtilizationThreshold").as_f64().unwrap_or_default();
    let path = format!("{PATH}.scaleDownUtilizationThreshold");
    if threshold < 0.0 {
        problems.invalid(path, threshold, "can not be negative");
    } else if threshold > 1.0 {
        problems.invalid(path, threshold, "can not be greater than 1.0");
    }
    for field in ["maxGracefulTerminationSeconds", "maxScaleDownParallelism", "maxDrainParallelism", "verbosity"] {
        problems.non_negative(format!("{PATH}.{field}"), at(settings, field));
    }
    for field in [
        "scaleDownDelayAfterAdd",
        "scaleDownDelayAfterDelete",
        "scaleDownDelayAfterFailure",
        "scaleDownUnneededTime",
        "scanInterval",
        "maxNodeProvisionTime",
        "newPodScaleUpDelay",
    ] {
        if duration_seconds(text(settings, field)).is_some_and(|seconds| seconds < 0.0) {
            problems.invalid(format!("{PATH}.{field}"), text(settings, field), "must be non-negative");
        }
    }
    let known = ["least-nodes", "least-waste", "most-pods", "priority", "random"];
    let expander = text(settings, "expander");
    if !expander.is_empty() && !expander.split(',').all(|one| known.contains(&one)) {
        problems.unsupported(format!("{PATH}.expander"), expander, &known);
    }
}

fn kubelet(settings: &Value, path: &str, problems: &mut Problems) {
    problems.non_negative(format!("{path}.maxPods"), at(settings, "maxPods"));
    if has(settings, "podPidsLimit") && number(settings, "podPidsLimit") < 100 {
        let detail = "podPIDsLimit value must be at least 100";
        problems.invalid(format!("{path}.podPIDsLimit"), number(settings, "podPidsLimit"), detail);
    }
    for field in ["imageGCHighThresholdPercent", "imageGCLowThresholdPercent"] {
        if has(settings, field) && !(0..=100).contains(&number(settings, field)) {
            problems.invalid(format!("{path}.{field}"), number(settings, field), "value must be in [0,100]");
        }
    }
    if has(settings, "imageGCHighThresholdPercent")
        && has(settings, "imageGCLowThresholdPercent")
        && number(settings, "imageGCLowThresholdPercent") >= number(settings, "imageGCHighThresholdPercent")
    {
        let detail = "imageGCLowThresholdPercent must be less than imageGCHighThresholdPercent";
        problems.forbidden(format!("{path}.imageGCLowThresholdPercent"), detail);
    }
}

/// Fields that a Kubernetes version has dropped: path, the minor version, and the sentence.
#[rustfmt::skip]
const DROPPED: [(&str, u64, &str); 6] = [
    ("spec.kubernetes.kubeControllerManager.podEvictionTimeout", 33,
        "for Kubernetes versions >= 1.33, podEvictionTimeout field is no longer supported"),
    ("spec.kubernetes.clusterAutoscaler.maxEmptyBulkDelete", 33,
        "for Kubernetes versions >= 1.33, maxEmptyBulkDelete field is no longer supported, use maxScaleDownParallelism instead"),
    ("spec.addons", 35,
        "for Kubernetes versions >= 1.35, addons field is no longer supported"),
    ("spec.kubernetes.kubeAPIServer.enableAnonymousAuthentication", 35,
        "for Kubernetes versions >= 1.35, enableAnonymousAuthentication field is no longer supported"),
    ("spec.kubernetes.kubeAPIServer.watchCacheSizes.default", 35,
        "for Kubernetes versions >= 1.35, configuring the default watch cache size is no longer supported"),
    ("spec.kubernetes.kubeScheduler.kubeMaxPDVols", 35,
        "for Kubernetes version >= 1.35, kubeMaxPDVols field is no longer supported"),
];

pub(super) fn c14(case: &Case<'_>, problems: &mut Problems) {
    for (path, minor, detail) in DROPPED {
        if has(case.new, path) && version::at_least(case.version(), 1, minor) && !case.is_workerless() {
            problems.forbidden(path, detail);
        }
    }
    for (index, provider) in list(case.new, "spec.dns.providers").iter().enumerate() {
        if has(provider, "secretName") && version::at_least(case.version(), 1, 35) {
            let detail = "for Kubernetes versions >= 1.35, secretName field is no longer supported";
            problems.forbidden(format!("spec.dns.providers[{index}].secretName"), detail);
        }
    }
}
