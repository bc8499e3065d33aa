//! An operation under way: beginning, step by step, failing, succeeding.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Env, Life, PersistedLife, Run, Write, label_write, last_operation, pause};
use crate::{
    clock::seconds,
    garden::{
        engine::{
            care::{self, Health},
            faults, nodes,
            rotation::{self, Rotation},
            timeline::{Effect, Operation},
        },
        shoot::{self, FINALIZER, OPERATION, TASKS},
        value::{annotation, at, has, is_deleting, list, name, namespace, number, text, texts},
    },
};

impl Life {
    pub(super) fn begin(
        &mut self,
        operation: Operation,
        shoot: &Value,
        kept: &PersistedLife,
        env: &Env<'_>,
    ) -> Vec<Write> {
        let generation = number(shoot, "metadata.generation");
        let before = at(shoot, "status.lastOperation");
        let anew = number(shoot, "status.observedGeneration") != generation || text(before, "type") != operation.kind();
        if anew {
            self.failures = 0;
        }
        (self.retry_at, self.care_at, self.maintain_at) = (None, None, None);
        self.attempts += 1;
        let workerless = list(shoot, "spec.provider.workers").is_empty();
        let asked = if is_deleting(shoot) { Rotation::default() } else { rotation::read_rotation(shoot) };
        let rotation = if is_deleting(shoot) { asked.clone() } else { asked.clone().and(rotation::under_way(shoot)) };
        let extra = match operation {
            Operation::Create => nodes::extra(shoot, &Value::Null, &[]),
            Operation::Reconcile => nodes::extra(shoot, &kept.applied, &rotation.rolls),
            _ => 0,
        };
        let steps = operation.steps(workerless);
        let mut run = Run {
            operation,
            steps,
            step: 0,
            began: env.now,
            ends: env.now,
            beat_at: env.now,
            progress: 0,
            rotation,
            extra,
            stuck: false,
        };
        self.enter(&mut run, 0, shoot, env);
        let seed = text(shoot, "spec.seedName");
        let technical = format!("shoot--{}--{}", env.project, name(shoot));
        let mut status = json!({
            "observedGeneration": generation,
            "lastOperation": last_operation(operation.kind(), "Processing", 0, run.steps[0].name, env.now),
            "seedName": seed,
            "gardener": {"id": format!("{seed}-gardenlet"), "name": format!("gardenlet-{seed}"), "version": "v1.150.0-sim"},
        });
        if anew || !has(shoot, "status.retryCycleStartTime") {
            status["retryCycleStartTime"] = json!(seconds(env.now));
        }
        if text(shoot, "status.technicalID").is_empty() {
            status["technicalID"] = json!(technical);
        }
        if text(shoot, "status.uid").is_empty() {
            status["uid"] = at(shoot, "metadata.uid").clone();
        }
        if !asked.is_empty() {
            status["credentials"]["rotation"] = asked.begin(env.now);
        }
        if let Some((field, pools)) = asked.pending(env.now) {
            status[field] = pools;
        }
        let mut writes = Vec::new();
        let words = annotation(shoot, OPERATION);
        let left = rotation::without_picked_up(shoot);
        let picked_up = left.as_deref().unwrap_or_default() != words;
        let left = json!({"metadata": {"annotations": { OPERATION: left }}});
        if picked_up && is_deleting(shoot) {
            // Nobody will do it any more, and the word must not stand in the way of what is to come.
            writes.push(Write::Object(left.clone()));
        }
        let finalizers = texts(shoot, "metadata.finalizers");
        if !finalizers.contains(&FINALIZER) {
            let all: Vec<&str> = finalizers.into_iter().chain([FINALIZER]).collect();
            writes.push(Write::Object(json!({"metadata": {"finalizers": all}})));
        }
        let (reason, message) = match operation {
            Operation::Delete | Operation::ForceDelete => ("Deleting", "Deleting Shoot cluster"),
            _ => ("Reconciling", "Reconciling Shoot cluster"),
        };
        writes.push(Write::Status(status));
        if picked_up && !is_deleting(shoot) {
            // Before any other write of the Shoot: it would be refused while the word of a phase that has passed is there.
            writes.push(Write::Object(left));
        }
        if !is_deleting(shoot) {
            writes.push(Write::Protect(true));
        }
        writes.extend(label_write(shoot, Some("Processing"), operation.kind()));
        writes.push(Write::Event { reason, message: message.to_owned() });
        self.run = Some(run);
        writes
    }

    /// Enters a step: when it ends depends on its length, on chance, on nodes and on faults.
    fn enter(&self, run: &mut Run, step: usize, shoot: &Value, env: &Env<'_>) {
        let row = &run.steps[step];
        let faults = env.faults.on(shoot, Some(run.operation));
        let whose = format!("{}/{}", namespace(shoot), name(shoot));
        // A tenth more or less.
        let spread = 0.9 + 0.2 * env.chance.fraction(&whose, row.id, self.attempts);
        let mut length = f64::from(row.seconds) * spread;
        #[expect(clippy::cast_precision_loss, reason = "seconds of an operation are few")]
        if row.waits_for_nodes {
            length += run.extra as f64;
        }
        let zonal = text(shoot, "spec.controlPlane.highAvailability.failureTolerance.type") == "zone";
        if zonal && row.id == "etcd" {
            length += 60.0;
        }
        length *= faults::slowness(&faults);
        run.step = step;
        run.progress = i64::from(row.progress);
        run.began = env.now;
        run.beat_at = env.now + env.settings.heartbeat;
        run.ends = env.now + SignedDuration::try_from_secs_f64(length).unwrap_or(SignedDuration::from_hours(1));
        run.stuck = faults::is_stuck(&faults, row.id);
    }

