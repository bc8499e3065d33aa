//! Which lists of a Shoot merge by key and which are taken whole, asked of the servers themselves.
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_merge_in_the_garden_simulator_as_rendering_expects() {
    lists_are_owned_as_rendering_expects(&Ground::simulated().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_merge_in_a_real_gardener_apiserver_as_rendering_expects() {
    let Some(ground) = Ground::real().await else { return };
    lists_are_owned_as_rendering_expects(&ground).await;
}
