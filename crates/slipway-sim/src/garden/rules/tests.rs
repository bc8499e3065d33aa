//! Every rule, tried: a valid Shoot, one edit, and what a Gardener API server answers.

use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use kube_sandbox::{
    auth::rbac,
    kind::{Access, Ctx, Kind, User, View},
    status::Status,
};
use serde_json::{Value, json};

use super::RULES;
use crate::garden::{
    chance::Chance,
    clock::{Clock, Pace},
    kinds,
    kubeconfig::Issuer,
    landscape,
    problems::CORE,
    scheduler::Usage,
    value::{self, annotate, name, namespace, remove, set, text},
};

/// Objects in a list: as much of a cluster as rules need.
struct Objects {
    all: Vec<Value>,
    /// Nobody but masters may read anything.
    closed: bool,
}

impl View for Objects {
    fn get(&self, group: &str, plural: &str, place: &str, called: &str) -> Option<Value> {
        self.list(group, plural, place).into_iter().find(|object| name(object) == called)
    }

    fn list(&self, group: &str, plural: &str, place: &str) -> Vec<Value> {
        let fits = |object: &&Value| {
            let version = text(object, "apiVersion");
            let of = version.split_once('/').map_or("", |(group, _)| group);
            of == group
                && landscape::plural(text(object, "kind")) == plural
                && (place.is_empty() || namespace(object) == place)
        };
        self.all.iter().filter(fits).cloned().collect()
    }

    fn kind(&self, _: &str, _: &str, _: &str) -> Option<Arc<Kind>> {
        None
    }

    fn may(&self, user: &User, _: &Access<'_>) -> bool {
        !self.closed || user.is_in("system:masters")
    }

    fn rules(&self, _: &User, _: &str) -> Vec<rbac::Rule> {
        Vec::new()
    }

    fn authenticate(&self, _: &str) -> Option<User> {
        None
    }
}

fn now() -> Timestamp {
    "2026-06-01T12:00:00Z".parse().expect("time")
}

struct World {
    view: Objects,
    kind: Kind,
}

impl World {
    fn new() -> Self {
        let mut all = landscape::objects();
        all.extend(extra_objects());
        for project in all.iter_mut().filter(|one| name(one) == "going" && text(one, "kind") == "Project") {
            set(project, "metadata.deletionTimestamp", "2026-01-01T00:00:00Z");
        }
        let shared = kinds::Shared {
            clock: Clock::at(now(), Pace::Manual),
            issuer: Issuer::default(),
            usage: Usage::default(),
            chance: Chance::new(1),
            faults: crate::garden::engine::faults::Faults::default(),
        };
        let kinds = kinds::kinds(&shared);
        let kind = kinds.into_iter().find(|kind| kind.kind == "Shoot").expect("shoot");
        Self { view: Objects { all, closed: false }, kind }
    }

    fn ask<T>(&self, user: &User, subresource: &str, ask: impl FnOnce(&Ctx<'_>) -> T) -> T {
        let warnings = Mutex::new(Vec::new());
        let ctx = Ctx {
            kind: &self.kind,
            namespace: "garden-dev",
            user,
            subresource,
            dry_run: false,
            now: now(),
            view: &self.view,
            warnings: &warnings,
        };
        ask(&ctx)
    }

    fn create(&self, mut shoot: Value) -> Result<Value, Status> {
        self.ask(&User::named("ann", &[]), "", |ctx| self.kind.strategy.create(&mut shoot, ctx))?;
        Ok(shoot)
    }

    fn update(&self, mut shoot: Value, old: &Value, subresource: &str) -> Result<Value, Status> {
        self.ask(&User::named("ann", &[]), subresource, |ctx| self.kind.strategy.update(&mut shoot, old, ctx))?;
        Ok(shoot)
    }

    /// A stored Shoot that was created and scheduled.
    fn stored(&self) -> Value {
        let mut shoot = self.create(base()).expect("valid");
        let old = shoot.clone();
        set(&mut shoot, "spec.seedName", "aws-eu1");
        let mut shoot = self.update(shoot, &old, "binding").expect("bound");
        set(&mut shoot, "status.technicalID", "shoot--dev--shop");
        set(&mut shoot, "status.lastOperation", json!({"type": "Create", "state": "Succeeded", "progress": 100}));
        set(&mut shoot, "metadata.finalizers", json!(["gardener"]));
        shoot
    }
}

/// Objects besides the landscape's that the edits refer to.
pub(super) fn extra_objects() -> Vec<Value> {
    let mut other = base();
    set(&mut other, "metadata.name", "other");
    set(&mut other, "spec.dns.domain", "taken.example.org");
    annotate(&mut other, "shoot.gardener.cloud/ignore", "true");
    let core = format!("{CORE}/v1beta1");
    let place = |called: &str| json!({"name": called, "namespace": "garden-dev"});
    vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "garden-going",
            "labels": {"gardener.cloud/role": "project", "project.gardener.cloud/name": "going"}}}),
        json!({"apiVersion": core, "kind": "Project", "metadata": {"name": "going"}, "spec": {"namespace": "garden-going"}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": place("audit")}),
        json!({"apiVersion": core, "kind": "Quota", "metadata": place("small"),
            "spec": {"scope": {"apiVersion": core, "kind": "Project"}, "metrics": {"cpu": "4"}}}),
        json!({"apiVersion": "security.gardener.cloud/v1alpha1", "kind": "CredentialsBinding", "metadata": place("limited"),
            "provider": {"type": "aws"},
            "credentialsRef": {"apiVersion": "v1", "kind": "Secret", "namespace": "garden-dev", "name": "aws-credentials"},
            "quotas": [{"name": "small", "namespace": "garden-dev"}]}),
        other,
    ]
}

