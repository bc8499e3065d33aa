//! The store with a fault around one commit. Everything else is passed on.

use std::sync::Arc;

use slipway_model::ports::{AroundStore, BoxFuture, Commit, CommitOutcome, Storage, StoreResult};

use super::{
    fault::{Kind, RowName},
    wire::Tap,
};

/// The store.
pub(super) struct FaultyStore {
    pub(super) inner: Arc<dyn Storage>,
    /// All rows of the process, to find a place by its names.
    pub(super) places: Vec<RowName>,
    pub(super) tap: Arc<Tap>,
}

impl FaultyStore {
    /// Notes the rows of a group; answers what goes wrong with it.
    fn strikes(&self, group: &[Commit]) -> Option<Kind> {
        let mut seen = self.tap.seen();
        let mut strike = None;
        for step in group.iter().flat_map(|commit| &commit.steps) {
            let is_here = |place: &&RowName| place.stage == step.stage && place.step == step.step;
            let Some(place) = self.places.iter().find(is_here) else { continue };
            seen.commits.push((*place, step.status));
            let fault = self.tap.fault.as_ref().filter(|fault| fault.place == *place && !seen.has_struck);
            let kind = fault.map(|fault| fault.kind).filter(|kind| match kind {
                Kind::CrashBeforeCommit | Kind::CrashAfterCommit => step.status.is_settled(),
                Kind::CrashWhileWaiting => !step.status.is_settled(),
                Kind::NotSentOnce
                | Kind::BrokenOnce
                | Kind::BusyOnce
                | Kind::GarbledOnce
                | Kind::AnswerLost
                | Kind::NotSentForGood
                | Kind::BrokenForGood
                | Kind::SilentForGood
                | Kind::RefusedForGood
                | Kind::CrashBeforeCall
                | Kind::CrashAfterCall => false,
            });
            strike = strike.or(kind);
        }
        seen.has_struck |= strike.is_some();
        strike
    }
}

impl AroundStore for FaultyStore {
    fn inside(&self) -> &dyn Storage {
        &*self.inner
    }

    fn commit<'a>(&'a self, group: &'a [Commit]) -> BoxFuture<'a, StoreResult<Vec<CommitOutcome>>> {
        Box::pin(async move {
            let strike = self.strikes(group);
            if strike == Some(Kind::CrashBeforeCommit) {
                return self.tap.die().await;
            }
            let outcomes = self.inner.commit(group).await;
            if strike.is_some() {
                return self.tap.die().await;
            }
            outcomes
        })
    }
}
