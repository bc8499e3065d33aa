//! A real gardener-apiserver behind a real kube-apiserver.
//!
//! The front is asked, as in production: it forwards Gardener's groups by aggregation. There is no
//! gardenlet, no scheduler and no controller manager of Gardener; whoever wants Shoots to live plays
//! them, as the driver of the garden simulator does.

use std::{path::Path, time::Duration};

use kube::{
    Client,
    api::{ApiResource, DynamicObject, Patch, PatchParams},
    core::GroupVersionKind,
};
use kube_sandbox::{
    clock, kubeconfig,
    real::{self, Kube, Process, spare_port, until_healthy},
};
use serde_json::{Value, json};

use super::{Error, start_kube};

/// What the API server calls itself: its user in the front cluster, its Service, its certificate.
const NAME: &str = "gardener-apiserver";

/// The versions it serves, each registered with the front.
const VERSIONS: [(&str, &str); 5] = [
    ("core.gardener.cloud", "v1"),
    ("core.gardener.cloud", "v1beta1"),
    ("seedmanagement.gardener.cloud", "v1alpha1"),
    ("operations.gardener.cloud", "v1alpha1"),
    ("security.gardener.cloud", "v1alpha1"),
];

/// A real garden. It ends when this is dropped.
pub struct Garden {
    // First: it needs the other two while it ends.
    _apiserver: Process,
    kube: Kube,
    direct: Client,
    version: String,
}

impl Garden {
    /// Starts one, waits until Shoots can be listed, and fills it with a landscape: objects in the
    /// order in which they refer to each other, with their status where they have one.
    pub async fn start(landscape: &[Value]) -> Result<Self, Error> {
        let kube = start_kube().await?;
        if !kube.binaries().path(NAME).is_file() {
            return Err(Error::NotBuilt);
        }
        let port = spare_port().map_err(|error| real::Error::Machine("find a free port", error))?;
        create_all(&kube.client(), &registration(port, kube.ca())).await?;

        let user = kube.kubeconfig_of(NAME, &[])?;
        let file = kube.folder().join("gardener.kubeconfig");
        std::fs::write(&file, user).map_err(|error| real::Error::Machine("write a kubeconfig", error))?;
        kube.write_server_certificate(NAME, &["gardener-apiserver.kube-system.svc"])?;
        let mut apiserver = kube.start_beside(NAME, &args(&kube, port, &file), "300MiB")?;

        let direct = kubeconfig::client(&kube.kubeconfig_for(&format!("https://127.0.0.1:{port}"))?).await?;
        until_healthy(&direct, "/healthz", &mut [&mut apiserver]).await?;
        let version = direct.apiserver_version().await?.git_version;
        // The front looks for itself, every few seconds.
        let front = kube.client();
        for path in [
            "/apis/core.gardener.cloud/v1beta1/shoots",
            "/apis/core.gardener.cloud/v1/controllerdeployments",
            "/apis/seedmanagement.gardener.cloud/v1alpha1/managedseeds",
            "/apis/operations.gardener.cloud/v1alpha1/bastions",
            "/apis/security.gardener.cloud/v1alpha1/credentialsbindings",
        ] {
            until_healthy(&front, path, &mut [&mut apiserver]).await?;
        }
        create_all(&front, landscape).await?;
        Ok(Self { _apiserver: apiserver, kube, direct, version })
    }

    /// What it calls its version, such as `v1.150.0`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The cluster in front: its client, its users, its address are the garden's.
    pub fn front(&self) -> &Kube {
        &self.kube
    }

    /// A client of the administrator, through the front.
    pub fn client(&self) -> Client {
        self.kube.client()
    }

    /// A client of the administrator that asks the Gardener API server itself, past the front.
    pub fn direct(&self) -> Client {
        self.direct.clone()
    }

    /// The administrator's kubeconfig, through the front.
    pub fn kubeconfig(&self) -> &str {
        self.kube.kubeconfig()
    }
}