pub(super) fn base() -> Value {
    json!({
        "apiVersion": format!("{CORE}/v1beta1"), "kind": "Shoot",
        "metadata": {"name": "shop", "namespace": "garden-dev"},
        "spec": {
            "cloudProfile": {"kind": "CloudProfile", "name": "aws"},
            "credentialsBindingName": "aws",
            "region": "eu-central-1",
            "provider": {"type": "aws", "workers": [{
                "name": "pool", "machine": {"type": "m6i.large", "image": {"name": "gardenlinux", "version": "1877.9.0"}},
                "minimum": 1, "maximum": 3, "volume": {"type": "gp3", "size": "50Gi"}, "zones": ["eu-central-1a"]}]},
            "kubernetes": {"version": "1.34.5"},
            "networking": {"type": "calico", "nodes": "10.250.0.0/16"},
        },
    })
}

pub(super) type Edit = fn(&mut Value);
/// Rule, edit, code, and what the sentence must contain.
pub(super) type Row = (&'static str, Edit, u16, &'static str);

const POOL: &str = "spec.provider.workers.0";

fn pool(shoot: &mut Value, field: &str, value: Value) {
    set(shoot, &format!("{POOL}.{field}"), value);
}

fn another_pool(shoot: &mut Value) -> &mut Value {
    let mut pool = shoot["spec"]["provider"]["workers"][0].clone();
    pool["name"] = json!("more");
    let workers = shoot["spec"]["provider"]["workers"].as_array_mut().expect("workers");
    workers.push(pool);
    workers.last_mut().expect("pool")
}

