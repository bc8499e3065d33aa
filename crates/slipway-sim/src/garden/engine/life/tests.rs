//! Lives, played without a server: writes are put into the Shoot, time jumps to what is due next.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Env, Life, PersistedLife, Settings, Write};
use crate::garden::{
    chance::Chance,
    engine::{
        faults::{Aimed, Fault, Faults},
        invariants::judge,
        nodes,
    },
    landscape,
    profile::Profile,
    rules::operations::waiting_words,
    scheduler::Usage,
    value::{annotate, annotation, at, has, is_true, label, list, number, remove, set, text, unannotate},
};

struct Play {
    shoot: Value,
    life: Life,
    kept: PersistedLife,
    now: Timestamp,
    faults: Faults,
    settings: Settings,
    seeds: Vec<Value>,
    profile: Profile,
    history: Vec<Value>,
    events: Vec<&'static str>,
    gone: bool,
    credentials: Option<&'static str>,
}

fn merge(into: &mut Value, patch: &Value) {
    json_patch::merge(into, patch);
}

impl Play {
    fn new() -> Self {
        let objects = landscape::objects();
        let of = |kind: &str| objects.iter().filter(|one| text(one, "kind") == kind).cloned().collect::<Vec<_>>();
        let profile = of("CloudProfile").into_iter().find(|one| text(one, "metadata.name") == "aws").expect("aws");
        let shoot = json!({
            "metadata": {"name": "shop", "namespace": "garden-dev", "uid": "u-1", "generation": 1},
            "spec": {"region": "eu-central-1", "provider": {"type": "aws", "workers": [{"name": "a", "minimum": 3, "maxSurge": 1,
                "machine": {"type": "m6i.large", "architecture": "amd64", "image": {"name": "gardenlinux", "version": "1877.9.0"}}}]},
                "kubernetes": {"version": "1.34.5"}, "networking": {"nodes": "10.250.0.0/16"},
                "maintenance": {"timeWindow": {"begin": "220000+0000", "end": "230000+0000"}, "autoUpdate": {"kubernetesVersion": true}}},
        });
        Self {
            shoot,
            life: Life::default(),
            kept: PersistedLife::default(),
            now: "2026-06-01T12:00:00Z".parse().expect("time"),
            faults: Faults::default(),
            settings: Settings::default(),
            seeds: of("Seed"),
            profile: Profile { root: "aws".into(), spec: profile["spec"].clone() },
            history: Vec::new(),
            events: Vec::new(),
            gone: false,
            credentials: None,
        }
    }

    /// One decision, and its writes put into effect.
    fn decide(&mut self) -> bool {
        let usage = Usage::default();
        let env = Env {
            now: self.now,
            chance: Chance::new(7),
            settings: &self.settings,
            faults: &self.faults,
            seeds: &self.seeds,
            usage: &usage,
            profile: Some(&self.profile),
            project: "dev",
            credentials: self.credentials,
            address: "https://127.0.0.1:7443",
            has_room: true,
        };
        let writes = self.life.decide(&self.shoot, &self.kept, &env);
        let wrote = !writes.is_empty();
        for write in writes {
            self.put(write);
        }
        wrote
    }

    fn put(&mut self, write: Write) {
        match write {
            Write::Bind(seed) => {
                set(&mut self.shoot, "spec.seedName", seed);
                remove(&mut self.shoot, "status.lastOperation");
                self.moved();
            }
            Write::Status(patch) => merge(&mut self.shoot, &json!({ "status": patch })),
            Write::Object(patch) => {
                let before = self.shoot["spec"].clone();
                merge(&mut self.shoot, &patch);
                let problems = waiting_words(&self.shoot);
                assert!(problems.is_empty(), "a server refuses this write: {}", problems.bracketed());
                let word = annotation(&self.shoot, "gardener.cloud/operation").to_owned();
                if before != self.shoot["spec"] || matches!(word.as_str(), "reconcile" | "retry") {
                    unannotate(&mut self.shoot, "gardener.cloud/operation");
                    self.moved();
                }
            }
            Write::Api(up) => self.kept.api_up = up,
            Write::Applied(applied) => self.kept.applied = applied,
            Write::Event { reason, .. } => self.events.push(reason),
            Write::Forget => self.gone = true,
            Write::Authorities { .. } | Write::Nodes { .. } | Write::NoNodes | Write::Protect(_) => return,
        }
        self.history.push(self.shoot.clone());
    }

