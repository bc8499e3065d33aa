//! What the cluster was prepared with is written at its GardenerCluster, so that a restart prepares nothing twice.
//!
//! Thousands of clusters would otherwise be called after every restart, although nothing changed. Lost, it
//! costs one more preparation, which changes nothing.

use serde_json::json;
use slipway_kube::{
    access::{Ask, resource::GARDENER_CLUSTERS},
    annotations,
    conditions::{Reason, Type},
};
use slipway_model::ports::BoxFuture;

use crate::{observe::Observation, outcome::Outcome, pass::Pass, runtime::Step, skr};

/// Writes it down.
pub struct RememberPreparation;

impl Step for RememberPreparation {
    fn applies(&self, seen: &Observation) -> bool {
        skr::is_due(seen)
    }

    fn run<'a>(&'a self, pass: &'a mut Pass) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let now = pass.shared.clock.monotonic();
            pass.remember(|memory| memory.prepared_at = Some(now));
            let wanted = pass.seen.prepared_hash.clone();
            if skr::written_hash(&pass.seen) == Some(wanted.as_str()) {
                return Outcome::Done;
            }
            let change = json!({"metadata": {"annotations": {annotations::PREPARED_HASH: wanted}}});
            let ask = Ask::merge(&GARDENER_CLUSTERS, &pass.shared.settings.namespace, pass.seen.name(), change);
            match pass.shared.kcp.tell(ask).await {
                Ok(()) => Outcome::Done,
                Err(error) => Outcome::of_error(
                    error,
                    Type::Configured,
                    Reason::ConfigurationError,
                    "What the cluster was prepared with cannot be written down",
                ),
            }
        })
    }
}
