//! What is there before a story begins: what was accepted, and the runtime as earlier operations left it.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use slipway_kube::{
    access::{
        Access, Ask, Exactly, Resource,
        resource::{COMPASS_CONNECTIONS, KYMAS, RUNTIMES, SECRETS},
    },
    gardener_cluster,
};
use slipway_model::{
    JsonText, NewOperation, OperationState,
    ports::{
        Acceptance, Accepted, ClaimRequest, Commit, CommitOutcome, NewConfig, NewKyma, Next, Runtimes as _,
        Storage as _, Want,
    },
    runtime_record::{Audit, RuntimeRecord},
};
use slipway_provisioner::{
    OperationKind,
    input::{ClusterSecrets, ClusterSpec, KymaSpec},
    mapping,
};
use slipway_sim::agent;

use super::{CONTROL_PLANE, NAMESPACE, SHOOT, Shared};

/// Whose it is.
pub(crate) const TENANT: &str = "acme";

const KUBECONFIG: &str =
    "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster:\n    server: https://c.example.com\n";

/// The cluster that is asked for.
fn cluster() -> ClusterSpec {
    serde_json::from_value(json!({
        "name": "c-1", "kubernetesVersion": "1.33.0", "targetSecret": "s", "region": "europe-west3", "platformRegion": "",
        "machineType": "n2-standard-4", "workerCidr": "10.250.0.0/16", "podsCidr": "10.96.0.0/13",
        "servicesCidr": "10.104.0.0/13", "autoScalerMin": 2, "autoScalerMax": 4, "maxSurge": 1, "maxUnavailable": 0,
        "purpose": "evaluation", "kubernetesVersionAutoUpdate": false, "machineImageVersionAutoUpdate": false,
        "providerConfig": { "provider": "gcp", "zones": ["europe-west3-a"] }, "networkingFilterDisabled": true,
        "euAccess": false, "shootAndSeedSameRegion": false,
        "info": { "name": "shop", "labels": { "broker_instance_id": "i-1" } },
    }))
    .expect("a cluster")
}

/// The Kyma that is asked for.
fn kyma() -> KymaSpec {
    let component = |name: &str, configuration: Value| json!({ "component": name, "namespace": "kyma-system", "sourceUrl": null, "conflictStrategy": null, "configuration": configuration });
    serde_json::from_value(json!({
        "version": "2.20.5", "profile": "Production", "conflictStrategy": "Merge", "modules": ["btp-operator"],
        "components": [
            component("istio", json!([{ "key": "manager.clientsecret", "value": null }])),
            component("compass-runtime-agent", json!([])),
        ],
        "configuration": [{ "key": "global.domainName", "value": "c-1.example.com" }],
    }))
    .expect("a Kyma")
}

fn people() -> ClusterSecrets {
    ClusterSecrets { administrators: vec!["ann@example.com".to_owned()] }
}

/// What the operation of this kind begins with.
pub(super) fn begin(kind: OperationKind) -> JsonText {
    let (cluster, kyma) = match kind {
        OperationKind::Provision | OperationKind::Upgrade => (true, true),
        OperationKind::ProvisionNoInstall
        | OperationKind::UpgradeShoot
        | OperationKind::Hibernate
        | OperationKind::WakeUp => (true, false),
        OperationKind::Deprovision | OperationKind::DeprovisionNoInstall | OperationKind::ReconnectRuntime => {
            (false, false)
        }
    };
    JsonText::of(&json!({ "changesCluster": cluster, "changesKyma": kyma })).expect("JSON")
}

/// The cluster that this kind of operation asks for: another one than it finds.
fn wanted(kind: OperationKind) -> ClusterSpec {
    let mut spec = cluster();
    match kind {
        OperationKind::Upgrade | OperationKind::UpgradeShoot => spec.auto_scaler_max = 9,
        OperationKind::Hibernate => spec.hibernated = true,
        _ => {}
    }
    spec
}