#[rustfmt::skip]
pub(super) const CREATES: &[Row] = &[
    ("N1",  |s| set(s, "metadata.name", "a--b"),                                       422, "metadata.name: Invalid value: \"a--b\": name may not contain two consecutive hyphens"),
    ("N1",  |s| set(s, "metadata.name", "Shop"),                                       422, "metadata.name: Invalid value"),
    ("N2",  |s| set(s, "metadata.name", "a-name-that-is-far-too-long"),                422, "name: Invalid value"),
    ("N3",  |s| set(s, "metadata.namespace", "nowhere"),                               500, "could not find referenced project"),
    ("N3",  |s| { set(s, "metadata.namespace", "garden-going"); remove(s, "spec.credentialsBindingName"); set(s, "spec.provider.workers", json!([])); remove(s, "spec.networking"); }, 403, "that is already marked for deletion"),
    ("N4",  |s| set(s, "spec.cloudProfile.name", "unknown"),                           500, "could not find referenced cloud profile"),
    ("N4",  |s| set(s, "spec.cloudProfile.kind", "Other"),                             500, "could not find referenced cloud profile"),
    ("N4",  |s| set(s, "spec.cloudProfileName", "gcp"),                                500, "new shoot can only specify either cloudProfileName or cloudProfile reference"),
    ("N5",  |s| { remove(s, "spec.credentialsBindingName"); },                         422, "spec.secretBindingName: Required value: must be set when credentialsBindingName is not"),
    ("N5",  |s| set(s, "spec.secretBindingName", "aws"),                               422, "spec.secretBindingName: Forbidden: is incompatible with credentialsBindingName"),
    ("N6",  |s| set(s, "spec.credentialsBindingName", "unknown"),                      403, "credentialsbinding.security.gardener.cloud \"unknown\" not found"),
    ("N6",  |s| set(s, "spec.credentialsBindingName", "gcp"),                          403, "spec.provider.type: Invalid value: \"aws\": provider type in shoot must match provider type of referenced CredentialsBinding: \"gcp\""),
    ("N6",  |s| set(s, "spec.provider.type", "gcp"),                                   403, "spec.provider.type: Invalid value: \"gcp\": provider type in shoot must equal provider type of referenced CloudProfile: \"aws\""),
    ("N7",  |s| set(s, "spec.kubernetes.kubeAPIServer.auditConfig.auditPolicy.configMapRef.name", "none"), 200, ""),
    ("N7",  |s| set(s, "spec.kubernetes.kubeAPIServer.structuredAuthentication.configMapName", "none"), 403, "failed to resolve structured authentication config map reference: configmaps \"none\" not found"),
    ("N7",  |s| { set(s, "spec.dns.domain", "own.example.org"); set(s, "spec.dns.providers", json!([{"primary": true, "type": "aws-route53", "credentialsRef": {"apiVersion": "v1", "kind": "Secret", "name": "none"}}])); }, 403, "failed to resolve credentials reference of type Secret: secrets \"none\" not found"),
    ("N7",  |s| set(s, "spec.resources", json!([{"name": "r", "resourceRef": {"apiVersion": "v1", "kind": "Secret", "name": "none"}}])), 403, "failed to resolve resource reference \"r\": secrets \"none\" not found"),
    ("N8",  |s| set(s, "spec.exposureClassName", "unknown"),                           403, "exposureclass.core.gardener.cloud \"unknown\" not found"),
    ("N9",  |s| set(s, "spec.extensions", json!([{"type": "unknown"}])),               403, "given Shoot uses non-registered extension type: spec.extensions[0].type (\"unknown\")"),
    ("N9",  |s| set(s, "spec.networking.type", "smoke"),                               403, "given Shoot uses non-registered networking type: spec.networking.type (\"smoke\")"),
    ("N10", |s| set(s, "metadata.finalizers", json!(["gardener"])),                    422, "metadata.finalizers[0]: Forbidden: finalizer \"gardener\" cannot be added on creation"),
    ("N11", |s| { remove(s, "spec.region"); },                                         422, "spec.region: Required value: must specify a region"),
    ("U10", |s| set(s, "spec.kubernetes.version", "1.32.3"),                           403, "spec.kubernetes.version: Unsupported value: \"1.32.3\""),
    ("U10", |s| set(s, "spec.kubernetes.version", "1.29"),                             403, "couldn't find a suitable version for 1.29"),
    ("U9",  |s| pool(s, "kubernetes.version", json!("1.35.2")),                        422, "spec.provider.workers[0].kubernetes.version: Forbidden: worker group kubernetes version must not be higher"),
    ("U13", |s| set(s, "spec.controlPlane.highAvailability.failureTolerance.type", "rack"), 422, "spec.controlPlane.highAvailability.failureTolerance.type: Unsupported value: \"rack\""),
    ("U14", |s| set(s, "spec.seedName", "none"),                                       500, "could not get seed none: seed.core.gardener.cloud \"none\" not found"),
    ("U14", |s| set(s, "spec.seedName", "aws-protected"),                              403, "forbidden to use a seed whose taints are not tolerated by the shoot"),
    ("W1",  |s| pool(s, "name", json!("Pool")),                                        422, "spec.provider.workers[0].name: Invalid value"),
    ("W1",  |s| pool(s, "name", json!("a-much-too-long-name")),                        422, "spec.provider.workers[0].name: Too long: may not be more than 15 bytes"),
    ("W1",  |s| another_pool(s)["name"] = json!("pool"),                               422, "spec.provider.workers[1].name: Duplicate value: \"pool\""),
    ("W2",  |s| pool(s, "machine.type", json!("")),                                    422, "spec.provider.workers[0].machine.type: Required value: must specify a machine type"),
    ("W3",  |s| pool(s, "minimum", json!(4)),                                          422, "spec.provider.workers[0].maximum: Forbidden: maximum value must not be less than minimum value"),
    ("W3",  |s| pool(s, "minimum", json!(-1)),                                         422, "spec.provider.workers[0].minimum: Invalid value: -1: minimum value must not be negative"),
    ("W4",  |s| pool(s, "maxSurge", json!(0)),                                         422, "spec.provider.workers[0].maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"),
    ("W4",  |s| pool(s, "maxUnavailable", json!("150%")),                              422, "spec.provider.workers[0].maxUnavailable: Invalid value: \"150%\": must not be greater than 100%"),
    ("W4",  |s| pool(s, "maxSurge", json!("much")),                                    422, "spec.provider.workers[0].maxSurge: Invalid value: \"much\": must be an integer or percentage (e.g '5%')"),
    ("W5",  |s| pool(s, "zones", json!(["eu-central-1a", "eu-central-1b", "eu-central-1c", "x"])), 422, "spec.provider.workers[0].maximum: Forbidden: maximum node count should be greater"),
    ("W5",  |s| pool(s, "systemComponents", json!({"allow": false})),                  422, "spec.provider.workers: Forbidden: at least one active"),
    ("W6",  |s| pool(s, "volume.size", json!("50GB")),                                 422, "spec.provider.workers[0].volume.size: Invalid value: \"50GB\": volume size must match the regex ^(\\d)+Gi$"),
    ("W6",  |s| { pool(s, "dataVolumes", json!([{"name": "d", "size": "1Gi"}])); remove(s, "spec.provider.workers.0.volume"); }, 422, "spec.provider.workers[0].volume: Required value"),
    ("W7",  |s| pool(s, "volume.size", json!("10Gi")),                                 403, "spec.provider.workers[0].volume.size: Invalid value: \"10Gi\": size must be >= 20Gi"),
    ("W8",  |s| pool(s, "machine.type", json!("unknown")),                             403, "spec.provider.workers[0].machine.type: Unsupported value: \"unknown\""),
    ("W8",  |s| pool(s, "machine.type", json!("m4.large")),                            403, "machine type \"m4.large\" is unusable, supported types are"),
    ("W8",  |s| { pool(s, "machine.type", json!("g4dn.xlarge")); pool(s, "zones", json!(["eu-central-1c"])); }, 403, "is unavailable in at least one zone"),
    ("W8",  |s| pool(s, "volume.type", json!("gp2")),                                  403, "volume type \"gp2\" is unusable"),
    ("W9",  |s| pool(s, "machine.image.version", json!("9.9.9")),                      403, "spec.provider.workers[0].machine.image.version: Unsupported value: \"9.9.9\""),
    ("W9",  |s| pool(s, "machine.image", json!({"name": "windows", "version": "1.0.0"})), 403, "image is not supported"),
    ("W9",  |s| pool(s, "machine.architecture", json!("arm64")),                    403, "arm64"),
    ("W9",  |s| pool(s, "machine.image.version", json!("1592.3.0")),                   403, "machine.image.version: Unsupported value: \"1592.3.0\""),
    ("W9",  |s| { pool(s, "machine.image", json!({"name": "ubuntu", "version": "22.4.20260101"})); set(s, "spec.kubernetes.version", "1.35.2"); }, 403, "does not support kubelet version '1.35.2'"),
    ("W9",  |s| pool(s, "machine.image", json!({"name": "windows"})),                  403, "spec.provider.workers[0]: Invalid value: \"windows\": image is not supported"),
    ("W10", |s| pool(s, "zones", json!(["mars-1"])),                                   403, "spec.provider.workers[0].zones[0]: Unsupported value: \"mars-1\""),
    ("W10", |s| pool(s, "zones", json!(["eu-central-1a", "eu-central-1a"])),           403, "spec.provider.workers[0].zones[1]: Duplicate value: \"eu-central-1a\""),
    ("W10", |s| { set(s, "spec.region", "ap-northeast-3"); },                          403, "this region does not support availability zones, please do not configure them"),
    ("W11", |s| { pool(s, "minimum", json!(101)); pool(s, "maximum", json!(101)); },   403, "must not exceed the limit of 100 configured in the CloudProfile"),
    ("W12", |s| pool(s, "taints", json!([{"key": "a", "effect": "Sometimes"}])),       422, "spec.provider.workers[0].taints[0].effect: Unsupported value: \"Sometimes\""),
    ("W12", |s| pool(s, "taints", json!([{"key": "node.gardener.cloud/critical-components-not-ready", "effect": "NoSchedule"}])), 422, "taint key is reserved by gardener"),
    ("W13", |s| pool(s, "priority", json!(-2)),                                        422, "spec.provider.workers[0].priority: Invalid value: -2: can not be less than -1"),
    ("W13", |s| pool(s, "labels", json!({"a b": "c"})),                                422, "spec.provider.workers[0].labels: Invalid value: \"a b\""),
    ("W13", |s| pool(s, "caBundle", json!("no certificate")),                          422, "caBundle is not a valid PEM-encoded certificate"),
    ("W14", |s| pool(s, "cri", json!({"name": "docker"})),                             422, "spec.provider.workers[0].cri.name: Unsupported value: \"docker\": supported values: \"containerd\""),
    ("W14", |s| pool(s, "machine.architecture", json!("mips")),                        422, "spec.provider.workers[0].machine.architecture: Unsupported value: \"mips\""),
    ("W15", |s| pool(s, "kubernetes.kubelet.kubeReserved", json!({"cpu": "2"})),       403, "total reserved CPU (kubeReserved) cannot be more than the Node's CPU capacity '2'"),
    ("W16", |s| { set(s, "spec.provider.workers", json!([])); remove(s, "spec.credentialsBindingName"); }, 422, "spec.networking.type: Forbidden: this field should not be set for workerless Shoot clusters"),
    ("C1",  |s| set(s, "spec.networking.nodes", "10.250.0.1/16"),                      422, "spec.networking.nodes: Invalid value: \"10.250.0.1/16\": must be valid canonical CIDR"),
    ("C1",  |s| set(s, "spec.networking.nodes", "ten"),                                422, "spec.networking.nodes: Invalid value: \"ten\": invalid CIDR address: ten"),
    ("C1",  |s| set(s, "spec.networking.ipFamilies", json!(["IPv5"])),                 422, "spec.networking.ipFamilies[0]: Unsupported value: \"IPv5\""),
    ("C2",  |s| set(s, "spec.networking.pods", "10.250.128.0/17"),                     403, "spec.networking.pods: Invalid value: \"10.250.128.0/17\": shoot pod network intersects with shoot node network"),
    ("C2",  |s| { set(s, "spec.networking.pods", "100.64.0.0/12"); set(s, "spec.networking.services", "100.64.0.0/13"); }, 403, "spec.networking.services"),
    ("C3",  |s| { set(s, "spec.seedName", "aws-eu1"); set(s, "spec.networking.nodes", "240.0.0.0/16"); set(s, "spec.networking.pods", "241.0.0.0/16"); set(s, "spec.networking.services", "244.0.0.0/16"); }, 403, "mapping range"),
    ("C3",  |s| { set(s, "spec.seedName", "aws-eu1"); set(s, "spec.networking.nodes", "243.0.0.0/16"); }, 403, "spec.networking.nodes: Invalid value: \"243.0.0.0/16\": node network intersects with reserved shoot service network mapping range (243.0.0.0/8)"),
    ("C4",  |s| set(s, "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize", 30),  422, "nodeCIDRMaskSize must be between 16 and 28"),
    ("C4",  |s| { set(s, "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize", 26); }, 422, "only supports 62 IP addresses"),
    ("C5",  |s| set(s, "spec.maintenance.timeWindow", json!({"begin": "220000+0000", "end": "221000+0000"})), 422, "spec.maintenance.timeWindow: Invalid value: 600000000000: time window must not be smaller than 30m0s"),
    ("C5",  |s| set(s, "spec.maintenance.timeWindow", json!({"begin": "x", "end": "y"})), 422, "spec.maintenance.timeWindow.begin/end: Invalid value"),
    ("C6",  |s| set(s, "spec.hibernation.schedules", json!([{"start": "every day"}])), 422, "spec.hibernation.schedules[0].start: Invalid value: \"every day\": not a valid cron spec"),
    ("C6",  |s| set(s, "spec.hibernation.schedules", json!([{"start": "0 1 * * *", "location": "Mars"}])), 422, "spec.hibernation.schedules[0].location: Invalid value: \"Mars\": not a valid location"),
    ("C6",  |s| set(s, "spec.hibernation.schedules", json!([{}])),                     422, "spec.hibernation.schedules[0].start/end: Required value"),
    ("C7",  |s| set(s, "spec.extensions", json!([{"type": "registry-cache"}, {"type": "registry-cache"}])), 422, "spec.extensions[1].type: Duplicate value: \"registry-cache\""),
    ("C7",  |s| set(s, "spec.resources", json!([{"name": "a"}])),                      422, "spec.resources[0].resourceRef.kind: Required value: must provide a kind"),
    ("C8",  |s| set(s, "spec.purpose", "fun"),                                         422, "spec.purpose: Unsupported value: \"fun\": supported values: \"development\", \"evaluation\", \"production\", \"testing\""),
    ("C8",  |s| set(s, "spec.purpose", "infrastructure"),                              422, "spec.purpose: Unsupported value"),
    ("C9",  |s| set(s, "spec.tolerations", json!([{"key": "anything"}])),              403, "spec.tolerations[0]: Forbidden: only the following tolerations are allowed"),
    ("C10", |s| set(s, "spec.accessRestrictions", json!([{"name": "mars-only"}])),     403, "spec.accessRestrictions[0]: Unsupported value: \"mars-only\""),
    ("C11", |s| set(s, "spec.dns.domain", "taken.example.org"),                        403, "spec.dns.domain: Duplicate value: \"taken.example.org\""),
    ("C11", |s| set(s, "spec.dns.domain", "below.taken.example.org"),                  403, "the domain is already used by another shoot or it is a subdomain"),
    ("C12", |s| set(s, "spec.kubernetes.kubeAPIServer.structuredAuthentication", json!({"configMapName": ""})), 422, "structuredAuthentication.configMapName: Forbidden: must provide a name"),
    ("C13", |s| set(s, "spec.kubernetes.kubeAPIServer.eventTTL", "25h"),               422, "spec.kubernetes.kubeAPIServer.eventTTL: Invalid value: \"25h0m0s\": can not be longer than 24h"),
    ("C13", |s| set(s, "spec.kubernetes.kubeAPIServer.serviceAccountConfig.maxTokenExpiration", "1h"), 422, "must be at least 720h (30d)"),
    ("C13", |s| set(s, "spec.kubernetes.kubeProxy.mode", "Magic"),                     422, "spec.kubernetes.kubeProxy.mode: Unsupported value: \"Magic\""),
    ("C14", |s| { set(s, "spec.kubernetes.version", "1.35.2"); set(s, "spec.addons.nginxIngress.enabled", false); }, 422, "spec.addons: Forbidden: for Kubernetes versions >= 1.35"),
    ("C14", |s| set(s, "spec.kubernetes.kubeControllerManager.podEvictionTimeout", "2m"), 422, "podEvictionTimeout field is no longer supported"),
    ("C15", |s| set(s, "spec.credentialsBindingName", "limited"),                      403, "quota limits exceeded. Unable to allocate further cpu "),
    ("C16", |s| annotate(s, "gardener.cloud/operation", "dance"),                      422, "metadata.annotations[gardener.cloud/operation]: Unsupported value: \"dance\""),
    ("C16", |s| annotate(s, "gardener.cloud/operation", "retry;reconcile"),            422, "operation 'retry' is not permitted to be run in parallel with other operations"),
    ("C16", |s| annotate(s, "gardener.cloud/operation", "rotate-ca-start"),            422, "cannot start CA rotation if shoot was not yet created successfully"),
    ("C17", |s| set(s, "spec.dns.domain", "mine.other.shoots.example"),                422, "spec.dns.domain: Invalid value: \"mine.other.shoots.example\": shoot uses a default domain but does not match expected scheme"),
    ("C18", |s| annotate(s, "confirmation.gardener.cloud/force-deletion", "true"),     422, "force-deletion annotation cannot be set when Shoot deletionTimestamp is nil"),
    ("C19", |s| set(s, "spec.dns.providers", json!([{"type": "aws-route53"}])),        422, "spec.dns.providers[0].credentialsRef: Required value"),
    ("C20", |s| set(s, "spec.region", "moon-1"),                                       403, "spec.region: Unsupported value: \"moon-1\""),
];

