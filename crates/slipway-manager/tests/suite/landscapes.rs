//! The life of every example, told once and lived twice: on our own servers, and on a real kube-apiserver with a
//! real gardener-apiserver, where only the gardenlets and the clusters of customers are ours.
//!
//! Everything is asked through clients, as a person with kubectl would; so nothing here can know on which
//! servers it runs.

use std::{sync::Arc, time::Duration};

use base64::Engine as _;
use kube::{
    Client,
    api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    core::GroupVersionKind,
};
use kube_sandbox::{
    clock,
    server::{Server, Settings as ServerSettings},
};
use serde_json::{Value, json};
use slipway_manager::{Manager, Parts, Settings};
use slipway_model::time::secs;
use slipway_sim::{
    garden::{self, Driver, Garden, Options, Pace, landscape},
    real,
};

use crate::{
    gardens::real_server,
    world::{GardenTime, NAMESPACE, PROJECT, Paced, Seeded, files},
};

const EXAMPLES: [&str; 5] = [
    include_str!("../../../../examples/runtime-aws.yaml"),
    include_str!("../../../../examples/runtime-azure.yaml"),
    include_str!("../../../../examples/runtime-gcp.yaml"),
    include_str!("../../../../examples/runtime-openstack.yaml"),
    include_str!("../../../../examples/runtime-alicloud.yaml"),
];

/// Real servers on a busy machine take their time; this only ends what has failed.
const PATIENCE: Duration = secs(120);

/// Servers, and the manager between them.
struct Landscape {
    kcp: Client,
    garden: Client,
    manager: Manager,
    _servers: Box<dyn std::any::Any>,
}

impl Landscape {
    async fn simulated() -> Self {
        let server = Server::start(ServerSettings::default()).await.expect("a server");
        server.add_cluster("kcp").await.expect("a cluster");
        let options = Options { pace: Pace::Scale(3_000.0), ..Options::default() };
        let garden = Garden::on(server.clone(), options).await.expect("a garden");
        let (kcp, client, time) = (server.client("kcp"), garden.client(), garden.clock().clone());
        let (kcp, client) = (kcp.expect("a client"), client.expect("a client"));
        Self::with(kcp, client, time, Box::new((server, garden))).await
    }

    async fn real() -> Option<Self> {
        let kcp = real_server(real::start_kube().await)?;
        let garden = real_server(real::Garden::start(&landscape::objects()).await)?;
        // Kubeconfigs are signed by the real server, by the time of this machine; so the clock keeps near it.
        let options = Options { landscape: false, pace: Pace::Scale(600.0), ..Options::default() };
        let driver = Driver::start(garden.kubeconfig(), options).await.expect("a driver");
        let (one, other) = (kcp.client(), garden.client());
        let time = garden::Clock::at(clock::now(), Pace::Scale(1.0));
        Some(Self::with(one, other, time, Box::new((driver, garden, kcp))).await)
    }

    async fn with(kcp: Client, garden: Client, time: garden::Clock, servers: Box<dyn std::any::Any>) -> Self {
        let definitions: Api<DynamicObject> =
            Api::all_with(kcp.clone(), &resource("apiextensions.k8s.io", "v1", "CustomResourceDefinition"));
        for definition in slipway_kube::crds::all() {
            let definition =
                serde_json::from_value(serde_json::to_value(definition).expect("JSON")).expect("an object");
            definitions.create(&PostParams::default(), &definition).await.expect("a definition");
        }
        let parts = Parts {
            settings: Settings { audit_log_mandatory: false, ..Settings::default() },
            files: files(),
            kcp: kcp.clone(),
            garden: garden.clone(),
            clock: Paced::new(1.0),
            garden_time: Arc::new(GardenTime(time)),
            random: Arc::new(Seeded::default()),
            garden_rate: (1_000.0, 1_000),
            garden_timeout: secs(15),
            identity: "story".to_owned(),
            calls: None,
        };
        let landscape = Self { kcp, garden, manager: Manager::start(parts), _servers: servers };
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        let namespaces: Api<DynamicObject> = Api::all_with(landscape.kcp.clone(), &resource("", "v1", "Namespace"));
        let object = serde_json::from_value(namespace).expect("an object");
        namespaces.create(&PostParams::default(), &object).await.expect("a namespace");
        // A server serves a kind some time after it has taken its definition.
        for kind in ["Runtime", "GardenerCluster"] {
            let until_served = async {
                while landscape.kcp_api(kind).list(&ListParams::default()).await.is_err() {
                    clock::sleep(Duration::from_millis(20)).await;
                }
            };
            clock::within(PATIENCE, until_served).await.expect("served");
        }
        landscape
    }

