//! The manager as a process of its own: it knows its clusters by kubeconfigs and its configuration by files.

use serde_json::Value;
use tokio::runtime::Runtime as Tokio;

use crate::{landscape::Landscape, processes::until};

#[test]
fn a_manager_of_its_own_makes_a_cluster_survives_its_death_and_takes_configurations_over() {
    let tokio = Tokio::new().expect("a runtime");
    let landscape = tokio.block_on(Landscape::start());
    let runtime: Value =
        serde_saphyr::from_str(include_str!("../../../../examples/runtime-aws.yaml")).expect("a Runtime");
    let name = runtime["metadata"]["name"].as_str().expect("a name").to_owned();
    let shoot = runtime["spec"]["shoot"]["name"].as_str().expect("a name").to_owned();

    let first = landscape.manager();
    tokio.block_on(landscape.clusters.kcp.create(runtime)).expect("the control plane takes it");
    let made = || landscape.clusters.shoot(&shoot).unwrap_or_default();
    let uid = until("a Shoot is asked for", || made()["metadata"]["uid"].as_str().map(str::to_owned));
    first.kill();

    let second = landscape.manager();
    let is_ready = || landscape.clusters.runtime(&name).filter(|runtime| runtime["status"]["state"] == "Ready");
    until("the Runtime is ready", is_ready);
    assert_eq!(made()["metadata"]["uid"], uid, "the Shoot of the first");

    let updates = || made()["spec"]["maintenance"]["autoUpdate"]["machineImageVersion"].clone();
    assert_eq!(updates(), true);
    let configuration = landscape.configuration();
    landscape.configure("{\"converter\": ");
    until("a broken configuration is told", || landscape.said().contains("converter_config.json").then_some(()));
    assert_eq!(updates(), true, "it goes on with the one it had");
    let on = "\"enableMachineImageVersionAutoUpdate\": true";
    assert!(configuration.contains(on));
    landscape.configure(&configuration.replace(on, "\"enableMachineImageVersionAutoUpdate\": false"));
    until("the Shoot follows the configuration", || (updates() == false).then_some(()));
    until("the Runtime is ready again", is_ready);
    assert_eq!(second.stop(), Some(0), "{}", landscape.said());
}
