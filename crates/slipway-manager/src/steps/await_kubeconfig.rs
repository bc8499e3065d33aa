//! Waiting for the kubeconfig, woken by the GardenerCluster turning `Ready`.

use slipway_kube::{
    conditions::{Reason, Status, Type},
    gardener_cluster::{SECRET_KEY, State},
};
use slipway_model::time::mins;

use crate::{
    kubeconfig::secret,
    observe::SecretView,
    outcome::{ConditionUpdate, Outcome},
    pass::Pass,
    runtime::Step,
};

pub(crate) struct AwaitKubeconfig;

impl Step for AwaitKubeconfig {
    async fn run(&self, pass: &mut Pass) -> Outcome {
        let status = pass.seen.cluster.as_ref().and_then(|cluster| cluster.status.as_ref());
        let ready = status.is_some_and(|status| status.state == State::Ready.as_str());
        let is_of_another =
            |secret: &SecretView| pass.seen.shoot.as_ref().is_some_and(|shoot| secret::is_of_another(secret, shoot));
        let secret = pass.seen.secret.as_ref().filter(|secret| secret.hash(SECRET_KEY).is_some());
        let there = secret.is_some_and(|secret| !is_of_another(secret));
        if ready && there {
            let (of, reason) = (Type::KubeconfigReady, Reason::GardenerClusterCrReady);
            pass.report.set(ConditionUpdate::new(of, Status::True, reason, "Gardener Cluster CR is ready."));
            return Outcome::Done;
        }
        let failed = status.filter(|status| status.state == State::Error.as_str());
        let why = failed.and_then(|status| status.conditions.first()).map(|condition| condition.message.clone());
        let text = why.map_or_else(
            || "Waiting for the kubeconfig".to_owned(),
            |why| format!("Waiting for the kubeconfig: {why}"),
        );
        let (of, reason) = (Type::KubeconfigReady, Reason::GardenerClusterCrCreated);
        pass.report.set(ConditionUpdate::new(of, Status::Unknown, reason, text));
        Outcome::wait("the kubeconfig", mins(5))
    }
}
