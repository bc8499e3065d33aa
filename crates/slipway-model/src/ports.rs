//! What Slipway needs of the world outside: storage, time, chance, entropy and the wire. Nothing else is
//! abstract. Each port has one conformance suite that every implementation passes.

use std::{future::Future, pin::Pin};

mod around;
mod clock;
mod entropy;
mod random;
mod runtimes;
mod storage;
mod transport;

pub use around::AroundStore;
pub use clock::Clock;
pub use entropy::Entropy;
pub use random::Random;
pub use runtimes::*;
pub use storage::*;
pub use transport::{Transport, TransportError};

/// A boxed future; ports are trait objects so that the engine is compiled once.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