    fn kcp_api(&self, kind: &str) -> Api<DynamicObject> {
        let resource = match kind {
            "Secret" => resource("", "v1", kind),
            _ => resource("infrastructuremanager.kyma-project.io", "v1", kind),
        };
        Api::namespaced_with(self.kcp.clone(), NAMESPACE, &resource)
    }

    fn garden_api(&self, group: &str, kind: &str) -> Api<DynamicObject> {
        let version = if group.is_empty() { "v1" } else { "v1beta1" };
        Api::namespaced_with(self.garden.clone(), PROJECT, &resource(group, version, kind))
    }

    async fn runtime(&self, name: &str) -> Option<Value> {
        let found = self.kcp_api("Runtime").get_opt(name).await.expect("an answer")?;
        Some(serde_json::to_value(found).expect("JSON"))
    }

    async fn shoot(&self, name: &str) -> Option<Value> {
        let found = self.garden_api("core.gardener.cloud", "Shoot").get_opt(name).await.expect("an answer")?;
        Some(serde_json::to_value(found).expect("JSON"))
    }

    async fn until(&self, what: &str, name: &str, is_true: impl Fn(Option<&Value>) -> bool) {
        let asking = async {
            loop {
                let runtime = self.runtime(name).await;
                if is_true(runtime.as_ref()) {
                    return;
                }
                clock::sleep(Duration::from_millis(50)).await;
            }
        };
        if clock::within(PATIENCE, asking).await.is_none() {
            let runtime = self.runtime(name).await.map(|it| it["status"].clone());
            let shoots = self.garden_api("core.gardener.cloud", "Shoot").list(&ListParams::default()).await;
            let shoots: Vec<Value> =
                shoots.into_iter().flatten().map(|it| it.data["status"]["lastOperation"].clone()).collect();
            panic!("it did not come true that {name} is {what}: {runtime:#?}, Shoots {shoots:#?}");
        }
    }

    async fn until_ready(&self, name: &str) {
        let is_ready = |runtime: Option<&Value>| {
            runtime.is_some_and(|it| {
                it["status"]["state"] == "Ready" && it["status"]["observedGeneration"] == it["metadata"]["generation"]
            })
        };
        self.until("ready", name, is_ready).await;
    }

    async fn change(&self, name: &str, operations: Value) {
        let patch: Patch<()> = Patch::Json(serde_json::from_value(operations).expect("operations"));
        self.kcp_api("Runtime").patch(name, &PatchParams::default(), &patch).await.expect("a change");
    }

    async fn kubeconfig(&self, name: &str) -> String {
        let secret = self.kcp_api("Secret").get(&format!("kubeconfig-{name}")).await.expect("a Secret");
        let config = secret.data["data"]["config"].as_str().expect("a kubeconfig").to_owned();
        let config = base64::engine::general_purpose::STANDARD.decode(config).expect("base64");
        String::from_utf8(config).expect("text")
    }

    /// What stands in the customer's cluster, by the kubeconfig in the Secret.
    async fn inside(&self, name: &str, path: &str) -> Value {
        let client = slipway_kube::access::from_secret_text(&self.kubeconfig(name).await).await.expect("a client");
        let request = http::Request::get(path).body(Vec::new()).expect("a request");
        client.request(request).await.expect("an answer")
    }
}

