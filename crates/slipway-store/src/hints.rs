//! Hints that something may have become due, inside one process.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use slipway_model::{
    Timestamp,
    ports::{BoxFuture, Commit, Next, WakeListener},
};
use tokio::sync::Notify;

/// What a group of commits means for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum News {
    /// Nothing.
    None,
    /// Something came while a holder looked, so its operation is due at once instead of waiting.
    DueAtOnce,
    /// An operation ended, and by that another one is due: the next of its instance, or one that
    /// waited for it.
    OthersDue,
}

impl News {
    /// What a commit means for its own operation, which it left due at `due_at`.
    pub(crate) fn of(commit: &Commit, due_at: Option<Timestamp>) -> Self {
        match commit.next {
            Next::Park { .. } | Next::Hold if due_at.is_some_and(|due| due <= commit.at) => Self::DueAtOnce,
            Next::Run | Next::Park { .. } | Next::Hold | Next::End { .. } => Self::None,
        }
    }
}

/// Counts hints; listeners wait for the count to change, so a burst is one hint to them.
///
/// Not a `watch` channel: that one wakes its receivers in a random order, and a simulation must
/// tell the same story every time.
#[derive(Clone)]
pub(crate) struct Hints(Arc<Inner>);

struct Inner {
    count: AtomicU64,
    changed: Notify,
}

impl Hints {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner { count: AtomicU64::new(0), changed: Notify::new() }))
    }

    pub(crate) fn give(&self) {
        self.0.count.fetch_add(1, Ordering::SeqCst);
        self.0.changed.notify_waiters();
    }

    pub(crate) fn listen(&self) -> Listener {
        Listener { seen: self.0.count.load(Ordering::SeqCst), inner: self.0.clone() }
    }
}

/// One listener.
pub(crate) struct Listener {
    inner: Arc<Inner>,
    seen: u64,
}

impl WakeListener for Listener {
    fn hint(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            loop {
                // Enlisted before the count is read, so that no hint falls in between.
                let changed = self.inner.changed.notified();
                let count = self.inner.count.load(Ordering::SeqCst);
                if count != self.seen {
                    self.seen = count;
                    return;
                }
                changed.await;
            }
        })
    }
}
