//! The domain as the wire shows it. Everything is destructured without `..`, so that a new field
//! must be decided on here: shown, or kept back. Secrets and the data of steps are kept back.

use slipway_clients::broker::wire;
use slipway_model::{
    LastError, Operation, ProcessKey, Record, RecordKind, Request, StepRecord, Timestamp,
    operation::{Fields, Schedule},
    time::spell,
};

fn instant(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}

/// `stranded` are the processes that no running program has the version of.
pub(super) fn operation(op: &Operation, stranded: &[(ProcessKey, usize)]) -> wire::Operation {
    let Operation {
        id,
        instance_id,
        kind,
        temporary,
        plan,
        process,
        state,
        fields,
        secrets: _,
        version: _,
        control,
        budget: _,
        budget_from: _,
        created_at,
        started_at,
        finished_at,
        updated_at,
        schedule,
    } = op;
    let Fields { description, finished_stages, skipped_steps, last_error, ending: _, data: _ } = fields;
    let Schedule { due_at, wait_on, owner: _, fence: _, commits: _ } = schedule;
    let is_stranded = !state.is_finished() && stranded.iter().any(|(key, _)| key == process);
    wire::Operation {
        id: id.to_string(),
        instance_id: instance_id.to_string(),
        kind: kind.to_string(),
        temporary: *temporary,
        plan: plan.clone(),
        process: process.to_string(),
        state: state.to_string(),
        description: description.clone(),
        finished_stages: finished_stages.clone(),
        executed_but_not_completed: skipped_steps.clone(),
        last_error: last_error.as_ref().map(error),
        waits_on: wait_on.as_ref().map(ToString::to_string),
        next_look_at: instant(*due_at),
        pause: control.pause.as_ref().map(wish),
        cancel: control.cancel.as_ref().map(wish),
        created_at: created_at.to_string(),
        started_at: instant(*started_at),
        finished_at: instant(*finished_at),
        updated_at: updated_at.to_string(),
        deadline: instant(op.deadline()).filter(|_| !state.is_finished()),
        stranded: is_stranded
            .then(|| format!("no running program has version {process}; it goes on when one that has it is started")),
    }
}

fn error(error: &LastError) -> wire::LastError {
    let LastError { message, reason, component, step } = error;
    wire::LastError {
        message: message.clone(),
        reason: reason.to_string(),
        component: component.to_string(),
        step: step.clone(),
    }
}

fn wish(request: &Request) -> wire::Wish {
    let Request { by, why, at, preempted_by: _ } = request;
    wire::Wish { by: by.clone(), why: why.clone(), at: at.to_string() }
}

pub(super) fn step(record: &StepRecord) -> wire::Step {
    let StepRecord {
        seq: _,
        stage,
        step,
        status,
        attempts,
        first_run_at,
        first_failure_at,
        last_run_at,
        next_run_at,
        reason,
    } = record;
    wire::Step {
        stage: stage.clone(),
        step: step.clone(),
        status: status.to_string(),
        attempts: *attempts,
        first_run_at: instant(*first_run_at),
        first_failure_at: instant(*first_failure_at),
        last_run_at: instant(*last_run_at),
        next_run_at: instant(*next_run_at),
        reason: reason.clone(),
    }
}

pub(super) fn record(record: &Record) -> wire::Record {
    let Record { id, operation: _, at, kind } = record;
    let base = wire::Record { id: *id, at: at.to_string(), ..wire::Record::default() };
    let named = |name: &str, sentence: String| wire::Record { kind: name.to_owned(), sentence, ..base.clone() };
    let micros = |took: &u64| spell(std::time::Duration::from_micros(*took));
    match kind {
        RecordKind::Accepted { by } => {
            wire::Record { by: Some(by.clone()), ..named("accepted", format!("accepted from {by}")) }
        }
        RecordKind::Started { replica } => {
            wire::Record { replica: Some(replica.to_string()), ..named("started", "started".to_owned()) }
        }
        RecordKind::Claimed { replica, taken_from, woken_by } => {
            let sentence = match (taken_from, woken_by) {
                (Some(dead), _) => format!("taken over from {dead}, which died"),
                (None, Some(cause)) => format!("woken by {cause}"),
                (None, None) => "taken up".to_owned(),
            };
            wire::Record {
                replica: Some(replica.to_string()),
                taken_from: taken_from.as_ref().map(ToString::to_string),
                woken_by: woken_by.clone(),
                ..named("claimed", sentence)
            }
        }
        RecordKind::Attempt { stage, step, attempt, outcome, took_us, reason, until, on } => {
            let why = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let next = until.map(|until| format!(", looked at again at {until} at the latest")).unwrap_or_default();
            wire::Record {
                stage: Some(stage.clone()),
                step: Some(step.clone()),
                attempt: Some(*attempt),
                outcome: Some(outcome.as_str().to_owned()),
                took_us: Some(*took_us),
                reason: reason.clone(),
                until: instant(*until),
                on: on.clone(),
                ..named("attempt", format!("{step}, run {attempt}: {}{why}{next}", outcome.as_str()))
            }
        }
        RecordKind::Call { step, system, method, path, status, error, took_us } => {
            let result = match (status, error) {
                (Some(status), _) => status.to_string(),
                (None, Some(error)) => format!("no answer: {error}"),
                (None, None) => "no answer".to_owned(),
            };
            wire::Record {
                step: Some(step.clone()),
                system: Some(system.clone()),
                method: Some(method.clone()),
                path: Some(path.clone()),
                status: *status,
                error: error.clone(),
                took_us: Some(*took_us),
                ..named("call", format!("{step} called {system}: {method} {path}: {result}, after {}", micros(took_us)))
            }
        }
        RecordKind::StageFinished { stage } => {
            wire::Record { stage: Some(stage.clone()), ..named("stage_finished", format!("stage {stage} is finished")) }
        }
        RecordKind::Action { action, by, why, step } => {
            let what = step.as_ref().map_or_else(|| action.clone(), |step| format!("{action} {step}"));
            wire::Record {
                action: Some(action.clone()),
                by: Some(by.clone()),
                why: Some(why.clone()),
                step: step.clone(),
                ..named("action", format!("{what} by {by}: {why}"))
            }
        }
        RecordKind::Ended { state, description } => {
            wire::Record { state: Some(state.to_string()), ..named("ended", format!("ended {state}: {description}")) }
        }
    }
}