#[rustfmt::skip]
pub(super) const UPDATES: &[Row] = &[
    ("U1",  |s| { set(s, "metadata.deletionTimestamp", "2026-06-01T00:00:00Z"); set(s, "spec.purpose", "testing"); }, 422, "spec: Forbidden: cannot update shoot spec if deletion timestamp is set. Requested changes:"),
    ("U2",  |s| set(s, "spec.region", "us-east-1"),                                    422, "spec.region: Invalid value: \"us-east-1\": field is immutable"),
    ("U2",  |s| set(s, "spec.networking.type", "cilium"),                              422, "spec.networking.type: Invalid value: \"cilium\": field is immutable"),
    ("U2",  |s| set(s, "spec.networking.pods", "100.128.0.0/11"),                      422, "spec.networking.pods: Invalid value: \"100.128.0.0/11\": field is immutable"),
    ("U3",  |s| set(s, "spec.networking.ipFamilies", json!(["IPv6"])),                 422, "spec.networking.ipFamilies: Forbidden: unsupported IP family update: oldIPFamilies=[IPv4], newIPFamilies=[IPv6]"),
    ("U4",  |s| set(s, "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize", 23),  422, "nodeCIDRMaskSize: Invalid value: 23: field is immutable"),
    ("U5",  |s| set(s, "spec.dns.domain", "else.example.org"),                         422, "spec.dns.domain: Invalid value: \"else.example.org\": field is immutable"),
    ("U6",  |s| { remove(s, "spec.credentialsBindingName"); },                         422, "spec.credentialsBindingName: Forbidden: the field cannot be unset"),
    ("U7",  |s| set(s, "spec.secretBindingName", "x"),                                 422, "spec.secretBindingName: Invalid value: \"x\": field is immutable"),
    ("U8",  |s| set(s, "spec.kubernetes.version", "1.33.9"),                           422, "spec.kubernetes.version: Forbidden: kubernetes version downgrade is not supported"),
    ("U8",  |s| set(s, "spec.kubernetes.version", "1.36.0"),                           422, "spec.kubernetes.version: Forbidden: kubernetes version upgrade cannot skip a minor version"),
    ("U9",  |s| pool(s, "kubernetes.version", json!("1.33.9")),                        422, "spec.provider.workers[0].kubernetes.version: Forbidden: kubernetes version downgrade is not supported"),
    ("U11", |s| set(s, "spec.provider.workers", json!([])),                            422, "spec.provider.workers: Forbidden: cannot switch from a Shoot with workers to a workerless Shoot"),
    ("U12", |s| pool(s, "updateStrategy", json!("AutoInPlaceUpdate")),                 422, "update strategy cannot be changed from AutoRollingUpdate to AutoInPlaceUpdate/ManualInPlaceUpdate"),
    ("U14", |s| set(s, "spec.seedName", "aws-us1"),                                    403, "spec.seedName 'aws-eu1' cannot be changed to 'aws-us1' by patching the shoot, please use the shoots/binding subresource"),
    ("U15", |s| set(s, "spec.seedSelector.matchLabels", json!({"seed.gardener.cloud/region": "mars"})), 403, "spec.seedSelector"),
    ("U16", |s| set(s, "spec.schedulerName", "mine"),                                  422, "spec.schedulerName: Invalid value: \"mine\": field is immutable"),
    ("U20", |s| { remove(s, "metadata.finalizers"); },                                 403, "finalizer \"gardener\" cannot be removed because shoot deletion has not completed successfully yet"),
    ("C18", |s| { annotate(s, "confirmation.gardener.cloud/force-deletion", "1"); set(s, "metadata.deletionTimestamp", "2026-06-01T00:00:00Z"); }, 422, "does not contain one of these error codes: [ERR_CLEANUP_CLUSTER_RESOURCES ERR_CONFIGURATION_PROBLEM"),
    ("C16", |s| annotate(s, "gardener.cloud/operation", "rotate-ca-complete"),         422, "cannot complete CA rotation if .status.credentials.rotation.certificateAuthorities.phase is not 'Prepared'"),
    ("C16", |s| annotate(s, "gardener.cloud/operation", "rollout-workers=none"),       422, "worker pool name none does not exist in .spec.provider.workers[]"),
];

