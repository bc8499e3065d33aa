//! When a kubeconfig is replaced.
//!
//! From what Gardener *returned*: it shortens lives silently. Long before the end (57 % of a life by
//! default), spread by a jitter that depends on the name alone, so that a thousand kubeconfigs made in one
//! minute are not replaced in one minute, and a restart changes nothing.

use std::time::Duration;

use slipway_kube::{access::Priority, access::shards::shard_of};
use slipway_model::time::{Timestamp, mins};

/// How close to the end of a long life a kubeconfig may come.
const MARGIN: Duration = mins(10);

/// What is known of the kubeconfig that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Present {
    /// When it was issued; none if nobody knows.
    pub(crate) issued: Option<Timestamp>,
    /// When it expires; none if nobody wrote it down.
    pub(crate) expires: Option<Timestamp>,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// Ask for a new one, this urgently.
    Now(Priority),
    /// Nothing for this long.
    In(Duration),
}

/// When a kubeconfig of this life is replaced, counted from its issue.
pub(crate) fn period(name: &str, life: Duration, ratio: f64) -> Duration {
    // From 95 to 105 %, in steps of a thousandth.
    let jitter = 0.95 + f64::from(shard_of(name, 101)) / 1_000.0;
    let usual = life.mul_f64((0.95 * ratio * jitter).clamp(0.0, 0.94));
    // A life hardly longer than the margin would be over before it began.
    let latest = if life > MARGIN * 2 { life - MARGIN } else { life / 2 };
    usual.min(latest)
}

/// What is to be done about the kubeconfig of this cluster.
pub(crate) fn due(
    name: &str,
    present: Option<Present>,
    forced: bool,
    ratio: f64,
    usual_life: Duration,
    now: Timestamp,
) -> Due {
    let Some(present) = present else { return Due::Now(Priority::Expired) };
    let Some(issued) = present.issued else { return Due::Now(Priority::Rotation) };
    let expires = present.expires.unwrap_or(issued + usual_life);
    if now >= expires {
        return Due::Now(Priority::Expired);
    }
    if forced {
        return Due::Now(Priority::Change);
    }
    let at = issued + period(name, expires.since(issued), ratio);
    if now >= at { Due::Now(Priority::Rotation) } else { Due::In(at.since(now)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slipway_model::time::hours;

    const START: Timestamp = Timestamp::from_micros(1_789_000_000_000_000);

    fn after(age: Duration, life: Duration) -> Due {
        let present = Present { issued: Some(START), expires: Some(START + life) };
        due("shop", Some(present), false, 0.6, hours(24), START + age)
    }

    #[test]
    fn what_is_missing_or_expired_outranks_what_is_only_due() {
        assert_eq!(due("shop", None, false, 0.6, hours(24), START), Due::Now(Priority::Expired));
        assert_eq!(after(hours(25), hours(24)), Due::Now(Priority::Expired));
        assert_eq!(after(hours(15), hours(24)), Due::Now(Priority::Rotation));
        let unknown = Present { issued: None, expires: None };
        assert_eq!(due("shop", Some(unknown), false, 0.6, hours(24), START), Due::Now(Priority::Rotation));
        let old = Present { issued: Some(START), expires: None };
        assert!(matches!(due("shop", Some(old), false, 0.6, hours(24), START + hours(1)), Due::In(_)));
        assert_eq!(due("shop", Some(old), true, 0.6, hours(24), START + hours(1)), Due::Now(Priority::Change));
    }

    #[test]
    fn a_life_that_gardener_shortened_counts() {
        assert!(matches!(after(mins(20), hours(1)), Due::In(_)));
        assert_eq!(after(mins(40), hours(1)), Due::Now(Priority::Rotation));
        assert!(matches!(after(mins(2), mins(10)), Due::In(_)), "the shortest life does not rotate without end");
        assert_eq!(after(mins(6), mins(10)), Due::Now(Priority::Rotation));
    }

    #[test]
    fn many_of_one_minute_are_spread_and_none_comes_near_its_end() {
        let life = hours(24);
        let mut periods: Vec<Duration> =
            (0..1_000).map(|number| period(&format!("runtime-{number}"), life, 0.6)).collect();
        periods.sort_unstable();
        assert!(periods[999] - periods[0] > hours(1), "{:?} {:?}", periods[0], periods[999]);
        assert!(*periods.last().expect("some") < life.mul_f64(0.95));
        assert_eq!(period("shop", life, 0.6), period("shop", life, 0.6));
        assert!(period("shop", life, 5.0) <= life - MARGIN, "a wrong ratio does no harm");
    }
}
