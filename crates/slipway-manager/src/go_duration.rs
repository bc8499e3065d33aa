//! Durations as Go writes them, since configuration files and Gardener's resources hold such texts.
//!
//! Only what occurs there: hours to nanoseconds, no sign. What we write is what an API server gives
//! back, so that a comparison finds no difference where there is none.

use std::time::Duration;

/// Units, the longer names first: `ms` must not be read as minutes.
const UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
];

/// Reads a duration such as `15m`, `1h30m` or `0.5s`.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut nanos = 0.0;
    let mut parts = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|end| *end > 0)?;
        let number: f64 = rest[..digits].parse().ok()?;
        let (name, unit) = UNITS.iter().find(|(name, _)| rest[digits..].starts_with(name))?;
        #[expect(clippy::cast_precision_loss, reason = "exact for every unit")]
        let unit = *unit as f64;
        nanos += number * unit;
        rest = &rest[digits + name.len()..];
        parts += 1;
    }
    // A hundred years; nothing here is longer, and beyond lie overflows.
    (parts > 0 && nanos < 3.2e18).then(|| Duration::from_nanos(nanos.round() as u64))
}

/// Writes a duration of whole seconds as Go does: `15m0s`, `720h0m0s`.
pub(crate) fn format(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{seconds}s"),
        _ => format!("{hours}h{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_go_are_read() {
        for (text, seconds) in
            [("15m", 900), ("15m0s", 900), ("1h30m", 5400), ("720h", 2_592_000), ("0", 0), ("1.5h", 5400)]
        {
            assert_eq!(parse(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(parse("10ms"), Some(Duration::from_millis(10)));
        for bad in ["", "15", "m", "30d", "-5m", "1h-1m", "1..2h", "99999999999h", "5 m"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn durations_are_written_as_an_api_server_gives_them_back() {
        let shown = [30, 900, 2_592_000].map(|seconds| format(Duration::from_secs(seconds)));
        assert_eq!(shown, ["30s", "15m0s", "720h0m0s"]);
    }
}
