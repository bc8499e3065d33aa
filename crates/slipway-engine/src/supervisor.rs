//! An engine as operators see it, whichever service runs on it.

use std::{sync::Arc, time::Duration};

use slipway_model::{
    Action, Operation, OperationId, OperationType, ProcessKey, Timestamp, WaitKey,
    ports::{Clock, Random, Storage, StoreError, StoreResult},
};
use tokio::sync::watch;

use crate::{life::Status, time::EngineTime};

/// Looks at operations and steers them. It knows neither steps nor systems, so it is the same for every
/// domain, and any of them reaches every operation of the database: a wish is written down and met by
/// the engine that runs the operation. Holding one does not keep its engine running.
#[derive(Clone)]
pub struct Supervisor {
    pub(crate) store: Arc<dyn Storage>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) time: Arc<EngineTime>,
    pub(crate) status: watch::Receiver<Status>,
    pub(crate) offers: Arc<[Offer]>,
}

/// A process that new operations can begin on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Its name and newest version.
    pub process: ProcessKey,
    /// The type of operation it serves.
    pub kind: OperationType,
    /// How long the whole operation may take.
    pub budget: Duration,
}

impl Supervisor {
    /// Tells that something happened to the things of these keys.
    pub async fn wake(&self, keys: &[WaitKey], cause: &str) -> StoreResult<usize> {
        self.store.wake(keys, cause, self.now()).await
    }

    /// An operator's action; `by` and `why` go on record and may not be empty.
    pub async fn act(&self, id: OperationId, action: &Action, by: &str, why: &str) -> StoreResult<Operation> {
        for (text, what) in [(by, "who acts"), (why, "why")] {
            if text.trim().is_empty() {
                return Err(StoreError::Refused(format!("an action needs to say {what}; it goes on record")));
            }
        }
        self.store.act(id, action, by, why, self.now()).await
    }

    /// A new operation id.
    pub fn draw_id(&self) -> OperationId {
        OperationId::draw(&*self.clock, &*self.random)
    }

    /// The processes that new operations can begin on, by name.
    pub fn offers(&self) -> &[Offer] {
        &self.offers
    }

    /// The database.
    pub fn store(&self) -> &Arc<dyn Storage> {
        &self.store
    }

    /// Engine time.
    pub fn now(&self) -> Timestamp {
        self.time.now()
    }

    /// Whether the engine is at work.
    pub fn status(&self) -> watch::Receiver<Status> {
        self.status.clone()
    }
}
