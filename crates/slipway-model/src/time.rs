//! Instants and durations.
//!
//! Instants are microseconds since 1970, because both databases keep them as a plain integer: the
//! same order, the same arithmetic and no time zone anywhere.

use std::{
    fmt,
    ops::{Add, Sub},
    str::FromStr,
    time::Duration,
};

use serde::{Deserialize, Serialize};

/// An instant, in microseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The instant `micros` microseconds after 1970.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since 1970; what the databases keep.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Time passed since `earlier`; zero when `earlier` is in fact later, as after a clock jump.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(rhs.as_micros()).unwrap_or(i64::MAX)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, rhs: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(rhs.as_micros()).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(instant) => write!(f, "{instant:.3}"),
            Err(_) => write!(f, "{} µs", self.0),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<jiff::Timestamp>().map(|instant| Self(instant.as_microsecond()))
    }
}

/// `n` milliseconds.
pub const fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// `n` seconds.
pub const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// `n` minutes.
pub const fn mins(n: u64) -> Duration {
    Duration::from_secs(n * 60)
}

/// `n` hours.
pub const fn hours(n: u64) -> Duration {
    Duration::from_secs(n * 3600)
}

/// A duration as people write it: `1h30m`, `5s`, `250ms`. What `Display` of [`std::time::Duration`] lacks.
pub fn spell(duration: Duration) -> String {
    if duration.is_zero() {
        return "0s".to_owned();
    }
    let (mut text, whole) = (String::new(), duration.as_secs());
    for (size, unit) in [(3600, "h"), (60, "m"), (1, "s")] {
        let count = if size == 3600 { whole / size } else { whole / size % 60 };
        if count > 0 {
            text.push_str(&format!("{count}{unit}"));
        }
    }
    match duration.subsec_millis() {
        0 if text.is_empty() => format!("{}µs", duration.as_micros()),
        0 => text,
        ms => format!("{text}{ms}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_spelled_as_people_write_them() {
        for (duration, text) in [
            (Duration::ZERO, "0s"),
            (millis(250), "250ms"),
            (secs(90), "1m30s"),
            (hours(24), "24h"),
            (Duration::from_micros(7), "7µs"),
            (secs(3600) + millis(5), "1h5ms"),
        ] {
            assert_eq!(spell(duration), text);
        }
    }

    #[test]
    fn an_instant_reads_back_as_it_was_printed() {
        let instant = Timestamp::from_micros(1_789_000_000_123_000);
        assert_eq!(instant.to_string().parse::<Timestamp>().expect("own output parses"), instant);
    }

    #[test]
    fn time_since_a_later_instant_is_zero() {
        let now = Timestamp::from_micros(10);
        assert_eq!(now.since(now + secs(1)), Duration::ZERO);
    }
}
