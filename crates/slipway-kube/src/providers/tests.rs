//! The clouds, what a change leaves alone, and what it refuses.

mod sample;

use serde_json::{Value, json};

use super::*;
use crate::{
    cloud::{Block, Cluster, Configs, Error, Found, Usual},
    runtime::Raw,
    violations::Violations,
};

fn cloud(name: &str) -> &'static Cloud {
    ProviderType::parse(name).expect("a cloud").cloud()
}

fn raw(value: &Value) -> Raw {
    value.as_object().expect("an object").clone()
}

fn infrastructure(value: &Value) -> Configs {
    Configs { infrastructure: Some(raw(value)), control_plane: None }
}

fn cluster<'a>(zones: &'a [&'a str], landscape: &'a Raw) -> Cluster<'a> {
    Cluster { nodes: "10.250.0.0/16".parse().expect("a network"), zones, is_dual_stack: false, landscape }
}

fn created(name: &str, zones: &[&str]) -> Result<Configs, Error> {
    let landscape = raw(&json!({ "parentReferenceName": "vpc" }));
    cloud(name).create(&Configs::default(), &cluster(zones, &landscape))
}

fn made(name: &str, zones: &[&str]) -> Value {
    Value::Object(created(name, zones).expect("made").infrastructure.expect("a document"))
}

fn changed(name: &str, existing: &Value, wanted: &Configs, zones: &[&str]) -> Result<Value, Error> {
    let changed = cloud(name).change(&infrastructure(existing), wanted, &cluster(zones, &Raw::new()))?;
    Ok(Value::Object(changed.infrastructure.expect("a document")))
}

fn with_zones(name: &str, existing: &Value, zones: &[&str]) -> Result<Value, Error> {
    changed(name, existing, &Configs::default(), zones)
}

#[test]
fn names_are_unique_and_old_names_are_known_in_any_case() {
    let names: Vec<_> = CLOUDS.iter().flat_map(|cloud| cloud.aliases.iter().chain([&cloud.name])).collect();
    for (at, name) in names.iter().enumerate() {
        assert!(!names[..at].contains(name), "{name}");
    }
    for (text, name) in [("GCP", "gcp"), ("gke", "gcp"), ("AKS", "azure"), ("OpenStack", "openstack")] {
        assert_eq!(ProviderType::parse(text).map(ProviderType::as_str), Some(name));
    }
    assert_eq!((ProviderType::parse("ec2"), ProviderType::parse("")), (None, None));
    let refused = serde_json::from_value::<ProviderType>(json!("GCP")).expect_err("only requests are read leniently");
    assert_eq!(refused.to_string(), "`GCP` is no cloud; one of aws, azure, gcp, openstack, alicloud, gdch is");
}

#[test]
fn the_infrastructure_of_each_cloud() {
    let aws = made("aws", &["a", "b"]);
    assert_eq!(
        aws,
        json!({
            "apiVersion": "aws.provider.extensions.gardener.cloud/v1alpha1", "kind": "InfrastructureConfig",
            "networks": { "vpc": { "cidr": "10.250.0.0/16" }, "zones": [
                { "name": "a", "workers": "10.250.0.0/19", "public": "10.250.32.0/20", "internal": "10.250.48.0/20" },
                { "name": "b", "workers": "10.250.64.0/19", "public": "10.250.96.0/20", "internal": "10.250.112.0/20" },
            ] },
        })
    );
    let azure = made("azure", &["2"]);
    assert_eq!(azure["zoned"], json!(true));
    assert_eq!(
        azure["networks"]["zones"],
        json!([{
            "name": 2, "cidr": "10.250.0.0/19", "natGateway": { "enabled": true, "idleConnectionTimeoutMinutes": 4 },
        }])
    );
    let without_zones = made("azure", &[]);
    assert_eq!(without_zones["networks"], json!({ "vnet": { "cidr": "10.250.0.0/16" }, "workers": "10.250.0.0/16" }));
    assert_eq!(made("gcp", &["a"])["networks"], json!({ "worker": "10.250.0.0/16", "workers": "10.250.0.0/16" }));
    assert_eq!(made("openstack", &["a"])["floatingPoolName"], json!("FloatingIP-external-kyma-01"));
    let alicloud = made("alicloud", &["a", "b"]);
    assert_eq!(alicloud["networks"]["zones"][1], json!({ "name": "b", "workers": "10.250.32.0/19" }));
    let gdch = made("gdch", &["a", "b"]);
    assert_eq!(gdch["networks"]["zones"][1], json!({ "name": "b", "CIDR": "10.250.128.0/17" }));
    assert_eq!(gdch["networks"]["parentReference"], json!({ "name": "vpc" }));
}

