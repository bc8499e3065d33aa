//! How long something took, over many times.

use std::time::Duration;

/// Percentiles in milliseconds.
#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub struct Spread {
    /// Half of them took no longer.
    pub p50_ms: f64,
    /// 95 of 100 took no longer.
    pub p95_ms: f64,
    /// 99 of 100 took no longer.
    pub p99_ms: f64,
    /// The longest.
    pub max_ms: f64,
    /// How many there were.
    pub samples: usize,
}

impl Spread {
    /// Of these.
    pub(super) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |percent: usize| {
            // The smallest of which so many of a hundred are not above.
            let index = (times.len() * percent).div_ceil(100).saturating_sub(1);
            times.get(index).map_or(0.0, |time| round(time.as_secs_f64() * 1000.0))
        };
        Self { p50_ms: at(50), p95_ms: at(95), p99_ms: at(99), max_ms: at(100), samples: times.len() }
    }

    pub(super) fn spelled(&self) -> String {
        format!("p50 {:.0} p95 {:.0} p99 {:.0} max {:.0} ms", self.p50_ms, self.p95_ms, self.p99_ms, self.max_ms)
    }
}

/// Two digits behind the point.
pub(super) fn round(figure: f64) -> f64 {
    (figure * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_set() {
        let spread = Spread::of((1..=100).rev().map(Duration::from_millis).collect());
        assert_eq!((spread.p50_ms, spread.p95_ms, spread.p99_ms, spread.max_ms), (50.0, 95.0, 99.0, 100.0));
        let one = Spread::of(vec![Duration::from_millis(7)]);
        assert_eq!((one.p50_ms, one.p99_ms, one.samples), (7.0, 7.0, 1));
        assert_eq!(Spread::of(Vec::new()).samples, 0);
    }
}
