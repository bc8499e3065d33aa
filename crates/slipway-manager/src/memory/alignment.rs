//! How long it takes from a change of a Runtime to `Ready`, for the figures.

use std::time::Duration;

/// The times of a change. Times from before the change do not count for it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Alignment {
    /// When the present generation was first seen; none when all is as it should be.
    changed: Option<Duration>,
    /// When a Shoot was last applied.
    applied: Option<Duration>,
    /// When Gardener was first seen to be done since.
    settled: Option<Duration>,
}

/// How long each phase took; none where it is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Phases {
    /// From the change to the Shoot that was applied.
    pub(crate) apply: Option<Duration>,
    /// From there until Gardener was done.
    pub(crate) gardener: Option<Duration>,
    /// From there, or what is known before it, to the end.
    pub(crate) prepare: Duration,
}

impl Alignment {
    /// A new generation was seen. The first of several counts.
    pub(crate) fn begin(&mut self, now: Duration) {
        self.changed.get_or_insert(now);
    }

    /// How long the change has been going on; none if there is none.
    pub(crate) fn lasts(&self, now: Duration) -> Option<Duration> {
        self.changed.map(|changed| now.saturating_sub(changed))
    }

    /// A Shoot was applied: Gardener begins anew.
    pub(crate) fn note_applied(&mut self, now: Duration) {
        (self.applied, self.settled) = (Some(now), None);
    }

    /// Gardener is done.
    pub(crate) fn note_settled(&mut self, now: Duration) {
        self.settled.get_or_insert(now);
    }

    /// All is as it should be; answers how long that took, if something had changed.
    pub(crate) fn finish(&mut self, now: Duration) -> Option<Phases> {
        let changed = self.changed.take()?;
        let applied = self.applied.filter(|at| *at >= changed);
        let settled = self.settled.filter(|at| *at >= changed);
        Some(Phases {
            apply: applied.map(|applied| applied - changed),
            gardener: applied.zip(settled).map(|(applied, settled)| settled.saturating_sub(applied)),
            prepare: now.saturating_sub(settled.or(applied).unwrap_or(changed)),
        })
    }
}

#[cfg(test)]
mod tests {
    use slipway_model::time::secs;

    use super::*;

    #[test]
    fn phases_are_counted_from_the_first_change_and_times_of_before_do_not_count() {
        let mut alignment = Alignment::default();
        alignment.note_settled(secs(1));
        assert_eq!(alignment.finish(secs(2)), None, "nothing had changed");
        alignment.begin(secs(10));
        alignment.begin(secs(12));
        assert_eq!(alignment.lasts(secs(15)), Some(secs(5)));
        alignment.note_applied(secs(13));
        alignment.note_settled(secs(20));
        alignment.note_settled(secs(25));
        let phases = Phases { apply: Some(secs(3)), gardener: Some(secs(7)), prepare: secs(6) };
        assert_eq!(alignment.finish(secs(26)), Some(phases));
        alignment.begin(secs(30));
        let only_prepared = Phases { apply: None, gardener: None, prepare: secs(4) };
        assert_eq!(alignment.finish(secs(34)), Some(only_prepared));
    }
}
