//! Objects of the reference are read unchanged.

use serde_json::{Value, json};

use super::*;

fn written_by_the_broker() -> Value {
    json!({
        "apiVersion": "infrastructuremanager.kyma-project.io/v1", "kind": "Runtime",
        "metadata": { "name": "r1", "namespace": "kcp-system", "labels": { "kyma-project.io/runtime-id": "r1", "x": "" } },
        "spec": {
            "shoot": {
                "name": "c-1234", "purpose": "production", "platformRegion": "cf-eu11", "region": "eu-central-1",
                "secretBindingName": "aws", "enableNvidiaOpenshell": false,
                "kubernetes": { "version": "", "kubeAPIServer": {
                    "oidcConfig": {},
                    "additionalOidcConfig": [{ "clientID": "a", "issuerURL": "https://b", "jwks": "e30=" }],
                } },
                "networking": { "pods": "10.96.0.0/13", "nodes": "10.250.0.0/16", "services": "10.104.0.0/13", "type": "calico" },
                "provider": {
                    "type": "aws",
                    "workers": [{
                        "name": "cpu-worker-0", "minimum": 3, "maximum": 20, "maxSurge": 3, "maxUnavailable": 0,
                        "machine": { "type": "m6i.large", "image": { "name": "", "version": "" }, "architecture": "amd64" },
                        "volume": { "type": "gp3", "size": "80Gi" }, "zones": ["eu-central-1a"],
                        "kubernetes": { "kubelet": { "maxPods": 120, "cpuCFSQuota": true }, "version": "1.34.1" },
                        "cri": { "name": "containerd", "containerRuntimes": [{ "type": "gvisor", "providerConfig": { "a": 1 }, "b": 2 }] },
                        "of tomorrow": { "deep": [1] },
                    }],
                    "infrastructureConfig": { "kind": "InfrastructureConfig", "whatever": true },
                },
                "controlPlane": { "highAvailability": { "failureTolerance": { "type": "zone" } }, "new": 1 },
            },
            "security": { "administrators": ["a@example.com"], "networking": { "filter": { "egress": { "enabled": false } } } },
        },
    })
}

#[test]
fn an_object_of_the_broker_comes_back_as_it_was() {
    let object = written_by_the_broker();
    let runtime: Runtime = serde_json::from_value(object.clone()).expect("read");
    assert_eq!(serde_json::to_value(&runtime).expect("written"), object);
}

#[test]
fn an_empty_label_is_no_label() {
    let runtime: Runtime = serde_json::from_value(written_by_the_broker()).expect("read");
    assert_eq!((runtime.label("x"), runtime.label(crate::labels::RUNTIME_ID)), (None, Some("r1")));
}

#[test]
fn the_registry_cache_switch_of_old_asks_for_nothing() {
    let mut object = written_by_the_broker();
    object["spec"]["imageRegistryCache"] = json!({ "enabled": true });
    let runtime: Runtime = serde_json::from_value(object).expect("read");
    assert_eq!(runtime.spec.image_registry_cache, []);
}