    fn moved(&mut self) {
        let generation = number(&self.shoot, "metadata.generation") + 1;
        set(&mut self.shoot, "metadata.generation", generation);
    }

    fn edit(&mut self, edit: impl FnOnce(&mut Value)) {
        edit(&mut self.shoot);
        self.moved();
        self.history.push(self.shoot.clone());
    }

    /// Plays on until the condition holds, for a day at most.
    fn until(&mut self, done: impl Fn(&Self) -> bool) -> SignedDuration {
        let start = self.now;
        while !done(self) {
            while self.decide() && !done(self) {}
            if done(self) {
                break;
            }
            let next = self
                .life
                .wakes_at()
                .unwrap_or_else(|| panic!("nothing is due any more: {:#}", at(&self.shoot, "status")));
            assert!(next > self.now, "time stands still");
            self.now = next;
            assert!(
                self.now.duration_since(start) < SignedDuration::from_hours(48),
                "never: {:#}",
                at(&self.shoot, "status")
            );
        }
        self.now.duration_since(start)
    }

    fn state(&self) -> (&str, &str) {
        (text(&self.shoot, "status.lastOperation.type"), text(&self.shoot, "status.lastOperation.state"))
    }

    fn is_done(&self) -> bool {
        self.state().1 == "Succeeded"
            && number(&self.shoot, "status.observedGeneration") == number(&self.shoot, "metadata.generation")
    }

    fn created() -> Self {
        let mut play = Self::new();
        play.until(Self::is_done);
        play
    }
}

fn minutes(took: SignedDuration) -> i64 {
    (took.as_secs() + 30) / 60
}

#[test]
fn a_shoot_is_scheduled_created_and_found_healthy() {
    let mut play = Play::new();
    assert_eq!(minutes(play.until(Play::is_done)), 8);
    assert_eq!(play.state(), ("Create", "Succeeded"));
    assert_eq!(text(&play.shoot, "status.technicalID"), "shoot--dev--shop");
    assert_eq!(text(&play.shoot, "status.clusterIdentity"), "shoot--dev--shop-u-1-slipway-garden");
    assert_eq!(text(&play.shoot, "status.advertisedAddresses.0.url"), "https://127.0.0.1:7443");
    assert!(play.kept.api_up && !has(&play.shoot, "status.retryCycleStartTime"));
    play.until(|play| label(&play.shoot, "shoot.gardener.cloud/status") == "healthy");
    assert!(list(&play.shoot, "status.conditions").iter().all(|one| text(one, "status") == "True"));
    assert_eq!(play.events, ["SchedulingSuccessful", "Reconciling", "Reconciled"]);
    let progress: Vec<i64> = play.history.iter().map(|one| number(one, "status.lastOperation.progress")).collect();
    assert!(progress.iter().filter(|one| (1..100).contains(*one)).count() > 10, "{progress:?}");
    assert_eq!(judge(&play.history), []);
}

#[test]
fn a_change_takes_as_long_as_it_rolls_nodes() {
    let mut play = Play::created();
    play.edit(|shoot| set(shoot, "spec.provider.workers.0.maximum", 9));
    assert_eq!(minutes(play.until(Play::is_done)), 2);
    assert_eq!(play.state().0, "Reconcile");
    play.edit(|shoot| set(shoot, "spec.provider.workers.0.machine.type", "m6i.xlarge"));
    assert_eq!(minutes(play.until(Play::is_done)), 14, "three nodes, one at a time");
    assert_eq!(judge(&play.history), []);
}

#[test]
fn a_change_during_an_operation_waits_for_its_end() {
    let mut play = Play::new();
    play.until(|play| number(&play.shoot, "status.lastOperation.progress") > 20);
    play.edit(|shoot| set(shoot, "spec.purpose", "production"));
    play.until(|play| play.state().1 == "Succeeded");
    assert_eq!((number(&play.shoot, "status.observedGeneration"), number(&play.shoot, "metadata.generation")), (2, 3));
    play.until(Play::is_done);
    assert_eq!(play.state(), ("Reconcile", "Succeeded"));
    assert_eq!(judge(&play.history), []);
}

