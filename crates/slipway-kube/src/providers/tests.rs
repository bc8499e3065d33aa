//! The shapes, and what an edit leaves alone.

use serde_json::json;

use super::*;

fn cluster<'a>(zones: &'a [&'a str], parent: &'a ParentReference) -> Cluster<'a> {
    Cluster { nodes: "10.250.0.0/16".parse().expect("a network"), zones, is_dual_stack: false, gdch_parent: parent }
}

fn made(provider: ProviderType, zones: &[&str]) -> Value {
    let parent = ParentReference { name: "vpc".to_owned(), ..ParentReference::default() };
    Value::Object(shape(provider).infrastructure(&cluster(zones, &parent)).expect("made"))
}

fn edited(provider: ProviderType, existing: &Value, zones: &[&str]) -> Result<Value, Error> {
    let existing = existing.as_object().expect("an object");
    shape(provider).with_zones(existing, &cluster(zones, &ParentReference::default())).map(Value::Object)
}

#[test]
fn every_cloud_has_one_row() {
    assert_eq!(SHAPES.iter().map(|shape| shape.provider).collect::<Vec<_>>(), ProviderType::ALL);
    for provider in ProviderType::ALL {
        assert_eq!(shape(provider).provider, provider);
    }
}

#[test]
fn the_infrastructure_of_each_cloud() {
    let aws = made(ProviderType::Aws, &["a", "b"]);
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
    let azure = made(ProviderType::Azure, &["2"]);
    assert_eq!(azure["zoned"], json!(true));
    assert_eq!(
        azure["networks"]["zones"],
        json!([{
            "name": 2, "cidr": "10.250.0.0/19", "natGateway": { "enabled": true, "idleConnectionTimeoutMinutes": 4 },
        }])
    );
    let without_zones = made(ProviderType::Azure, &[]);
    assert_eq!(without_zones["networks"], json!({ "vnet": { "cidr": "10.250.0.0/16" }, "workers": "10.250.0.0/16" }));
    assert_eq!(
        made(ProviderType::Gcp, &["a"])["networks"],
        json!({ "worker": "10.250.0.0/16", "workers": "10.250.0.0/16" })
    );
    let openstack = made(ProviderType::Openstack, &["a"]);
    assert_eq!(openstack["floatingPoolName"], json!("FloatingIP-external-kyma-01"));
    let alicloud = made(ProviderType::Alicloud, &["a", "b"]);
    assert_eq!(alicloud["networks"]["zones"][1], json!({ "name": "b", "workers": "10.250.32.0/19" }));
    let gdch = made(ProviderType::Gdch, &["a", "b"]);
    assert_eq!(gdch["networks"]["zones"][1], json!({ "name": "b", "CIDR": "10.250.128.0/17" }));
    assert_eq!(gdch["networks"]["parentReference"], json!({ "name": "vpc" }));
}

#[test]
fn the_control_plane_of_each_cloud() {
    let parent = ParentReference::default();
    let of = |provider: ProviderType| {
        let mut config = shape(provider).control_plane(&cluster(&["a"], &parent)).expect("made");
        assert_eq!(config.remove("kind"), Some(json!("ControlPlaneConfig")));
        assert_eq!(config.remove("apiVersion"), Some(json!(shape(provider).api_version)));
        Value::Object(config)
    };
    assert_eq!(of(ProviderType::Gcp), json!({ "zone": "a" }));
    assert_eq!(of(ProviderType::Openstack), json!({ "loadBalancerProvider": "f5" }));
    for provider in [ProviderType::Aws, ProviderType::Azure, ProviderType::Alicloud, ProviderType::Gdch] {
        assert_eq!(of(provider), json!({}));
    }
}

#[test]
fn dual_stack_is_told_to_both_configurations_of_aws() {
    let parent = ParentReference::default();
    let cluster = Cluster { is_dual_stack: true, ..cluster(&["a"], &parent) };
    let shape = shape(ProviderType::Aws);
    assert_eq!(shape.infrastructure(&cluster).expect("made")["dualStack"], json!({ "enabled": true }));
    assert_eq!(shape.control_plane(&cluster).expect("made")["loadBalancerController"], json!({ "enabled": true }));
}