fn resource(group: &str, version: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// Made, used, changed, renewed, removed: all five beside each other.
async fn lives(landscape: Landscape) {
    let runtimes: Vec<Value> = EXAMPLES.iter().map(|text| serde_saphyr::from_str(text).expect("an example")).collect();
    for runtime in &runtimes {
        let object = serde_json::from_value(runtime.clone()).expect("an object");
        landscape.kcp_api("Runtime").create(&PostParams::default(), &object).await.expect("taken");
    }
    futures::future::join_all(runtimes.iter().map(|runtime| life(&landscape, runtime))).await;
    let left = landscape.garden_api("", "ConfigMap").list(&ListParams::default()).await.expect("a list");
    let left: Vec<String> = left.into_iter().filter_map(|map| map.metadata.name).collect();
    assert!(!left.iter().any(|name| name.starts_with("structured-auth-config")), "{left:?}");
    landscape.manager.stop().await;
}

async fn life(landscape: &Landscape, runtime: &Value) {
    let name = runtime["metadata"]["name"].as_str().expect("a name");
    let shoot = runtime["spec"]["shoot"]["name"].as_str().expect("a Shoot's name");
    landscape.until_ready(name).await;
    let made = landscape.shoot(shoot).await.expect("a Shoot");
    assert_eq!(made["status"]["lastOperation"]["state"], "Succeeded", "{shoot}");
    let bindings = landscape.inside(name, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings").await;
    let admin = &runtime["spec"]["security"]["administrators"][0];
    let bound = bindings["items"].as_array().expect("a list").iter().any(|one| one["subjects"][0]["name"] == *admin);
    assert!(bound, "{shoot}: {bindings}");
    let logins = landscape.inside(name, "/apis/authentication.gardener.cloud/v1alpha1/openidconnects").await;
    assert!(!logins["items"].as_array().expect("a list").is_empty(), "{shoot}: nobody can log in");

    // Two changes: of the spec, and of a label alone.
    let more = made["spec"]["provider"]["workers"][0]["maximum"].as_i64().expect("a number") + 1;
    let label = json!("another-account");
    landscape
        .change(
            name,
            json!([
                {"op": "replace", "path": "/spec/shoot/provider/workers/0/maximum", "value": more},
                {"op": "replace", "path": "/metadata/labels/kyma-project.io~1global-account-id", "value": label},
            ]),
        )
        .await;
    landscape.until_ready(name).await;
    let changed = landscape.shoot(shoot).await.expect("a Shoot");
    assert_eq!(changed["spec"]["provider"]["workers"][0]["maximum"], more, "{shoot}");
    assert_eq!(changed["metadata"]["labels"]["account"], label, "{shoot}");
    assert_eq!(changed["metadata"]["uid"], made["metadata"]["uid"], "{shoot} was made anew");

    // A kubeconfig on demand.
    let before = landscape.kubeconfig(name).await;
    let force = json!({"metadata": {"annotations": {"operator.kyma-project.io/force-kubeconfig-rotation": "true"}}});
    let clusters = landscape.kcp_api("GardenerCluster");
    clusters.patch(name, &PatchParams::default(), &Patch::Merge(force)).await.expect("a wish");
    let renewed = async {
        while landscape.kubeconfig(name).await == before {
            clock::sleep(Duration::from_millis(50)).await;
        }
    };
    assert!(clock::within(PATIENCE, renewed).await.is_some(), "{shoot} got no other kubeconfig");
    landscape.inside(name, "/api/v1/namespaces/kyma-system").await;

    landscape.kcp_api("Runtime").delete(name, &DeleteParams::default()).await.expect("a deletion");
    landscape.until("gone", name, |runtime| runtime.is_none()).await;
    assert!(landscape.shoot(shoot).await.is_none(), "{shoot} is left");
    assert!(clusters.get_opt(name).await.expect("an answer").is_none(), "the GardenerCluster of {shoot} is left");
    let secret = landscape.kcp_api("Secret").get_opt(&format!("kubeconfig-{name}")).await.expect("an answer");
    assert!(secret.is_none(), "the kubeconfig of {shoot} is left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_example_lives_and_leaves_nothing_on_our_servers() {
    lives(Landscape::simulated().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_example_lives_and_leaves_nothing_on_the_real_servers() {
    let Some(landscape) = Landscape::real().await else { return };
    lives(landscape).await;
}