#[test]
fn the_control_plane_of_each_cloud() {
    let of = |name: &str| {
        let mut config = created(name, &["1"]).expect("made").control_plane.expect("a document");
        assert_eq!(config.remove("kind"), Some(json!("ControlPlaneConfig")));
        assert_eq!(config.remove("apiVersion"), Some(json!(cloud(name).api_version)));
        Value::Object(config)
    };
    assert_eq!(of("gcp"), json!({ "zone": "1" }));
    assert_eq!(of("openstack"), json!({ "loadBalancerProvider": "f5" }));
    for name in ["aws", "azure", "alicloud", "gdch"] {
        assert_eq!(of(name), json!({}));
    }
}

#[test]
fn dual_stack_is_told_to_both_documents_of_aws() {
    let landscape = Raw::new();
    let cluster = Cluster { is_dual_stack: true, ..cluster(&["a"], &landscape) };
    let configs = cloud("aws").create(&Configs::default(), &cluster).expect("made");
    assert_eq!(configs.infrastructure.expect("a document")["dualStack"], json!({ "enabled": true }));
    assert_eq!(configs.control_plane.expect("a document")["loadBalancerController"], json!({ "enabled": true }));
}

#[test]
fn a_landscape_may_demand_tokens_of_the_machines_on_aws() {
    let demands = |on: bool| cloud("aws").machines(&raw(&json!({ "enableIMDSv2": on })));
    assert_eq!(demands(true).expect("a document")["instanceMetadataOptions"]["httpTokens"], "required");
    assert_eq!(demands(false), None);
    assert_eq!(cloud("azure").machines(&raw(&json!({ "enableIMDSv2": true }))), None);
}

#[test]
fn a_new_zone_is_appended_as_if_it_had_been_there_from_the_start() {
    for (name, few, more) in [
        ("aws", &["a", "b"][..], &["a", "b", "c", "d"][..]),
        ("azure", &["1"], &["1", "3", "2"]),
        ("alicloud", &["a"], &["a", "b"]),
    ] {
        assert_eq!(with_zones(name, &made(name, few), more), Ok(made(name, more)), "{name}");
    }
}

#[test]
fn a_zone_without_a_pool_keeps_its_subnets_and_unknown_fields_survive() {
    let mut existing = made("aws", &["a", "d"]);
    existing["enableECRAccess"] = json!(false);
    existing["networks"]["vpc"] = json!({ "id": "vpc-1", "gatewayEndpoints": ["s3"] });
    existing["networks"]["zones"][1]["elasticIPAllocationID"] = json!("eip-1");
    let now = with_zones("aws", &existing, &["a", "e"]).expect("edited");
    let mut expected = existing;
    let third = made("aws", &["a", "d", "e"])["networks"]["zones"][2].clone();
    expected["networks"]["zones"].as_array_mut().expect("a list").push(third);
    assert_eq!(now, expected);
}

#[test]
fn a_slot_that_somebody_took_otherwise_is_left_alone() {
    let mut existing = made("alicloud", &["a"]);
    existing["networks"]["zones"][0]["workers"] = json!("10.250.0.0/18");
    let now = with_zones("alicloud", &existing, &["a", "b"]).expect("edited");
    assert_eq!(now["networks"]["zones"][1], json!({ "name": "b", "workers": "10.250.64.0/19" }));
    existing["networks"]["zones"][0]["workers"] = json!("10.250.0.0/16");
    let full = with_zones("alicloud", &existing, &["a", "b"]).expect_err("full");
    assert_eq!(full.to_string(), "10.250.0.0/16 has no room for another zone");
}

#[test]
fn an_azure_cluster_without_zones_stays_without() {
    let existing = made("azure", &[]);
    assert_eq!(with_zones("azure", &existing, &["1", "2"]), Ok(existing));
}