#[test]
fn a_new_zone_is_appended_as_if_it_had_been_there_from_the_start() {
    for (provider, few, more) in [
        (ProviderType::Aws, &["a", "b"][..], &["a", "b", "c", "d"][..]),
        (ProviderType::Azure, &["1"], &["1", "3", "2"]),
        (ProviderType::Alicloud, &["a"], &["a", "b"]),
    ] {
        assert_eq!(edited(provider, &made(provider, few), more), Ok(made(provider, more)), "{provider}");
    }
}

#[test]
fn a_zone_without_a_pool_keeps_its_subnets_and_unknown_fields_survive() {
    let mut existing = made(ProviderType::Aws, &["a", "d"]);
    existing["enableECRAccess"] = json!(false);
    existing["networks"]["vpc"] = json!({ "id": "vpc-1", "gatewayEndpoints": ["s3"] });
    existing["networks"]["zones"][1]["elasticIPAllocationID"] = json!("eip-1");
    let now = edited(ProviderType::Aws, &existing, &["a", "e"]).expect("edited");
    let mut expected = existing;
    let third = made(ProviderType::Aws, &["a", "d", "e"])["networks"]["zones"][2].clone();
    expected["networks"]["zones"].as_array_mut().expect("a list").push(third);
    assert_eq!(now, expected);
}

#[test]
fn a_slot_that_somebody_took_otherwise_is_left_alone() {
    let mut existing = made(ProviderType::Alicloud, &["a"]);
    existing["networks"]["zones"][0]["workers"] = json!("10.250.0.0/18");
    let now = edited(ProviderType::Alicloud, &existing, &["a", "b"]).expect("edited");
    assert_eq!(now["networks"]["zones"][1], json!({ "name": "b", "workers": "10.250.64.0/19" }));
    existing["networks"]["zones"][0]["workers"] = json!("10.250.0.0/16");
    let full = edited(ProviderType::Alicloud, &existing, &["a", "b"]).expect_err("full");
    assert_eq!(full.to_string(), "10.250.0.0/16 has no room for another zone");
}

#[test]
fn an_azure_cluster_without_zones_stays_without() {
    let existing = made(ProviderType::Azure, &[]);
    assert_eq!(edited(ProviderType::Azure, &existing, &["1", "2"]), Ok(existing));
}

#[test]
fn a_third_zone_of_gdch_takes_a_free_quarter_and_the_first_two_stay() {
    let existing = made(ProviderType::Gdch, &["a", "b", "c"]);
    let now = edited(ProviderType::Gdch, &existing, &["a", "b", "c", "d"]).expect("edited");
    assert_eq!(now["networks"]["zones"][3], json!({ "name": "d", "CIDR": "10.250.192.0/18" }));
    assert!(edited(ProviderType::Gdch, &made(ProviderType::Gdch, &["a"]), &["a", "b"]).is_err());
}

#[test]
fn wrong_zones_are_told_by_name() {
    let parent = ParentReference::default();
    let said = |provider: ProviderType, zones: &[&str]| {
        shape(provider).infrastructure(&cluster(zones, &parent)).expect_err("refused").to_string()
    };
    assert_eq!(
        said(ProviderType::Azure, &["westeurope-1"]),
        "`westeurope-1` is no zone of azure; zones are the numbers 1 to 8"
    );
    assert_eq!(said(ProviderType::Aws, &["a", "a"]), "zone a is named twice");
    assert_eq!(said(ProviderType::Aws, &[]), "aws needs at least one zone");
    let nine = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    assert_eq!(said(ProviderType::Aws, &nine), "9 zones are too many; all pools together may use 8");
    assert_eq!(
        shape(ProviderType::Gcp).control_plane(&cluster(&[], &parent)),
        Err(Error::Zones("gcp needs at least one zone".to_owned()))
    );
}
