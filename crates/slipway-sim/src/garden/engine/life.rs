//! The life of one Shoot: what to do next. Pure: a Shoot, a time, surroundings in; writes out.
//!
//! What is kept in [`Life`] is only what is under way. A process that dies loses it and begins a new
//! attempt, as a gardenlet does; what must outlive it is in the Shoot itself and in [`PersistedLife`].

mod idle;
mod run;
#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    care,
    faults::{Fault, Faults},
    rotation::Rotation,
    timeline::{Operation, Step},
    upkeep,
};
use crate::{
    clock::seconds,
    garden::{
        certificates::Pair,
        chance::Chance,
        profile::Profile,
        scheduler::{self, Usage},
        shoot::{self, FINALIZER, IGNORE, REFERENCE_PROTECTION},
        value::{annotation, at, has, is_deleting, is_true, label, number, parses_as_true, set, text, texts},
    },
};

/// How the landscape is run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Name of the garden, part of every cluster's identity.
    pub garden: String,
    /// Attempts go on for this long before the Shoot is failed.
    pub retry_cycle: SignedDuration,
    /// The first pause before another attempt; it doubles.
    pub first_retry: SignedDuration,
    /// The longest pause.
    pub longest_retry: SignedDuration,
    /// Every Shoot is reconciled this often; without it, once in its maintenance window.
    pub sync_period: Option<SignedDuration>,
    /// While a step lasts, its progress is told this often.
    pub heartbeat: SignedDuration,
    /// Operations at once on one Seed.
    pub per_seed: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            garden: "slipway-garden".to_owned(),
            retry_cycle: SignedDuration::from_hours(12),
            first_retry: SignedDuration::from_secs(5),
            longest_retry: SignedDuration::from_mins(5),
            sync_period: None,
            heartbeat: SignedDuration::from_secs(30),
            per_seed: 20,
        }
    }
}

/// What a decision looks at besides the Shoot.
pub struct Env<'a> {
    /// Now.
    pub now: Timestamp,
    /// All chance.
    pub chance: Chance,
    /// How the landscape is run.
    pub settings: &'a Settings,
    /// What goes wrong.
    pub faults: &'a Faults,
    /// The Seeds.
    pub seeds: &'a [Value],
    /// How full they are.
    pub usage: &'a Usage,
    /// The Shoot's profile, where it could be found.
    pub profile: Option<&'a Profile>,
    /// The name of its project.
    pub project: &'a str,
    /// Why the credentials do not work; none if they do.
    pub credentials: Option<&'a str>,
    /// Where its API is, or will be, reached.
    pub address: &'a str,
    /// Whether the Seed has room for one more operation.
    pub has_room: bool,
}

/// What outlives the process, in the Shoot's ShootState.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PersistedLife {
    /// CAs, the newest last: of the API server, and of clients.
    pub authorities: Vec<Authority>,
    /// The API server answers.
    pub api_up: bool,
    /// What the nodes are made of.
    pub applied: Value,
    /// Port of the endpoint; zero if it has none.
    pub port: u16,
    /// Nodes that were ever made: no name comes twice.
    pub nodes: u64,
}

/// One generation of CAs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Authority {
    /// Counts rotations.
    pub number: u64,
    /// Signs the API server.
    pub cluster: PairText,
    /// Signs clients.
    pub client: PairText,
}

/// A certificate with its key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PairText {
    /// PEM.
    pub certificate: String,
    /// PEM.
    pub key: String,
}

impl From<Pair> for PairText {
    fn from(Pair { certificate, key }: Pair) -> Self {
        Self { certificate, key }
    }
}

/// Something to be written, in this order.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// Host it on this Seed.
    Bind(String),
    /// Merge patch of the status.
    Status(Value),
    /// Merge patch of the Shoot itself.
    Object(Value),
    /// CAs: make them if there are none; add one; drop the old.
    Authorities {
        /// A second one beside the first.
        add: bool,
        /// All but the newest go.
        drop_old: bool,
    },
    /// Tell what happened.
    Event {
        /// `Reconciled`, ...
        reason: &'static str,
        /// What a person reads.
        message: String,
    },
    /// The API answers, or not.
    Api(bool),
    /// The nodes in its API are those of the spec.
    Nodes {
        /// Pools whose nodes are new ones, whatever changed; `*` means all.
        rolls: Vec<String>,
    },
    /// There are no nodes in its API.
    NoNodes,
    /// Remember what the nodes are made of.
    Applied(Value),
    /// Referenced objects are protected, or free again.
    Protect(bool),
    /// Everything that belongs to it goes; then the finalizer.
    Forget,
}

/// An attempt that is under way.
#[derive(Debug, Clone)]
struct Run {
    operation: Operation,
    steps: &'static [Step],
    step: usize,
    began: Timestamp,
    ends: Timestamp,
    beat_at: Timestamp,
    progress: i64,
    rotation: Rotation,
    extra: u64,
    stuck: bool,
}

/// The life of one Shoot.
#[derive(Debug, Clone, Default)]
pub struct Life {
    run: Option<Run>,
    failures: u32,
    retry_at: Option<Timestamp>,
    schedule_at: Option<Timestamp>,
    scheduling: u32,
    care_at: Option<Timestamp>,
    failing_since: Option<Timestamp>,
    alarm: Option<upkeep::Alarm>,
    alarms_of: Value,
    maintain_at: Option<Timestamp>,
    attempts: u64,
    ignored: bool,
}

impl Life {
    /// Whether an operation is under way.
    pub fn is_running(&self) -> bool {
        self.run.is_some()
    }

