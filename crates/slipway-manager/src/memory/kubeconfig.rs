//! Whether the cluster still takes its kubeconfig.

use std::time::Duration;

use slipway_model::time::mins;

/// How often a kubeconfig is replaced because the cluster refuses it. A cluster that refuses every one must not empty the
/// garden's budget.
const REPLACED_EVERY: Duration = mins(1);

/// What is remembered of the kubeconfig.
#[derive(Debug, Clone, Default)]
pub(crate) struct KubeconfigMemory {
    /// The hash of the one that was refused.
    refused: Option<String>,
    replaced: Option<Duration>,
}

impl KubeconfigMemory {
    /// The cluster answers 401 to this one.
    pub(crate) fn note_refused(&mut self, hash: &str) {
        self.refused = Some(hash.to_owned());
    }

    /// It was replaced because it was refused.
    pub(crate) fn note_replaced(&mut self, now: Duration) {
        (self.refused, self.replaced) = (None, Some(now));
    }

    /// How long until this one is replaced; none if the cluster takes it, as far as we know.
    pub(crate) fn until_replaced(&self, hash: Option<&str>, now: Duration) -> Option<Duration> {
        hash.filter(|hash| self.refused.as_deref() == Some(*hash))?;
        let since = self.replaced.map_or(REPLACED_EVERY, |at| now.saturating_sub(at));
        Some(REPLACED_EVERY.saturating_sub(since))
    }
}

#[cfg(test)]
mod tests {
    use slipway_model::time::secs;

    use super::*;

    #[test]
    fn a_kubeconfig_that_is_refused_is_replaced_at_once_and_the_next_one_a_minute_later() {
        let mut memory = KubeconfigMemory::default();
        assert_eq!(memory.until_replaced(Some("a"), secs(0)), None);
        memory.note_refused("a");
        assert_eq!(memory.until_replaced(Some("a"), secs(5)), Some(Duration::ZERO));
        assert_eq!((memory.until_replaced(Some("b"), secs(5)), memory.until_replaced(None, secs(5))), (None, None));
        memory.note_replaced(secs(5));
        assert_eq!(memory.until_replaced(Some("b"), secs(6)), None);
        memory.note_refused("b");
        assert_eq!(memory.until_replaced(Some("b"), secs(15)), Some(secs(50)));
        assert_eq!(memory.until_replaced(Some("b"), secs(66)), Some(Duration::ZERO));
    }
}
