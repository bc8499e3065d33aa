//! The clusters that rendering and planning are tried on.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use slipway_kube::providers::CLOUDS;

use super::*;

/// Everything a Shoot is made from, owned.
pub(crate) struct World {
    pub(crate) name: String,
    pub(crate) runtime: Runtime,
    pub(crate) config: ConverterConfig,
    pub(crate) audit: Option<AuditData>,
    pub(crate) window: Option<TimeWindow>,
    pub(crate) acl: AclAddresses,
    pub(crate) secrets: Vec<RegistrySecret>,
}

impl World {
    /// The least cluster of a cloud.
    pub(crate) fn least(provider: &str) -> Self {
        Self {
            name: provider.to_string(),
            runtime: serde_json::from_value(runtime(provider)).expect("a Runtime"),
            config: config(&json!({})),
            audit: None,
            window: None,
            acl: AclAddresses::default(),
            secrets: Vec::new(),
        }
    }

    /// A cluster with all there is.
    pub(crate) fn rich() -> Self {
        let mut world = Self::least("aws");
        world.name = "rich".to_owned();
        world.config = config(&json!({
            "kubernetes": {
                "kubeApiServer": {
                    "maxTokenExpiration": "1000h", "runtimeConfig": { "api/all": true }, "featureGates": { "A": true },
                },
                "kubelet": { "featureGates": { "B": false } },
            },
            "dns": { "secretName": "route53", "domainPrefix": "clusters.example", "providerType": "aws-route53" },
            "provider": { "aws": { "enableIMDSv2": true } },
            "tolerations": { "region-1": [{ "key": "dedicated", "value": "x" }, { "key": "other" }] },
            "networking": { "enableDualStackIP": true },
        }));
        world.config.switches.api_server_acl = true;
        world.audit = Some(AuditData {
            tenant_id: "tenant".to_owned(),
            service_url: "https://audit.example".to_owned(),
            secret_name: "audit-secret".to_owned(),
        });
        world.window = Some(TimeWindow { begin: "200000+0000".to_owned(), end: "220000+0000".to_owned() });
        world.acl =
            AclAddresses { operators: vec!["1.1.1.0/24".to_owned()], control_plane: Some("2.2.2.2/32".to_owned()) };
        world.secrets = vec![RegistrySecret { cache_uid: "u1".to_owned(), secret_name: "reg-cache-1".to_owned() }];
        world.edit(|spec| {
            let shoot = &mut spec["shoot"];
            shoot["purpose"] = json!("production");
            shoot["platformRegion"] = json!("cf-eu11");
            shoot["licenceType"] = json!("PARTNER");
            shoot["enforceSeedLocation"] = json!(true);
            shoot["enableNvidiaOpenshell"] = json!(true);
            shoot["networking"]["dualStack"] = json!(true);
            shoot["kubernetes"]["kubeAPIServer"] = json!({ "acl": { "allowedCIDRs": ["3.3.3.0/24"] } });
            shoot["controlPlane"] = json!({ "highAvailability": { "failureTolerance": { "type": "zone" } } });
            shoot["provider"]["additionalWorkers"] = json!([{
                "name": "extra", "machine": { "type": "large" }, "minimum": 0, "maximum": 3, "zones": ["2"],
                "cri": { "name": "containerd", "containerRuntimes": [{ "type": "gvisor" }] },
                "kubernetes": { "kubelet": { "maxPods": 300 } },
            }]);
            spec["security"]["networking"]["filter"] = json!({ "egress": { "enabled": true }, "ingress": { "enabled": true } });
            spec["imageRegistryCache"] = json!([
                { "name": "a", "namespace": "n", "uid": "u1", "config": { "upstream": "docker.io", "secretReferenceName": "s" } },
                { "name": "b", "namespace": "n", "uid": "u2", "config": { "upstream": "quay.io", "secretReferenceName": "s" } },
            ]);
        });
        world
    }

    /// A cluster with everything that only the provisioner's clients ask for.
    pub(crate) fn wishes() -> Self {
        let mut world = Self::least("gcp");
        world.name = "wishes".to_owned();
        world.edit(|spec| {
            let shoot = &mut spec["shoot"];
            shoot["seedName"] = json!("seed");
            shoot["exposureClassName"] = json!("internet");
            shoot["cloudProfileName"] = json!("gcp-special");
            shoot["maintenance"] = json!({ "autoUpdate": { "kubernetesVersion": true, "machineImageVersion": false } });
            shoot["dns"] = json!({ "domain": "first.own.example", "providers": [{
                "domainsInclude": ["own.example"], "primary": true, "secretName": "own-dns", "type": "google-clouddns" }] });
            shoot["euAccess"] = json!(true);
            shoot["hibernation"] = json!({ "enabled": true });
        });
        world
    }

    pub(crate) fn all() -> Vec<Self> {
        CLOUDS.iter().map(|cloud| Self::least(cloud.name)).chain([Self::rich(), Self::wishes()]).collect()
    }

    /// Changes the spec of the Runtime as JSON.
    pub(crate) fn edit(&mut self, edit: impl FnOnce(&mut Value)) {
        let mut runtime = serde_json::to_value(&self.runtime).expect("JSON");
        edit(&mut runtime["spec"]);
        self.runtime = serde_json::from_value(runtime).expect("a Runtime");
    }

    /// Sets the main pool, or with a name an additional one.
    pub(crate) fn edit_pool(&mut self, edit: impl FnOnce(&mut Value)) {
        self.edit(|spec| edit(&mut spec["shoot"]["provider"]["workers"][0]));
    }

