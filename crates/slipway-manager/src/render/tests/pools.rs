//! Pools and the infrastructure that follows from their zones.

use super::*;

fn pool(shoot: &Value, name: &str) -> Value {
    entry(&shoot["spec"]["provider"]["workers"], "name", name).clone()
}

fn names(shoot: &Value) -> Vec<String> {
    let pools = shoot["spec"]["provider"]["workers"].as_array().expect("pools");
    pools.iter().map(|pool| pool["name"].as_str().expect("a name").to_owned()).collect()
}

fn with_pools(world: &mut World, pools: Value) {
    world.edit(|spec| spec["shoot"]["provider"]["additionalWorkers"] = pools);
}

fn extra(name: &str, zones: &[&str]) -> Value {
    json!({ "name": name, "machine": { "type": "large" }, "minimum": 1, "maximum": 2, "zones": zones })
}

#[test]
fn images_are_as_asked_or_as_configured() {
    for (asked, sent) in [
        (Value::Null, json!({ "name": "gardenlinux", "version": "1877.9.0" })),
        (json!({ "name": "", "version": "" }), json!({ "name": "gardenlinux", "version": "1877.9.0" })),
        (json!({ "name": "ubuntu", "version": "" }), json!({ "name": "ubuntu", "version": "1877.9.0" })),
        (
            json!({ "name": "", "version": "1.0.0", "new": 1 }),
            json!({ "name": "gardenlinux", "version": "1.0.0", "new": 1 }),
        ),
    ] {
        let mut world = World::least("gcp");
        world.edit_pool(|pool| pool["machine"] = json!({ "type": "large", "image": asked }));
        assert_eq!(pool(&world.created(), "main")["machine"]["image"], sent, "{asked}");
    }
}

#[test]
fn an_image_never_goes_down_unless_it_is_another() {
    for (asked, running, sent) in [
        (json!({ "name": "", "version": "" }), json!({ "name": "gardenlinux", "version": "2000.1.0" }), "2000.1.0"),
        (
            json!({ "name": "", "version": "1999.0.0" }),
            json!({ "name": "gardenlinux", "version": "2000.1.0" }),
            "2000.1.0",
        ),
        (json!({ "name": "", "version": "" }), json!({ "name": "gardenlinux", "version": "1.0.0" }), "1877.9.0"),
        (
            json!({ "name": "ubuntu", "version": "22.4.0" }),
            json!({ "name": "gardenlinux", "version": "2000.1.0" }),
            "22.4.0",
        ),
    ] {
        let mut world = World::least("gcp");
        let mut shoot = living(&world.created());
        shoot["spec"]["provider"]["workers"][0]["machine"]["image"] = running;
        world.edit_pool(|pool| pool["machine"]["image"] = asked);
        assert_eq!(pool(world.patched(&shoot).value(), "main")["machine"]["image"]["version"], sent);
    }
}

#[test]
fn everything_else_of_a_pool_is_copied() {
    let mut world = World::least("azure");
    world.edit_pool(|pool| {
        pool["volume"] = json!({ "type": "x", "size": "50Gi" });
        pool["of tomorrow"] = json!({ "deep": [1, { "a": null }] });
        pool["machine"]["architecture"] = json!("arm64");
        pool["taints"] = json!([{ "key": "a", "effect": "NoSchedule" }]);
    });
    let pool = pool(&world.created(), "main");
    assert_eq!(pool["volume"], json!({ "type": "x", "size": "50Gi" }));
    assert_eq!(pool["of tomorrow"], json!({ "deep": [1, { "a": null }] }));
    assert_eq!(pool["machine"]["architecture"], "arm64");
    assert_eq!(pool["taints"][0]["key"], "a");
}

