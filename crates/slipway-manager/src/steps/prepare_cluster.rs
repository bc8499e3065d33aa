//! Preparing the customer's cluster: namespace, information, logins, administrators.
//!
//! The calls are made together, because each of them costs a round trip to a cluster far away; what came of them is
//! told in this order, up to the first that failed. What the cluster was prepared with is then written at its
//! GardenerCluster, so that a restart prepares nothing twice: thousands of clusters would otherwise be called after
//! every restart, although nothing changed. Lost, it costs one more preparation, which changes nothing.

use serde_json::json;
use slipway_kube::{
    access::{self, Ask, Exactly, resource::GARDENER_CLUSTERS},
    annotations,
    conditions::{Reason, Status, Type},
};
use slipway_model::time::mins;

use crate::{
    observe::Observation,
    outcome::{ConditionUpdate, Outcome},
    pass::Pass,
    runtime::Step,
    skr::{self, Prepared, oidc},
};

/// Prepares the cluster, and answers for its conditions in their order.
pub(crate) struct PrepareCluster;

impl Step for PrepareCluster {
    fn applies(&self, seen: &Observation) -> bool {
        skr::is_due(seen)
    }

    async fn run(&self, pass: &mut Pass) -> Outcome {
        let prepared = skr::prepare(pass).await;
        match tell(pass, prepared) {
            Ok(()) => remember(pass).await,
            Err(outcome) => outcome,
        }
    }
}

/// Never `Failed`: a cluster that answers nonsense today may answer sense tomorrow, and the customer can do things inside
/// that we cannot judge.
fn retry(of: Type, reason: Reason, status: Status, what: &str) -> impl FnOnce(access::Error) -> Outcome {
    move |error| {
        let condition = ConditionUpdate::new(of, status, reason, format!("{what}: {error}"));
        Outcome::Retry { error, condition }
    }
}

fn tell(pass: &mut Pass, Prepared { namespace, info, oidc, administrators }: Prepared) -> Result<(), Outcome> {
    let of = Type::KymaSystemNsCreated;
    let what = "Namespace kyma-system cannot be made";
    namespace.map_err(retry(of, Reason::KymaSystemNsError, Status::False, what))?;
    let text = "Namespace kyma-system is ready";
    pass.report.set(ConditionUpdate::new(of, Status::True, Reason::KymaSystemNsReady, text));

    let of = Type::OidcAndConfigMapConfigured;
    let what = "ConfigMap kyma-provisioning-info cannot be written";
    info.map_err(retry(of, Reason::ConfigMapErr, Status::Unknown, what))?;
    let what = "OIDC cannot be configured";
    oidc.map_err(retry(of, Reason::OidcConfigurationErr, Status::Unknown, what))?;
    let mut text = "OIDC and provisioning info are configured".to_owned();
    if skr::takes_logins(&pass.seen) {
        let wanted = oidc::plan_logins(&pass.seen.runtime, &pass.shared.blueprints.shared_tenant());
        if !wanted.problems.is_empty() {
            text = format!("{text}; passed over: {}", wanted.problems.join("; "));
        }
    }
    pass.report.set(ConditionUpdate::new(of, Status::True, Reason::OidcAndConfigMapsConfigured, text));

    let (of, what) = (Type::Configured, "Administrators cannot be configured");
    administrators.map_err(retry(of, Reason::ConfigurationError, Status::False, what))
}

async fn remember(pass: &mut Pass) -> Outcome {
    let now = pass.shared.clock.monotonic();
    pass.remember(|memory| memory.prepared_at = Some(now));
    let wanted = pass.seen.prepared_hash.clone();
    if skr::written_hash(&pass.seen) == Some(wanted.as_str()) {
        return Outcome::Done;
    }
    let change = json!({"metadata": {"annotations": {annotations::PREPARED_HASH: wanted}}});
    let Some(cluster) = &pass.seen.cluster else {
        return Outcome::wait("the GardenerCluster", mins(1));
    };
    let only = Exactly::this(&cluster.metadata);
    let ask = Ask::merge(&GARDENER_CLUSTERS, &pass.shared.settings.namespace, pass.seen.name(), &only, change);
    match pass.shared.kcp.tell(ask).await {
        Ok(()) => Outcome::Done,
        Err(error) => Outcome::from_error(
            error,
            Type::Configured,
            Reason::ConfigurationError,
            "What the cluster was prepared with cannot be written down",
        ),
    }
}
