//! Hints that something may have become due, inside one process.

use slipway_model::ports::{BoxFuture, WakeListener};
use tokio::sync::watch;

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
