//! Whether a run ended as it should have.

use std::{collections::BTreeSet, time::Duration};

use slipway_model::{
    Operation, OperationState, Reason, RecordKind, StepStatus,
    recorder::Outcome,
    time::{mins, spell},
};

use super::{
    GivesUp, World,
    fault::{Fault, Kind},
    run::Run,
};
use crate::{process::Row, step::Domain};

/// A step that gives up does so at the first run behind its time; this is the longest pause between
/// two runs that an outside system may ask for, and then some.
const LAST_PAUSE: Duration = mins(7);

/// What was seen, or what is wrong with it.
pub(super) type Judgement = Result<String, String>;

/// The row that was struck.
pub(super) struct Subject<'a, D: Domain> {
    pub(super) row: &'a Row<D>,
    pub(super) is_finalizer: bool,
    pub(super) closes_stage: bool,
}

/// The undisturbed run must end, and leave the world in order.
pub(super) fn calm<W: World>(run: &Run<W>) -> Judgement {
    ended(run)?;
    run.world.check(&run.operation)?;
    Ok(summary(run))
}

/// The run with a fault.
pub(super) fn disturbed<W: World>(
    calm: &Run<W>,
    run: &Run<W>,
    fault: &Fault,
    subject: &Subject<'_, W::Domain>,
) -> Judgement {
    if !run.has_struck {
        return Err(format!("the fault did not strike at {}", fault.place));
    }
    ended(run)?;
    if fault.kind.is_crash() {
        restarted(calm, run, fault, subject)?;
    }
    if fault.kind.is_for_good() {
        let gives_up = if subject.is_finalizer { GivesUp::BySkipping } else { run.world.gives_up(subject.row) };
        match gives_up {
            GivesUp::ByFailing => failed(run, fault, subject)?,
            GivesUp::BySkipping => skipped(calm, run, fault, subject)?,
        }
    } else {
        healed(calm, run)?;
    }
    run.world.check(&run.operation)?;
    Ok(summary(run))
}

fn ended<W: World>(run: &Run<W>) -> Result<(), String> {
    let Operation { state, fields, .. } = &run.operation;
    if !state.is_finished() {
        return Err(format!("it never ended: {state}, {}", fields.description));
    }
    if run.took >= run.operation.budget {
        return Err(format!("it took {}, all of its budget", spell(run.took)));
    }
    match (&fields.last_error, *state == OperationState::Failed) {
        (None, true) => Err("it failed and does not say why".to_owned()),
        (Some(_), true) | (None, false) => Ok(()),
        (Some(error), false) => Err(format!("it ended as {state} with an error on record: {}", error.message)),
    }
}

/// The same end as without the fault.
fn healed<W: World>(calm: &Run<W>, run: &Run<W>) -> Result<(), String> {
    let (expected, seen) = (&calm.operation, &run.operation);
    if seen.state != expected.state {
        let error = seen.fields.last_error.as_ref().map_or("", |error| &error.message);
        return Err(format!("it should have healed and ended as {}, not {} {error}", expected.state, seen.state));
    }
    let (wanted, got) = (&expected.fields, &seen.fields);
    if wanted.skipped_steps != got.skipped_steps {
        return Err(format!("it should have healed, but {:?} were skipped", got.skipped_steps));
    }
    if wanted.finished_stages != got.finished_stages {
        return Err(format!("other stages finished: {:?}", got.finished_stages));
    }
    let (wanted, got) = (calm.world.comparable(expected), run.world.comparable(seen));
    if wanted != got {
        return Err(format!("it healed with other data: {got} instead of {wanted}"));
    }
    Ok(())
}