fn args(kube: &Kube, port: u16, kubeconfig: &Path) -> Vec<String> {
    let file = |name| kube.certificate(name);
    let kubeconfig = kubeconfig.display().to_string();
    [
        ("bind-address", "127.0.0.1".to_owned()),
        ("secure-port", port.to_string()),
        ("cluster-identity", "slipway-test".to_owned()),
        ("etcd-servers", kube.etcd_url().to_owned()),
        ("etcd-cafile", file("etcd-ca.crt")),
        ("etcd-certfile", file("etcd-client.crt")),
        ("etcd-keyfile", file("etcd-client.key")),
        ("tls-cert-file", file("gardener-apiserver.crt")),
        ("tls-private-key-file", file("gardener-apiserver.key")),
        ("kubeconfig", kubeconfig.clone()),
        ("authentication-kubeconfig", kubeconfig.clone()),
        ("authorization-kubeconfig", kubeconfig),
        ("authorization-always-allow-paths", "/healthz,/readyz,/livez".to_owned()),
        ("shoot-admin-kubeconfig-max-expiration", "24h".to_owned()),
        ("log-level", "info".to_owned()),
        ("log-format", "text".to_owned()),
    ]
    .into_iter()
    .map(|(name, value)| format!("--{name}={value}"))
    .collect()
}

/// What the front must know before the server starts: its rights, where it is, what it serves.
fn registration(port: u16, ca: &str) -> Vec<Value> {
    use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
    let user = json!([{ "kind": "User", "name": NAME, "apiGroup": "rbac.authorization.k8s.io" }]);
    let rbac = "rbac.authorization.k8s.io/v1";
    let binding = |name: &str, role: &str| {
        json!({
            "apiVersion": rbac, "kind": "ClusterRoleBinding", "metadata": { "name": name }, "subjects": user,
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
        })
    };
    let mut objects = vec![
        json!({
            "apiVersion": rbac, "kind": "ClusterRole", "metadata": { "name": NAME },
            "rules": [{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }],
        }),
        binding(NAME, NAME),
        binding("gardener-apiserver-auth-delegator", "system:auth-delegator"),
        json!({
            "apiVersion": rbac, "kind": "RoleBinding", "subjects": user,
            "metadata": { "name": "gardener-apiserver-auth-reader", "namespace": "kube-system" },
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io", "kind": "Role",
                "name": "extension-apiserver-authentication-reader",
            },
        }),
        // A name and not an address: the front may only forward to Services.
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": NAME, "namespace": "kube-system" },
            "spec": { "type": "ExternalName", "externalName": "localhost" },
        }),
    ];
    objects.extend(VERSIONS.map(|(group, version)| {
        json!({
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": { "name": format!("{version}.{group}") },
            "spec": {
                "group": group, "version": version, "groupPriorityMinimum": 100, "versionPriority": 100,
                "service": { "name": NAME, "namespace": "kube-system", "port": port },
                "caBundle": BASE64.encode(ca),
            },
        })
    }));
    objects
}

/// Applies objects in their order. Repeated for a while: the namespace `kube-system` and the roles
/// that come with the server appear moments after it calls itself ready.
async fn create_all(client: &Client, objects: &[Value]) -> Result<(), Error> {
    for object in objects {
        let mut attempts = 0;
        while let Err(error) = apply(client, object).await {
            attempts += 1;
            if attempts > 100 {
                return Err(error.into());
            }
            clock::sleep(Duration::from_millis(100)).await;
        }
    }
    Ok(())
}

async fn apply(client: &Client, object: &Value) -> Result<(), kube::Error> {
    let object: DynamicObject = serde_json::from_value(object.clone()).map_err(kube::Error::SerdeError)?;
    let types = object.types.clone().unwrap_or_default();
    let kind = GroupVersionKind::try_from(&types).expect("written above");
    let resource = ApiResource::from_gvk(&kind);
    let namespace = object.metadata.namespace.as_deref();
    let api = match namespace {
        Some(namespace) => kube::Api::<DynamicObject>::namespaced_with(client.clone(), namespace, &resource),
        None => kube::Api::all_with(client.clone(), &resource),
    };
    let name = object.metadata.name.clone().unwrap_or_default();
    let params = PatchParams::apply("slipway-real").force();
    let stored = api.patch(&name, &params, &Patch::Apply(&object)).await?;
    // Who writes a status names it; the main resource drops it silently.
    if let Some(status) = object.data.get("status").filter(|_| stored.data.get("status") != object.data.get("status")) {
        api.patch_status(&name, &PatchParams::default(), &Patch::Merge(json!({ "status": status }))).await?;
    }
    Ok(())
}
