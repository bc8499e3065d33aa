//! What the server fills into a Shoot that says less, without looking at other objects.
//!
//! One table for every Shoot and one for those with workers; what depends on a value is a function
//! below. A client that compares specs must expect all of this.

use serde_json::{Value, json};

use super::{
    chance::Chance,
    value::{at, default, has, list, name, namespace, number, place, remove, set, text, texts},
};

type Row = (&'static str, fn() -> Value);

#[rustfmt::skip]
static EVERY: &[Row] = &[
    ("spec.purpose",                                               || json!("evaluation")),
    ("spec.schedulerName",                                         || json!("default-scheduler")),
    ("spec.networking.ipFamilies",                                 || json!(["IPv4"])),
    ("spec.maintenance.autoUpdate",                                || json!({"kubernetesVersion": true})),
    ("spec.kubernetes.kubeAPIServer.requests.maxNonMutatingInflight", || json!(400)),
    ("spec.kubernetes.kubeAPIServer.requests.maxMutatingInflight", || json!(200)),
    ("spec.kubernetes.kubeAPIServer.eventTTL",                     || json!("1h0m0s")),
    ("spec.kubernetes.kubeAPIServer.logging.verbosity",            || json!(2)),
    ("spec.kubernetes.kubeAPIServer.encryptionConfig.provider.type", || json!("aescbc")),
];

#[rustfmt::skip]
static WITH_WORKERS: &[Row] = &[
    ("spec.kubernetes.kubeAPIServer.defaultNotReadyTolerationSeconds",    || json!(300)),
    ("spec.kubernetes.kubeAPIServer.defaultUnreachableTolerationSeconds", || json!(300)),
    ("spec.kubernetes.kubeControllerManager.nodeMonitorGracePeriod",      || json!("40s")),
    ("spec.kubernetes.kubeScheduler.profile",                             || json!("balanced")),
    ("spec.kubernetes.kubeProxy.mode",                                    || json!("IPTables")),
    ("spec.kubernetes.kubeProxy.enabled",                                 || json!(true)),
    ("spec.kubernetes.kubelet.failSwapOn",                                || json!(true)),
    ("spec.kubernetes.kubelet.imageMinimumGCAge",                         || json!("2m0s")),
    ("spec.kubernetes.kubelet.imageMaximumGCAge",                         || json!("0s")),
    ("spec.kubernetes.kubelet.imageGCHighThresholdPercent",               || json!(50)),
    ("spec.kubernetes.kubelet.imageGCLowThresholdPercent",                || json!(40)),
    ("spec.kubernetes.kubelet.serializeImagePulls",                       || json!(true)),
    ("spec.maintenance.autoUpdate.machineImageVersion",                   || json!(true)),
    ("spec.provider.workersSettings.sshAccess",                           || json!({"enabled": true})),
    ("spec.systemComponents.coreDNS.autoscaling.mode",                    || json!("horizontal")),
];

#[rustfmt::skip]
static AUTOSCALER: &[Row] = &[
    ("evictAfterOOMThreshold",                    || json!("10m0s")),
    ("evictionRateBurst",                         || json!(1)),
    ("evictionRateLimit",                         || json!(-1)),
    ("evictionTolerance",                         || json!(0.5)),
    ("recommendationMarginFraction",              || json!(0.15)),
    ("updaterInterval",                           || json!("1m0s")),
    ("recommenderInterval",                       || json!("1m0s")),
    ("targetCPUPercentile",                       || json!(0.9)),
    ("recommendationLowerBoundCPUPercentile",     || json!(0.5)),
    ("recommendationUpperBoundCPUPercentile",     || json!(0.95)),
    ("cpuHistogramDecayHalfLife",                 || json!("24h0m0s")),
    ("targetMemoryPercentile",                    || json!(0.9)),
    ("recommendationLowerBoundMemoryPercentile",  || json!(0.5)),
    ("recommendationUpperBoundMemoryPercentile",  || json!(0.95)),
    ("memoryHistogramDecayHalfLife",              || json!("24h0m0s")),
    ("memoryAggregationInterval",                 || json!("24h0m0s")),
    ("memoryAggregationIntervalCount",            || json!(8)),
    ("recommenderUpdateWorkerCount",              || json!(10)),
];

#[rustfmt::skip]
static WORKER: &[Row] = &[
    ("cri",              || json!({"name": "containerd"})),
    ("updateStrategy",   || json!("AutoRollingUpdate")),
    ("systemComponents", || json!({"allow": true})),
];

/// Fills in everything.
pub fn fill(shoot: &mut Value, chance: Chance) {
    let rows = |shoot: &mut Value, rows: &[Row]| {
        for (path, value) in rows {
            default(shoot, path, value());
        }
    };
    if has(shoot, "spec.cloudProfile.name") {
        default(shoot, "spec.cloudProfile.kind", "CloudProfile");
    }
    rows(shoot, EVERY);
    window(shoot, chance);
    if namespace(shoot) == "garden" {
        tolerate_protected(shoot);
    }
    if !list(shoot, "spec.provider.workers").is_empty() {
        rows(shoot, WITH_WORKERS);
        node_mask(shoot);
    }
    if let Some(workers) = place_if(shoot, "spec.provider.workers") {
        for worker in workers.as_array_mut().into_iter().flatten() {
            rows(worker, WORKER);
            surge(worker);
        }
    }
    autoscaler(shoot);
    canonicalize(shoot);
}

/// A vertical pod autoscaler that says less gets the rest, whoever asked for it.
pub fn autoscaler(shoot: &mut Value) {
    if let Some(autoscaler) = place_if(shoot, "spec.kubernetes.verticalPodAutoscaler") {
        for (path, value) in AUTOSCALER {
            default(autoscaler, path, value());
        }
    }
}

fn place_if<'a>(object: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    if has(object, path) { Some(place(object, path)) } else { None }
}