#[test]
fn a_shoot_sleeps_and_wakes() {
    let mut play = Play::created();
    play.edit(|shoot| set(shoot, "spec.hibernation.enabled", true));
    assert_eq!(minutes(play.until(Play::is_done)), 3);
    assert!(is_true(&play.shoot, "status.hibernated") && !play.kept.api_up);
    play.until(|play| {
        list(&play.shoot, "status.conditions").iter().all(|one| text(one, "reason") == "ConditionNotChecked")
    });
    play.edit(|shoot| set(shoot, "spec.hibernation.enabled", false));
    assert_eq!(minutes(play.until(Play::is_done)), 6);
    assert!(!is_true(&play.shoot, "status.hibernated") && play.kept.api_up);
    assert_eq!(judge(&play.history), []);
}

#[test]
fn a_schedule_puts_it_to_sleep() {
    let mut play = Play::created();
    play.edit(|shoot| set(shoot, "spec.hibernation.schedules", json!([{"start": "0 20 * * *"}])));
    play.until(|play| is_true(&play.shoot, "status.hibernated"));
    assert!(has(&play.shoot, "status.lastHibernationTriggerTime"));
    assert!(play.now.to_string().starts_with("2026-06-01T20:0"), "{}", play.now);
}

#[test]
fn deletion_ends_with_everything_forgotten() {
    let mut play = Play::created();
    play.edit(|shoot| set(shoot, "metadata.deletionTimestamp", "2026-06-01T13:00:00Z"));
    assert_eq!(minutes(play.until(|play| play.gone)), 6);
    assert_eq!(play.state(), ("Delete", "Succeeded"));
    assert!(!play.kept.api_up);
    assert_eq!(judge(&play.history), []);
}

#[test]
fn force_deletion_does_not_wait_for_what_hangs() {
    let mut play = Play::created();
    play.faults.inject(Aimed {
        shoot: String::new(),
        operation: "delete".into(),
        fault: Fault::Fail { step: "cleanup".into(), codes: vec!["ERR_CLEANUP_CLUSTER_RESOURCES".into()], times: None },
    });
    play.edit(|shoot| set(shoot, "metadata.deletionTimestamp", "2026-06-01T13:00:00Z"));
    play.until(|play| play.state() == ("Delete", "Error"));
    play.edit(|shoot| annotate(shoot, "confirmation.gardener.cloud/force-deletion", "true"));
    assert_eq!(minutes(play.until(|play| play.gone)), 1);
    assert_eq!(judge(&play.history), []);
}

#[test]
fn errors_are_retried_ever_later_and_cleared_by_success() {
    let mut play = Play::new();
    annotate(&mut play.shoot, "sim.slipway/fail", "worker-wait=ERR_INFRA_RESOURCES_DEPLETED");
    annotate(&mut play.shoot, "sim.slipway/fail-times", "3");
    play.until(|play| play.state() == ("Create", "Error"));
    assert!(number(&play.shoot, "status.lastOperation.progress") >= 75, "progress is kept");
    assert_eq!(text(&play.shoot, "status.lastErrors.0.codes.0"), "ERR_INFRA_RESOURCES_DEPLETED");
    assert_eq!(label(&play.shoot, "shoot.gardener.cloud/status"), "unhealthy");
    play.until(Play::is_done);
    assert!(!has(&play.shoot, "status.lastErrors"));
    assert_eq!(
        play.history
            .iter()
            .filter(|one| text(one, "status.lastOperation.state") == "Error")
            .map(|one| text(one, "status.lastOperation.lastUpdateTime").to_owned())
            .collect::<std::collections::BTreeSet<_>>()
            .len(),
        3
    );
    assert_eq!(judge(&play.history), []);
}

#[test]
fn some_codes_fail_at_once_and_wait_for_somebody() {
    let mut play = Play::new();
    play.credentials = Some("the access key is not known");
    play.until(|play| play.state() == ("Create", "Failed"));
    assert_eq!(text(&play.shoot, "status.lastErrors.0.codes.0"), "ERR_INFRA_UNAUTHENTICATED");
    let quiet = play.history.len();
    for _ in 0..5 {
        play.now += SignedDuration::from_hours(1);
        play.decide();
    }
    assert!(play.history.len() <= quiet + 1, "nothing happens by itself");
    play.credentials = None;
    play.moved();
    play.until(Play::is_done);
    assert_eq!(play.state(), ("Create", "Succeeded"), "it is still the creation");
    assert_eq!(judge(&play.history), []);
}

