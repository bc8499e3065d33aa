//! What the GraphQL side needs of the engine: its time, its budgets and its news. Operations are not
//! handed over here: they are stored together with what they are about, and the engine finds them.

use std::time::Duration;

use slipway_engine::{Domain, Engine, Event};
use slipway_model::Timestamp;
use tokio::sync::broadcast;

use crate::OperationKind;

/// The engine, as far as requests need it.
pub trait EnginePort: Send + Sync + 'static {
    /// Engine time, which everything stored is counted in.
    fn now(&self) -> Timestamp;

    /// How long an operation of this kind may take; none if nobody here can run it.
    fn budget(&self, kind: OperationKind) -> Option<Duration>;

    /// News from now on; none while the engine stops.
    fn news(&self) -> Option<broadcast::Receiver<Event>>;
}

impl<D: Domain> EnginePort for Engine<D> {
    fn now(&self) -> Timestamp {
        Engine::now(self)
    }

    fn budget(&self, kind: OperationKind) -> Option<Duration> {
        self.registry().get(&kind.process()).map(|process| process.budget)
    }

    fn news(&self) -> Option<broadcast::Receiver<Event>> {
        Some(self.events())
    }
}