#[test]
fn a_cluster_on_gdch_never_has_more_than_three_zones_and_none_moves() {
    let quarter = |name: &str, cidr: &str| json!({ "name": name, "CIDR": cidr });
    let two = json!({ "networks": { "zones": [quarter("a", "10.250.0.0/18"), quarter("b", "10.250.64.0/18")] } });
    let three = with_zones("gdch", &two, &["a", "b", "c"]).expect("edited");
    assert_eq!(three["networks"]["zones"][2], quarter("c", "10.250.128.0/18"));
    assert!(with_zones("gdch", &three, &["a", "b", "c", "d"]).is_err());
    assert!(with_zones("gdch", &made("gdch", &["a"]), &["a", "b"]).is_err());
}

#[test]
fn wrong_zones_are_told_by_name() {
    let said = |name: &str, zones: &[&str]| created(name, zones).expect_err("refused").to_string();
    assert_eq!(said("azure", &["westeurope-1"]), "`westeurope-1` is no zone of azure; zones are the numbers 1 to 8");
    assert_eq!(said("aws", &["a", "a"]), "zone a is named twice");
    assert_eq!(said("aws", &[]), "aws needs at least one zone");
    let nine = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    assert_eq!(said("aws", &nine), "9 zones are too many; all pools together may use 8");
    assert_eq!(said("gcp", &[]), "gcp needs at least one zone");
}

#[test]
fn what_a_cloud_made_and_is_asked_for_again_changes_nothing() {
    for cloud in CLOUDS {
        let zones: &[&str] = &["1", "2"];
        let landscape = raw(&json!({ "parentReferenceName": "vpc" }));
        let made = created(cloud.name, zones).expect("made");
        assert_eq!(cloud.change(&made, &made, &cluster(zones, &landscape)), Ok(made.clone()), "{}", cloud.name);
    }
}

#[test]
fn a_gateway_of_azure_is_opened_changed_and_closed_and_what_others_set_for_it_stays() {
    let zone = |gateway: Value| json!({ "networks": { "zones": [{ "name": 1, "cidr": "10.250.0.0/19", "natGateway": gateway }] } });
    let gateway = |existing: &Value, wanted: Value| {
        let now = changed("azure", existing, &infrastructure(&zone(wanted)), &[]).expect("changed");
        now["networks"]["zones"][0].get("natGateway").cloned()
    };
    let mut without = made("azure", &["1"]);
    without["networks"]["zones"][0].as_object_mut().expect("a zone").remove("natGateway");
    let open = json!({ "enabled": true, "idleConnectionTimeoutMinutes": 9 });
    assert_eq!(gateway(&without, open.clone()), Some(open.clone()));
    assert_eq!(gateway(&without, json!({ "enabled": false })), None);
    let mut with = made("azure", &["1"]);
    with["networks"]["zones"][0]["natGateway"]["ipAddresses"] = json!([{ "name": "ip" }]);
    let kept = gateway(&with, open).expect("a gateway");
    assert_eq!((&kept["idleConnectionTimeoutMinutes"], &kept["ipAddresses"]), (&json!(9), &json!([{ "name": "ip" }])));
    assert_eq!(gateway(&with, json!({ "enabled": false })), None);
    let new = cloud("azure").create(&infrastructure(&zone(json!({ "enabled": false }))), &cluster(&["1"], &Raw::new()));
    let new = Value::Object(new.expect("made").infrastructure.expect("a document"));
    assert_eq!(new["networks"]["zones"][0].get("natGateway"), None);
}

#[test]
fn an_asked_zone_gets_the_asked_range_and_others_the_next_free_one() {
    let wanted = json!({ "networks": { "zones": [
        { "name": 1, "cidr": "10.250.0.0/19" }, { "name": 2, "cidr": "10.250.200.0/22" },
    ] } });
    let now = changed("azure", &made("azure", &["1"]), &infrastructure(&wanted), &["1", "2", "3"]).expect("changed");
    let ranges: Vec<_> = now["networks"]["zones"].as_array().expect("zones").iter().map(|zone| &zone["cidr"]).collect();
    assert_eq!(ranges, ["10.250.0.0/19", "10.250.200.0/22", "10.250.32.0/19"]);
}