/// Updates that depend on what is stored: rule, what is stored, edit, code, sentence.
type StatusRow = (&'static str, fn(&mut Value), Edit, u16, &'static str);
#[rustfmt::skip]
const BY_STATUS: &[StatusRow] = &[
    ("U5",  |s| set(s, "spec.dns.domain", "own.example.org"), |s| { remove(s, "spec.dns"); }, 422, "spec.dns.domain: Invalid value"),
    ("U13", |_| {}, |s| set(s, "spec.controlPlane.highAvailability.failureTolerance.type", "node"), 200, ""),
    ("U13", |s| set(s, "status.hibernated", true), |s| set(s, "spec.controlPlane.highAvailability.failureTolerance.type", "node"), 422, "Shoot is currently hibernated and cannot be scaled up to HA"),
    ("U17", |s| set(s, "status.credentials.rotation.etcdEncryptionKey.phase", "Preparing"), |s| set(s, "spec.kubernetes.kubeAPIServer.encryptionConfig.resources", json!(["configmaps"])), 422, "resources cannot be changed when .status.credentials.rotation.etcdEncryptionKey.phase is not \"Completed\""),
    ("U18", |s| set(s, "status.credentials.rotation.serviceAccountKey.phase", "Completing"), |s| set(s, "spec.hibernation.enabled", true), 422, "shoot cannot be hibernated when .status.credentials.rotation.serviceAccountKey.phase is \"Completing\""),
    ("U18", |s| set(s, "status.constraints", json!([{"type": "HibernationPossible", "status": "False", "message": "webhook"}])), |s| set(s, "spec.hibernation.enabled", true), 403, "'HibernationPossible' constraint is 'False': webhook"),
    ("U21", |s| set(s, "status.lastOperation", json!({"type": "Migrate", "state": "Processing"})), |s| set(s, "spec.purpose", "testing"), 403, "cannot change shoot spec during Migrate operation that is in state Processing"),
    ("C16", |s| set(s, "status.hibernated", true), |s| annotate(s, "gardener.cloud/operation", "rotate-serviceaccount-key-start"), 422, "is not permitted when shoot is hibernated or is waking up"),
    ("C16", |_| {}, |s| annotate(s, "gardener.cloud/operation", "rotate-credentials-start"), 200, ""),
    ("C18", |s| { set(s, "status.lastErrors", json!([{"codes": ["ERR_INFRA_DEPENDENCIES"]}])); set(s, "metadata.deletionTimestamp", "2026-06-01T00:00:00Z"); }, |s| annotate(s, "confirmation.gardener.cloud/force-deletion", "true"), 200, ""),
];

