//! Decisions as tables: what is observed on the left, what is decided on the right.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use slipway_kube::{
    Shoot, annotations,
    conditions::{Reason, Status, Type},
};
use slipway_model::time::{mins, secs};

use super::*;
use crate::{memory::Memory, outcome::ConditionUpdate, owner::Rival, registry_caches};

pub(crate) const HASH: &str = "0123456789abcdef0123456789abcdef";

/// A Runtime of generation 3 with nothing around it.
pub(crate) fn seen() -> Observation {
    let mut runtime: Value =
        serde_saphyr::from_str(include_str!("../../../../examples/runtime-aws.yaml")).expect("an example");
    runtime["metadata"]["name"] = json!("shop");
    runtime["metadata"]["labels"]["kyma-project.io/runtime-id"] = json!("shop");
    runtime["metadata"]["generation"] = json!(3);
    runtime["metadata"]["uid"] = json!("u1");
    Observation {
        runtime: Arc::new(serde_json::from_value(runtime).expect("a Runtime")),
        shoot: None,
        cluster: None,
        secret: None,
        registry_caches: registry_caches::Observed::default(),
        input_hash: Some(HASH.to_owned()),
        prepared_hash: "prepared".to_owned(),
        rivals: Vec::new(),
        deletion_held: false,
        memory: Memory::default(),
        now: secs(10_000),
    }
}

pub(crate) fn edit(seen: &mut Observation, change: impl Fn(&mut Value)) {
    let mut runtime = serde_json::to_value(&*seen.runtime).expect("json");
    change(&mut runtime);
    seen.runtime = Arc::new(serde_json::from_value(runtime).expect("a Runtime"));
}

/// A Shoot of generation 5, observed, ours, with these annotations and this last operation.
fn shoot(notes: &[(&str, &str)], operation: Option<(&str, &str)>) -> Arc<Shoot> {
    let mut all = serde_json::Map::from_iter([(annotations::RUNTIME_UID.to_owned(), json!("u1"))]);
    all.extend(notes.iter().map(|(key, value)| ((*key).to_owned(), json!(value))));
    let operation =
        operation.map(|(kind, state)| json!({"type": kind, "state": state, "progress": 40, "description": "x"}));
    Arc::new(
        serde_json::from_value(json!({
            "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
            "metadata": {"name": "shop", "generation": 5, "annotations": all}, "spec": {},
            "status": {"observedGeneration": 5, "lastOperation": operation},
        }))
        .expect("a Shoot"),
    )
}

fn applied(at: Duration) -> Memory {
    let mut memory = Memory::default();
    memory.shoot.note_applied(HASH, 5, at);
    memory
}

/// The Shoot was as it should be with this generation; something was put back then.
fn aligned(generation: i64, put_back_at: Option<Duration>) -> Memory {
    let mut memory = Memory::default();
    memory.shoot.note_aligned(generation);
    put_back_at.into_iter().for_each(|at| memory.shoot.begin_put_back(at));
    memory
}

