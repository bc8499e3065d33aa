//! How often a pass failed at one place: who gets further starts with short pauses again.

use slipway_kube::conditions::Type;

/// Where a pass came to a halt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailedAt {
    /// A new generation could not be acknowledged.
    Acknowledging,
    /// A step failed, and told it in this condition.
    Step(&'static str, Type),
    /// The status could not be written.
    Reporting,
}

/// Failed tries in a row, all at one place.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Retries(Option<(FailedAt, u32)>);

impl Retries {
    /// One more failed; answers how many that are, at least one.
    pub(crate) fn count(&mut self, place: FailedAt) -> u32 {
        let before = self.0.filter(|(before, _)| *before == place).map_or(0, |(_, attempts)| attempts);
        let attempts = before.saturating_add(1);
        self.0 = Some((place, attempts));
        attempts
    }

    /// It went well.
    pub(crate) fn forget(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_are_counted_at_one_place() {
        let mut retries = Retries::default();
        let step = FailedAt::Step("ApplyShoot", Type::Provisioned);
        assert_eq!((retries.count(step), retries.count(step)), (1, 2));
        assert_eq!(retries.count(FailedAt::Reporting), 1, "it got further");
        assert_eq!((retries.count(step), retries.count(step)), (1, 2));
        retries.forget();
        assert_eq!(retries.count(step), 1);
    }
}
