//! The definitions of our kinds, in API servers: what they take, and which rules bite.

use std::time::Duration;

use k8s_openapi::{
    api::core::v1::Namespace, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Client, ResourceExt as _,
    api::{Api, Patch, PatchParams, PostParams},
};
use kube_sandbox::{Server, Settings, clock};
use serde_json::{Value, json};
use slipway_kube::{GardenerCluster, Runtime, crds, runtime::RuntimeState};
use slipway_sim::real;

use crate::gardens::real_server;

const NAMESPACE: &str = "kcp-system";

fn example(provider: &str) -> Value {
    let path = format!("{}/../../examples/runtime-{provider}.yaml", env!("CARGO_MANIFEST_DIR"));
    serde_saphyr::from_str(&std::fs::read_to_string(path).expect("an example")).expect("YAML")
}

fn typed(runtime: &Value) -> Runtime {
    serde_json::from_value(runtime.clone()).expect("a Runtime")
}

async fn install(client: &Client) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in crds::all() {
        let params = PatchParams::apply("test").force();
        definitions.patch(&definition.name_any(), &params, &Patch::Apply(&definition)).await.expect("a definition");
    }
    let namespace: Namespace =
        serde_json::from_value(json!({ "metadata": { "name": NAMESPACE } })).expect("a namespace");
    Api::all(client.clone()).create(&PostParams::default(), &namespace).await.expect("created");
    let runtimes: Api<Runtime> = Api::namespaced(client.clone(), NAMESPACE);
    let clusters: Api<GardenerCluster> = Api::namespaced(client.clone(), NAMESPACE);
    for _ in 0..200 {
        if runtimes.list(&Default::default()).await.is_ok() && clusters.list(&Default::default()).await.is_ok() {
            return;
        }
        clock::sleep(Duration::from_millis(50)).await;
    }
    panic!("the kinds are not served");
}

/// What a server says about a refused Runtime.
fn refused<T>(answer: Result<T, kube::Error>, what: &str) -> String {
    match answer {
        Err(kube::Error::Api(status)) => {
            assert_eq!(status.code, 422, "{what}: {status:?}");
            status.message.clone()
        }
        Err(other) => panic!("{what}: {other}"),
        Ok(_) => panic!("{what} is taken"),
    }
}

/// A change of the spec and what is said about it.
type Rule = (&'static str, fn(&mut Value), &'static str);

fn always() -> Vec<Rule> {
    vec![
        ("no main pool", |spec| spec["shoot"]["provider"]["workers"] = json!([]), "workers must have exactly one pool"),
        (
            "two main pools",
            |spec| {
                let mut second = spec["shoot"]["provider"]["workers"][0].clone();
                second["name"] = json!("second");
                spec["shoot"]["provider"]["workers"].as_array_mut().expect("pools").push(second);
            },
            "workers must have exactly one pool",
        ),
        (
            "a name twice among the customer's pools",
            |spec| {
                let pool = spec["shoot"]["provider"]["additionalWorkers"][0].clone();
                spec["shoot"]["provider"]["additionalWorkers"].as_array_mut().expect("pools").push(pool);
            },
            "pool names must be unique",
        ),
        (
            "a name in both lists",
            |spec| spec["shoot"]["provider"]["additionalWorkers"][0]["name"] = json!("cpu-worker-0"),
            "pool names must be unique",
        ),
        (
            "nine zones",
            |spec| spec["shoot"]["provider"]["additionalWorkers"][0]["zones"] = json!(["1", "2", "3", "4", "5", "6"]),
            "at most 8 zones",
        ),
        (
            "a minimum above the maximum",
            |spec| spec["shoot"]["provider"]["workers"][0]["minimum"] = json!(99),
            "minimum must not be greater than maximum",
        ),
        ("an unknown provider", |spec| spec["shoot"]["provider"]["type"] = json!("metal"), "metal"),
        ("no region", |spec| drop(spec["shoot"].as_object_mut().expect("an object").remove("region")), "region"),
    ]
}

fn on_update() -> Vec<Rule> {
    vec![
        ("the name", |spec| spec["shoot"]["name"] = json!("other"), "the name cannot be changed"),
        ("the region", |spec| spec["shoot"]["region"] = json!("other"), "the region cannot be changed"),
        ("the provider", |spec| spec["shoot"]["provider"]["type"] = json!("gcp"), "the provider cannot be changed"),
        (
            "nodes",
            |spec| spec["shoot"]["networking"]["nodes"] = json!("10.0.0.0/16"),
            "the node network cannot be changed",
        ),
        (
            "pods",
            |spec| spec["shoot"]["networking"]["pods"] = json!("10.0.0.0/16"),
            "the pod network cannot be changed",
        ),
        (
            "services",
            |spec| spec["shoot"]["networking"]["services"] = json!("10.0.0.0/16"),
            "the service network cannot",
        ),
        ("the type", |spec| spec["shoot"]["networking"]["type"] = json!("cilium"), "type cannot be changed"),
        (
            "the type, gone",
            |spec| drop(spec["shoot"]["networking"].as_object_mut().expect("an object").remove("type")),
            "type cannot be changed",
        ),
        (
            "dual stack",
            |spec| spec["shoot"]["networking"]["dualStack"] = json!(true),
            "dualStack cannot be changed once",
        ),
        (
            "the seed",
            |spec| spec["shoot"]["enforceSeedLocation"] = json!(false),
            "enforceSeedLocation cannot be changed once",
        ),
        (
            "the seed, gone",
            |spec| drop(spec["shoot"].as_object_mut().expect("an object").remove("enforceSeedLocation")),
            "enforceSeedLocation cannot be changed once",
        ),
    ]
}