#[test]
fn whether_the_shoot_is_written() {
    let said = ConditionUpdate::new(Type::Provisioned, Status::False, Reason::ProcessingErr, "no");
    let refused = |at| {
        let mut memory = Memory::default();
        memory.shoot.note_refused(HASH, &said, at);
        memory
    };
    let with = |shoot: Option<Arc<Shoot>>, memory: Memory| {
        let mut seen = seen();
        (seen.shoot, seen.memory) = (shoot, memory);
        seen
    };
    let (hash, generation, owner) = (annotations::INPUT_HASH, annotations::RUNTIME_GENERATION, annotations::RUNTIME_ID);
    let uid = annotations::RUNTIME_UID;
    let done = Some(("Reconcile", "Succeeded"));
    let rows = [
        ("nothing there", with(None, Memory::default()), Apply::Create),
        ("applied a moment ago", with(None, applied(secs(9_990))), Apply::Echo),
        ("applied long ago and not there", with(None, applied(secs(9_000))), Apply::Create),
        ("refused", with(None, refused(secs(9_900))), Apply::Refused(said.clone())),
        ("refused long ago", with(None, refused(secs(0))), Apply::Create),
        ("same hash", with(Some(shoot(&[(hash, HASH)], done)), Memory::default()), Apply::Nothing),
        ("same hash, generation as known", with(Some(shoot(&[(hash, HASH)], done)), aligned(5, None)), Apply::Nothing),
        ("same hash, changed by others", with(Some(shoot(&[(hash, HASH)], done)), aligned(4, None)), Apply::Compare),
        (
            "changed by others, put back a moment ago",
            with(Some(shoot(&[(hash, HASH)], done)), aligned(4, Some(secs(9_900)))),
            Apply::Nothing,
        ),
        (
            "changed by others, put back long ago",
            with(Some(shoot(&[(hash, HASH)], done)), aligned(4, Some(secs(9_400)))),
            Apply::Compare,
        ),
        ("other hash", with(Some(shoot(&[(hash, "old")], done)), Memory::default()), Apply::Patch),
        ("other hash, just applied", with(Some(shoot(&[(hash, "old")], done)), applied(secs(9_990))), Apply::Echo),
        (
            "of the reference, up to date",
            with(Some(shoot(&[(generation, "3")], done)), Memory::default()),
            Apply::Adopt,
        ),
        ("of the reference, outdated", with(Some(shoot(&[(generation, "2")], done)), Memory::default()), Apply::Patch),
        (
            "of the reference, unreadable",
            with(Some(shoot(&[(generation, "x")], done)), Memory::default()),
            Apply::Patch,
        ),
        ("ours, without a hash", with(Some(shoot(&[], done)), Memory::default()), Apply::Patch),
        (
            "of our name, without a uid",
            with(Some(shoot(&[(uid, ""), (owner, "shop"), (hash, HASH)], done)), Memory::default()),
            Apply::Adopt,
        ),
        (
            "the same, marked a moment ago",
            with(Some(shoot(&[(uid, ""), (owner, "shop"), (hash, HASH)], done)), applied(secs(9_990))),
            Apply::Nothing,
        ),
        ("of us", with(Some(shoot(&[(owner, "shop"), (hash, HASH)], done)), Memory::default()), Apply::Nothing),
    ];
    for (name, seen, expected) in rows {
        assert_eq!(apply(&seen), expected, "{name}");
    }
    for notes in [[(uid, ""), (owner, "other")], [(uid, "u2"), (owner, "shop")], [(uid, ""), (owner, "")]] {
        let seen = with(Some(shoot(&notes, done)), Memory::default());
        assert!(matches!(apply(&seen), Apply::Foreign(_)), "{notes:?}");
    }
}

#[test]
fn people_can_force_and_suspend_and_suspending_wins() {
    let note = |seen: &mut Observation, key: &str, value: &str| {
        edit(seen, |runtime| runtime["metadata"]["annotations"][key] = json!(value));
    };
    let mut seen = seen();
    seen.shoot = Some(shoot(&[(annotations::INPUT_HASH, HASH)], None));
    note(&mut seen, annotations::FORCE_PATCH, "yes");
    assert_eq!(apply(&seen), Apply::Nothing, "only `true` counts");
    note(&mut seen, annotations::FORCE_PATCH, "true");
    assert_eq!(apply(&seen), Apply::Patch);
    note(&mut seen, annotations::SUSPEND_PATCH, "true");
    assert_eq!(apply(&seen), Apply::Suspended);
    seen.shoot = None;
    assert_eq!(apply(&seen), Apply::Create, "creation still runs");
    let rival = |is_older| Rival { name: "other".to_owned(), uid: None, is_older };
    seen.rivals = vec![rival(false)];
    assert_eq!(apply(&seen), Apply::Create, "who was there first has the name");
    seen.rivals = vec![rival(true)];
    assert!(matches!(apply(&seen), Apply::Foreign(why) if why.contains("Runtime other")));
}