    pub(crate) fn input<'a>(&'a self, existing: Option<&'a Value>) -> RenderInput<'a> {
        RenderInput {
            runtime: &self.runtime,
            config: &self.config,
            audit: self.audit.as_ref(),
            window: self.window.as_ref(),
            acl: &self.acl,
            registry_secrets: &self.secrets,
            existing,
        }
    }

    /// The Shoot of a new cluster.
    pub(crate) fn created(&self) -> Value {
        render(&self.input(None)).expect("rendered").into_value()
    }

    /// The next form of a Shoot.
    pub(crate) fn patched(&self, existing: &Value) -> ShootDoc {
        render(&self.input(Some(existing))).expect("rendered")
    }

    pub(crate) fn refused(&self, existing: Option<&Value>) -> RenderError {
        render(&self.input(existing)).expect_err("refused")
    }
}

fn runtime(provider: &str) -> Value {
    let zones = match provider {
        "azure" => json!(["1", "2"]),
        _ => json!(["zone-1", "zone-2"]),
    };
    let labels: serde_json::Map<_, _> = slipway_kube::labels::REQUIRED
        .iter()
        .map(|key| ((*key).to_owned(), json!(format!("of-{}", key.len()))))
        .collect();
    json!({
        "apiVersion": "infrastructuremanager.kyma-project.io/v1", "kind": "Runtime",
        "metadata": { "name": "r1", "namespace": "kcp-system", "generation": 3, "labels": labels },
        "spec": {
            "shoot": {
                "name": "first", "purpose": "development", "platformRegion": "cf-us10", "region": "region-1",
                "secretBindingName": "binding", "kubernetes": { "version": "" },
                "networking": { "pods": "10.96.0.0/13", "nodes": "10.250.0.0/16", "services": "10.104.0.0/13", "type": "calico" },
                "provider": {
                    "type": provider,
                    "workers": [{
                        "name": "main", "machine": { "type": "large", "image": { "name": "", "version": "" } },
                        "minimum": 1, "maximum": 3, "zones": zones,
                    }],
                },
            },
            "security": { "administrators": [], "networking": { "filter": { "egress": { "enabled": false } } } },
        },
    })
}

/// The least configuration, with more in its converter.
pub(crate) fn config(more: &Value) -> ConverterConfig {
    let oidc = json!({
        "clientID": "client", "groupsClaim": "groups", "issuerURL": "https://issuer.example", "signingAlgs": ["RS256"],
        "usernameClaim": "sub", "usernamePrefix": "-",
    });
    let mut file = json!({
        "cluster": { "defaultSharedIASTenant": oidc },
        "converter": {
            "kubernetes": { "defaultVersion": "1.34", "defaultOperatorOidc": oidc },
            "machineImage": { "defaultName": "gardenlinux", "defaultVersion": "1877.9.0" },
            "gardener": { "projectName": "dev", "enableCredentialBinding": true },
            "auditLogging": { "policyConfigMapName": "policy", "tenantConfigPath": "/tenants.json" },
        },
    });
    merge(&mut file["converter"], more);
    ConverterConfig::parse(&file.to_string()).expect("a configuration").0
}

fn merge(into: &mut Value, more: &Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (name, value) in more {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more.clone(),
    }
}

/// What becomes of a Shoot in the garden: fields get defaults, pools get theirs, a Seed and a domain.
pub(crate) fn living(created: &Value) -> Value {
    let mut shoot = created.clone();
    shoot["metadata"]["uid"] = json!("uid");
    shoot["spec"]["seedName"] = json!("seed");
    shoot["spec"]["schedulerName"] = json!("default-scheduler");
    shoot["spec"]["kubernetes"]["kubeControllerManager"] = json!({ "nodeCIDRMaskSize": 24 });
    if shoot["spec"]["dns"].is_null() {
        shoot["spec"]["dns"] = json!({ "domain": "first.dev.shoots.example" });
    }
    if shoot["spec"]["maintenance"]["timeWindow"].is_null() {
        shoot["spec"]["maintenance"]["timeWindow"] = json!({ "begin": "010000+0000", "end": "020000+0000" });
    }
    for worker in shoot["spec"]["provider"]["workers"].as_array_mut().expect("pools") {
        for (field, default) in
            [("maxSurge", json!(1)), ("maxUnavailable", json!(0)), ("updateStrategy", json!("AutoRollingUpdate"))]
        {
            if worker[field].is_null() {
                worker[field] = default;
            }
        }
        worker["machine"]["architecture"] = json!("amd64");
    }
    shoot["status"] = json!({ "observedGeneration": 1 });
    shoot
}

/// All leaves with their paths. An empty object or list is a leaf too.
pub(crate) fn paths(value: &Value) -> BTreeSet<(String, String)> {
    fn walk(value: &Value, path: &str, into: &mut BTreeSet<(String, String)>) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                for (name, inner) in map {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    walk(inner, &path, into);
                }
            }
            Value::Array(list) if !list.is_empty() => {
                for (at, inner) in list.iter().enumerate() {
                    walk(inner, &format!("{path}[{at}]"), into);
                }
            }
            leaf => drop(into.insert((path.to_owned(), leaf.to_string()))),
        }
    }
    let mut into = BTreeSet::new();
    walk(value, "", &mut into);
    into
}

/// The entry of a list with this value under a key.
pub(crate) fn entry<'a>(list: &'a Value, key: &str, value: &str) -> &'a Value {
    static ABSENT: Value = Value::Null;
    list.as_array().and_then(|list| list.iter().find(|one| one[key] == value)).unwrap_or(&ABSENT)
}