#[test]
fn metadata_of_aws_machines_wants_the_second_version() {
    let config = pool(&World::rich().created(), "main")["providerConfig"].clone();
    assert_eq!(
        config,
        json!({
            "apiVersion": "aws.provider.extensions.gardener.cloud/v1alpha1", "kind": "WorkerConfig",
            "instanceMetadataOptions": { "httpTokens": "required", "httpPutResponseHopLimit": 2 },
        })
    );
    let mut other = World::least("gcp");
    other.config.converter.provider.clouds.insert("aws".to_owned(), json!({ "enableIMDSv2": true }));
    assert!(pool(&other.created(), "main").get("providerConfig").is_none());
}

#[test]
fn draining_has_defaults_that_a_pool_can_change() {
    let mut world = World::least("gcp");
    let drain = |world: &World| pool(&world.created(), "main")["machineControllerManager"].clone();
    assert_eq!(drain(&world), json!({ "maxEvictRetries": 2, "machineDrainTimeout": "15m0s" }));
    world.edit_pool(|pool| pool["machineControllerManager"] = json!({ "machineDrainTimeout": "1h", "other": 1 }));
    assert_eq!(drain(&world), json!({ "maxEvictRetries": 2, "machineDrainTimeout": "1h", "other": 1 }));
}

#[test]
fn gvisor_allows_raw_sockets_unless_told_otherwise() {
    let config = |given: Value| {
        let mut world = World::least("gcp");
        world.edit_pool(|pool| {
            pool["cri"] = json!({ "name": "containerd", "containerRuntimes": [given, { "type": "other" }] })
        });
        let runtimes = pool(&world.created(), "main")["cri"]["containerRuntimes"].clone();
        assert_eq!(runtimes[1], json!({ "type": "other" }));
        runtimes[0]["providerConfig"].clone()
    };
    let made = config(json!({ "type": "gvisor" }));
    assert_eq!((&made["kind"], &made["configFlags"]), (&json!("GVisorConfiguration"), &json!({ "net-raw": "true" })));
    let own = config(
        json!({ "type": "gvisor", "providerConfig": { "configFlags": { "net-raw": "false", "x": "y" }, "z": 1 } }),
    );
    assert_eq!((&own["configFlags"], &own["z"]), (&json!({ "net-raw": "false", "x": "y" }), &json!(1)));
}

#[test]
fn pods_per_machine_are_limited_by_machine_and_by_network() {
    let limits = |pods: &str, given: &[u64]| -> Result<Vec<u64>, RenderError> {
        let mut world = World::least("gcp");
        let kubelet = |max: &u64| json!({ "kubelet": { "maxPods": max } });
        world.edit(|spec| {
            spec["shoot"]["networking"]["pods"] = json!(pods);
            spec["shoot"]["provider"]["workers"][0]["kubernetes"] = kubelet(&given[0]);
            let others = given[1..].iter().enumerate().map(|(at, max)| {
                let mut pool = extra(&format!("extra-{at}"), &["zone-1"]);
                pool["kubernetes"] = kubelet(max);
                pool
            });
            spec["shoot"]["provider"]["additionalWorkers"] = others.collect();
        });
        let shoot = render(&world.input(None))?.into_value();
        let pools = shoot["spec"]["provider"]["workers"].as_array().expect("pools").clone();
        Ok(pools.iter().filter_map(|pool| pool["kubernetes"]["kubelet"]["maxPods"].as_u64()).collect())
    };
    assert_eq!(limits("10.96.0.0/13", &[110, 500]), Ok(vec![110, 254]));
    // 126 usable addresses: the last pool gives first, and none below one.
    assert_eq!(limits("10.96.0.0/25", &[100, 100]), Ok(vec![100, 26]));
    assert_eq!(limits("10.96.0.0/25", &[200, 100]), Ok(vec![125, 1]));
    assert_eq!(limits("10.96.0.0/32", &[10]), Ok(vec![1]));
    let error = limits("10.96.0.0/31", &[1, 1, 1]).expect_err("too few");
    assert_eq!(
        error.to_string(),
        "spec.shoot.networking.pods: 10.96.0.0/31 has 2 usable addresses, too few for 3 pools"
    );
}

