//! Durations as operators write them: `1h30m`, `250ms`, `1.5s`.
//!
//! The spelling is that of Go, because the configuration of the systems around us uses it. A bare
//! number is refused: nobody should have to guess its unit.

use std::{fmt, str::FromStr, time::Duration};

use serde::Deserialize;
use slipway_model::time::spell;

/// The longest duration taken, a hundred years; more is a typing error, and it keeps sums with
/// instants in range.
const MAX: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

const UNITS: [(&str, f64); 7] =
    [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];

/// A duration in a configuration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct DurationText(Duration);

impl DurationText {
    /// A duration known to be good.
    pub const fn of(duration: Duration) -> Self {
        Self(duration)
    }

    /// The duration.
    pub const fn get(self) -> Duration {
        self.0
    }
}

/// Why a text is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a duration; write for example 1h30m, 10s or 250ms")]
pub struct BadDuration(String);

impl FromStr for DurationText {
    type Err = BadDuration;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).filter(|duration| *duration <= MAX).map(Self).ok_or_else(|| BadDuration(text.to_owned()))
    }
}

impl TryFrom<String> for DurationText {
    type Error = BadDuration;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for DurationText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&spell(self.0))
    }
}

impl fmt::Debug for DurationText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let (mut rest, mut sum) = (text, Duration::ZERO);
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let unit_len = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_len);
        let (_, seconds) = UNITS.iter().find(|(name, _)| *name == unit)?;
        sum = sum.checked_add(scaled(number, *seconds)?)?;
        rest = tail;
    }
    Some(sum)
}

/// Whole numbers are multiplied as integers, so that `90061s` is exact.
fn scaled(number: &str, seconds: f64) -> Option<Duration> {
    if let (Ok(whole), true) = (number.parse::<u64>(), seconds >= 1.0) {
        return whole.checked_mul(seconds as u64).map(Duration::from_secs);
    }
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use slipway_model::time::{hours, millis, mins, secs};

    #[test]
    fn go_spellings_are_read() {
        for (text, duration) in [
            ("1h30m", mins(90)),
            ("10s", secs(10)),
            ("250ms", millis(250)),
            ("1.5s", millis(1500)),
            ("336h", hours(336)),
            ("1m0.5s", millis(60_500)),
            ("7us", Duration::from_micros(7)),
            ("7µs", Duration::from_micros(7)),
            ("0", Duration::ZERO),
            ("0s", Duration::ZERO),
        ] {
            assert_eq!(text.parse::<DurationText>().map(DurationText::get), Ok(duration), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused_with_examples() {
        for bad in ["", "10", "s", "1 h", "-5s", "1d", "1h30", "1..5s", "99999999999999999999h", "9000000h", ".s"] {
            bad.parse::<DurationText>().expect_err(bad);
        }
        let error = "10".parse::<DurationText>().expect_err("no unit").to_string();
        assert_eq!(error, "\"10\" is not a duration; write for example 1h30m, 10s or 250ms");
    }

    #[test]
    fn what_is_printed_reads_back() {
        for duration in [secs(5), mins(90), millis(1), hours(24) + millis(250)] {
            let text = DurationText::of(duration).to_string();
            assert_eq!(text.parse::<DurationText>().map(DurationText::get), Ok(duration), "{text}");
        }
    }
}
