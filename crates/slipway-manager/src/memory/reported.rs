//! What was said in a Runtime's status: the cache may be behind it.

use slipway_kube::{RuntimeState, runtime::RuntimeStatus};

/// The status as last written by this process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reported {
    status: Option<RuntimeStatus>,
    acknowledged: i64,
}

impl Reported {
    /// The status last written, or the cached one where nothing was.
    pub(crate) fn status<'a>(&'a self, cached: Option<&'a RuntimeStatus>) -> Option<&'a RuntimeStatus> {
        self.status.as_ref().or(cached)
    }

    /// The highest generation acknowledged.
    pub(crate) fn acknowledged(&self) -> i64 {
        self.acknowledged
    }

    /// A status was written.
    pub(crate) fn note(&mut self, status: RuntimeStatus) {
        self.status = Some(status);
    }

    /// A generation was acknowledged with this state; the rest of the status stays.
    pub(crate) fn acknowledge(&mut self, generation: i64, state: RuntimeState, cached: Option<&RuntimeStatus>) {
        let before = self.status.take().or_else(|| cached.cloned()).unwrap_or_default();
        self.acknowledged = generation;
        self.status = Some(RuntimeStatus { state, observed_generation: Some(generation), ..before });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_keeps_what_else_was_said() {
        let cached = RuntimeStatus { provisioning_completed: Some(true), ..RuntimeStatus::default() };
        let mut reported = Reported::default();
        assert_eq!(reported.status(Some(&cached)), Some(&cached), "nothing was written yet");
        reported.acknowledge(4, RuntimeState::Pending, Some(&cached));
        let status = reported.status(None).expect("a status");
        assert_eq!((reported.acknowledged(), status.observed_generation), (4, Some(4)));
        assert_eq!((status.state, status.provisioning_completed), (RuntimeState::Pending, Some(true)));
        reported.note(RuntimeStatus::default());
        assert_eq!(reported.acknowledged(), 4, "a report takes no acknowledgement back");
    }
}