#[test]
fn pools_keep_the_shoots_order_and_new_ones_follow() {
    let mut world = World::least("gcp");
    with_pools(&mut world, json!([extra("a", &["zone-1"]), extra("b", &["zone-1"])]));
    let mut shoot = living(&world.created());
    shoot["spec"]["provider"]["workers"].as_array_mut().expect("pools").rotate_left(1);
    assert_eq!(names(&shoot), ["a", "b", "main"]);
    let z = extra("z", &["zone-1"]);
    with_pools(&mut world, json!([z, extra("b", &["zone-1"]), extra("y", &["zone-1"]), extra("a", &["zone-1"])]));
    assert_eq!(names(world.patched(&shoot).value()), ["a", "b", "main", "z", "y"]);
    with_pools(&mut world, json!([extra("b", &["zone-1"])]));
    assert_eq!(names(world.patched(&shoot).value()), ["b", "main"], "a pool that is gone from the Runtime goes");
}

#[test]
fn a_pool_keeps_its_zones_and_gets_new_ones_behind() {
    let mut world = World::least("gcp");
    let shoot = living(&world.created());
    world.edit_pool(|pool| pool["zones"] = json!(["zone-3", "zone-2"]));
    let next = world.patched(&shoot);
    assert_eq!(pool(next.value(), "main")["zones"], json!(["zone-1", "zone-2", "zone-3"]));
    assert_eq!(next.notes()[0].path, "spec.shoot.provider.workers[main].zones");
    assert!(next.notes()[0].message.starts_with("zone-1 is gone, but a pool keeps its zones"));
}

#[test]
fn the_update_strategy_is_the_shoots_unless_asked() {
    let mut world = World::least("gcp");
    let mut shoot = living(&world.created());
    shoot["spec"]["provider"]["workers"][0]["updateStrategy"] = json!("AutoInPlaceUpdate");
    let strategy = |world: &World| pool(world.patched(&shoot).value(), "main")["updateStrategy"].clone();
    assert_eq!(strategy(&world), "AutoInPlaceUpdate");
    world.edit_pool(|pool| pool["updateStrategy"] = json!("ManualInPlaceUpdate"));
    assert_eq!(strategy(&world), "ManualInPlaceUpdate");
}

#[test]
fn the_infrastructure_of_a_living_shoot_is_kept_to_the_letter_without_new_zones() {
    for provider in slipway_kube::providers::CLOUDS.iter().map(|cloud| cloud.name) {
        let mut world = World::least(provider);
        let mut shoot = living(&world.created());
        shoot["spec"]["provider"]["infrastructureConfig"] = json!({ "kind": "of somebody else" });
        shoot["spec"]["provider"]["controlPlaneConfig"] = json!({ "x": [null, 1] });
        world.edit_pool(|pool| pool["maximum"] = json!(9));
        let next = world.patched(&shoot).into_value();
        for path in ["/spec/provider/infrastructureConfig", "/spec/provider/controlPlaneConfig"] {
            assert_eq!(next.pointer(path), shoot.pointer(path), "{provider} {path}");
        }
    }
}

/// W8.
#[test]
fn a_new_zone_is_appended_and_the_zone_of_a_removed_pool_keeps_its_subnets() {
    let mut world = World::least("aws");
    with_pools(&mut world, json!([extra("d", &["zone-d"])]));
    let mut shoot = living(&world.created());
    shoot["spec"]["provider"]["infrastructureConfig"]["networks"]["zones"][2]["elasticIPAllocationID"] = json!("eip");
    let zones = |shoot: &Value| shoot["spec"]["provider"]["infrastructureConfig"]["networks"]["zones"].clone();
    assert_eq!(zones(&shoot)[2]["name"], "zone-d");
    // The only pool in zone d goes, then one in zone e comes.
    with_pools(&mut world, json!([]));
    let without = living(world.patched(&shoot).value());
    assert_eq!(zones(&without), zones(&shoot));
    with_pools(&mut world, json!([extra("e", &["zone-e"])]));
    let with_e = zones(world.patched(&without).value());
    assert_eq!(with_e.as_array().map(Vec::len), Some(4));
    assert_eq!(with_e[2], zones(&shoot)[2]);
    assert_eq!(with_e[3]["workers"], "10.250.192.0/22");
}

