//! The port to time.

use std::time::Duration;

use super::BoxFuture;
use crate::time::Timestamp;

/// Time. The only way to read a clock or to sleep; lints ban the others, because simulated time
/// depends on it.
pub trait Clock: Send + Sync + 'static {
    /// Wall-clock time. It may jump; the engine reads it only to name things.
    fn wall(&self) -> Timestamp;

    /// Time since some fixed moment. It never jumps.
    fn monotonic(&self) -> Duration;

    /// Ends after `duration` of monotonic time.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}
