//! The brake on mass deletion: the first few go on, the rest wait for a person.
//!
//! A wrong script deletes thousands of Runtimes in a minute, and a Shoot that is gone is gone with its
//! data. So within any ten minutes only so many Runtimes get their Shoots deleted; every further one is held
//! until somebody confirms it by the annotation `operator.kyma-project.io/deletion-confirmed`. Who was held
//! once stays held, also after a restart: the condition says so.

use std::{collections::BTreeMap, time::Duration};

use slipway_model::time::Timestamp;

/// What the condition of a held Runtime begins with.
pub(crate) const HELD: &str = "Deletion is held";

/// The deletions seen lately.
#[derive(Debug, Default)]
pub(crate) struct Brake {
    /// Those that were let through, and when they were asked for.
    through: BTreeMap<String, Timestamp>,
}

impl Brake {
    /// Whether this deletion, asked for at this time, is held.
    pub(crate) fn holds(
        &mut self,
        name: &str,
        asked: Timestamp,
        was_held: bool,
        limit: usize,
        window: Duration,
    ) -> bool {
        if limit == 0 || self.through.contains_key(name) {
            return false;
        }
        if was_held {
            return true;
        }
        let near = |other: &Timestamp| asked.since(*other) < window && other.since(asked) < window;
        if self.through.values().filter(|other| near(other)).count() >= limit {
            return true;
        }
        self.through.retain(|_, other| asked.since(*other) < window * 2);
        self.through.insert(name.to_owned(), asked);
        false
    }

    /// What a held Runtime is told.
    pub(crate) fn message(limit: usize) -> String {
        format!(
            "{HELD}: more than {limit} Runtimes were deleted within ten minutes. If that is meant, confirm this one \
             with the annotation operator.kyma-project.io/deletion-confirmed."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slipway_model::time::{mins, secs};

    #[test]
    fn the_first_twenty_go_on_and_the_rest_wait_until_the_window_has_passed_for_new_ones() {
        let (mut brake, start) = (Brake::default(), Timestamp::from_micros(1_789_000_000_000_000));
        let holds = |brake: &mut Brake, name: &str, at, was| brake.holds(name, at, was, 20, mins(10));
        for number in 0..20_u32 {
            assert!(!holds(&mut brake, &format!("r{number}"), start + secs(u64::from(number)), false));
        }
        assert!(holds(&mut brake, "r20", start + secs(21), false));
        assert!(!holds(&mut brake, "r3", start + secs(3), false), "who is through stays through");
        assert!(!holds(&mut brake, "late", start + mins(11), false), "one a while later is no mass");
        assert!(holds(&mut brake, "r20", start + mins(11), true), "who was held stays held");
        assert!(!brake.holds("r21", start, false, 0, mins(10)), "switched off");
    }
}
