//! Committing one step result: the plainest description of fences, lost answers and missed events.

use slipway_model::{
    StepRecord, WaitKey,
    ports::{Commit, CommitOutcome, Next, StoreResult},
};

use super::{MemoryStore, Tables};
use crate::{
    hints::News,
    rows::{CommitVerdict, RowState, judge},
};

impl MemoryStore {
    pub(super) fn commit_one(&self, tables: &mut Tables, commit: &Commit) -> StoreResult<CommitOutcome> {
        let signal = match &commit.next {
            Next::Park { wait_on: Some(key), .. } => tables.signals.get(key).map_or(0, |signal| signal.number),
            _ => 0,
        };
        let row = tables.row(commit.operation)?;
        let op = &mut row.operation;
        match judge(commit, &RowState::of(op))? {
            CommitVerdict::Take => {}
            CommitVerdict::Already => return Ok(CommitOutcome::Committed { control: Box::new(op.control.clone()) }),
            CommitVerdict::Fenced => return Ok(CommitOutcome::Fenced),
            CommitVerdict::Conflict => return Ok(CommitOutcome::Conflict(Box::new(op.clone()))),
        }

        op.schedule.commits = commit.number;
        op.updated_at = commit.at;
        if let Some(fields) = &commit.fields {
            op.fields = fields.clone();
            op.version += 1;
        }
        if commit.clear_skip && op.control.seq <= commit.seen_control {
            op.control.skip = None;
        }
        for step in &commit.steps {
            match row.steps.iter_mut().find(|old| old.stage == step.stage && old.step == step.step) {
                Some(old) => *old = StepRecord { seq: old.seq, ..step.clone() },
                None => row.steps.push(step.clone()),
            }
        }
        row.steps.sort_by_key(|step| step.seq);

        let op = &mut row.operation;
        let schedule = &mut op.schedule;
        let unseen_wish = op.control.seq > commit.seen_control;
        let mut ended = None;
        match &commit.next {
            Next::Run => {}
            Next::Park { due_at, wait_on, keep_lease } => {
                let seen = if schedule.wait_on == *wait_on { row.wait_seen } else { 0 };
                let unseen_event = signal > seen;
                schedule.due_at = Some(if unseen_wish || unseen_event { commit.at } else { *due_at });
                schedule.wait_on = wait_on.clone();
                row.wait_seen = signal;
                if unseen_event {
                    row.woken_by = Some("an event during the last look".to_owned());
                }
                if !keep_lease {
                    schedule.owner = None;
                }
            }
            Next::Hold => {
                schedule.due_at = unseen_wish.then_some(commit.at);
                schedule.owner = None;
            }
            Next::End { state } => {
                op.state = *state;
                op.finished_at = Some(commit.at);
                schedule.due_at = None;
                schedule.owner = None;
                schedule.wait_on = None;
                ended = Some(op.clone());
            }
        }
        let control = Box::new(op.control.clone());
        if News::of(commit, op.schedule.due_at) == News::DueAtOnce {
            self.give_hint();
        }
        for (at, kind) in &commit.records {
            tables.record(commit.operation, *at, kind.clone());
        }
        if let Some(ended) = ended {
            let cause = format!("end of operation {}", ended.id);
            let next = tables.wake_next_pending(&ended, commit.at);
            if next + tables.wake(&WaitKey::operation(ended.id), &cause, commit.at) > 0 {
                self.give_hint();
            }
        }
        Ok(CommitOutcome::Committed { control })
    }
}