fn expect(rule: &str, answer: &Result<Value, Status>, code: u16, sentence: &str) {
    match answer {
        Ok(_) => assert_eq!(code, 200, "{rule}: was accepted"),
        Err(status) => {
            assert_eq!(status.code, code, "{rule}: {}", status.message);
            assert!(status.message.contains(sentence), "{rule}: {}", status.message);
            let causes = status.details.as_ref().map_or(0, |details| details.causes.len());
            assert!(code != 422 || causes > 0, "{rule}: a 422 names its fields");
        }
    }
}

#[test]
fn a_valid_shoot_passes_and_every_rule_refuses_its_edit_at_creation() {
    let world = World::new();
    world.create(base()).expect("the base is valid");
    for (rule, edit, code, sentence) in CREATES {
        let mut shoot = base();
        edit(&mut shoot);
        expect(rule, &world.create(shoot), *code, sentence);
    }
}

#[test]
fn every_rule_about_updates_refuses_its_edit() {
    let world = World::new();
    let old = world.stored();
    assert_eq!(text(&old, "spec.dns.domain"), "shop.dev.shoots.example", "given at binding");
    assert_eq!(text(&old, "spec.networking.pods"), "100.96.0.0/11");
    assert_eq!(value::number(&old, "metadata.generation"), 2);
    world.update(old.clone(), &old, "").expect("no change is no problem");
    for (rule, edit, code, sentence) in UPDATES {
        let mut shoot = old.clone();
        edit(&mut shoot);
        expect(rule, &world.update(shoot, &old, ""), *code, sentence);
    }
    for (rule, prepare, edit, code, sentence) in BY_STATUS {
        let mut before = old.clone();
        prepare(&mut before);
        let mut shoot = before.clone();
        edit(&mut shoot);
        expect(rule, &world.update(shoot, &before, ""), *code, sentence);
    }
}