async fn rules_bite(client: &Client) {
    install(client).await;
    // As JSON, so that a wrong one can be sent.
    let runtimes: Api<kube::api::DynamicObject> =
        Api::namespaced_with(client.clone(), NAMESPACE, &kube::api::ApiResource::erase::<Runtime>(&()));
    let create = async |runtime: &Value| {
        let object = serde_json::from_value(runtime.clone()).expect("an object");
        runtimes.create(&PostParams::default(), &object).await
    };
    for (what, edit, said) in always() {
        let mut wrong = example("aws");
        edit(&mut wrong["spec"]);
        let message = refused(create(&wrong).await, what);
        assert!(message.contains(said), "{what}: {message}");
    }
    for provider in ["aws", "azure", "gcp", "openstack", "alicloud"] {
        let mut runtime = example(provider);
        if provider == "aws" {
            runtime["spec"]["shoot"]["enforceSeedLocation"] = json!(true);
            runtime["spec"]["shoot"]["networking"]["dualStack"] = json!(false);
            runtime["spec"]["shoot"]["provider"]["workers"][0]["of tomorrow"] = json!({ "deep": [1] });
            runtime["spec"]["shoot"]["provider"]["infrastructureConfig"] = json!({ "of tomorrow": true });
        }
        let stored = create(&runtime).await.unwrap_or_else(|error| panic!("{provider}: {error}"));
        let stored = serde_json::to_value(stored).expect("JSON");
        assert_eq!(stored["spec"], runtime["spec"], "nothing is lost and nothing is added");
    }
    let name = example("aws")["metadata"]["name"].as_str().expect("a name").to_owned();
    for (what, edit, said) in always().into_iter().chain(on_update()) {
        let mut changed = serde_json::to_value(runtimes.get(&name).await.expect("there")).expect("JSON");
        edit(&mut changed["spec"]);
        let object = serde_json::from_value(changed).expect("an object");
        let message = refused(runtimes.replace(&name, &PostParams::default(), &object).await, what);
        assert!(message.contains(said), "{what}: {message}");
    }
    let mut allowed = serde_json::to_value(runtimes.get(&name).await.expect("there")).expect("JSON");
    allowed["spec"]["shoot"]["provider"]["workers"][0]["maximum"] = json!(30);
    allowed["spec"]["shoot"]["provider"]["additionalWorkers"] = json!([]);
    allowed["spec"]["shoot"]["networking"].as_object_mut().expect("an object").remove("dualStack");
    let object = serde_json::from_value(allowed).expect("an object");
    runtimes.replace(&name, &PostParams::default(), &object).await.expect("what may change changes");
    status_is_apart(client, &name).await;
}

/// The status has its own door, conditions merge by type, and a write of one does not touch the other.
async fn status_is_apart(client: &Client, name: &str) {
    let runtimes: Api<Runtime> = Api::namespaced(client.clone(), NAMESPACE);
    let condition = |of: &str| json!({ "type": of, "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 2 });
    let before = runtimes.get(name).await.expect("there");
    for (manager, of) in [("one", "Provisioned"), ("two", "Configured")] {
        let status = json!({
            "apiVersion": "infrastructuremanager.kyma-project.io/v1", "kind": "Runtime",
            "status": { "state": "Ready", "observedGeneration": 2, "conditions": [condition(of)] },
        });
        let params = PatchParams::apply(manager).force();
        runtimes.patch_status(name, &params, &Patch::Apply(&status)).await.expect("a status");
    }
    let after = runtimes.get(name).await.expect("there");
    let status = after.status.as_ref().expect("a status");
    assert_eq!((status.state, status.observed_generation), (RuntimeState::Ready, Some(2)));
    let types: Vec<_> = status.conditions.iter().map(|condition| condition.type_.as_str()).collect();
    assert_eq!(types, ["Provisioned", "Configured"]);
    assert_eq!((after.metadata.generation, &after.spec), (before.metadata.generation, &before.spec));
    let bad = json!({ "status": { "state": "Happy" } });
    let message =
        refused(runtimes.patch_status(name, &PatchParams::default(), &Patch::Merge(&bad)).await, "a new word");
    assert!(message.contains("Happy"), "{message}");
    assert_eq!(typed(&example("gcp")).spec.shoot.name, "c-gcp");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rules_of_our_kinds_bite_in_the_embedded_api() {
    let server = Server::start(Settings::default()).await.expect("a server");
    server.add_cluster("kcp").await.expect("a cluster");
    rules_bite(&server.client("kcp").expect("a client")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rules_of_our_kinds_bite_in_a_real_kube_apiserver() {
    let Some(server) = real_server(real::start_kube().await) else { return };
    rules_bite(&server.client()).await;
}
