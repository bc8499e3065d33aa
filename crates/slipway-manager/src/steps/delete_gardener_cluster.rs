//! The order for a kubeconfig and the kubeconfig itself go first: nobody should use a cluster that is going.
//!
//! Deleted without asking the cache whether they are there: it may be behind, and deleting what is not there
//! does no harm. Done when the cache shows neither.

use slipway_kube::{
    access::{
        self, Ask,
        resource::{GARDENER_CLUSTERS, SECRETS},
    },
    conditions::{Reason, Status, Type},
    gardener_cluster::secret_name,
};
use slipway_model::time::mins;

use crate::{
    memory::ClusterEnd,
    outcome::{ConditionUpdate, Outcome},
    pass::Pass,
    runtime::Step,
};

/// Deletes both.
pub(crate) struct DeleteGardenerCluster;

impl Step for DeleteGardenerCluster {
    async fn run(&self, pass: &mut Pass) -> Outcome {
        let deleted = |status, text: &str| {
            ConditionUpdate::new(Type::Deprovisioned, status, Reason::GardenerClusterCrDeleted, text)
        };
        if pass.seen.memory.cluster != ClusterEnd::Deleted {
            pass.remember(|memory| memory.cluster = ClusterEnd::Going);
            if let Err(error) = delete(pass).await {
                let what = "The GardenerCluster cannot be deleted";
                return Outcome::from_error(error, Type::Deprovisioned, Reason::KubernetesErr, what);
            }
            pass.remember(|memory| memory.cluster = ClusterEnd::Deleted);
        }
        if pass.seen.cluster.is_some() || pass.seen.secret.is_some() {
            pass.report.set(deleted(Status::Unknown, "Gardener Cluster CR is being deleted"));
            return Outcome::wait("the end of the GardenerCluster and its Secret", mins(1));
        }
        pass.report.set(deleted(Status::True, "Gardener Cluster CR successfully deleted"));
        Outcome::Done
    }
}

async fn delete(pass: &Pass) -> Result<(), access::Error> {
    let (kcp, namespace, name) = (&pass.shared.kcp, &pass.shared.settings.namespace, pass.seen.name());
    kcp.tell(Ask::delete(&GARDENER_CLUSTERS, namespace, name)).await?;
    kcp.tell(Ask::delete(&SECRETS, namespace, &secret_name(name))).await
}
