//! A Shoot nobody works on: care, hibernation schedules, maintenance.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{Env, Life, Write, label_write};
use crate::{
    clock::seconds,
    garden::{
        engine::{
            care::{self, Health},
            faults, upkeep,
        },
        shoot::{self, OPERATION},
        value::{at, has, is_deleting, is_true, label, list, set, text, texts},
    },
};

/// How long a check fails before the condition says so.
const CARE_THRESHOLD: SignedDuration = SignedDuration::from_mins(5);

impl Life {
    /// What happens to a Shoot nobody works on: care, schedules, maintenance.
    pub(super) fn look_after(&mut self, shoot: &Value, env: &Env<'_>) -> Vec<Write> {
        if is_deleting(shoot) || !has(shoot, "status.lastOperation") {
            (self.care_at, self.maintain_at, self.alarm) = (None, None, None);
            return Vec::new();
        }
        let mut writes = self.care(shoot, env);
        let schedules = at(shoot, "spec.hibernation.schedules");
        if self.alarms_of != *schedules {
            self.alarms_of = schedules.clone();
            self.alarm = upkeep::next_alarm(shoot, env.now);
        }
        if let Some(alarm) = self.alarm.filter(|alarm| alarm.at <= env.now) {
            self.alarm = upkeep::next_alarm(shoot, env.now);
            let failed = text(shoot, "status.lastOperation.state") == "Failed";
            if !failed && is_true(shoot, "spec.hibernation.enabled") != alarm.sleep {
                writes.push(Write::Object(json!({"spec": {"hibernation": {"enabled": alarm.sleep}}})));
                writes.push(Write::Status(json!({"lastHibernationTriggerTime": seconds(env.now)})));
            }
        }
        writes.extend(self.maintain(shoot, env));
        writes
    }

    fn care(&mut self, shoot: &Value, env: &Env<'_>) -> Vec<Write> {
        let faults = env.faults.on(shoot, None);
        let unhealthy = faults::unhealthy(&faults);
        if self.care_at.is_none() && unhealthy.is_none() && self.failing_since.is_none() {
            // Whoever cared before us may have died in between.
            let settled = label(shoot, shoot::STATUS) == care::status_label(shoot)
                && !list(shoot, "status.conditions").iter().any(|one| text(one, "status") == "Progressing");
            if settled || text(shoot, "status.lastOperation.state") != "Succeeded" {
                return Vec::new();
            }
        } else if self.care_at.is_some_and(|at| env.now < at) {
            return Vec::new();
        }
        self.care_at = None;
        let health = match unhealthy {
            Some(condition) => {
                let since = *self.failing_since.get_or_insert(env.now);
                let long = env.now.duration_since(since) >= CARE_THRESHOLD;
                if !long {
                    self.care_at = Some(since + CARE_THRESHOLD);
                }
                Health::Failing { condition: condition.to_owned(), long }
            }
            None => {
                self.failing_since = None;
                care::health(shoot)
            }
        };
        let mut writes = Vec::new();
        let mut seen = shoot.clone();
        if let Some(patch) = care::patch(shoot, &health, env.now) {
            for (key, value) in patch.as_object().into_iter().flatten() {
                set(&mut seen, &format!("status.{key}"), value.clone());
            }
            writes.push(Write::Status(patch));
        }
        writes.extend(label_write(&seen, None, ""));
        writes
    }

    fn maintain(&mut self, shoot: &Value, env: &Env<'_>) -> Vec<Write> {
        let state = text(shoot, "status.lastOperation.state");
        let rate_limited = list(shoot, "status.lastErrors")
            .iter()
            .any(|error| texts(error, "codes").contains(&"ERR_INFRA_RATE_LIMITS_EXCEEDED"));
        let due = match self.maintain_at {
            Some(due) if env.now < due => return Vec::new(),
            due => due,
        };
        self.maintain_at = match (env.settings.sync_period, upkeep::window(shoot)) {
            (Some(period), _) => Some(env.now + period),
            (None, Some(window)) => Some(window.next_begin_after(env.now)),
            (None, None) => None,
        };
        if due.is_none() {
            // The first look after an operation or a start: nothing is due, only the alarm clock is set.
            return Vec::new();
        }
        if state == "Failed" && rate_limited {
            return vec![Write::Object(json!({"metadata": {"annotations": { OPERATION: "retry" }}}))];
        }
        let in_window = upkeep::window(shoot).is_none_or(|window| window.contains(env.now));
        let mut writes = Vec::new();
        let mut patch = json!({"metadata": {"annotations": { OPERATION: "reconcile" }}});
        if let (true, Some(profile)) = (in_window, env.profile) {
            let maintenance = upkeep::maintain(shoot, profile, env.now);
            let told = json!({"description": maintenance.description, "triggeredTime": seconds(env.now), "state": "Succeeded"});
            writes.push(Write::Status(json!({ "lastMaintenance": told })));
            if !maintenance.patch.is_null() {
                patch = maintenance.patch;
            }
        }
        if state == "Succeeded" || patch["spec"].is_object() {
            writes.push(Write::Object(patch));
        }
        writes
    }
}
