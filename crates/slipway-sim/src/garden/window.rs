//! The maintenance time window: `HHMMSS+ZZZZ` to `HHMMSS+ZZZZ`, every day.

use jiff::{SignedDuration, Timestamp, ToSpan, tz::TimeZone};

/// A window, as seconds after midnight UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    begin: i64,
    end: i64,
}

const DAY: i64 = 24 * 3600;

impl Window {
    /// Reads the two ends.
    pub fn parse(begin: &str, end: &str) -> Result<Self, String> {
        let parsed = |which: &str, text: &str| {
            clock_time(text).map_err(|wrong| {
                format!(
                    "could not parse {which} time: could not parse the value into the maintenanceTime format: {wrong}"
                )
            })
        };
        Ok(Self { begin: parsed("begin", begin)?, end: parsed("end", end)? })
    }

    /// How long it is; one that ends where it begins is a whole day.
    pub fn length(&self) -> SignedDuration {
        let seconds = (self.end - self.begin).rem_euclid(DAY);
        SignedDuration::from_secs(if seconds == 0 { DAY } else { seconds })
    }

    /// Whether a time lies in it.
    pub fn contains(&self, time: Timestamp) -> bool {
        (seconds_of_day(time) - self.begin).rem_euclid(DAY) < self.length().as_secs()
    }

    /// When it opens next; now, if it is open.
    pub fn next_begin(&self, time: Timestamp) -> Timestamp {
        if self.contains(time) {
            return time;
        }
        let wait = (self.begin - seconds_of_day(time)).rem_euclid(DAY);
        time.checked_add(wait.seconds()).unwrap_or(time)
    }

    /// When it opens next after it has closed, or after now if it is closed.
    pub fn next_begin_after(&self, time: Timestamp) -> Timestamp {
        let wait = (self.begin - seconds_of_day(time)).rem_euclid(DAY);
        time.checked_add((if wait == 0 { DAY } else { wait }).seconds()).unwrap_or(time)
    }
}

fn seconds_of_day(time: Timestamp) -> i64 {
    let time = time.to_zoned(TimeZone::UTC);
    i64::from(time.hour()) * 3600 + i64::from(time.minute()) * 60 + i64::from(time.second())
}

fn clock_time(text: &str) -> Result<i64, String> {
    let wrong = || format!("parsing time {text:?} as \"150405-0700\": cannot parse {text:?} as \"15\"");
    let digits = |range: std::ops::Range<usize>| -> Result<i64, String> {
        let digits = text.get(range).filter(|digits| digits.chars().all(|c| c.is_ascii_digit())).ok_or_else(wrong)?;
        digits.parse().map_err(|_| wrong())
    };
    if text.len() != 11 {
        return Err(wrong());
    }
    let (hours, minutes, seconds) = (digits(0..2)?, digits(2..4)?, digits(4..6)?);
    let sign = match &text[6..7] {
        "+" => 1,
        "-" => -1,
        _ => return Err(wrong()),
    };
    if hours > 23 || minutes > 59 || seconds > 59 {
        return Err(wrong());
    }
    let offset = sign * (digits(7..9)? * 3600 + digits(9..11)? * 60);
    Ok((hours * 3600 + minutes * 60 + seconds - offset).rem_euclid(DAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_may_cross_midnight_and_zones() {
        let window = Window::parse("230000+0100", "010000+0100").expect("window");
        assert_eq!(window.length(), SignedDuration::from_hours(2));
        assert!(window.contains("2026-01-05T22:30:00Z".parse().expect("time")));
        assert!(!window.contains("2026-01-05T21:59:00Z".parse().expect("time")));
        let next = window.next_begin("2026-01-05T10:00:00Z".parse().expect("time"));
        assert_eq!(next.to_string(), "2026-01-05T22:00:00Z");
        assert_eq!(window.next_begin_after(next).to_string(), "2026-01-06T22:00:00Z");
        for wrong in ["", "230000", "240000+0000", "2300x0+0000", "230000*0000"] {
            assert!(Window::parse(wrong, "010000+0000").is_err(), "{wrong}");
        }
    }
}
