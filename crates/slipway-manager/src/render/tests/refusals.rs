//! What is refused, and whether the field and the way out are named.

use super::*;

#[test]
fn a_missing_or_empty_label_is_named() {
    for key in slipway_kube::labels::REQUIRED {
        for value in [None, Some(String::new())] {
            let mut world = World::least("aws");
            let labels = world.runtime.metadata.labels.as_mut().expect("labels");
            labels.remove(key);
            labels.extend(value.map(|value| (key.to_owned(), value)));
            let said = world.refused(None).to_string();
            assert_eq!(said, format!("metadata.labels[{key}]: is missing or empty; set it to a value"));
        }
    }
}

#[test]
fn wrong_specs_are_refused_with_their_path() {
    type Edit = fn(&mut Value);
    let cases: &[(Edit, &str)] = &[
        (|spec| spec["provider"]["workers"] = json!([]), "spec.shoot.provider.workers: has 0 pools"),
        (
            |spec| spec["provider"]["additionalWorkers"] = json!([spec["provider"]["workers"][0]]),
            "spec.shoot.provider.additionalWorkers[0].name: `main` is the name of another pool",
        ),
        (
            |spec| spec["provider"]["workers"][0]["minimum"] = json!(4),
            "spec.shoot.provider.workers[0].minimum: 4 is greater than the maximum of 3",
        ),
        (
            |spec| spec["provider"]["workers"][0]["zones"] = json!(["1", "2", "3", "4", "5", "6", "7", "8", "9"]),
            "spec.shoot.provider.workers[0].zones: makes 9 zones",
        ),
        (
            |spec| spec["networking"]["nodes"] = json!("10.250.0.1/16"),
            "spec.shoot.networking.nodes: `10.250.0.1/16` has host bits set; write 10.250.0.0/16",
        ),
        (
            |spec| spec["networking"]["pods"] = json!("pods"),
            "spec.shoot.networking.pods: `pods` is not an IPv4 network",
        ),
        (
            |spec| spec["networking"]["services"] = json!("10.250.0.0/20"),
            "spec.shoot.networking.services: 10.250.0.0/20 overlaps the nodes network 10.250.0.0/16",
        ),
        (
            |spec| spec["networking"]["nodes"] = json!("10.250.0.0/25"),
            "spec.shoot.networking.nodes: 10.250.0.0/25 must have a prefix from /16 to /24",
        ),
        (
            |spec| spec["provider"]["workers"][0]["zones"] = json!([]),
            "spec.shoot.provider.workers[*].zones: aws needs at least one zone",
        ),
    ];
    for (edit, said) in cases {
        let mut world = World::least("aws");
        world.edit(|spec| edit(&mut spec["shoot"]));
        let error = world.refused(None).to_string();
        assert!(error.starts_with(said), "{error}");
    }
}

#[test]
fn what_only_another_cluster_could_have_is_refused_for_a_living_one() {
    let shoot = living(&World::least("gcp").created());
    type Edit = fn(&mut Value);
    let cases: &[(Edit, &str)] = &[
        (
            |spec| spec["region"] = json!("region-2"),
            "spec.shoot.region: cannot change from region-1 to region-2; create another Runtime instead",
        ),
        (
            |spec| spec["provider"]["type"] = json!("openstack"),
            "spec.shoot.provider.type: cannot change from gcp to openstack",
        ),
        (|spec| spec["networking"]["type"] = json!("cilium"), "spec.shoot.networking.type: cannot change"),
        (|spec| spec["networking"]["pods"] = json!("10.112.0.0/13"), "spec.shoot.networking.pods: cannot change"),
        (|spec| spec["networking"]["nodes"] = json!("10.251.0.0/16"), "spec.shoot.networking.nodes: cannot change"),
        (
            |spec| spec["networking"]["services"] = json!("10.112.0.0/13"),
            "spec.shoot.networking.services: cannot change",
        ),
    ];
    for (edit, said) in cases {
        let mut world = World::least("gcp");
        world.edit(|spec| edit(&mut spec["shoot"]));
        let error = world.refused(Some(&shoot)).to_string();
        assert!(error.starts_with(said), "{error}");
    }
}

#[test]
fn a_shoot_of_another_runtime_is_never_rendered() {
    let world = World::least("gcp");
    let mut shoot = living(&world.created());
    shoot["metadata"]["annotations"][slipway_kube::annotations::RUNTIME_ID] = json!("somebody-else");
    let said = world.refused(Some(&shoot)).to_string();
    assert_eq!(said, "spec.shoot.name: the Shoot first belongs to the Runtime somebody-else; choose another name");
}

#[test]
fn a_shoot_that_cannot_be_ours_is_refused() {
    let world = World::least("gcp");
    let mut shoot = living(&world.created());
    shoot["spec"]["provider"]["workers"] = json!([]);
    assert_eq!(world.refused(Some(&shoot)).path, "shoot:spec.provider.workers");
    let mut shoot = living(&world.created());
    shoot["spec"]["provider"]["infrastructureConfig"] = Value::Null;
    assert_eq!(world.refused(Some(&shoot)).path, "shoot:spec.provider.infrastructureConfig");
}
