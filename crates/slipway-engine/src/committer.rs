//! Group commit: finished steps of many operations are written together.
//!
//! A task takes whatever has arrived and writes it in one transaction; while that is under way the
//! next group gathers by itself. So a lone step never waits for a group to fill, and with many in
//! flight the cost of a transaction is shared by all of them.
//!
//! There are lanes, each with one group under way. Commits that end an operation, or wait for an event,
//! have to look at other rows and take the database several times as long: they have a lane of their
//! own. The others, nearly all, share two, so that the database writes one group while the engine
//! runs the steps of the other.

use std::{sync::Arc, time::Duration};

use slipway_model::{
    ports::{Clock, Commit, CommitOutcome, Next, Storage, StoreError},
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
    plain: [mpsc::UnboundedSender<Waiting>; 2],
    involved: mpsc::UnboundedSender<Waiting>,
    over: CancellationToken,
}

struct Waiting {
    commit: Commit,
    answer: oneshot::Sender<CommitOutcome>,
}

impl Committer {
    /// Makes a committer and the work that serves it until `over`.
    pub(crate) fn new(
        store: Arc<dyn Storage>,
        clock: Arc<dyn Clock>,
        config: &EngineConfig,
        over: CancellationToken,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let writer = Writer { store, clock, group_max: config.group_max };
        let (even, even_queue) = mpsc::unbounded_channel();
        let (odd, odd_queue) = mpsc::unbounded_channel();
        let (involved, involved_queue) = mpsc::unbounded_channel();
        let until = over.clone();
        let work = async move {
            tokio::select! {
                biased;
                () = until.cancelled() => {}
                ((), (), ()) = async {
                    tokio::join!(writer.serve(even_queue), writer.serve(odd_queue), writer.serve(involved_queue))
                } => {}
            }
        };
        (Self { plain: [even, odd], involved, over }, work)
    }

    /// Writes one commit; returns when it is durable or refused. A database that is away makes it
    /// wait: nothing is dropped because a save failed. When the lease is over, it is fenced.
    pub(crate) async fn commit(&self, commit: Commit) -> CommitOutcome {
        let (answer, durable) = oneshot::channel();
        let lane = match &commit.next {
            Next::Run | Next::Hold | Next::Park { wait_on: None, .. } => {
                &self.plain[usize::from(commit.operation.as_uuid().as_bytes()[15] & 1)]
            }
            Next::End { .. } | Next::Park { wait_on: Some(_), .. } => &self.involved,
        };
        if lane.send(Waiting { commit, answer }).is_err() {
            return CommitOutcome::Fenced;
        }
        tokio::select! {
            biased;
            outcome = durable => outcome.unwrap_or(CommitOutcome::Fenced),
            () = self.over.cancelled() => CommitOutcome::Fenced,
        }
    }
}

/// What has arrived behind the first.
async fn gather(first: Waiting, queue: &mut mpsc::UnboundedReceiver<Waiting>, most: usize) -> Vec<Waiting> {
    // The answers to the group before have just woken many runs: lets those that are ready come
    // along, as long as each round brings some. Takes no time when there are none.
    let mut group = vec![first];
    loop {
        tokio::task::yield_now().await;
        let before = group.len();
        while group.len() < most
            && let Ok(more) = queue.try_recv()
        {
            group.push(more);
        }
        if group.len() == before || group.len() == most {
            break;
        }
    }
    group
}

struct Writer {
    store: Arc<dyn Storage>,
    clock: Arc<dyn Clock>,
    group_max: usize,
}

impl Writer {
    /// Serves one lane, one group at a time.
    async fn serve(&self, mut queue: mpsc::UnboundedReceiver<Waiting>) {
        while let Some(first) = queue.recv().await {
            let group = gather(first, &mut queue, self.group_max).await;
            let (commits, answers) = group.into_iter().map(|w| (w.commit, w.answer)).unzip();
            self.write(commits, answers).await;
        }
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