#[test]
fn an_azure_cluster_without_zones_in_its_configuration_is_left_alone() {
    let mut world = World::least("azure");
    let mut shoot = living(&world.created());
    let lite =
        json!({ "networks": { "vnet": { "cidr": "10.250.0.0/16" }, "workers": "10.250.0.0/16" }, "zoned": true });
    shoot["spec"]["provider"]["infrastructureConfig"] = lite.clone();
    world.edit_pool(|pool| pool["zones"] = json!(["1", "2", "3"]));
    assert_eq!(world.patched(&shoot).value()["spec"]["provider"]["infrastructureConfig"], lite);
}

#[test]
fn a_configuration_that_the_runtime_names_is_used_on_creation() {
    let mut world = World::least("aws");
    let own = json!({ "kind": "InfrastructureConfig", "networks": { "vpc": { "id": "vpc-1" } } });
    world.edit(|spec| {
        spec["shoot"]["provider"]["infrastructureConfig"] = own.clone();
        spec["shoot"]["provider"]["controlPlaneConfig"] = json!({});
    });
    let provider = &world.created()["spec"]["provider"];
    assert_eq!(provider["infrastructureConfig"], own);
    assert_eq!(provider["controlPlaneConfig"]["kind"], "ControlPlaneConfig", "an empty one says nothing");
}

#[test]
fn a_configuration_that_the_runtime_names_changes_a_living_cluster_and_what_it_does_not_name_stays() {
    let mut world = World::least("azure");
    let mut shoot = living(&world.created());
    shoot["spec"]["provider"]["infrastructureConfig"]["identity"] = json!({ "name": "of-others" });
    let named = |world: &mut World, zones: Value| {
        world
            .edit(|spec| spec["shoot"]["provider"]["infrastructureConfig"] = json!({ "networks": { "zones": zones } }));
    };
    let gateway = json!({ "enabled": true, "idleConnectionTimeoutMinutes": 30 });
    named(&mut world, json!([{ "name": 1, "natGateway": gateway }, { "name": 5, "cidr": "10.250.224.0/20" }]));
    world.edit_pool(|pool| pool["zones"] = json!(["1", "2", "3", "5"]));
    let next = world.patched(&shoot).into_value();
    let config = &next["spec"]["provider"]["infrastructureConfig"];
    assert_eq!(config["identity"], json!({ "name": "of-others" }));
    let zones = &config["networks"]["zones"];
    assert_eq!((&zones[0]["natGateway"], &zones[0]["cidr"]), (&gateway, &json!("10.250.0.0/19")));
    assert_eq!(zones[1], shoot["spec"]["provider"]["infrastructureConfig"]["networks"]["zones"][1]);
    assert_eq!((&zones[2]["cidr"], &zones[3]["cidr"]), (&json!("10.250.224.0/20"), &json!("10.250.64.0/19")));

    named(&mut world, json!([{ "name": 1, "cidr": "10.250.32.0/19" }]));
    let refused = world.refused(Some(&shoot));
    assert_eq!(refused.path, "spec.shoot.provider.infrastructureConfig.networks.zones[1].cidr");
    assert_eq!(refused.message, r#"cannot change from "10.250.0.0/19" to "10.250.32.0/19"; leave it as it is"#);
}

#[test]
fn machines_cannot_be_reached_by_ssh() {
    for world in World::all() {
        assert_eq!(
            world.created()["spec"]["provider"]["workersSettings"],
            json!({ "sshAccess": { "enabled": false } })
        );
    }
}
