//! A cloud that exists only here: everything that is needed to add one, and nothing else is edited.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::*;
use crate::{
    cloud::{Data, Networks, Parameters, Requested, Requests, Shape, add_missing, cut, free_slot, zones_of},
    subnets,
};

static MOON: Cloud = Cloud {
    name: "moon",
    aliases: &["luna"],
    api_version: "moon.example/v1",
    has_dual_stack: false,
    has_acl: false,
    needs_overlay: false,
    data: LazyLock::new(|| Data::read(DATA)),
    landscape: &[],
    shape: Shape::of::<Moon>(),
    requests: Some(Requests::by::<Moon>("moonConfig")),
};

const DATA: &str = r#"
cloud_profile: moon
offer:
  machine_type: rover
  machine_image: gardenlinux
  machines: [{ name: rover, memory: 8 }]
  zone_letters: { default: [near, far] }
  zone_name: "{region}-{letter}"
"#;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Moon {
    crater: String,
    zones: Vec<Zone>,
    shielded: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Zone {
    name: String,
    cidr: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    crater: Option<String>,
    zones: Option<Vec<Zone>>,
    shielded: Option<bool>,
}

fn zone(name: &str, nodes: subnets::Cidr, slot: usize) -> Result<Zone, Error> {
    Ok(Zone { name: name.to_owned(), cidr: subnets::eighth(nodes, slot)?.to_string() })
}

impl Parameters for Moon {
    const FIXED: &'static [&'static str] =
        &["infrastructureConfig.networks.crater", "infrastructureConfig.networks.zones[].cidr"];

    fn cut(cluster: &Cluster<'_>) -> Result<Self, Error> {
        Ok(Self { crater: cluster.nodes.to_string(), zones: cut(cluster, zone)?, shielded: true })
    }

    fn infrastructure(&self, _: Networks<'_>) -> Value {
        json!({ "shielded": self.shielded, "networks": { "crater": self.crater, "zones": self.zones } })
    }

    fn add_zones(living: &mut Raw, cluster: &Cluster<'_>) -> Result<(), Error> {
        add_missing(zones_of(living)?, cluster, |name, taken| {
            let cidr = free_slot(cluster.nodes, taken, subnets::eighth, |subnet| vec![*subnet])?;
            Ok(json!({ "name": name, "cidr": cidr.to_string() }))
        })
    }
}

impl Requested for Moon {
    type Asked = Asked;

    fn complete(asked: Asked, usual: &Usual<'_>, found: &mut Found<'_>) -> Self {
        let crater = usual.network(asked.crater);
        let zones = asked.zones.unwrap_or_else(|| usual.split(&crater, zone, "zones", found));
        Self { crater, zones, shielded: asked.shielded.unwrap_or(false) }
    }

    fn amend(&mut self, asked: Asked, found: &mut Found<'_>) {
        found.same("crater", asked.crater, &self.crater);
        if let Some(zones) = asked.zones {
            self.zones = found.added("zones", &self.zones, zones, |zone| zone.name.clone());
        }
        asked.shielded.inspect(|on| self.shielded = *on);
    }

    fn zones(&self) -> (&'static str, Vec<String>) {
        ("zones", self.zones.iter().map(|zone| zone.name.clone()).collect())
    }

    fn network(&self) -> Option<(&'static str, &str)> {
        Some(("crater", &self.crater))
    }

    fn echo(&self) -> Value {
        json!(self)
    }
}

fn complete(asked: &Value, found: &mut Violations) -> Option<Block> {
    let usual =
        Usual { region: "mare", worker_cidr: None, nodes: "10.250.0.0/16", zone: None, offer: MOON.data.offer() };
    Block::complete(ProviderType::of(&MOON), raw(asked), &usual, &mut Found::at("moonConfig", found))
}

#[test]
fn a_new_cloud_goes_from_a_request_over_its_defaults_to_documents_and_their_change() {
    let mut found = Violations::default();
    let mut block = complete(&json!({ "shielded": false }), &mut found).expect("completed");
    block.check(&mut Found::at("moonConfig", &mut found));
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(block.zones(), ["mare-near", "mare-far"]);
    assert_eq!(block.network(), Some(("crater", "10.250.0.0/16")));

    let landscape = Raw::new();
    let living = MOON.create(&block.documents("10.250.0.0/16"), &cluster(&[], &landscape)).expect("made");
    let document = living.infrastructure.as_ref().expect("a document");
    assert_eq!(document["networks"]["zones"][1], json!({ "name": "mare-far", "cidr": "10.250.32.0/19" }));
    assert_eq!(
        (&document["kind"], &document["apiVersion"]),
        (&json!("InfrastructureConfig"), &json!("moon.example/v1"))
    );

    let mut zones = block.echo()["zones"].clone();
    zones.as_array_mut().expect("zones").push(json!({ "name": "pole", "cidr": "10.250.200.0/24" }));
    block.amend(raw(&json!({ "shielded": true, "zones": zones })), &mut Found::at("moonConfig", &mut found));
    assert!(found.is_empty(), "{found:?}");
    let next = MOON.change(&living, &block.documents("10.250.0.0/16"), &cluster(&[], &landscape)).expect("changed");
    let document = next.infrastructure.expect("a document");
    assert_eq!((&document["shielded"], &document["networks"]["zones"]), (&json!(true), &zones));
}

#[test]
fn a_new_cloud_says_what_it_cannot_understand_or_change() {
    let mut found = Violations::default();
    assert!(complete(&json!({ "shield": true }), &mut found).is_none());
    let mut block = complete(&json!({}), &mut found).expect("completed");
    block.amend(raw(&json!({ "crater": "10.9.0.0/16", "zones": [] })), &mut Found::at("moonConfig", &mut found));
    let paths: Vec<_> = found.list.iter().map(|violation| (violation.path.as_str(), violation.rule)).collect();
    assert_eq!(
        paths,
        [
            ("moonConfig", "V7"),
            ("moonConfig.crater", "immutable"),
            ("moonConfig.zones", "zones"),
            ("moonConfig.zones", "zones")
        ]
    );
    let existing = created_on_the_moon(&["a"]);
    let moved = json!({ "networks": { "zones": [{ "name": "a", "cidr": "10.250.32.0/19" }] } });
    let refused = MOON.change(&existing, &infrastructure(&moved), &cluster(&[], &Raw::new())).expect_err("refused");
    assert!(matches!(refused, Error::Refused { path, .. } if path == "infrastructureConfig.networks.zones[a].cidr"));
}

fn created_on_the_moon(zones: &[&str]) -> Configs {
    MOON.create(&Configs::default(), &cluster(zones, &Raw::new())).expect("made")
}

#[test]
fn a_runtime_that_only_names_zones_gets_the_subnets_of_the_new_cloud() {
    let more = MOON.change(&created_on_the_moon(&["a"]), &Configs::default(), &cluster(&["a", "b"], &Raw::new()));
    assert_eq!(more, Ok(created_on_the_moon(&["a", "b"])));
}
