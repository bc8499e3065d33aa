//! Group commit: finished steps of many operations are written together.
//!
//! One task takes whatever has arrived and writes it in one transaction; while that is under way
//! the next group gathers by itself. So a lone step never waits for a group to fill, and with many
//! in flight the cost of a transaction is shared by all of them.

use std::{sync::Arc, time::Duration};

use slipway_model::{
    KnownBug,
    ports::{Clock, Commit, CommitOutcome, Storage, StoreError},
    time::{millis, secs},
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::config::EngineConfig;

/// Pause after a failed write; doubled up to the maximum.
const PAUSE_MIN: Duration = millis(20);
const PAUSE_MAX: Duration = secs(1);

/// The way into the group commit.
pub(crate) struct Committer {
    queue: mpsc::UnboundedSender<Waiting>,
    over: CancellationToken,
}

struct Waiting {
    commit: Commit,
    answer: oneshot::Sender<CommitOutcome>,
}

impl Committer {
    /// Makes a committer and the task that serves it until `over`.
    pub(crate) fn new(
        store: Arc<dyn Storage>,
        clock: Arc<dyn Clock>,
        config: &EngineConfig,
        over: CancellationToken,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (queue, receiver) = mpsc::unbounded_channel();
        let writer = Writer { store, clock, queue: receiver, group_max: config.group_max, bugs: config.bugs };
        (Self { queue, over: over.clone() }, writer.serve(over))
    }

    /// Writes one commit; returns when it is durable or refused. A database that is away makes it
    /// wait: nothing is dropped because a save failed. When the lease is over, it is fenced.
    pub(crate) async fn commit(&self, commit: Commit) -> CommitOutcome {
        let (answer, durable) = oneshot::channel();
        if self.queue.send(Waiting { commit, answer }).is_err() {
            return CommitOutcome::Fenced;
        }
        tokio::select! {
            biased;
            outcome = durable => outcome.unwrap_or(CommitOutcome::Fenced),
            () = self.over.cancelled() => CommitOutcome::Fenced,
        }
    }
}

struct Writer {
    store: Arc<dyn Storage>,
    clock: Arc<dyn Clock>,
    queue: mpsc::UnboundedReceiver<Waiting>,
    group_max: usize,
    bugs: slipway_model::Bugs,
}

impl Writer {
    async fn serve(mut self, over: CancellationToken) {
        tokio::select! {
            biased;
            () = over.cancelled() => {}
            () = async { while self.write_next_group().await {} } => {}
        }
    }

    async fn write_next_group(&mut self) -> bool {
        let mut arrived = Vec::with_capacity(64);
        if self.queue.recv_many(&mut arrived, self.group_max).await == 0 {
            return false;
        }
        let (commits, answers): (Vec<_>, Vec<_>) = arrived.into_iter().map(|w| (w.commit, w.answer)).unzip();
        self.write(commits, answers).await;
        true
    }

    async fn write(&self, commits: Vec<Commit>, answers: Vec<oneshot::Sender<CommitOutcome>>) {
        let mut pause = PAUSE_MIN;
        loop {
            match self.store.commit(&commits).await {
                Ok(outcomes) => {
                    for (answer, outcome) in answers.into_iter().zip(outcomes) {
                        // A run that was dropped meanwhile does not wait any more.
                        let _ = answer.send(outcome);
                    }
                    return;
                }
                Err(error) if error.is_temporary() => {
                    tracing::warn!(%error, commits = commits.len(), "steps could not be saved; trying again");
                    if self.bugs.has(KnownBug::DroppedWhenSaveFails) {
                        // The answers are kept from being sent for good: nobody looks again.
                        std::mem::forget(answers);
                        return;
                    }
                    self.clock.sleep(pause).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                Err(error) => return self.write_one_by_one(commits, answers, &error).await,
            }
        }
    }

    /// One commit of the group is refused for good, and the transaction with it: the others must
    /// not suffer.
    async fn write_one_by_one(
        &self,
        commits: Vec<Commit>,
        answers: Vec<oneshot::Sender<CommitOutcome>>,
        error: &StoreError,
    ) {
        if let [commit] = commits.as_slice() {
            // The run ends as if the lease were lost; the audit gives the operation back.
            tracing::error!(operation = %commit.operation, %error, "the database refuses to save a step");
            return;
        }
        for (commit, answer) in commits.into_iter().zip(answers) {
            Box::pin(self.write(vec![commit], vec![answer])).await;
        }
    }
}
