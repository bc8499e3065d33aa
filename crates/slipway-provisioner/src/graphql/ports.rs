//! What the GraphQL side needs of the engine: its time, its processes and its news. Operations are not
//! handed over here: they are stored together with what they are about, and the engine finds them.

use std::time::Duration;

use slipway_engine::{Domain, Engine, Event, Supervisor};
use slipway_model::{ProcessKey, Timestamp};
use tokio::sync::broadcast;

use crate::OperationKind;

/// The engine, as far as requests need it.
pub trait EnginePort: Send + Sync + 'static {
    /// Engine time, which everything stored is counted in.
    fn now(&self) -> Timestamp;

    /// The process that new operations of this kind begin on, and how long they may take; none if nobody
    /// here can run them.
    fn process(&self, kind: OperationKind) -> Option<(ProcessKey, Duration)>;

    /// News from now on; none while the engine stops.
    fn news(&self) -> Option<broadcast::Receiver<Event>>;
}

impl<D: Domain> EnginePort for Engine<D> {
    fn now(&self) -> Timestamp {
        Supervisor::now(self)
    }

    fn process(&self, kind: OperationKind) -> Option<(ProcessKey, Duration)> {
        self.registry().newest(kind.process_name()).map(|process| (process.key.clone(), process.budget))
    }

    fn news(&self) -> Option<broadcast::Receiver<Event>> {
        Some(self.events())
    }
}
