//! Random lives of clusters: whatever its owner asks for, a cluster loses nothing it cannot do without.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use slipway_kube::Cidr;

use super::trial::{World, living};
use crate::plan::{Effect, plan};

/// What an owner does between two renderings.
#[derive(Clone, Debug)]
enum Wish {
    /// The zones of the main pool.
    Zones(Vec<u8>),
    /// The additional pools, each with its zones.
    Pools(Vec<(u8, Vec<u8>)>),
    Version(&'static str),
    Image(&'static str),
    Maximum(u8),
    /// A zone with a range of its owner's choice, which may be taken.
    Range(u8, u8),
}

fn zones() -> impl Strategy<Value = Vec<u8>> {
    proptest::sample::subsequence((1..=8_u8).collect::<Vec<_>>(), 1..=4).prop_shuffle()
}

fn wishes() -> impl Strategy<Value = Wish> {
    prop_oneof![
        3 => zones().prop_map(Wish::Zones),
        3 => proptest::collection::btree_map(0..5_u8, zones(), 0..4).prop_map(|pools| Wish::Pools(pools.into_iter().collect())),
        1 => proptest::sample::select(vec!["1.33.9", "1.34.1", "1.34.5", "1.35.2", "", "nonsense"]).prop_map(Wish::Version),
        1 => proptest::sample::select(vec!["", "1000.0.0", "1877.9.0", "2000.1.0"]).prop_map(Wish::Image),
        1 => (3..50_u8).prop_map(Wish::Maximum),
        2 => (1..=8_u8, 0..16_u8).prop_map(|(zone, at)| Wish::Range(zone, at)),
    ]
}

fn name(provider: &str, zone: u8) -> String {
    if provider == "azure" { zone.to_string() } else { format!("zone-{zone}") }
}

fn fulfil(world: &mut World, provider: &str, wish: &Wish) {
    let names = |zones: &[u8]| zones.iter().map(|zone| name(provider, *zone)).collect::<Vec<_>>();
    world.edit(|spec| {
        let shoot = &mut spec["shoot"];
        match wish {
            Wish::Zones(zones) => shoot["provider"]["workers"][0]["zones"] = json!(names(zones)),
            Wish::Pools(pools) => {
                let pool = |(at, zones): &(u8, Vec<u8>)| {
                    json!({ "name": format!("p{at}"), "machine": { "type": "large" }, "minimum": 0, "maximum": 9, "zones": names(zones) })
                };
                shoot["provider"]["additionalWorkers"] = pools.iter().map(pool).collect();
            }
            Wish::Version(version) => shoot["kubernetes"]["version"] = json!(version),
            Wish::Image(version) => shoot["provider"]["workers"][0]["machine"]["image"]["version"] = json!(version),
            Wish::Range(_, _) if provider == "gcp" => {}
            Wish::Range(zone, at) => {
                let field = if provider == "azure" { "cidr" } else { "workers" };
                let zone = json!({ "name": name(provider, *zone), field: format!("10.250.{}.0/20", at * 16) });
                shoot["provider"]["infrastructureConfig"] = json!({ "networks": { "zones": [zone] } });
            }
            Wish::Maximum(maximum) => shoot["provider"]["workers"][0]["maximum"] = json!(maximum),
        }
    });
}

/// The zones of the cloud's configuration: each with its subnets.
fn subnets(shoot: &Value) -> BTreeMap<String, Vec<Cidr>> {
    let zones = shoot["spec"]["provider"]["infrastructureConfig"]["networks"]["zones"].as_array();
    let cidrs = |zone: &Value| {
        zone.as_object()
            .into_iter()
            .flat_map(|zone| zone.values())
            .filter_map(Value::as_str)
            .filter_map(|text| text.parse().ok())
            .collect()
    };
    zones.into_iter().flatten().map(|zone| (zone["name"].to_string(), cidrs(zone))).collect()
}

fn pool_zones(shoot: &Value) -> BTreeMap<String, Vec<Value>> {
    let pools = shoot["spec"]["provider"]["workers"].as_array().expect("pools");
    pools.iter().map(|pool| (pool["name"].to_string(), pool["zones"].as_array().cloned().unwrap_or_default())).collect()
}

fn is_lower(shoot: &Value, before: &Value, pointer: &str) -> bool {
    let text = |shoot: &Value| shoot.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    crate::version::is_higher(&text(before), &text(shoot))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_cluster_loses_no_zone_no_subnet_and_no_version(
        provider in proptest::sample::select(vec!["aws", "azure", "alicloud", "gcp"]),
        life in proptest::collection::vec(wishes(), 1..16),
    ) {
        let mut world = World::least(provider);
        let nodes: Cidr = "10.250.0.0/16".parse().expect("a network");
        let mut shoot = living(&world.created());
        for wish in &life {
            let before = world.runtime.clone();
            fulfil(&mut world, provider, wish);
            let next = match super::render(&world.input(Some(&shoot))) {
                Ok(document) => document.into_value(),
                // Eight zones are all there are, and a range has one owner: what is refused is taken back, and the
                // cluster stays as it is.
                Err(error) => {
                    prop_assert!(error.to_string().contains("zone"), "{}", error);
                    world.runtime = before;
                    continue;
                }
            };
            let (before, after) = (subnets(&shoot), subnets(&next));
            for (zone, there) in &before {
                prop_assert_eq!(Some(there), after.get(zone), "{} moved", zone);
            }
            let all: Vec<Cidr> = after.values().flatten().copied().collect();
            for (at, subnet) in all.iter().enumerate() {
                prop_assert!(nodes.contains(*subnet), "{} is outside", subnet);
                prop_assert!(!all[..at].iter().any(|other| other.overlaps(*subnet)), "{} is taken twice", subnet);
            }
            let kept = pool_zones(&next);
            for (pool, zones) in pool_zones(&shoot) {
                if let Some(now) = kept.get(&pool) {
                    prop_assert!(now.starts_with(&zones), "{} lost or moved a zone: {:?} {:?}", pool, zones, now);
                }
            }
            prop_assert!(!is_lower(&next, &shoot, "/spec/kubernetes/version"));
            let alive = living(&next);
            let planned = plan(&world.input(Some(&alive))).changes;
            let left: Vec<_> = planned.iter().filter(|change| change.effect != Effect::Refused).collect();
            prop_assert!(left.is_empty(), "what was rendered is not at rest: {:?}", left);
            shoot = alive;
        }
    }
}