    /// Whether it has come to where the cloud asks who we are.
    pub fn checks_credentials(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.steps[run.step].id == "infrastructure")
    }

    /// When to be asked again, if nothing happens before. Never a moment that was already dealt with:
    /// whoever waits for it would not sleep.
    pub fn wakes_at(&self) -> Option<Timestamp> {
        match &self.run {
            _ if self.ignored => None,
            Some(run) if run.stuck => None,
            Some(run) => Some(run.ends.min(run.beat_at)),
            None => {
                let alarm = self.alarm.map(|alarm| alarm.at);
                [self.retry_at, self.schedule_at, self.care_at, alarm, self.maintain_at].into_iter().flatten().min()
            }
        }
    }

    /// What to write now. Called when the Shoot changed, and when something is due.
    pub fn decide(&mut self, shoot: &Value, kept: &PersistedLife, env: &Env<'_>) -> Vec<Write> {
        // What is under way goes on: the gardenlet looks at this when it begins.
        self.ignored = self.run.is_none() && parses_as_true(annotation(shoot, IGNORE));
        if self.ignored {
            return Vec::new();
        }
        if is_deleting(shoot) && !texts(shoot, "metadata.finalizers").contains(&FINALIZER) {
            return self.never_processed(shoot);
        }
        if !has(shoot, "spec.seedName") {
            return self.schedule(shoot, env);
        }
        self.schedule_at = None;
        if self.run.is_some() {
            return self.advance(shoot, env);
        }
        if let Some(operation) = self.due(shoot, env.now) {
            if !env.has_room {
                return Vec::new();
            }
            return self.begin(operation, shoot, kept, env);
        }
        self.look_after(shoot, env)
    }

    /// The gardenlet never saw it: nothing was built, only the reference protection may hold it.
    fn never_processed(&mut self, shoot: &Value) -> Vec<Write> {
        *self = Self::default();
        if texts(shoot, "metadata.finalizers").contains(&REFERENCE_PROTECTION) {
            return vec![Write::Protect(false)];
        }
        Vec::new()
    }

    fn schedule(&mut self, shoot: &Value, env: &Env<'_>) -> Vec<Write> {
        if self.schedule_at.is_some_and(|at| env.now < at) {
            return Vec::new();
        }
        let chosen = match env.profile {
            _ if env.faults.on(shoot, None).contains(&Fault::Unschedulable) => {
                Err("none of the seeds is usable, on demand".to_owned())
            }
            None => Err("the cloud profile could not be found".to_owned()),
            Some(profile) => scheduler::choose(shoot, profile, env.seeds, env.usage).map(str::to_owned),
        };
        match chosen {
            Ok(seed) => {
                self.scheduling = 0;
                // Should the binding be refused, it is tried again by then.
                self.schedule_at = Some(env.now + SignedDuration::from_secs(15));
                let message = format!("Scheduled to seed '{seed}'");
                vec![Write::Bind(seed), Write::Event { reason: "SchedulingSuccessful", message }]
            }
            Err(why) => {
                self.scheduling += 1;
                self.schedule_at = Some(env.now + pause(env.settings, self.scheduling));
                let description = format!("Failed to schedule Shoot: {why}");
                if text(shoot, "status.lastOperation.description") == description {
                    return Vec::new();
                }
                let last = last_operation("Create", "Pending", 0, &description, env.now);
                vec![
                    Write::Status(json!({ "lastOperation": last })),
                    Write::Event { reason: "SchedulingFailed", message: description },
                ]
            }
        }
    }

    /// The operation that is due, if one is.
    fn due(&self, shoot: &Value, now: Timestamp) -> Option<Operation> {
        let last = at(shoot, "status.lastOperation");
        let (kind, state) = (text(last, "type"), text(last, "state"));
        let moved = number(shoot, "status.observedGeneration") != number(shoot, "metadata.generation");
        let again = match state {
            // Whoever worked on it is gone: begin anew.
            "Processing" => true,
            "Error" => self.retry_at.is_none_or(|at| at <= now),
            "Pending" => true,
            _ => false,
        };
        if is_deleting(shoot) {
            let force = shoot::needs_force_deletion(shoot);
            let due = again || moved || kind != "Delete";
            return due.then_some(if force { Operation::ForceDelete } else { Operation::Delete });
        }
        if !has(shoot, "status.lastOperation") {
            return Some(Operation::Create);
        }
        if !moved && !again {
            return None;
        }
        if kind == "Create" && state != "Succeeded" {
            return Some(Operation::Create);
        }
        Some(match (is_true(shoot, "spec.hibernation.enabled"), is_true(shoot, "status.hibernated")) {
            (true, false) => Operation::Hibernate,
            (false, true) => Operation::Wake,
            _ => Operation::Reconcile,
        })
    }
}

fn pause(settings: &Settings, tries: u32) -> SignedDuration {
    let factor = 2_i32.saturating_pow(tries.saturating_sub(1).min(16));
    settings.first_retry.checked_mul(factor).map_or(settings.longest_retry, |pause| pause.min(settings.longest_retry))
}

fn last_operation(kind: &str, state: &str, progress: i64, description: &str, now: Timestamp) -> Value {
    json!({"type": kind, "state": state, "progress": progress, "description": description, "lastUpdateTime": seconds(now)})
}

/// The label, if it changes; with the state the Shoot is about to have.
fn label_write(shoot: &Value, state: Option<&str>, kind: &str) -> Option<Write> {
    let mut seen = json!({"status": at(shoot, "status")});
    if let Some(state) = state {
        set(&mut seen, "status.lastOperation.state", state);
        set(&mut seen, "status.lastOperation.type", kind);
    }
    let wanted = care::status_label(&seen);
    let changed = label(shoot, shoot::STATUS) != wanted;
    changed.then(|| Write::Object(json!({"metadata": {"labels": { shoot::STATUS: wanted }}})))
}
