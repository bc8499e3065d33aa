//! The order for a kubeconfig and the kubeconfig itself go first: nobody should use a cluster that is going.
//!
//! Whether they are there is asked of the server: the cache may be behind. What is not ours is left. Done when the
//! cache shows neither.

use slipway_kube::{
    GardenerCluster,
    access::{
        self, Ask, Exactly,
        resource::{GARDENER_CLUSTERS, SECRETS},
    },
    conditions::{Reason, Status, Type},
    gardener_cluster::secret_name,
};
use slipway_model::time::mins;

use crate::{
    memory::ClusterEnd,
    observe::SecretView,
    outcome::{ConditionUpdate, Outcome},
    owner,
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
        let runtime = &pass.seen.runtime;
        let cluster = pass.seen.cluster.as_ref().filter(|it| owner::is_our_cluster(&it.metadata, runtime));
        let secret = pass.seen.secret.as_ref().filter(|it| owner::is_kubeconfig_of(&it.metadata, pass.seen.name()));
        if cluster.is_some() || secret.is_some() {
            pass.report.set(deleted(Status::Unknown, "Gardener Cluster CR is being deleted"));
            return Outcome::wait("the end of the GardenerCluster and its Secret", mins(1));
        }
        pass.report.set(deleted(Status::True, "Gardener Cluster CR successfully deleted"));
        Outcome::Done
    }
}

async fn delete(pass: &Pass) -> Result<(), access::Error> {
    let (kcp, namespace, name) = (&pass.shared.kcp, &pass.shared.settings.namespace, pass.seen.name());
    let cluster: Option<GardenerCluster> = kcp.find(Ask::get(&GARDENER_CLUSTERS, namespace, name)).await?;
    if let Some(cluster) = cluster.filter(|it| owner::is_our_cluster(&it.metadata, &pass.seen.runtime)) {
        let only = Exactly::this(&cluster.metadata);
        kcp.tell(Ask::delete(&GARDENER_CLUSTERS, namespace, name, &only)).await?;
    }
    let of = secret_name(name);
    let secret: Option<SecretView> = kcp.find(Ask::get(&SECRETS, namespace, &of)).await?;
    if let Some(secret) = secret.filter(|it| owner::is_kubeconfig_of(&it.metadata, name)) {
        kcp.tell(Ask::delete(&SECRETS, namespace, &of, &Exactly::this(&secret.metadata))).await?;
    }
    Ok(())
}
