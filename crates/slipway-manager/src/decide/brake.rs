//! The brake on mass deletion: the first few go on, the rest wait for a person.
//!
//! A wrong script deletes thousands of Runtimes in a minute, and a Shoot that is gone is gone with its
//! data. So within any ten minutes only so many Runtimes get their Shoots deleted; every further one is held
//! until somebody confirms it by the annotation `operator.kyma-project.io/deletion-confirmed: "true"`. Who was held
//! once stays held, also after a restart: the condition says so.
//!
//! It is decided by what every replica sees, so that all of them together let no more through than one would: when each
//! deletion was asked for stands at its Runtime, and the order of these times is the same for everybody.

use std::{collections::BTreeMap, time::Duration};

use slipway_model::time::Timestamp;

/// What the condition of a held Runtime begins with.
pub(crate) const HELD: &str = "Deletion is held";

/// The deletions seen lately; those that came to their end too, until the window has passed.
#[derive(Debug, Default)]
pub(crate) struct Brake(BTreeMap<String, Deletion>);

/// A deletion, as its Runtime tells it.
#[derive(Debug, Clone)]
pub(crate) struct Deletion {
    /// When it was asked for.
    pub(crate) asked: Timestamp,
    /// The Shoot it would take along.
    pub(crate) shoot: String,
    /// Its condition says that it is held.
    pub(crate) is_held: bool,
    /// A person has confirmed it.
    pub(crate) is_confirmed: bool,
    /// Whether there is such a Shoot, or was when it was last looked for: one without uses nothing up.
    pub(crate) has_shoot: bool,
}

impl Brake {
    /// A Runtime is being deleted.
    pub(crate) fn note(&mut self, name: &str, mut deletion: Deletion, window: Duration) {
        let (asked, before) = (deletion.asked, self.0.get(name));
        deletion.has_shoot |= before.is_some_and(|before| before.has_shoot && before.asked == asked);
        self.0.insert(name.to_owned(), deletion);
        self.0.retain(|_, other| asked.since(other.asked) < window * 2);
    }

    /// Whether the deletion of this Runtime is held. `exists` says which Shoots there are.
    pub(crate) fn holds(&mut self, name: &str, limit: usize, window: Duration, exists: impl Fn(&str) -> bool) -> bool {
        let Some(this) = self.0.get(name).cloned() else { return false };
        if limit == 0 || this.is_confirmed {
            return false;
        }
        if this.is_held {
            return true;
        }
        let mut first = 0;
        for (other, deletion) in &mut self.0 {
            deletion.has_shoot = deletion.has_shoot || exists(&deletion.shoot);
            let is_earlier = (deletion.asked, other.as_str()) < (this.asked, name);
            let is_near = this.asked.since(deletion.asked) < window;
            let counts = deletion.has_shoot && !deletion.is_held && !deletion.is_confirmed;
            first += usize::from(is_earlier && is_near && counts);
        }
        first >= limit
    }

    /// What a held Runtime is told.
    pub(crate) fn message(limit: usize) -> String {
        format!(
            "{HELD}: more than {limit} Runtimes were deleted within ten minutes. If that is meant, confirm this one \
             with the annotation operator.kyma-project.io/deletion-confirmed: \"true\"."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slipway_model::time::{mins, secs};

    const START: Timestamp = Timestamp::from_micros(1_789_000_000_000_000);

    fn deletion(after: Duration) -> Deletion {
        let (asked, shoot) = (START + after, "there".to_owned());
        Deletion { asked, shoot, is_held: false, is_confirmed: false, has_shoot: false }
    }

    fn holds(brake: &mut Brake, name: &str) -> bool {
        brake.holds(name, 20, mins(10), |shoot| shoot == "there")
    }

    fn twenty() -> Brake {
        let mut brake = Brake::default();
        (0..20).for_each(|number| brake.note(&format!("r{number:02}"), deletion(secs(number)), mins(10)));
        brake
    }

    #[test]
    fn the_first_twenty_go_on_and_the_rest_wait_until_the_window_has_passed_for_new_ones() {
        let mut brake = twenty();
        brake.note("next", deletion(secs(21)), mins(10));
        assert!(holds(&mut brake, "next") && !holds(&mut brake, "r03") && !holds(&mut brake, "r19"));
        brake.note("late", deletion(mins(11)), mins(10));
        assert!(!holds(&mut brake, "late"), "one a while later is no mass");
        assert!(!brake.holds("next", 0, mins(10), |_| true), "switched off");
    }

    #[test]
    fn replicas_that_hear_of_them_in_another_order_let_the_same_through() {
        let (mut one, mut other) = (twenty(), Brake::default());
        one.note("next", deletion(secs(21)), mins(10));
        other.note("next", deletion(secs(21)), mins(10));
        (0..20).rev().for_each(|number| other.note(&format!("r{number:02}"), deletion(secs(number)), mins(10)));
        for name in ["next", "r00", "r19"] {
            assert_eq!(holds(&mut one, name), holds(&mut other, name), "{name}");
        }
    }

    #[test]
    fn who_is_held_confirmed_or_without_a_shoot_uses_nothing_up_and_who_is_held_stays_so() {
        let others = [
            Deletion { shoot: "never made".to_owned(), ..deletion(secs(3)) },
            Deletion { is_confirmed: true, ..deletion(secs(3)) },
            Deletion { is_held: true, ..deletion(secs(3)) },
        ];
        for other in others {
            let mut brake = twenty();
            brake.note("r03", other, mins(10));
            brake.note("next", deletion(secs(21)), mins(10));
            assert!(!holds(&mut brake, "next"), "{brake:?}");
        }
        let mut brake = twenty();
        brake.note("next", Deletion { is_held: true, ..deletion(mins(9)) }, mins(10));
        assert!(holds(&mut brake, "next"));
        brake.note("next", Deletion { is_held: true, is_confirmed: true, ..deletion(mins(9)) }, mins(10));
        assert!(!holds(&mut brake, "next"));
    }

    #[test]
    fn a_shoot_that_is_gone_meanwhile_was_there() {
        let mut brake = twenty();
        brake.note("next", deletion(secs(21)), mins(10));
        assert!(holds(&mut brake, "next"));
        assert!(brake.holds("next", 20, mins(10), |_| false));
        (0..20).for_each(|number| brake.note(&format!("r{number:02}"), deletion(secs(number)), mins(10)));
        assert!(brake.holds("next", 20, mins(10), |_| false), "told again, as after a list");
    }
}