/// Accepts the operation: the runtime with it, and where it must have had one before, an earlier operation
/// that has ended.
pub(super) async fn accept(shared: &Shared, new: &NewOperation) {
    let now = shared.clock.wall();
    let record = RuntimeRecord {
        id: shared.id,
        tenant: TENANT.parse().expect("tenant"),
        sub_account: Some("sub".parse().expect("sub-account")),
        shoot_name: "c-1".parse().expect("name"),
        project: "p".parse().expect("project"),
        director_id: Some(shared.id.to_string()),
        director_owned: true,
        created_at: now,
        deleted_at: None,
        agent: None,
        version: 1,
    };
    let config = |spec: ClusterSpec| {
        Some(NewConfig { schema_version: 1, spec: JsonText::of(&spec).expect("JSON"), secrets: Some(people().seal()) })
    };
    let of_kyma = |number: u128, is_upgrade: bool| {
        let mut spec = kyma();
        if is_upgrade {
            spec.version = "2.21.0".to_owned();
        }
        Some(NewKyma {
            id: uuid::Uuid::from_u128(number),
            spec: JsonText::of(&spec).expect("JSON"),
            secrets: Some(r#"{"0/0":"s3cret"}"#.into()),
            is_upgrade,
        })
    };
    let audit = Audit { who: "test".to_owned(), action: "test".to_owned(), changed_paths: vec![] };
    let mut request = Acceptance {
        runtime: Some(record),
        tenant: None,
        config: config(wanted(shared.kind)),
        kyma: of_kyma(1, false),
        intent: None,
        audit,
        operation: new.clone(),
    };
    if matches!(shared.kind, OperationKind::ProvisionNoInstall | OperationKind::DeprovisionNoInstall) {
        request.kyma = None;
    }
    if shared.kind == OperationKind::Upgrade {
        let mut earlier = new.clone();
        earlier.id = uuid::Uuid::from_u128(7).into();
        request.operation = earlier;
        request.config = config(cluster());
        take(shared, &request).await;
        end(shared, new).await;
        request.runtime = None;
        request.config = config(wanted(shared.kind));
        request.kyma = of_kyma(2, true);
        request.operation = new.clone();
    }
    take(shared, &request).await;
}

async fn take(shared: &Shared, request: &Acceptance) {
    let accepted = shared.store.accept(request, shared.clock.wall()).await.expect("stored");
    assert!(matches!(accepted, Accepted::New(_)), "{accepted:?}");
}

/// The one operation there is ends well.
async fn end(shared: &Shared, new: &NewOperation) {
    let (store, now) = (&shared.store, shared.clock.wall());
    let replica = "seed".parse().expect("replica");
    store.register(&replica, &[]).await.expect("registered");
    let wants = vec![Want { class: new.kind.class(), limit: 1 }];
    let known = vec![new.process.clone()];
    let mut claimed =
        store.claim(&ClaimRequest { replica: replica.clone(), now, known, wants }).await.expect("claimed");
    let claim = claimed.claims.pop().expect("it is due");
    let commit = Commit {
        operation: claim.operation.id,
        lease: claim.lease,
        number: 1,
        expected_version: claim.operation.version,
        seen_control: 0,
        clear_skip: false,
        at: now,
        fields: None,
        steps: vec![],
        records: vec![],
        next: Next::End { state: OperationState::Succeeded },
    };
    let done = store.commit(&[commit]).await.expect("committed");
    assert!(matches!(done[..], [CommitOutcome::Committed { .. }]), "{done:?}");
    store.release(&replica, now).await.expect("released");
}

async fn remove(api: &Access, resource: &'static Resource, namespace: &str, name: &str) {
    // A kind that is not there has no object.
    if let Ok(Some(object)) = api.find_if_served::<Value>(Ask::get(resource, namespace, name)).await {
        api.tell(Ask::delete(resource, namespace, name, &Exactly::of(&object))).await.expect("removed");
    }
}

/// The world as earlier operations left it. What earlier landscapes left in the customer's cluster goes.
pub(super) async fn seed(shared: &Shared) {
    let shoot = shared.api(SHOOT);
    for namespace in ["kyma-system", "compass-system"] {
        remove(&shoot, &SECRETS, namespace, agent::CONFIGURATION).await;
    }
    remove(&shoot, &COMPASS_CONNECTIONS, "", agent::CONNECTION).await;
    if shared.kind.provisions() {
        return;
    }
    let api = shared.api(CONTROL_PLANE);
    runtime(shared, &api).await;
    kubeconfig(shared, &api).await;
    if shared.kind == OperationKind::DeprovisionNoInstall {
        return;
    }
    if !shared.lacks_kyma.load(Ordering::Relaxed) {
        installed(shared, &api).await;
    }
    connected(shared, &shoot).await;
}

/// The Runtime that earlier operations wrote.
pub(super) async fn object(shared: &Shared) -> Value {
    let mut spec = cluster();
    spec.hibernated = shared.kind == OperationKind::WakeUp;
    let owner = mapping::Owner {
        id: shared.id,
        tenant: &TENANT.parse().expect("tenant"),
        sub_account: None,
        namespace: NAMESPACE,
        operation: uuid::Uuid::from_u128(1).into(),
        created_at: shared.store.runtime(shared.id).await.expect("read").expect("stored").created_at,
    };
    serde_json::to_value(mapping::runtime(&owner, &spec, &people())).expect("JSON")
}

async fn runtime(shared: &Shared, api: &Access) {
    let object = object(shared).await;
    let name = shared.id.to_string();
    api.tell(Ask::apply(&RUNTIMES, NAMESPACE, &name, "slipway-provisioner", object)).await.expect("applied");
    super::manager::settle(shared, true).await;
}

/// The Secret that the manager writes.
pub(super) async fn kubeconfig(shared: &Shared, api: &Access) {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let name = gardener_cluster::secret_name(&shared.id.to_string());
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": NAMESPACE },
        "data": { gardener_cluster::SECRET_KEY: STANDARD.encode(KUBECONFIG) },
    });
    api.tell(Ask::apply(&SECRETS, NAMESPACE, &name, "manager", secret)).await.expect("applied");
}

