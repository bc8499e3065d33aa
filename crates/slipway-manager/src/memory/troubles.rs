//! Since when something is wrong.

use std::time::Duration;

/// What is wrong, each with its beginning.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Troubles {
    /// The garden answers 403.
    pub(crate) forbidden: Since,
    /// The Shoot is `Failed` with this input; counted anew when another attempt is asked for.
    pub(crate) failed: Since,
    /// No Seed matches.
    pub(crate) seedless: Since,
}

/// Since when something is so; or it is not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Since(Option<Duration>);

impl Since {
    /// It is so, or it is not. What was so before stays so since then.
    pub(crate) fn note(&mut self, is_so: bool, now: Duration) {
        self.0 = is_so.then(|| self.0.unwrap_or(now));
    }

    /// It is so, counted from now.
    pub(crate) fn restart(&mut self, now: Duration) {
        self.0 = Some(now);
    }

    /// It is not so any more.
    pub(crate) fn end(&mut self) {
        self.0 = None;
    }

    /// How long it has been so; no time at all if it is not.
    pub(crate) fn lasts(&self, now: Duration) -> Duration {
        self.0.map_or(Duration::ZERO, |since| now.saturating_sub(since))
    }
}

#[cfg(test)]
mod tests {
    use slipway_model::time::secs;

    use super::*;

    #[test]
    fn what_goes_on_keeps_its_beginning() {
        let mut since = Since::default();
        assert_eq!(since.lasts(secs(9)), Duration::ZERO);
        since.note(true, secs(10));
        since.note(true, secs(20));
        assert_eq!(since.lasts(secs(25)), secs(15));
        since.restart(secs(24));
        assert_eq!(since.lasts(secs(25)), secs(1));
        since.note(false, secs(26));
        assert_eq!(since, Since::default());
    }
}