    pub(super) fn advance(&mut self, shoot: &Value, env: &Env<'_>) -> Vec<Write> {
        let Some(mut run) = self.run.take() else { return Vec::new() };
        if run.stuck {
            // The fault may have been lifted meanwhile.
            let faults = env.faults.on(shoot, Some(run.operation));
            run.stuck = faults::is_stuck(&faults, run.steps[run.step].id);
        }
        if run.stuck || env.now < run.ends {
            let beats = Self::beat(&mut run, env);
            self.run = Some(run);
            return beats;
        }
        let step = &run.steps[run.step];
        let faults = env.faults.on(shoot, Some(run.operation));
        let broken = env.credentials.filter(|_| step.id == "infrastructure");
        if let Some(why) = broken {
            return self.fail(&run, why, vec!["ERR_INFRA_UNAUTHENTICATED".to_owned()], shoot, env);
        }
        if let Some(codes) = faults::failure(&faults, step.id, self.failures) {
            return self.fail(&run, "it failed on demand", codes, shoot, env);
        }
        let mut status = json!({});
        let mut writes = Vec::new();
        for effect in step.effects {
            effect_of(*effect, shoot, &run, env, &mut status, &mut writes);
        }
        if run.step + 1 == run.steps.len() {
            return self.succeed(&run, shoot, status, writes, env);
        }
        let next = run.step + 1;
        self.enter(&mut run, next, shoot, env);
        let row = &run.steps[run.step];
        status["lastOperation"] = last_operation(run.operation.kind(), "Processing", run.progress, row.name, env.now);
        writes.push(Write::Status(status));
        self.run = Some(run);
        writes
    }

