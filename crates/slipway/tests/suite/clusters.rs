//! The clusters of `slipway up`, as a Kubernetes client meets them.

use std::path::Path;

use kube::{
    Api, Client, Config,
    api::{ApiResource, DynamicObject, GroupVersionKind, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::json;
use slipway_sim::raw_http;

use crate::processes::{Running, until, up};

async fn client(folder: &Path, cluster: &str) -> Client {
    let file = folder.join(format!("kubeconfig-{cluster}.yaml"));
    let kubeconfig = Kubeconfig::read_from(file).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.expect("is complete");
    Client::try_from(config).expect("can be used")
}

fn shoots(client: Client) -> Api<DynamicObject> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("core.gardener.cloud", "v1beta1", "Shoot"));
    Api::namespaced_with(client, "garden-dev", &kind)
}

#[test]
fn a_cluster_that_is_being_made_is_made_although_up_was_killed() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let running = Running::start(up(folder.path()));
    running.until_readyz(200);
    let said = running.stdout();
    let control = said.lines().find_map(|line| line.strip_prefix("simulator garden: http://")).expect("a control API");
    let clock = raw_http::send(control.parse().expect("an address"), "GET", "/clock", None, "").expect("an answer");
    assert!(clock.status == 200 && clock.body.contains("\"pace\":"), "{clock:?}");
    let example = include_str!("../../../../docs/examples/shoot.yaml");
    let shoot: DynamicObject = serde_saphyr::from_str(example).expect("the example is a Shoot");
    let name = shoot.metadata.name.clone().expect("it has a name");
    runtime.block_on(async {
        let note = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "note"}, "data": {"a": "b"}});
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"));
        let notes = Api::<DynamicObject>::namespaced_with(client(folder.path(), "kcp").await, "default", &kind);
        let note = serde_json::from_value(note).expect("an object");
        notes.create(&PostParams::default(), &note).await.expect("the control plane takes it");
        let garden = shoots(client(folder.path(), "garden").await);
        garden.create(&PostParams::default(), &shoot).await.expect("the garden takes it");
    });
    running.kill();

    let again = Running::start(up(folder.path()));
    again.until_readyz(200);
    until("the Shoot succeeds", || {
        let shoot = runtime.block_on(async { shoots(client(folder.path(), "garden").await).get(&name).await }).ok()?;
        (shoot.data["status"]["lastOperation"]["state"] == "Succeeded").then_some(())
    });
    runtime.block_on(async {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"));
        let notes = Api::<DynamicObject>::namespaced_with(client(folder.path(), "kcp").await, "default", &kind);
        assert_eq!(notes.get("note").await.expect("kept").data["data"]["a"], "b");
    });
}
