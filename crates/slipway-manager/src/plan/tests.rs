//! Changes and their labels, on a cluster of AWS.

use serde_json::json;

use super::*;
use crate::render::trial::{World, living};

fn labelled(world: &World, existing: &Value) -> Vec<(String, Effect)> {
    plan(&world.input(Some(existing))).changes.into_iter().map(|change| (change.path, change.effect)).collect()
}

/// What one edit of the spec leads to.
fn after(edit: impl FnOnce(&mut Value)) -> Vec<(String, Effect)> {
    let mut world = World::rich();
    let living = living(&world.patched(&living(&world.created())).into_value());
    world.edit(edit);
    labelled(&world, &living)
}

fn one(path: &str, effect: Effect) -> Vec<(String, Effect)> {
    vec![(path.to_owned(), effect)]
}

#[test]
fn nothing_changed_is_nothing_planned() {
    assert_eq!(after(|_| ()), []);
}

#[test]
fn a_new_cluster_is_created() {
    let world = World::least("gcp");
    assert_eq!(plan(&world.input(None)), Plan { creates: true, changes: Vec::new() });
}

#[test]
fn every_label_is_given() {
    use Effect::{InPlace, Recreates, Refused, RollsNodes};
    type Edit = fn(&mut Value);
    let main = "spec.provider.workers[main]";
    let cases: &[(Edit, String, Effect)] = &[
        (|spec| spec["shoot"]["provider"]["workers"][0]["maximum"] = json!(9), format!("{main}.maximum"), InPlace),
        (
            |spec| spec["shoot"]["provider"]["workers"][0]["labels"] = json!({ "a": "b" }),
            format!("{main}.labels"),
            InPlace,
        ),
        (
            |spec| spec["shoot"]["provider"]["workers"][0]["machine"]["type"] = json!("huge"),
            format!("{main}.machine.type"),
            RollsNodes,
        ),
        (
            |spec| spec["shoot"]["provider"]["workers"][0]["machine"]["image"]["version"] = json!("3000.1.0"),
            format!("{main}.machine.image.version"),
            RollsNodes,
        ),
        (
            |spec| spec["shoot"]["provider"]["workers"][0]["volume"] = json!({ "size": "99Gi" }),
            format!("{main}.volume"),
            RollsNodes,
        ),
        (
            |spec| spec["shoot"]["provider"]["workers"][0]["updateStrategy"] = json!("ManualInPlaceUpdate"),
            format!("{main}.updateStrategy"),
            Refused,
        ),
        (
            |spec| spec["shoot"]["provider"]["additionalWorkers"] = json!([]),
            "spec.provider.workers[extra]".to_owned(),
            RollsNodes,
        ),
        (
            |spec| spec["shoot"]["kubernetes"]["version"] = json!("1.34.9"),
            "spec.kubernetes.version".to_owned(),
            InPlace,
        ),
        (
            |spec| spec["shoot"]["kubernetes"]["version"] = json!("1.35.1"),
            "spec.kubernetes.version".to_owned(),
            RollsNodes,
        ),
        (
            |spec| spec["shoot"]["kubernetes"]["version"] = json!("1.36.1"),
            "spec.kubernetes.version".to_owned(),
            Refused,
        ),
        (
            |spec| spec["shoot"]["kubernetes"]["version"] = json!("1.33.1"),
            "spec.shoot.kubernetes.version".to_owned(),
            Refused,
        ),
        (|spec| spec["shoot"]["region"] = json!("region-2"), "spec.shoot.region".to_owned(), Recreates),
        (
            |spec| spec["shoot"]["networking"]["pods"] = json!("10.112.0.0/13"),
            "spec.shoot.networking.pods".to_owned(),
            Recreates,
        ),
        (
            |spec| spec["shoot"]["provider"]["workers"][0]["minimum"] = json!(99),
            "spec.shoot.provider.workers[0].minimum".to_owned(),
            Refused,
        ),
        (|spec| spec["shoot"]["purpose"] = json!("testing"), "spec.purpose".to_owned(), InPlace),
        (
            |spec| spec["shoot"]["controlPlane"]["highAvailability"]["failureTolerance"]["type"] = json!("node"),
            "spec.controlPlane.highAvailability.failureTolerance.type".to_owned(),
            Refused,
        ),
        (|spec| spec["shoot"]["secretBindingName"] = json!("other"), "spec.credentialsBindingName".to_owned(), InPlace),
        (
            |spec| spec["security"]["networking"]["filter"]["egress"]["enabled"] = json!(false),
            "spec.extensions[shoot-networking-filter].disabled".to_owned(),
            InPlace,
        ),
    ];
    for (edit, path, effect) in cases {
        let found = after(edit);
        assert_eq!(found.first(), Some(&(path.clone(), *effect)), "{found:?}");
    }
}

