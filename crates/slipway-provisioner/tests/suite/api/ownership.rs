//! Ids and Runtimes that are somebody else's.

use std::sync::Arc;

use kube::{
    Api, ResourceExt as _,
    api::{Patch, PatchParams},
};
use kube_sandbox::http::Trouble;
use serde_json::{Value, json};
use slipway_kube::Runtime;
use slipway_model::{ports::Runtimes as _, runtime_record::RuntimeId};

use super::{
    bench::{Bench, cluster},
    status::{Seen, show},
};

const PROVISION: &str = "mutation($config: ProvisionRuntimeInput!, $id: String) {
    result: provisionRuntime(config: $config, id: $id) { id runtimeID } }";
pub(crate) const KUBECONFIG: &str = "apiVersion: v1\nkind: Config\nusers: [{ name: system:masters }]\n";

fn runtimes(bench: &Bench) -> Api<Runtime> {
    Api::namespaced(bench.kube_client(), "kcp-system")
}

/// A Runtime with a kubeconfig that bears the id of a record and is not the record's; answers its id and its version.
async fn replaced(bench: &Bench, name: &str) -> (String, String) {
    let id = bench.living(&cluster("gcp", name, &[])).await;
    let seen = Seen { facts: json!({"hibernated": false}), kubeconfig: Some(KUBECONFIG), egress_filter: false };
    show(bench, &id, seen).await;
    unmark(bench, &id).await;
    let version = version_if(bench, &id).await.expect("a version");
    (id, version)
}

/// Takes away what makes a Runtime a record's.
pub(crate) async fn unmark(bench: &Bench, id: &str) {
    let unmarked = json!({"metadata": {"annotations": {"provisioner.slipway.io/record": null}}});
    runtimes(bench).patch(id, &PatchParams::default(), &Patch::Merge(&unmarked)).await.expect("changed");
}

/// The version of a Runtime; none if there is none.
pub(crate) async fn version_if(bench: &Bench, id: &str) -> Option<String> {
    runtimes(bench).get_opt(id).await.expect("read")?.resource_version()
}

#[tokio::test]
async fn an_id_that_a_runtime_of_somebody_else_has_is_not_given() {
    let bench = Bench::start().await;
    let (id, before) = replaced(&bench, "theirs").await;
    // Nobody here knows it any more: it is as if it had been made by kubectl.
    let other = Bench::beside(&bench).await;
    let variables = json!({"config": cluster("gcp", "mine", &[]), "id": id});
    let reply = other.ask(PROVISION).variables(variables).send().await;
    reply.violates("id", "V14");
    assert!(other.store.live_runtimes(None, 10).await.expect("listed").is_empty(), "nothing is stored");
    assert_eq!(version_if(&bench, &id).await, Some(before));
}

#[tokio::test]
async fn while_the_control_plane_cannot_be_asked_no_id_is_given_and_nothing_is_lost() {
    let bench = Bench::start().await;
    bench.kube.set_faults(Some(Arc::new(|_: &_| Some(Trouble::Reset))));
    let id = RuntimeId::EXAMPLE;
    let ask = || bench.ask(PROVISION).variables(json!({"config": cluster("gcp", "mine", &[]), "id": id}));
    let reply = ask().send().await;
    assert_eq!(reply.error().0, 503, "{reply:?}");
    assert!(bench.store.live_runtimes(None, 10).await.expect("listed").is_empty());
    bench.kube.set_faults(None);
    assert_eq!(ask().send().await.data("result")["runtimeID"], id);
}

/// A record whose Runtime was replaced by somebody else's.
#[tokio::test]
async fn nothing_is_told_of_or_done_to_a_runtime_that_is_not_the_records() {
    let bench = Bench::start().await;
    let (id, before) = replaced(&bench, "shop").await;
    let status = "query($id: String!) { result: runtimeStatus(id: $id) { runtimeConfiguration { kubeconfig } \
                  runtimeConnectionConfig { kubeconfig } hibernationStatus { hibernated } problems { message } } }";
    let told = bench.ask(status).variables(json!({ "id": id })).send().await.data("result");
    assert!(
        told["runtimeConfiguration"]["kubeconfig"].is_null() && told["runtimeConnectionConfig"].is_null(),
        "{told}"
    );
    assert!(told["hibernationStatus"].is_null(), "{told}");
    assert!(told["problems"].to_string().contains("was not made for this runtime"), "{told}");
    for call in [
        "deprovisionRuntime(id: $id)",
        "reconnectRuntimeAgent(id: $id)",
        "hibernateRuntime(id: $id) { id }",
        "wakeUpRuntime(id: $id) { id }",
        "upgradeRuntime(id: $id, config: {clusterConfig: {version: \"1.34.0\"}}) { id }",
        "upgradeShoot(id: $id, config: {gardenerConfig: {autoScalerMax: 7}}) { id }",
    ] {
        let query = format!("mutation($id: String!) {{ result: {call} }}");
        let reply = bench.ask(&query).variables(json!({ "id": id })).send().await;
        assert_eq!(reply.error(), (403, "err_tenant_mismatch".to_owned()), "{call}");
        assert!(reply.message().contains("operator"), "{}", reply.message());
    }
    let runtime: RuntimeId = id.parse().expect("an id");
    assert_eq!(bench.store.runtime_operations(runtime, None, 10).await.expect("read").len(), 1, "nothing was started");
    // The way out: what is stored is forgotten, and theirs stays.
    let query = "mutation($id: String!) { result: cleanupRuntimeData(id: $id) { message } }";
    let told: Value = bench.ask(query).variables(json!({ "id": id })).send().await.data("result");
    assert!(told["message"].as_str().expect("a sentence").contains("were removed"), "{told}");
    assert_eq!(version_if(&bench, &id).await, Some(before));
}
