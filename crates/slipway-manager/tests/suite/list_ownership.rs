//! Which lists of a Shoot merge by key and which are taken whole, and what two owners of a binding mean, asked of the
//! servers themselves.
//!
//! Rendering depends on it: a list that is taken whole must be written whole, or what others put
//! there is lost; one that merges must not carry what is not ours. A server tells by how it writes
//! down who owns what: the entries of a list that merges one by one, a list that does not as a whole.

use serde_json::{Value, json};

use crate::gardens::{Ground, NAMESPACE};

/// The lists we write, and the key by which they merge.
const LISTS: [(&[&str], Option<&str>); 6] = [
    (&["spec", "provider", "workers"], Some("name")),
    (&["spec", "tolerations"], Some("key")),
    (&["spec", "extensions"], None),
    (&["spec", "resources"], None),
    (&["spec", "dns", "providers"], None),
    (&["spec", "accessRestrictions"], None),
];

fn shoot() -> Value {
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "name": "of-lists" });
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
        "metadata": { "name": "lists", "namespace": NAMESPACE },
        "spec": {
            "cloudProfile": { "kind": "CloudProfile", "name": "aws" }, "credentialsBindingName": "aws",
            "region": "eu-central-1", "purpose": "evaluation", "kubernetes": { "version": "1.34.5" },
            "networking": { "type": "calico", "nodes": "10.250.0.0/16" },
            "tolerations": [{ "key": "seed.gardener.cloud/protected" }],
            "extensions": [{ "type": "shoot-dns-service" }],
            "resources": [{ "name": "one", "resourceRef": secret }],
            "dns": {
                "domain": "lists.clusters.example",
                "providers": [{ "primary": true, "type": "aws-route53", "credentialsRef": secret }],
            },
            "accessRestrictions": [{ "name": "eu-access-only" }],
            "provider": {
                "type": "aws",
                "infrastructureConfig": {
                    "apiVersion": "aws.provider.extensions.gardener.cloud/v1alpha1", "kind": "InfrastructureConfig",
                },
                "workers": [{
                    "name": "base", "machine": { "type": "m6i.large" }, "minimum": 1, "maximum": 2,
                    "volume": { "type": "gp3", "size": "50Gi" }, "zones": ["eu-central-1a"],
                }],
            },
        },
    })
}

async fn lists_are_owned_as_rendering_expects(ground: &Ground) {
    ground.put_secret("of-lists").await;
    let stored = ground.apply(&shoot()).await.expect("taken");
    let entries = stored["metadata"]["managedFields"].as_array().expect("owners");
    let ours: Vec<_> = entries.iter().filter(|entry| entry["manager"] == "kim").collect();
    assert_eq!((ours.len(), &ours[0]["operation"]), (1, &json!("Apply")), "one owner, from the first write on");
    for (path, key) in LISTS {
        let owned = path.iter().fold(&ours[0]["fieldsV1"], |at, name| &at[format!("f:{name}")]);
        let owned = owned.as_object().unwrap_or_else(|| panic!("{path:?} is not owned: {}", ours[0]));
        match key {
            None => assert!(owned.is_empty(), "{path:?} is taken whole: {owned:?}"),
            Some(key) => {
                let prefix = format!("k:{{\"{key}\":");
                assert!(
                    !owned.is_empty() && owned.keys().all(|entry| entry.starts_with(&prefix)),
                    "{path:?}: {owned:?}"
                );
            }
        }
    }
}

/// What the manager relies on where another tool holds on to a Shoot's SecretBinding, or is faster.
async fn a_shoot_moves_between_bindings_only_by_a_patch(ground: &Ground) {
    ground
        .put(&json!({
            "apiVersion": "core.gardener.cloud/v1beta1", "kind": "SecretBinding",
            "metadata": { "name": "aws", "namespace": NAMESPACE }, "provider": { "type": "aws" },
            "secretRef": { "name": "aws-credentials", "namespace": NAMESPACE },
        }))
        .await;
    ground.put_secret("of-lists").await;
    let mut new = shoot();
    (new["metadata"]["name"], new["spec"]["dns"]) = (json!("moving"), json!(null));
    new["spec"]["kubernetes"]["version"] = json!("1.33.9");
    let mut old = new.clone();
    old["spec"]["secretBindingName"] = old["spec"]["credentialsBindingName"].take();
    for document in [&mut old, &mut new] {
        let spec = document["spec"].as_object_mut().expect("an object");
        spec.retain(|_, value| !value.is_null());
    }
    ground.apply_as("another-tool", &old, false).await.expect("taken");
    let code = |answer: Result<Value, kube::Error>| match answer {
        Err(kube::Error::Api(status)) => (status.code, status.message),
        other => panic!("not refused: {other:?}"),
    };
    let (both, message) = code(ground.apply(&new).await);
    assert!(both == 422 && message.contains("secretBindingName: Forbidden"), "{both} {message}");

    let operations = |version: &str| {
        json!([
            { "op": "replace", "path": "/metadata/resourceVersion", "value": version },
            { "op": "remove", "path": "/spec/secretBindingName" },
            { "op": "add", "path": "/spec/credentialsBindingName", "value": "aws" },
        ])
    };
    assert_eq!(code(ground.operate("moving", operations("1")).await).0, 409, "somebody was faster");
    let mut moved = Err(String::new());
    for _ in 0..50 {
        let version = ground.shoot("moving").await["metadata"]["resourceVersion"].as_str().expect("text").to_owned();
        moved = ground.operate("moving", operations(&version)).await.map_err(|error| error.to_string());
        if moved.is_ok() {
            break;
        }
    }
    let moved = moved.expect("moved");
    assert_eq!(
        (moved["spec"].get("secretBindingName"), &moved["spec"]["credentialsBindingName"]),
        (None, &json!("aws"))
    );
    ground.apply(&new).await.expect("taken");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shoot_moves_between_bindings_in_the_garden_simulator() {
    a_shoot_moves_between_bindings_only_by_a_patch(&Ground::simulated().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_merge_in_the_garden_simulator_as_rendering_expects() {
    lists_are_owned_as_rendering_expects(&Ground::simulated().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_merge_and_bindings_move_in_a_real_gardener_apiserver_as_expected() {
    let Some(ground) = Ground::real().await else { return };
    lists_are_owned_as_rendering_expects(&ground).await;
    a_shoot_moves_between_bindings_only_by_a_patch(&ground).await;
}
