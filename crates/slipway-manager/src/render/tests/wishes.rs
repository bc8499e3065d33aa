//! What only the provisioner's clients ask for, and where it ends up.

use serde_json::json;

use crate::render::trial::{World, living};

#[test]
fn every_wish_is_in_the_shoot() {
    let spec = &World::wishes().created()["spec"];
    assert_eq!(spec["seedName"], "seed");
    assert_eq!(spec["exposureClassName"], "internet");
    assert_eq!(spec["cloudProfile"]["name"], "gcp-special");
    assert_eq!(spec["maintenance"]["autoUpdate"], json!({ "kubernetesVersion": true, "machineImageVersion": false }));
    assert_eq!(spec["accessRestrictions"][0]["name"], "eu-access-only");
    assert_eq!(spec["hibernation"], json!({ "enabled": true }));
    let credentials = json!({ "apiVersion": "v1", "kind": "Secret", "name": "own-dns" });
    let provider = json!({
        "primary": true, "type": "google-clouddns", "domains": { "include": ["own.example"] }, "credentialsRef": credentials,
    });
    assert_eq!(spec["dns"], json!({ "domain": "first.own.example", "providers": [provider] }));
}

#[test]
fn without_wishes_nothing_of_it_is_ours() {
    let spec = &World::rich().created()["spec"];
    assert!(spec["seedName"].is_null() && spec["hibernation"].is_null());
}

#[test]
fn a_cluster_stays_on_its_seed_and_that_is_said() {
    let mut world = World::wishes();
    let lives = living(&world.created());
    world.edit(|spec| spec["shoot"]["seedName"] = json!("another"));
    let doc = world.patched(&lives);
    assert_eq!(doc.value()["spec"]["seedName"], "seed");
    assert!(doc.notes().iter().any(|note| note.path == "spec.shoot.seedName"));
}

#[test]
fn a_cluster_wakes_up_when_it_is_told_to() {
    let mut world = World::wishes();
    let lives = living(&world.created());
    world.edit(|spec| spec["shoot"]["hibernation"]["enabled"] = json!(false));
    assert_eq!(world.patched(&lives).value()["spec"]["hibernation"]["enabled"], false);
}
