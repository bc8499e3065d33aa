//! Time and chance for the simulators.
//!
//! The only place of this crate that reads a clock, waits or draws: what a simulator does at which
//! moment can then be found, and replaced, in one file. Everything here goes through the runtime's
//! own time where it can, so a paused runtime makes it simulated time.

use std::{future::Future, time::Duration};

use jiff::Timestamp;
use ring::rand::{SecureRandom, SystemRandom};

/// The wall clock.
#[expect(clippy::disallowed_methods, reason = "the one clock of the simulators")]
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// The runtime's own time, which never jumps: by it tokens end and simulated work goes on.
#[expect(clippy::disallowed_methods, reason = "the one clock of the simulators")]
pub fn steady() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

/// As Kubernetes writes times: RFC 3339, whole seconds, UTC.
pub fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// As Kubernetes writes times of leases: RFC 3339 with microseconds.
pub fn micros(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// Lets time pass.
#[expect(clippy::disallowed_methods, reason = "the one place where simulators wait")]
pub async fn sleep(time: Duration) {
    tokio::time::sleep(time).await;
}

/// The outcome, unless it takes longer than this.
pub async fn within<T>(time: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        () = sleep(time) => None,
    }
}

/// Random bytes that nobody can guess: keys and tokens are made of them.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // The operating system's source does not fail on any system we run on; a predictable key is
    // worse than no server.
    SystemRandom::new().fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// A new uid.
pub fn uid() -> String {
    uuid::Builder::from_random_bytes(random()).into_uuid().to_string()
}

/// The five characters `generateName` ends with. No vowels and no look-alikes, so no words.
pub fn suffix() -> String {
    const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    random::<5>().iter().map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_kubernetes_writes_them() {
        let time = Timestamp::from_microsecond(1_700_000_000_123_456).expect("a time");
        assert_eq!(seconds(time), "2023-11-14T22:13:20Z");
        assert_eq!(micros(time), "2023-11-14T22:13:20.123456Z");
        assert_eq!(suffix().len(), 5);
        assert_ne!(uid(), uid());
    }
}