/// A name, type and state of the last operation, and how far that is.
type Row = (&'static str, Option<(&'static str, &'static str)>, ShootVerdict);

/// W3: operations of every kind are waited for.
#[test]
fn how_far_gardener_is() {
    let hash = (annotations::INPUT_HASH, HASH);
    let working = |creating| ShootVerdict::InProgress { creating };
    let rows: &[Row] = &[
        ("not picked up", None, working(true)),
        ("pending", Some(("Create", "Pending")), working(true)),
        ("processing", Some(("Reconcile", "Processing")), working(false)),
        ("error", Some(("Reconcile", "Error")), working(false)),
        ("aborted", Some(("Create", "Aborted")), working(true)),
        ("created", Some(("Create", "Succeeded")), ShootVerdict::Succeeded { created: true }),
        ("reconciled", Some(("Reconcile", "Succeeded")), ShootVerdict::Succeeded { created: false }),
        ("migrating", Some(("Migrate", "Processing")), working(false)),
        ("restored", Some(("Restore", "Succeeded")), ShootVerdict::Succeeded { created: false }),
        ("moved alive", Some(("LiveMigrate", "Processing")), working(false)),
        ("deleted by others", Some(("Delete", "Succeeded")), working(false)),
        ("a word nobody knows", Some(("Reconcile", "Pondering")), working(false)),
    ];
    for (name, operation, expected) in rows {
        let shoot = shoot(&[hash], *operation);
        assert_eq!(judge(&seen(), &shoot), *expected, "{name}");
    }
}

/// W1.
#[test]
fn the_success_of_the_operation_before_is_none() {
    let mut late = serde_json::to_value(&*shoot(&[(annotations::INPUT_HASH, HASH)], Some(("Reconcile", "Succeeded"))))
        .expect("json");
    late["status"]["observedGeneration"] = json!(4);
    let late: Shoot = serde_json::from_value(late).expect("a Shoot");
    assert_eq!(judge(&seen(), &late), ShootVerdict::InProgress { creating: false }, "Gardener has not picked it up");
    let other = shoot(&[(annotations::INPUT_HASH, "other")], Some(("Reconcile", "Succeeded")));
    assert_eq!(judge(&seen(), &other), ShootVerdict::InProgress { creating: false }, "not with our input");
    let mut ahead = seen();
    ahead.memory.shoot.note_applied(HASH, 6, secs(1));
    let stale = shoot(&[(annotations::INPUT_HASH, HASH)], Some(("Reconcile", "Succeeded")));
    assert_eq!(judge(&ahead, &stale), ShootVerdict::InProgress { creating: false }, "the cache is behind our write");
}

#[test]
fn a_failure_is_asked_for_again_ever_more_slowly_and_not_for_ever() {
    let failed = |codes: &[&str], retries: &str| {
        let base =
            shoot(&[(annotations::INPUT_HASH, HASH), (annotations::RETRIES, retries)], Some(("Create", "Failed")));
        let mut value = serde_json::to_value(&*base).expect("json");
        value["status"]["lastErrors"] = json!([{"description": "quota of vpcs", "codes": codes}]);
        serde_json::from_value::<Shoot>(value).expect("a Shoot")
    };
    let since = |seconds| {
        let mut seen = seen();
        seen.memory.troubles.failed.restart(seen.now - secs(seconds));
        seen
    };
    let quota = ["ERR_INFRA_QUOTA_EXCEEDED"];
    let short = shorten(HASH);
    assert_eq!(judge(&since(10), &failed(&quota, "")), ShootVerdict::AskLater { count: 0, left: secs(50) });
    assert_eq!(judge(&since(61), &failed(&quota, "")), ShootVerdict::AskAgain { count: 0 });
    assert_eq!(
        judge(&since(61), &failed(&quota, &format!("{short}:2"))),
        ShootVerdict::AskLater { count: 2, left: mins(4) - secs(61) }
    );
    assert_eq!(
        judge(&since(61), &failed(&quota, "another:7")),
        ShootVerdict::AskAgain { count: 0 },
        "another input counts anew"
    );
    let ShootVerdict::Failed { creating: true, message } = judge(&since(9_000), &failed(&quota, &format!("{short}:8")))
    else {
        panic!("eight times are enough")
    };
    assert!(message.contains("ERR_INFRA_QUOTA_EXCEEDED") && message.contains("quota of vpcs"), "{message}");
    assert!(matches!(judge(&since(0), &failed(&["ERR_INFRA_UNAUTHORIZED"], "")), ShootVerdict::Failed { .. }));
}

#[test]
fn no_matching_seed_is_believed_after_five_minutes() {
    let mut value = serde_json::to_value(&*shoot(&[], Some(("Create", "Pending")))).expect("json");
    value["status"]["lastOperation"]["description"] = json!("Failed to schedule Shoot: none of the 3 seeds matches");
    let shoot: Shoot = serde_json::from_value(value).expect("a Shoot");
    let mut seen = seen();
    assert!(matches!(judge(&seen, &shoot), ShootVerdict::InProgress { .. }));
    seen.memory.troubles.seedless.restart(seen.now - mins(6));
    assert!(matches!(judge(&seen, &shoot), ShootVerdict::Failed { creating: true, .. }));
}

#[test]
fn a_runtime_that_goes_takes_the_other_table_and_a_prepared_cluster_is_left_alone() {
    let names = |plan: PassPlan| plan.steps.iter().map(|row| row.name).collect::<Vec<_>>();
    let mut seen = seen();
    let first = names(plan(&seen));
    assert_eq!(first[..2], ["EnsureFinalizer", "FindShoot"], "nothing of it is suspended or enforced");
    assert!(first.contains(&"PrepareCluster"));
    seen.cluster = Some(Arc::new(
        serde_json::from_value(json!({"apiVersion": "infrastructuremanager.kyma-project.io/v1", "kind": "GardenerCluster",
            "metadata": {"name": "shop", "annotations": {annotations::PREPARED_HASH: "prepared"}},
            "spec": {"shoot": {"name": "shop"}, "kubeconfig": {"secret": {"name": "s", "namespace": "n", "key": "config"}}}}))
        .expect("a GardenerCluster"),
    ));
    let untold = names(plan(&seen));
    assert!(untold.contains(&"PrepareCluster"), "who did it died before telling it: {untold:?}");
    edit(&mut seen, |runtime| {
        let said = |of: &str| json!({"type": of, "status": "True", "reason": "x", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        runtime["status"] = json!({"state": "Ready", "observedGeneration": 3,
            "conditions": [said("KymaSystemNSCreated"), said("OidcAndConfigMapConfigured")]});
    });
    let later = names(plan(&seen));
    assert!(!later.contains(&"PrepareCluster"), "{later:?}");
    edit(&mut seen, |runtime| runtime["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"));
    let going = plan(&seen);
    assert_eq!(going.meanwhile, RuntimeState::Terminating);
    assert_eq!(names(going)[..3], ["DeleteGardenerCluster", "DeleteShoot", "AwaitShootGone"]);
}

#[test]
fn every_step_runs_in_some_situation() {
    let mut creating = seen();
    edit(&mut creating, |runtime| {
        runtime["spec"]["shoot"]["enforceSeedLocation"] = json!(true);
        runtime["metadata"]["annotations"][annotations::SUSPEND_PATCH] = json!("true");
        runtime["metadata"]["labels"]["kyma-project.io/runtime-id"] = json!("another");
    });
    let mut going = seen();
    edit(&mut going, |runtime| {
        runtime["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        runtime["metadata"]["finalizers"] = json!([slipway_kube::runtime::FINALIZER]);
        runtime["metadata"]["labels"]["kyma-project.io/runtime-id"] = json!("another");
    });
    for seen in [&mut creating, &mut going] {
        registry_caches::make_due(seen);
    }
    for (table, seen) in [(ALIGN, creating), (DELETE, going)] {
        assert_eq!(plan(&seen).steps.len(), table.len(), "a step that never applies: {:?}", plan(&seen).steps);
    }
}