/// The operation was taken from the dead; what had ended did not run again, what had not did.
fn restarted<W: World>(
    calm: &Run<W>,
    run: &Run<W>,
    fault: &Fault,
    subject: &Subject<'_, W::Domain>,
) -> Result<(), String> {
    let mut holders = BTreeSet::new();
    for record in &run.records {
        if let RecordKind::Claimed { replica, taken_from, .. } = &record.kind {
            holders.insert(replica);
            holders.extend(taken_from);
        }
    }
    let before = calm.step(fault.place).map_or(0, |step| step.attempts);
    let after = run.step(fault.place).map_or(0, |step| step.attempts);
    match fault.kind {
        // The end of a stage is for good; inside a stage, the row must run again.
        Kind::CrashAfterCommit if subject.closes_stage && after != before => {
            Err(format!("its stage was finished, but it ran {after} times instead of {before}"))
        }
        Kind::CrashAfterCommit if !subject.closes_stage && after <= before => {
            Err("its stage was not finished, but it did not run again".to_owned())
        }
        // What ended with this very commit needs nobody any more.
        Kind::CrashAfterCommit => Ok(()),
        _ if holders.len() < 2 => Err("nobody took the operation over".to_owned()),
        _ => Ok(()),
    }
}

/// The operation failed and names who and why.
fn failed<W: World>(run: &Run<W>, fault: &Fault, subject: &Subject<'_, W::Domain>) -> Result<(), String> {
    let operation = &run.operation;
    let Some(error) = operation.fields.last_error.as_ref().filter(|_| operation.state == OperationState::Failed) else {
        let skipped = operation.fields.skipped_steps.join(", ");
        return Err(format!("it should have failed, not ended as {} (skipped: {skipped})", operation.state));
    };
    let (component, step) = (subject.row.step.component(), fault.place.step);
    if error.step != step || error.component != component {
        return Err(format!("{step} of {component} failed, but {} of {} is blamed", error.step, error.component));
    }
    if error.reason == Reason::KebInternal || error.message.is_empty() || operation.fields.description.is_empty() {
        return Err(format!("the reason is {} ({}), which tells nothing", error.reason, error.message));
    }
    Ok(())
}

/// The row was skipped in its time, that is on record, and the operation ended as it should.
fn skipped<W: World>(
    calm: &Run<W>,
    run: &Run<W>,
    fault: &Fault,
    subject: &Subject<'_, W::Domain>,
) -> Result<(), String> {
    let (expected, seen, step) = (&calm.operation, &run.operation, fault.place.step);
    if seen.state != expected.state {
        return Err(format!("it should have gone on without {step} to {}, not {}", expected.state, seen.state));
    }
    if !seen.fields.skipped_steps.iter().any(|name| name == step) {
        return Err(format!("{step} should have been skipped, and that noted"));
    }
    match run.step(fault.place) {
        Some(ledger) if ledger.status == StepStatus::Skipped && ledger.reason.is_some() => {}
        _ => return Err(format!("the ledger does not tell why {step} was skipped")),
    }
    let time_of = |wanted: Outcome| {
        let is_it = |kind: &RecordKind| matches!(kind, RecordKind::Attempt { step: name, outcome, .. } if name == step && *outcome == wanted);
        run.records.iter().find(|record| is_it(&record.kind)).map(|record| record.at)
    };
    let (first, last) = (time_of(Outcome::Retry), time_of(Outcome::Skip));
    let tried = first.zip(last).map_or(Duration::ZERO, |(first, last)| last.since(first));
    if tried > subject.row.step.gives_up_after() + LAST_PAUSE {
        return Err(format!("{step} was given up only after {}", spell(tried)));
    }
    Ok(())
}

fn summary<W: World>(run: &Run<W>) -> String {
    let Operation { state, fields, .. } = &run.operation;
    let runs: u32 = run.steps.iter().map(|step| step.attempts).sum();
    let mut text = format!("{state} after {} and {runs} runs", spell(Duration::from_secs(run.took.as_secs())));
    if !fields.skipped_steps.is_empty() {
        text.push_str(&format!(", without {}", fields.skipped_steps.join(", ")));
    }
    if let Some(error) = &fields.last_error {
        text.push_str(&format!(": {} ({}, {})", error.message, error.component, error.reason));
    }
    text
}