#[test]
fn every_rule_is_tried() {
    let tried: Vec<&str> =
        CREATES.iter().chain(UPDATES).map(|row| row.0).chain(BY_STATUS.iter().map(|row| row.0)).collect();
    let missing: Vec<&str> = RULES.iter().map(|rule| rule.id).filter(|id| !tried.contains(id)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "rules without a row in this file");
    assert!(RULES.iter().all(|rule| !rule.what.is_empty()));
}

#[test]
fn deletion_must_be_confirmed_by_somebody_and_where_wanted_by_somebody_else() {
    let mut world = World::new();
    let shoot = world.stored();
    let delete = |world: &World, shoot: &Value, user: &str| {
        world.ask(&User::named(user, &[]), "", |ctx| world.kind.strategy.may_delete(shoot, ctx))
    };
    let refused = delete(&world, &shoot, "ann").expect_err("refused");
    assert_eq!(
        refused.message,
        r#"shoots.core.gardener.cloud "shop" is forbidden: must have a "confirmation.gardener.cloud/deletion" annotation to delete"#
    );
    let mut confirmed = shoot.clone();
    annotate(&mut confirmed, "confirmation.gardener.cloud/deletion", "true");
    annotate(&mut confirmed, "deletion.gardener.cloud/confirmed-by", "mallory");
    let confirmed = world.update(confirmed, &shoot, "").expect("confirmed");
    assert_eq!(value::annotation(&confirmed, "deletion.gardener.cloud/confirmed-by"), "ann", "not forged");
    assert_eq!(delete(&world, &confirmed, "ann"), Ok(()));
    for project in world.view.all.iter_mut().filter(|object| text(object, "kind") == "Project") {
        set(project, "spec.dualApprovalForDeletion", json!([{"resource": "shoots", "selector": {}}]));
    }
    assert_eq!(delete(&world, &confirmed, "ann").map_err(|refused| refused.code), Err(403));
    assert_eq!(delete(&world, &confirmed, "bob"), Ok(()));
}