#[test]
fn rate_limits_are_retried_by_gardener_itself() {
    let mut play = Play::new();
    annotate(&mut play.shoot, "sim.slipway/fail", "infrastructure=ERR_INFRA_RATE_LIMITS_EXCEEDED");
    annotate(&mut play.shoot, "sim.slipway/fail-times", "1");
    play.until(|play| play.state().1 == "Failed");
    let took = play.until(|play| play.state().1 == "Processing");
    assert!((10..=15).contains(&minutes(took)), "{took}");
}

#[test]
fn after_twelve_hours_of_errors_it_has_failed() {
    let mut play = Play::new();
    annotate(&mut play.shoot, "sim.slipway/fail", "etcd");
    let took = play.until(|play| play.state().1 == "Failed");
    assert!((12..13).contains(&took.as_hours()), "{took}");
    assert_eq!(judge(&play.history), []);
}

#[test]
fn a_stuck_step_shows_no_heartbeat_until_it_is_freed() {
    let mut play = Play::new();
    annotate(&mut play.shoot, "sim.slipway/stuck", "etcd");
    play.until(|play| text(&play.shoot, "status.lastOperation.description").contains("etcd"));
    let told = text(&play.shoot, "status.lastOperation.lastUpdateTime").to_owned();
    play.now += SignedDuration::from_hours(2);
    assert!(!play.decide() && text(&play.shoot, "status.lastOperation.lastUpdateTime") == told);
    unannotate(&mut play.shoot, "sim.slipway/stuck");
    play.until(Play::is_done);
    assert_eq!(judge(&play.history), []);
}

#[test]
fn without_a_seed_it_stays_pending_until_one_fits() {
    let mut play = Play::new();
    annotate(&mut play.shoot, "sim.slipway/unschedulable", "true");
    play.until(|play| play.state() == ("Create", "Pending"));
    assert!(text(&play.shoot, "status.lastOperation.description").starts_with("Failed to schedule Shoot: "));
    unannotate(&mut play.shoot, "sim.slipway/unschedulable");
    play.until(Play::is_done);
}

#[test]
fn the_window_brings_a_reconciliation_and_newer_versions() {
    let mut play = Play::created();
    play.edit(|shoot| set(shoot, "spec.kubernetes.version", "1.34.4"));
    play.until(Play::is_done);
    play.until(|play| text(&play.shoot, "spec.kubernetes.version") == "1.34.5");
    assert!(play.now.to_string().starts_with("2026-06-01T22"), "{}", play.now);
    assert!(text(&play.shoot, "status.lastMaintenance.description").contains("1.34.5"));
    play.until(Play::is_done);
    assert_eq!(judge(&play.history), []);
}

#[test]
fn a_failing_check_is_progressing_first_and_false_later() {
    let mut play = Play::created();
    play.until(|play| label(&play.shoot, "shoot.gardener.cloud/status") == "healthy");
    annotate(&mut play.shoot, "sim.slipway/unhealthy", "EveryNodeReady");
    let node = |play: &Play| {
        let conditions = list(&play.shoot, "status.conditions").iter();
        conditions.clone().find(|one| text(one, "type") == "EveryNodeReady").map(|one| text(one, "status").to_owned())
    };
    play.until(|play| node(play).as_deref() == Some("Progressing"));
    play.until(|play| node(play).as_deref() == Some("False"));
    unannotate(&mut play.shoot, "sim.slipway/unhealthy");
    play.decide();
    assert_eq!(node(&play).as_deref(), Some("True"));
}

#[test]
fn credentials_rotate_in_two_operations() {
    let mut play = Play::created();
    play.edit(|shoot| annotate(shoot, "gardener.cloud/operation", "rotate-ca-start"));
    play.until(Play::is_done);
    let phase = "status.credentials.rotation.certificateAuthorities.phase";
    assert_eq!(text(&play.shoot, phase), "Prepared");
    assert_eq!(annotation(&play.shoot, "gardener.cloud/operation"), "", "picked up");
    play.edit(|shoot| annotate(shoot, "gardener.cloud/operation", "rotate-ca-complete"));
    play.until(Play::is_done);
    assert_eq!(text(&play.shoot, phase), "Completed");
    assert!(!at(&play.kept.applied, "pools.a").is_null() && nodes::extra(&play.shoot, &play.kept.applied, &[]) == 0);
}