#[test]
fn a_new_zone_shows_in_the_pool_and_in_the_cloud() {
    let found = after(|spec| spec["shoot"]["provider"]["workers"][0]["zones"] = json!(["zone-1", "zone-2", "zone-9"]));
    assert_eq!(
        found,
        [
            ("spec.provider.infrastructureConfig.networks.zones[zone-9]".to_owned(), Effect::InPlace),
            ("spec.provider.workers[main].zones".to_owned(), Effect::InPlace),
        ]
    );
}

#[test]
fn a_lost_zone_is_refused_and_the_rest_is_planned() {
    let found = after(|spec| {
        spec["shoot"]["provider"]["workers"][0]["zones"] = json!(["zone-1"]);
        spec["shoot"]["provider"]["workers"][0]["maximum"] = json!(9);
    });
    assert_eq!(
        found,
        [
            ("spec.shoot.provider.workers[main].zones".to_owned(), Effect::Refused),
            ("spec.provider.workers[main].maximum".to_owned(), Effect::InPlace),
        ]
    );
}

#[test]
fn what_cannot_change_does_not_hide_the_rest() {
    let found = after(|spec| {
        spec["shoot"]["region"] = json!("region-2");
        spec["shoot"]["networking"]["nodes"] = json!("10.251.0.0/16");
        spec["shoot"]["provider"]["workers"][0]["machine"]["type"] = json!("huge");
    });
    assert_eq!(
        found,
        [
            ("spec.shoot.region".to_owned(), Effect::Recreates),
            ("spec.shoot.networking.nodes".to_owned(), Effect::Recreates),
            ("spec.provider.workers[main].machine.type".to_owned(), Effect::RollsNodes),
        ]
    );
}

#[test]
fn a_field_that_was_ours_and_is_no_longer_rendered_would_go() {
    let mut world = World::least("gcp");
    world.edit_pool(|pool| pool["labels"] = json!({ "a": "b" }));
    let mut shoot = living(&world.created());
    world.edit_pool(|pool| drop(pool.as_object_mut().expect("an object").remove("labels")));
    assert_eq!(labelled(&world, &shoot), [], "whose it is, is not known");
    let owned = json!({ "f:spec": { "f:provider": { "f:workers": { "k:{\"name\":\"main\"}": { "f:labels": {} } } } } });
    shoot["metadata"]["managedFields"] = json!([{ "manager": "kim", "operation": "Apply", "fieldsV1": owned }]);
    assert_eq!(labelled(&world, &shoot), one("spec.provider.workers[main].labels", Effect::InPlace));
}

#[test]
fn a_duration_written_otherwise_is_no_change() {
    let world = World::least("gcp");
    let mut shoot = living(&world.created());
    shoot["spec"]["provider"]["workers"][0]["machineControllerManager"]["machineDrainTimeout"] = json!("900s");
    assert_eq!(labelled(&world, &shoot), []);
}

#[test]
fn the_worst_counts() {
    let change = |effect| Change { path: String::new(), before: None, after: None, effect, reason: String::new() };
    let plan =
        Plan { creates: false, changes: [Effect::RollsNodes, Effect::Refused, Effect::InPlace].map(change).into() };
    assert_eq!(plan.worst(), Some(Effect::Refused));
    assert_eq!(Plan::default().worst(), None);
}

#[test]
fn a_projection_of_a_shoot_at_rest_is_what_is_rendered() {
    let world = World::rich();
    let document = world.patched(&living(&world.created())).into_value();
    let shoot = living(&document);
    assert_ne!(shoot, document, "a server adds defaults");
    assert_eq!(projection(&shoot, &document), document);
}