#[test]
fn what_a_living_cluster_cannot_change_is_refused_with_its_path() {
    let zones = |entry: Value| json!({ "networks": { "zones": [entry] } });
    for (name, wanted, path) in [
        ("azure", json!({ "zoned": false }), "zoned"),
        ("azure", json!({ "networks": { "vnet": { "cidr": "10.9.0.0/16" } } }), "networks.vnet.cidr"),
        ("azure", json!({ "networks": { "vnet": { "name": "own" } } }), "networks.vnet.name"),
        ("azure", json!({ "networks": { "workers": "10.250.0.0/16" } }), "networks.workers"),
        ("azure", zones(json!({ "name": "1", "cidr": "10.250.32.0/19" })), "networks.zones[1].cidr"),
        ("azure", zones(json!({ "name": 2, "cidr": "10.250.0.0/24" })), "networks.zones[2]"),
        ("aws", json!({ "networks": { "vpc": { "id": "vpc-1" } } }), "networks.vpc.id"),
        ("aws", zones(json!({ "name": "1", "public": "10.250.0.0/20" })), "networks.zones[1].public"),
        ("aws", json!({ "dualStack": { "enabled": true } }), "dualStack.enabled"),
        ("alicloud", zones(json!({ "name": "1", "workers": "10.250.32.0/19" })), "networks.zones[1].workers"),
        ("gcp", json!({ "networks": { "workers": "10.9.0.0/16" } }), "networks.workers"),
        ("openstack", json!({ "floatingPoolName": "own" }), "floatingPoolName"),
        ("gdch", json!({ "networks": { "parentReference": { "name": "own" } } }), "networks.parentReference.name"),
    ] {
        let refused = changed(name, &made(name, &["1"]), &infrastructure(&wanted), &[]);
        let Err(Error::Refused { path: at, .. }) = refused else { panic!("{name} {wanted}: {refused:?}") };
        assert_eq!(at, format!("infrastructureConfig.{path}"), "{name}");
    }
    let living = created("gcp", &["1"]).expect("made");
    let wanted = Configs { control_plane: Some(raw(&json!({ "zone": "2" }))), ..Configs::default() };
    let refused = cloud("gcp").change(&living, &wanted, &cluster(&[], &Raw::new())).expect_err("refused");
    assert_eq!(refused.to_string(), r#"cannot change from "1" to "2"; leave it as it is"#);
    let lite = json!({ "networks": { "vnet": { "cidr": "10.250.0.0/16" }, "workers": "10.250.0.0/16" } });
    let refused = changed("azure", &lite, &infrastructure(&made("azure", &["1"])), &[]).expect_err("another layout");
    assert!(matches!(refused, Error::Refused { .. }), "{refused}");
}

#[test]
fn a_cluster_on_gcp_that_was_made_with_one_spelling_keeps_it() {
    let old = json!({ "networks": { "workers": "10.250.0.0/16", "cloudNAT": { "minPortsPerVM": 64 } } });
    assert_eq!(
        changed("gcp", &old, &infrastructure(&made("gcp", &["a"])), &[]).map(|now| now["networks"].clone()),
        Ok(old["networks"].clone())
    );
}

/// What is stored of a block is a promise to every row that was ever written.
#[test]
fn a_stored_block_is_read_and_written_as_ever() {
    for stored in [
        json!({ "provider": "gcp", "zones": ["a"] }),
        json!({ "provider": "azure", "vnetCidr": "10.250.0.0/16", "zones": [], "enableNatGateway": true,
            "azureZones": [{ "name": 1, "cidr": "10.250.0.0/24" }], "idleConnectionTimeoutMinutes": null }),
        json!({ "provider": "aws", "vpcCidr": "10.250.0.0/16", "enableImdsV2": true, "zones": [
            { "name": "a", "publicCidr": "10.250.1.0/24", "internalCidr": "10.250.2.0/24", "workerCidr": "10.250.0.0/24" }] }),
        json!({ "provider": "openstack", "zones": ["a"], "floatingPoolName": "f", "cloudProfileName": "c",
            "loadBalancerProvider": "l" }),
        json!({ "provider": "alicloud", "vpcCidr": "10.250.0.0/16",
            "zones": [{ "name": "a", "workerCidr": "10.250.0.0/24" }] }),
    ] {
        let block: Block = serde_json::from_value(stored.clone()).expect("read");
        assert_eq!(serde_json::to_value(&block).expect("JSON"), stored);
        assert_eq!((block.clone(), block.echo()["provider"].clone()), (block, stored["provider"].clone()));
    }
    for wrong in [json!({ "zones": [] }), json!({ "provider": "moon" }), json!({ "provider": "gdch" })] {
        assert!(serde_json::from_value::<Block>(wrong).is_err());
    }
}
