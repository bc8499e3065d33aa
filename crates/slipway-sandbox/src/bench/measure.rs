//! Percentiles, memory and processor time.

use std::time::Duration;

/// Percentiles of a set of durations, in microseconds.
#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub struct Percentiles {
    /// Half of them took no longer.
    pub p50_us: u64,
    /// 99 of 100 took no longer.
    pub p99_us: u64,
    /// How many there were.
    pub samples: usize,
}

impl Percentiles {
    /// Of these durations.
    pub fn of(mut durations: Vec<Duration>) -> Self {
        durations.sort_unstable();
        let at = |percent: usize| {
            let index = (durations.len() * percent / 100).min(durations.len().saturating_sub(1));
            durations.get(index).map_or(0, |d| u64::try_from(d.as_micros()).unwrap_or(u64::MAX))
        };
        Self { p50_us: at(50), p99_us: at(99), samples: durations.len() }
    }
}

/// The one in the middle; the upper one of two.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

/// Resident memory of this process in bytes, from `/proc`; zero where there is none.
pub fn resident_bytes() -> u64 {
    resident_bytes_of("self")
}

/// The same of a process with this id.
pub fn resident_bytes_of(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kib| kib * 1024)
}

/// Processor time this process has used so far, from `/proc`.
pub fn cpu_time() -> Duration {
    cpu_time_of("self")
}

/// The same of a process with this id.
pub fn cpu_time_of(process: &str) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // Behind the name in parentheses, user and system time are the 12th and 13th field, in
    // hundredths of a second on every Linux.
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields: Vec<u64> = after_name.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect();
    let ticks = fields.get(11).unwrap_or(&0) + fields.get(12).unwrap_or(&0);
    Duration::from_millis(ticks * 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_set() {
        let durations = (1..=100).rev().map(Duration::from_micros).collect();
        let percentiles = Percentiles::of(durations);
        assert_eq!((percentiles.p50_us, percentiles.p99_us, percentiles.samples), (51, 100, 100));
        assert_eq!(Percentiles::of(Vec::new()).samples, 0);
    }

    #[test]
    fn the_median_is_untouched_by_one_hiccup() {
        assert_eq!(median(vec![2.0, 900.0, 1.0]), 2.0);
        assert_eq!(median(Vec::new()), 0.0);
    }

    #[test]
    fn a_process_has_memory_and_uses_time() {
        assert!(resident_bytes() > 1_000_000);
        let mut sum = 0u64;
        while cpu_time().is_zero() {
            sum = sum.wrapping_add(1);
        }
    }
}