#[test]
fn the_status_keeps_what_identifies_the_cluster() {
    let world = World::new();
    let mut old = world.stored();
    set(&mut old, "status.uid", "1");
    let change = |path: &str, value: Value| {
        let mut new = old.clone();
        set(&mut new, path, value);
        world.update(new, &old, "status")
    };
    expect("U20", &change("status.uid", json!("2")), 422, "status.uid: Invalid value: \"2\": field is immutable");
    let addresses = json!([{"name": "external", "url": "http://a/?q"}]);
    expect("U20", &change("status.advertisedAddresses", addresses), 422, "'https' is the only allowed URL scheme");
    let new = change("spec.purpose", json!("testing")).expect("accepted");
    assert_eq!(text(&new, "spec.purpose"), "evaluation", "a write to the status keeps the spec");
}

#[test]
fn binding_twice_or_to_a_full_seed_is_refused() {
    let mut world = World::new();
    let old = world.stored();
    let again = world.update(old.clone(), &old, "binding").expect_err("refused");
    assert_eq!(
        (again.code, again.message.as_str()),
        (500, "update of binding rejected, shoot is already assigned to the same seed")
    );
    for seed in world.view.all.iter_mut().filter(|object| text(object, "kind") == "Seed") {
        set(seed, "status.allocatable.shoots", "0");
    }
    let fresh = world.create(base()).expect("created");
    let mut bound = fresh.clone();
    set(&mut bound, "spec.seedName", "aws-eu1");
    expect(
        "U14",
        &world.update(bound, &fresh, "binding"),
        403,
        "that already has the maximum number of shoots scheduled on it (0)",
    );
}

#[test]
fn who_may_not_read_credentials_may_not_point_to_them() {
    let mut world = World::new();
    let old = world.stored();
    world.view.closed = true;
    let mut new = old.clone();
    set(&mut new, "spec.credentialsBindingName", "limited");
    expect(
        "U6",
        &world.update(new, &old, ""),
        403,
        "user \"ann\" is not allowed to read the previously referenced Secret \"garden-dev/aws-credentials\"",
    );
}

#[test]
fn admission_fills_in_what_the_profile_knows() {
    let world = World::new();
    let mut shoot = base();
    set(&mut shoot, "spec.kubernetes.version", "1.34");
    remove(&mut shoot, "spec.provider.workers.0.machine.image");
    pool(&mut shoot, "machine.type", json!("m6g.large"));
    let made = world.create(shoot).expect("created");
    assert_eq!(text(&made, "spec.kubernetes.version"), "1.34.5", "the newest that is supported");
    assert_eq!(text(&made, "spec.provider.workers.0.machine.architecture"), "arm64");
    assert_eq!(text(&made, "spec.provider.workers.0.machine.image.version"), "1877.9.0");
    assert_eq!(value::annotation(&made, "gardener.cloud/created-by"), "ann");
    assert!(value::annotation(&made, "shoot.gardener.cloud/tasks").contains("deployInfrastructure"));
    assert_eq!(value::label(&made, "provider.extensions.gardener.cloud/aws"), "true");
    let mut old = made.clone();
    pool(&mut old, "machine.image.version", json!("1877.8.0"));
    let mut new = old.clone();
    remove(&mut new, "spec.provider.workers.0.machine.image");
    let kept = world.update(new, &old, "").expect("updated");
    assert_eq!(
        text(&kept, "spec.provider.workers.0.machine.image.version"),
        "1877.8.0",
        "an existing pool keeps its image"
    );
    assert_eq!(value::number(&kept, "metadata.generation"), 1, "and nothing has changed");
}