/// Kyma is there.
async fn installed(shared: &Shared, api: &Access) {
    let id = shared.id.to_string();
    let kyma = json!({
        "apiVersion": "operator.kyma-project.io/v1beta2", "kind": "Kyma", "metadata": { "name": id, "namespace": NAMESPACE },
        "spec": { "channel": "regular", "modules": [] },
    });
    api.tell(Ask::apply(&KYMAS, NAMESPACE, &id, "slipway-provisioner", kyma)).await.expect("applied");
    let body = json!({
        "runtimeID": id, "runtimeInput": { "name": "shop", "description": "" },
        "kymaConfig": { "version": "2.0.0", "profile": "", "administrators": [], "components": [] },
        "metadata": { "globalAccountID": TENANT, "subAccountID": "", "serviceID": "", "servicePlanID": "",
            "servicePlanName": "", "shootName": "c-1", "instanceID": "", "region": "r" },
        "kubeconfig": KUBECONFIG,
    });
    let request = http::Request::post("http://reconciler/v1/clusters").header("content-type", "application/json");
    let answer = shared.sim.exchange("reconciler", request.body(body.to_string().into()).expect("request")).await;
    assert_eq!(answer.expect("an answer").status(), 200);
}

/// The agent is connected, since long ago.
async fn connected(shared: &Shared, shoot: &Access) {
    let director = &shared.sim.director;
    let id = shared.id.to_string();
    let slipway_sim::systems::director::Redeemed::Connected(connection) =
        director.redeem(&director.draw_token(&id), &id)
    else {
        panic!("a fresh token is good")
    };
    let agents = agent::Agents::new(director.clone(), || jiff::Timestamp::UNIX_EPOCH);
    agents.install(&shared.ground.server.cluster(SHOOT).expect("a cluster")).await.expect("installed");
    let object = json!({
        "apiVersion": "compass.kyma-project.io/v1alpha1", "kind": "CompassConnection",
        "metadata": { "name": agent::CONNECTION }, "spec": { "connectionId": connection.id },
        "status": { "connectionState": "Synchronized", "connectionStatus": { "established": "2020-01-01T00:00:00Z" } },
    });
    shoot.tell(Ask::apply(&COMPASS_CONNECTIONS, "", agent::CONNECTION, "agent", object)).await.expect("applied");
}

/// The kind of the Lifecycle Manager, as far as it is looked at.
pub(super) fn kyma_definition() -> Value {
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let spec = json!({ "type": "object", "required": ["channel"], "properties": {
        "channel": { "type": "string" },
        "modules": { "type": "array", "items": { "type": "object", "required": ["name"], "properties": {
            "name": { "type": "string" }, "customResourcePolicy": { "type": "string" } } } } } });
    let version = json!({
        "name": "v1beta2", "served": true, "storage": true, "subresources": { "status": {} },
        "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec, "status": open } } },
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "kymas.operator.kyma-project.io" },
        "spec": { "group": "operator.kyma-project.io", "scope": "Namespaced", "versions": [version],
            "names": { "plural": "kymas", "singular": "kyma", "kind": "Kyma", "listKind": "KymaList" } },
    })
}
