//! The port to the wire: one HTTP exchange.

use std::time::Duration;

use bytes::Bytes;

use super::BoxFuture;

/// Sends one request and reads the whole answer. Clients of outside systems are concrete types
/// over this; tests plug a simulator in here, directly or over a socket.
pub trait Transport: Send + Sync + 'static {
    /// One exchange with the system of this name. Dropping the future gives the call up.
    fn send<'a>(
        &'a self,
        system: &'static str,
        request: http::Request<Bytes>,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<http::Response<Bytes>, TransportError>>;
}

/// Why no answer came. The class is decided here, once, where the answer was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The request never left: no name, no connection, bad certificate. Nothing happened there.
    #[error("{system} cannot be reached: {problem}")]
    NotSent {
        /// The outside system.
        system: &'static str,
        /// What failed, without secrets.
        problem: String,
    },
    /// The request was on its way when the connection broke or the time ran out: it may have had
    /// its effect.
    #[error("{system} did not answer: {problem}")]
    NoAnswer {
        /// The outside system.
        system: &'static str,
        /// What failed, without secrets.
        problem: String,
    },
}
