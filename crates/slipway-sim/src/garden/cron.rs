//! The times of hibernation schedules: five-field cron lines in a time zone.

use jiff::{Timestamp, ToSpan, Zoned, tz::TimeZone};

/// A cron line: which minutes, hours, days, months and weekdays it means, one bit each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    any_day: bool,
    any_weekday: bool,
}

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl std::str::FromStr for Cron {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = match text.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            text => text,
        };
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields[..] else {
            return Err(format!("Expected exactly 5 fields, found {}: {text}", fields.len()));
        };
        Ok(Self {
            minutes: field(minutes, 0, 59, &[])?,
            hours: field(hours, 0, 23, &[])?,
            days: field(days, 1, 31, &[])?,
            months: field(months, 1, 12, &MONTHS)?,
            // Seven is Sunday as well.
            weekdays: {
                let bits = field(weekdays, 0, 7, &WEEKDAYS)?;
                (bits & 0x7f) | (bits >> 7 & 1)
            },
            any_day: days.starts_with(['*', '?']),
            any_weekday: weekdays.starts_with(['*', '?']),
        })
    }
}

fn field(text: &str, low: u32, high: u32, names: &[&str]) -> Result<u64, String> {
    let number = |text: &str| -> Result<u32, String> {
        let named = names.iter().position(|name| name.eq_ignore_ascii_case(text));
        let number = match named {
            Some(index) => u32::try_from(index).unwrap_or_default() + low,
            None => text.parse().map_err(|_| format!("Failed to parse int from {text}"))?,
        };
        if (low..=high).contains(&number) { Ok(number) } else { Err(format!("{number} is out of range: {text}")) }
    };
    let mut bits = 0;
    for part in text.split(',') {
        let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
        let (from, to) = match range.split_once('-') {
            _ if matches!(range, "*" | "?") => (low, high),
            Some((from, to)) => (number(from)?, number(to)?),
            None if step.is_some() => (number(range)?, high),
            None => (number(range)?, number(range)?),
        };
        let step =
            step.map_or(Ok(1), |step| step.parse::<usize>().map_err(|_| format!("Failed to parse int from {step}")))?;
        if from > to || step == 0 {
            return Err(format!("Beginning of range ({from}) beyond end of range ({to}): {part}"));
        }
        bits |= (from..=to).step_by(step).fold(0, |bits, number| bits | 1 << number);
    }
    Ok(bits)
}

impl Cron {
    fn means(&self, time: &Zoned) -> bool {
        let bit = |bits: u64, number: i8| bits >> number & 1 == 1;
        let day = bit(self.days, time.day());
        let weekday = bit(self.weekdays, time.weekday().to_sunday_zero_offset());
        // With both given, cron means either of them.
        let on = if self.any_day || self.any_weekday { day && weekday } else { day || weekday };
        on && bit(self.months, time.month()) && bit(self.hours, time.hour()) && bit(self.minutes, time.minute())
    }

    /// The first time after this one; none within the next five years means never.
    pub fn next_after(&self, time: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let start = time.to_zoned(zone.clone());
        let mut at = start.with().second(0).subsec_nanosecond(0).build().ok()?.checked_add(1.minute()).ok()?;
        let end = start.checked_add(5.years()).ok()?;
        while at < end {
            if self.means(&at) {
                return Some(at.timestamp());
            }
            let day_fits = self.hours >> at.hour() & 1 == 1;
            let later = if day_fits { at.checked_add(1.minute()) } else { next_hour(&at) };
            at = later.ok()?;
        }
        None
    }
}

fn next_hour(at: &Zoned) -> Result<Zoned, jiff::Error> {
    at.with().minute(0).build()?.checked_add(1.hour())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(line: &str, after: &str, zone: &str) -> String {
        let zone = TimeZone::get(zone).expect("zone");
        let cron: Cron = line.parse().expect("cron");
        cron.next_after(after.parse().expect("time"), &zone).expect("a time").to_string()
    }

    #[test]
    fn the_next_time_is_found_in_the_zone() {
        assert_eq!(next("0 20 * * *", "2026-01-05T10:00:00Z", "UTC"), "2026-01-05T20:00:00Z");
        assert_eq!(next("0 20 * * *", "2026-07-05T10:00:00Z", "Europe/Berlin"), "2026-07-05T18:00:00Z");
        assert_eq!(next("30 7 * * 1-5", "2026-01-02T08:00:00Z", "UTC"), "2026-01-05T07:30:00Z", "over a weekend");
        assert_eq!(next("0 0 1 1 *", "2026-01-05T10:00:00Z", "UTC"), "2027-01-01T00:00:00Z");
        assert_eq!(next("*/15 * * * *", "2026-01-05T10:01:00Z", "UTC"), "2026-01-05T10:15:00Z");
        assert_eq!(next("0 8 * * sun", "2026-01-05T10:01:00Z", "UTC"), "2026-01-11T08:00:00Z");
    }

    #[test]
    fn lines_that_mean_nothing_are_refused() {
        for wrong in ["", "* * * *", "60 * * * *", "x * * * *", "5-1 * * * *", "*/0 * * * *"] {
            assert!(wrong.parse::<Cron>().is_err(), "{wrong}");
        }
        let never: Cron = "0 0 31 2 *".parse().expect("cron");
        assert_eq!(never.next_after(Timestamp::UNIX_EPOCH, &TimeZone::UTC), None);
    }
}