#[test]
fn a_rotation_is_completed_before_anybody_has_found_the_shoot_healthy_again() {
    let mut play = Play::created();
    let phase = |play: &Play| text(&play.shoot, "status.credentials.rotation.certificateAuthorities.phase").to_owned();
    play.until(|play| label(&play.shoot, "shoot.gardener.cloud/status") == "healthy");
    play.edit(|shoot| annotate(shoot, "gardener.cloud/operation", "rotate-ca-start"));
    play.until(|play| play.is_done() && phase(play) == "Prepared");
    // The conditions are `Progressing` now, and the label still says `healthy`: it is written when the operation
    // begins, while the word still stands there and its phase has moved on.
    play.edit(|shoot| annotate(shoot, "gardener.cloud/operation", "rotate-ca-complete"));
    play.until(|play| play.is_done() && phase(play) == "Completed");
    assert_eq!(judge(&play.history), []);
}

#[test]
fn a_rotation_goes_on_after_an_error_and_after_a_restart() {
    for restarted in [false, true] {
        let mut play = Play::created();
        for (word, phase) in [("rotate-credentials-start", "Prepared"), ("rotate-credentials-complete", "Completed")] {
            annotate(&mut play.shoot, "sim.slipway/fail", "etcd");
            play.edit(|shoot| annotate(shoot, "gardener.cloud/operation", word));
            play.until(|play| play.state().1 == "Error");
            assert_eq!(annotation(&play.shoot, "gardener.cloud/operation"), "", "picked up when it began");
            if restarted {
                play.life = Life::default();
            }
            unannotate(&mut play.shoot, "sim.slipway/fail");
            play.until(Play::is_done);
            for rotation in ["certificateAuthorities", "serviceAccountKey"] {
                let at = format!("status.credentials.rotation.{rotation}");
                assert_eq!(text(&play.shoot, &format!("{at}.phase")), phase, "{rotation}");
            }
            assert!(has(&play.shoot, "status.credentials.rotation.observability.lastCompletionTime"));
        }
    }
}

#[test]
fn pools_are_rolled_on_demand_also_after_a_restart() {
    let mut play = Play::created();
    play.edit(|shoot| annotate(shoot, "gardener.cloud/operation", "rollout-workers=a"));
    play.until(|play| number(&play.shoot, "status.lastOperation.progress") > 20);
    play.life = Life::default();
    let took = play.until(Play::is_done);
    assert_eq!(minutes(took), 14, "three nodes, one at a time");
    assert!(!has(&play.shoot, "status.manualWorkerPoolRollout"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever fails, is edited, or dies in between: the promises hold, and in the end it converges.
    #[test]
    fn promises_hold_under_random_faults_edits_and_restarts(
        moves in proptest::collection::vec((0_u8..7, 1_i64..900, 0_usize..11), 1..25),
    ) {
        let mut play = Play::new();
        let steps = ["start", "secrets", "infrastructure", "infrastructure-wait", "dns", "etcd", "kube-apiserver", "system-components", "worker", "worker-wait", "observability"];
        let codes = ["", "ERR_INFRA_QUOTA_EXCEEDED", "ERR_RETRYABLE_INFRA_DEPENDENCIES"];
        for (what, seconds, which) in moves {
            match what {
                0 => play.edit(|shoot| set(shoot, "spec.provider.workers.0.maximum", seconds)),
                1 => {
                    let wish = !is_true(&play.shoot, "spec.hibernation.enabled");
                    play.edit(|shoot| set(shoot, "spec.hibernation.enabled", wish));
                }
                2 => annotate(&mut play.shoot, "sim.slipway/fail", format!("{}={}", steps[which], codes[which % 3])),
                3 => unannotate(&mut play.shoot, "sim.slipway/fail"),
                4 => play.life = Life::default(),
                5 => {
                    let word = ["rotate-ca-start", "rotate-ca-complete", "rotate-credentials-start", "rollout-workers=a"][which % 4];
                    annotate(&mut play.shoot, "gardener.cloud/operation", word);
                    if waiting_words(&play.shoot).is_empty() && has(&play.shoot, "status.lastOperation") {
                        play.moved();
                    } else {
                        unannotate(&mut play.shoot, "gardener.cloud/operation");
                    }
                }
                _ => {}
            }
            let end = play.now + SignedDuration::from_secs(seconds);
            loop {
                while play.decide() {}
                match play.life.wakes_at().filter(|next| *next <= end && *next > play.now) {
                    Some(next) => play.now = next,
                    None => break,
                }
            }
            play.now = end;
        }
        unannotate(&mut play.shoot, "sim.slipway/fail");
        play.moved();
        play.until(Play::is_done);
        prop_assert_eq!(judge(&play.history), vec![]);
    }
}