    /// Progress creeps on within a long step, and the time of the last update shows that somebody works.
    fn beat(run: &mut Run, env: &Env<'_>) -> Vec<Write> {
        if run.stuck || env.now < run.beat_at {
            return Vec::new();
        }
        run.beat_at = env.now + env.settings.heartbeat;
        let next = run.steps.get(run.step + 1).map_or(100, |step| i64::from(step.progress));
        let share =
            env.now.duration_since(run.began).as_secs_f64() / run.ends.duration_since(run.began).as_secs_f64().max(1.0);
        let base = i64::from(run.steps[run.step].progress);
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "percentages are small")]
        let crept = base + ((next - base - 1).max(0) as f64 * share.clamp(0.0, 1.0)) as i64;
        run.progress = run.progress.max(crept);
        let row = &run.steps[run.step];
        let last = last_operation(run.operation.kind(), "Processing", run.progress, row.name, env.now);
        vec![Write::Status(json!({ "lastOperation": last }))]
    }

    fn fail(&mut self, run: &Run, why: &str, codes: Vec<String>, shoot: &Value, env: &Env<'_>) -> Vec<Write> {
        let step = &run.steps[run.step];
        self.failures += 1;
        let since = text(shoot, "status.retryCycleStartTime").parse::<Timestamp>().unwrap_or(env.now);
        let exhausted = env.now.duration_since(since) >= env.settings.retry_cycle;
        let final_code = codes.iter().any(|code| shoot::find_code(code).is_some_and(|code| code.fails));
        let failed = exhausted || final_code;
        let task = step.name.split(", ").next().unwrap_or(step.name);
        let what = format!("task {task:?} failed: {why}");
        let mut description = what.clone();
        let state = if failed { "Failed" } else { "Error" };
        if !failed {
            description += " Operation will be retried.";
            self.retry_at = Some(env.now + pause(env.settings, self.failures));
        } else if codes.iter().any(|code| code == "ERR_INFRA_RATE_LIMITS_EXCEEDED") {
            // The controller manager asks for another try by itself, after 10 to 15 minutes.
            let whose = format!("{}/{}", namespace(shoot), name(shoot));
            let jitter = i64::try_from(env.chance.below(&whose, "rate limit", self.attempts, 300)).unwrap_or_default();
            self.maintain_at = Some(env.now + SignedDuration::from_secs(600 + jitter));
        }
        let kind = run.operation.kind();
        let error = json!({"description": what, "taskID": task, "codes": codes, "lastUpdateTime": seconds(env.now)});
        let status = json!({
            "lastOperation": last_operation(kind, state, run.progress, &description, env.now),
            "lastErrors": [error],
        });
        let reason = if kind == "Delete" { "DeleteError" } else { "ReconcileError" };
        let mut writes = vec![Write::Status(status)];
        writes.extend(label_write(shoot, Some(state), kind));
        writes.push(Write::Event { reason, message: description });
        writes
    }

    fn succeed(
        &mut self,
        run: &Run,
        shoot: &Value,
        mut status: Value,
        mut writes: Vec<Write>,
        env: &Env<'_>,
    ) -> Vec<Write> {
        self.failures = 0;
        let kind = run.operation.kind();
        let last = |state, text| last_operation(kind, state, 100, text, env.now);
        if kind == "Delete" {
            status["lastOperation"] = last("Succeeded", "Shoot cluster has been successfully deleted.");
            status["lastErrors"] = Value::Null;
            writes.push(Write::Status(status));
            writes.push(Write::Event { reason: "Deleted", message: "Deleted Shoot cluster".to_owned() });
            writes.push(Write::Protect(false));
            writes.push(Write::Forget);
            return writes;
        }
        status["lastOperation"] = last("Succeeded", "Shoot cluster has been successfully reconciled.");
        status["lastErrors"] = Value::Null;
        status["retryCycleStartTime"] = Value::Null;
        match run.operation {
            Operation::Hibernate => status["hibernated"] = json!(true),
            Operation::Wake => status["hibernated"] = json!(false),
            _ if !has(shoot, "status.hibernated") => status["hibernated"] = json!(false),
            _ => {}
        }
        if let Some(Value::Object(health)) = care::patch(shoot, &Health::Progressing, env.now) {
            for (key, value) in health {
                status[key] = value;
            }
        }
        if !run.rotation.is_empty() {
            status["credentials"]["rotation"] = run.rotation.finish(shoot, env.now);
        }
        if let Some((field, nothing)) = Rotation::settled(shoot) {
            status[field] = nothing;
        }
        let encryption = at(shoot, "spec.kubernetes.kubeAPIServer.encryptionConfig");
        status["credentials"]["encryptionAtRest"] = json!({
            "resources": texts(encryption, "resources"), "provider": {"type": text(encryption, "provider.type")}});
        let mut annotations = json!({});
        if !annotation(shoot, TASKS).is_empty() {
            annotations[TASKS] = Value::Null;
        }
        // A word that came during the operation is for the next one; only what this one has done already is not.
        let words = shoot::operations(shoot, OPERATION);
        if !run.rotation.rolls.is_empty() && words.iter().any(|word| word.starts_with("rotate-rollout-workers")) {
            annotations[OPERATION] = json!(rotation::without_picked_up(shoot));
        }
        writes.push(Write::Status(status));
        if annotations.as_object().is_some_and(|annotations| !annotations.is_empty()) {
            writes.push(Write::Object(json!({"metadata": {"annotations": annotations}})));
        }
        if !matches!(run.operation, Operation::Hibernate) {
            writes.push(Write::Applied(nodes::applied(shoot)));
        }
        writes.push(Write::Event { reason: "Reconciled", message: "Reconciled Shoot cluster".to_owned() });
        let whose = format!("{}/{}", namespace(shoot), name(shoot));
        let soon = i64::try_from(5 + env.chance.below(&whose, "care", self.attempts, 50)).unwrap_or(30);
        self.care_at = Some(env.now + SignedDuration::from_secs(soon));
        self.maintain_at = None;
        writes
    }
}

fn effect_of(effect: Effect, shoot: &Value, run: &Run, env: &Env<'_>, status: &mut Value, writes: &mut Vec<Write>) {
    match effect {
        Effect::Conditions => {
            if let Some(Value::Object(patch)) =
                care::patch(shoot, &Health::Unknown, env.now).filter(|_| !has(shoot, "status.conditions"))
            {
                status.as_object_mut().into_iter().for_each(|status| status.extend(patch.clone()));
            }
        }
        Effect::Identity => {
            if !has(shoot, "status.clusterIdentity") {
                let (id, uid) = (text(shoot, "status.technicalID"), text(shoot, "metadata.uid"));
                status["clusterIdentity"] = json!(format!("{id}-{uid}-{}", env.settings.garden));
            }
        }
        Effect::Authorities => {
            let (add, drop_old) = run.rotation.authorities();
            writes.push(Write::Authorities { add, drop_old });
        }
        Effect::Networking => {
            let mut networking = json!({});
            for field in ["nodes", "pods", "services"] {
                let cidr = text(shoot, &format!("spec.networking.{field}"));
                if !cidr.is_empty() {
                    networking[field] = json!([cidr]);
                }
            }
            status["networking"] = networking;
        }
        Effect::Addresses => {
            if !has(shoot, "status.advertisedAddresses") {
                status["advertisedAddresses"] = json!([
                    {"name": "external", "url": env.address},
                    {"name": "internal", "url": env.address},
                    {"name": "service-account-issuer", "url": env.address},
                ]);
            }
        }
        Effect::ApiUp => writes.push(Write::Api(true)),
        Effect::ApiDown => writes.push(Write::Api(false)),
        Effect::Nodes => writes.push(Write::Nodes { rolls: run.rotation.rolls.clone() }),
        Effect::NoNodes => writes.push(Write::NoNodes),
    }
}
