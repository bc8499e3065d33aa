//! Hints that something may have become due, inside one process.

use slipway_model::{
    Timestamp,
    ports::{BoxFuture, Commit, Next, WakeListener},
};
use tokio::sync::watch;

/// What a group of commits means for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum News {
    /// Nothing.
    None,
    /// Something came while a holder looked, so its operation is due at once instead of waiting.
    DueAtOnce,
    /// An operation ended: the next of its instance, or who waits on it, may be due.
    Ended,
}

impl News {
    /// What a commit means that was taken and left the operation due at `due_at`.
    pub(crate) fn of(commit: &Commit, due_at: Option<Timestamp>) -> Self {
        match commit.next {
            Next::Run => Self::None,
            Next::Park { .. } | Next::Hold if due_at.is_some_and(|due| due <= commit.at) => Self::DueAtOnce,
            Next::Park { .. } | Next::Hold => Self::None,
            Next::End { .. } => Self::Ended,
        }
    }
}

/// Counts hints; listeners wait for the count to change, so a burst is one hint to them.
#[derive(Clone)]
pub(crate) struct Hints(watch::Sender<u64>);

impl Hints {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(0))
    }

    pub(crate) fn give(&self) {
        self.0.send_modify(|count| *count += 1);
    }

    pub(crate) fn listen(&self) -> Listener {
        Listener(self.0.subscribe())
    }
}

/// One listener.
pub(crate) struct Listener(watch::Receiver<u64>);

impl WakeListener for Listener {
    fn hint(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if self.0.changed().await.is_err() {
                // The store is gone: no more hints.
                std::future::pending::<()>().await;
            }
        })
    }
}