/// A window of an hour that begins at a random one, as the real server draws it.
fn window(shoot: &mut Value, chance: Chance) {
    if !has(shoot, "spec.maintenance.timeWindow") {
        let whose = format!("{}/{}", namespace(shoot), name(shoot));
        let hour = chance.below(&whose, "maintenance window", 0, 24);
        let window = json!({"begin": format!("{hour:02}0000+0000"), "end": format!("{:02}0000+0000", (hour + 1) % 24)});
        set(shoot, "spec.maintenance.timeWindow", window);
    }
}

fn tolerate_protected(shoot: &mut Value) {
    const KEY: &str = "seed.gardener.cloud/protected";
    if !list(shoot, "spec.tolerations").iter().any(|one| text(one, "key") == KEY) {
        let tolerations = place(shoot, "spec.tolerations");
        match tolerations.as_array_mut() {
            Some(list) => list.push(json!({"key": KEY})),
            None => *tolerations = json!([{"key": KEY}]),
        }
    }
}

/// Large enough for the pods of the largest pool, and 24 at most.
fn node_mask(shoot: &mut Value) {
    let path = "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize";
    let families = texts(shoot, "spec.networking.ipFamilies");
    if families == ["IPv6"] {
        if !has(shoot, &format!("{path}IPv6")) {
            default(shoot, path, 64);
        }
        return;
    }
    let dual = families.len() > 1;
    let pools = list(shoot, "spec.provider.workers").iter().map(|worker| number(worker, "kubernetes.kubelet.maxPods"));
    let pods = pools.chain([number(shoot, "spec.kubernetes.kubelet.maxPods")]).max().unwrap_or_default().max(110);
    // As many bits as hold the pods and the two addresses nobody gets.
    let bits = 64 - (pods + 1).leading_zeros();
    default(shoot, path, (32 - bits).min(24));
    if dual {
        default(shoot, &format!("{path}IPv6"), 64);
    }
}

fn surge(worker: &mut Value) {
    match text(worker, "updateStrategy") {
        "ManualInPlaceUpdate" => {}
        "AutoInPlaceUpdate" => {
            default(worker, "maxSurge", 0);
            default(worker, "maxUnavailable", 1);
        }
        _ => {
            default(worker, "maxSurge", 1);
            default(worker, "maxUnavailable", 0);
        }
    }
}

/// Erases what means nothing any more.
fn canonicalize(shoot: &mut Value) {
    let most = at(shoot, "spec.kubernetes.clusterAutoscaler.maxEmptyBulkDelete").clone();
    if !most.is_null() && !super::version::at_least(text(shoot, "spec.kubernetes.version"), 1, 33) {
        default(shoot, "spec.kubernetes.clusterAutoscaler.maxScaleDownParallelism", most);
        remove(shoot, "spec.kubernetes.clusterAutoscaler.maxEmptyBulkDelete");
    }
    let anonymous = "spec.kubernetes.kubeAPIServer.enableAnonymousAuthentication";
    if at(shoot, anonymous) == &Value::Bool(false) {
        remove(shoot, anonymous);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(mut shoot: Value) -> Value {
        fill(&mut shoot, Chance::new(1));
        shoot
    }

    #[test]
    fn a_bare_shoot_gets_everything_the_server_knows() {
        let shoot = filled(json!({
            "metadata": {"name": "a", "namespace": "garden-dev"},
            "spec": {"cloudProfile": {"name": "aws"}, "provider": {"workers": [{"name": "w", "maximum": 1}]}}}));
        assert_eq!(text(&shoot, "spec.cloudProfile.kind"), "CloudProfile");
        assert_eq!(text(&shoot, "spec.purpose"), "evaluation");
        assert_eq!(number(&shoot, "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize"), 24);
        assert_eq!(text(&shoot, "spec.provider.workers.0.cri.name"), "containerd");
        assert_eq!(number(&shoot, "spec.provider.workers.0.maxSurge"), 1);
        assert!(text(&shoot, "spec.maintenance.timeWindow.begin").ends_with("0000+0000"));
        assert_eq!(shoot, filled(shoot.clone()), "filling twice changes nothing");
    }

    #[test]
    fn what_depends_on_a_value_follows_it() {
        let mask = |pods: i64| {
            let shoot = json!({"spec": {"provider": {"workers": [{"name": "w"}]}, "kubernetes": {"kubelet": {"maxPods": pods}}}});
            number(&filled(shoot), "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize")
        };
        assert_eq!((mask(110), mask(254), mask(255), mask(1000)), (24, 24, 23, 22));
        let shoot = filled(json!({"metadata": {"namespace": "garden"}, "spec": {}}));
        assert_eq!(text(&shoot, "spec.tolerations.0.key"), "seed.gardener.cloud/protected");
        assert!(!has(&shoot, "spec.kubernetes.kubelet"), "a workerless Shoot has no kubelet");
    }
}
