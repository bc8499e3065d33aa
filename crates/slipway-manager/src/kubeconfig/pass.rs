//! One pass over one GardenerCluster: fetch first, replace in one write, tell afterwards.
//!
//! Gardener is asked only when a kubeconfig is due. Until the new one is written the old one stays, so no
//! reader ever finds a Secret without content. A GardenerCluster that is gone takes its Secret along: by owner
//! reference, and here, for Secrets that were made before there were owner references.

use std::{sync::Arc, time::Duration};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::{Value, json};
use slipway_kube::{
    GardenerCluster,
    access::{
        Ask, Class, Error, Priority,
        resource::{GARDENER_CLUSTERS, SECRETS, SHOOTS},
    },
    annotations,
    gardener_cluster::{CONDITION, GardenerClusterStatus, Reason, State},
    labels,
};
use slipway_model::time::{hours, millis, mins, secs};

use super::{
    rotation::{self, Due},
    secret,
};
use crate::{events, memory::ClusterEnd, settings::FIELD_MANAGER, shared::Shared, status::to_kubernetes, tasks};

/// The longest pause between two tries.
const PAUSE_MAX: Duration = secs(60);

/// How a pass ended.
enum PassEnd {
    /// All is well until then.
    Fresh {
        next: Duration,
        reason: Option<Reason>,
    },
    /// Nothing can be done until something happens.
    Waiting,
    Failed {
        reason: Reason,
        error: Error,
    },
}

/// Runs one pass; answers when to look again at the latest.
pub(crate) async fn run(shared: &Arc<Shared>, name: &str, attempts: u32) -> (Option<Duration>, bool) {
    let began = shared.clock.monotonic();
    let budget = shared.settings.kubeconfig_budget;
    let Some(cluster) = shared.caches.clusters.get(name) else {
        let gone = remove_orphans(shared, name).await;
        return (gone.is_err().then_some(secs(30)), gone.is_err());
    };
    // The Secret may be seen to go before its GardenerCluster is.
    if cluster.metadata.deletion_timestamp.is_some()
        || shared.memories.of_runtime(name).lock().cluster != ClusterEnd::Kept
    {
        return (None, false);
    }
    let end = tokio::select! {
        biased;
        end = pass(shared, &cluster) => end,
        () = shared.clock.sleep(budget) => {
            tasks::forget_writes();
            PassEnd::Failed { reason: Reason::FailedToGetKubeconfig, error: Error::timeout(budget) }
        }
    };
    let (outcome, next, failed) = match &end {
        PassEnd::Fresh { next, .. } => ("done", Some(*next), false),
        PassEnd::Waiting => ("wait", Some(mins(5)), false),
        PassEnd::Failed { error, .. } => ("retry", Some(pause(shared, error, attempts)), true),
    };
    shared.metrics.note_pass("gardener-cluster", outcome, shared.clock.monotonic().saturating_sub(began));
    if let Err(error) = report(shared, &cluster, end).await {
        tracing::warn!(runtimeID = name, %error, "the status of the GardenerCluster could not be written");
        return (Some(secs(5)), true);
    }
    (next, failed)
}

async fn pass(shared: &Shared, cluster: &GardenerCluster) -> PassEnd {
    let name = cluster.metadata.name.clone().unwrap_or_default();
    let (settings, key) = (&shared.settings, &cluster.spec.kubeconfig.secret);
    let there = shared.caches.secrets.get(&key.name);
    let present = secret::read_present(there.as_deref(), &key.key);
    let forced = has_note(cluster, annotations::FORCE_KUBECONFIG_ROTATION);
    let now = shared.garden_time.wall();
    let priority = match rotation::due(&name, present, forced, settings.rotation_ratio, settings.kubeconfig_life, now) {
        Due::In(next) => {
            if let Some(there) = &there
                && let Err(error) = relabel(shared, cluster, there).await
            {
                return PassEnd::Failed { reason: Reason::FailedToUpdateSecret, error };
            }
            return PassEnd::Fresh { next: next.min(hours(12)), reason: present.map(|_| Reason::SecretCreated) };
        }
        Due::Now(priority) => priority,
    };
    let Some(shoot) = shared.caches.shoots.get(&cluster.spec.shoot.name) else {
        // Wakes with the Shoot's next event.
        let error = Error::absent(format!("Shoot {} does not exist", cluster.spec.shoot.name));
        return PassEnd::Failed { reason: Reason::FailedToGetKubeconfig, error };
    };
    if shoot.status.as_ref().is_none_or(|status| status.advertised_addresses.is_empty()) {
        return PassEnd::Waiting;
    }
    let (kubeconfig, issued, expires) = match fetch(shared, cluster, priority).await {
        Ok(issued) => issued,
        Err(error) => return PassEnd::Failed { reason: Reason::FailedToGetKubeconfig, error },
    };
    let document = secret::build_document(cluster, &kubeconfig, issued, expires);
    let ask = Ask::apply(&SECRETS, &key.namespace, &key.name, FIELD_MANAGER, document);
    let is_new = present.is_none();
    // Before the write: who sees the new one makes a client of it, and that is to be kept.
    shared.skr.forget(&name);
    if let Err(error) = shared.kcp.tell(ask).await {
        let reason = if is_new { Reason::FailedToCreateSecret } else { Reason::FailedToUpdateSecret };
        return PassEnd::Failed { reason, error };
    }
    let period = rotation::period(&name, expires.since(issued), settings.rotation_ratio);
    shared.metrics.set_expiry(&name, &cluster.spec.shoot.name, expires, period, expires.since(issued));
    tracing::info!(runtimeID = name, shootName = cluster.spec.shoot.name, %expires, "a kubeconfig was issued");
    if forced && let Err(error) = remove_force(shared, &name).await {
        return PassEnd::Failed { reason: Reason::FailedToUpdateSecret, error };
    }
    PassEnd::Fresh { next: period, reason: Some(if is_new { Reason::SecretCreated } else { Reason::SecretRotated }) }
}

fn has_note(cluster: &GardenerCluster, key: &str) -> bool {
    cluster.metadata.annotations.as_ref().is_some_and(|notes| notes.contains_key(key))
}

type Fetched = (String, slipway_model::time::Timestamp, slipway_model::time::Timestamp);

async fn fetch(shared: &Shared, cluster: &GardenerCluster, priority: Priority) -> Result<Fetched, Error> {
    let body = json!({"apiVersion": "authentication.gardener.cloud/v1alpha1", "kind": "AdminKubeconfigRequest",
        "spec": {"expirationSeconds": shared.settings.kubeconfig_life.as_secs()}});
    let (namespace, shoot) = (&shared.settings.garden_namespace, &cluster.spec.shoot.name);
    let ask = Ask::create_under(&SHOOTS, namespace, shoot, "adminkubeconfig", body).priority(priority);
    // Before the call: a life counted from the answer would be a little too long.
    let issued = shared.garden_time.wall();
    let answer: secret::Issued = shared.garden.send_as(ask).await?;
    let (kubeconfig, expires) = answer.take().ok_or_else(|| Error::garbage("it holds no kubeconfig"))?;
    Ok((kubeconfig, issued, expires))
}

/// Labels that moved, by themselves: the content is not ours to send again.
async fn relabel(shared: &Shared, cluster: &GardenerCluster, there: &crate::observe::SecretView) -> Result<(), Error> {
    let marks = secret::build_labels(cluster);
    if marks.iter().all(|(key, value)| there.label(key) == Some(value)) {
        return Ok(());
    }
    let key = &cluster.spec.kubeconfig.secret;
    shared.kcp.tell(Ask::merge(&SECRETS, &key.namespace, &key.name, json!({"metadata": {"labels": marks}}))).await
}

async fn remove_force(shared: &Shared, name: &str) -> Result<(), Error> {
    let change = json!({"metadata": {"annotations": {annotations::FORCE_KUBECONFIG_ROTATION: null}}});
    shared.kcp.tell(Ask::merge(&GARDENER_CLUSTERS, &shared.settings.namespace, name, change)).await
}

/// Secrets whose GardenerCluster is gone. Asked once more, because the cache may lag and a Secret is dear.
async fn remove_orphans(shared: &Shared, name: &str) -> Result<(), Error> {
    let namespace = &shared.settings.namespace;
    let all = shared.caches.secrets.all();
    let orphans: Vec<&String> = all
        .iter()
        .filter(|(_, secret)| secret.label(labels::CLUSTER_NAME) == Some(name))
        .map(|(name, _)| name)
        .collect();
    shared.metrics.forget_cluster(name);
    if orphans.is_empty() {
        return Ok(());
    }
    let there: Option<Value> = shared.kcp.find(Ask::get(&GARDENER_CLUSTERS, namespace, name)).await?;
    if there.is_some() {
        return Ok(());
    }
    for orphan in orphans {
        shared.kcp.tell(Ask::delete(&SECRETS, namespace, orphan)).await?;
    }
    Ok(())
}

async fn report(shared: &Shared, cluster: &GardenerCluster, end: PassEnd) -> Result<(), Error> {
    let (state, condition_status, reason, message) = match end {
        PassEnd::Waiting | PassEnd::Fresh { reason: None, .. } => return Ok(()),
        PassEnd::Fresh { reason: Some(reason), .. } => {
            let rotated = reason == Reason::SecretRotated;
            let text =
                if rotated { "Secret kubeconfig has been rotated" } else { "Secret kubeconfig has been created" };
            (State::Ready, "True", reason, text.to_owned())
        }
        PassEnd::Failed { reason, error } => (State::Error, "False", reason, format!("{}: {error}", describe(reason))),
    };
    let name = cluster.metadata.name.clone().unwrap_or_default();
    shared.metrics.set_cluster(&name, &cluster.spec.shoot.name, state.as_str(), reason.as_str());
    let before = cluster.status.clone().unwrap_or_default();
    let old = before.conditions.iter().find(|condition| condition.type_ == CONDITION);
    // Fresh is fresh, whether it was created or rotated.
    if state == State::Ready && reason == Reason::SecretCreated && before.state == State::Ready.as_str() {
        return Ok(());
    }
    let since = old.filter(|old| old.status == condition_status).map(|old| old.last_transition_time.clone());
    let condition = Condition {
        type_: CONDITION.to_owned(),
        status: condition_status.to_owned(),
        reason: reason.as_str().to_owned(),
        message,
        last_transition_time: since.unwrap_or_else(|| to_kubernetes(shared.clock.wall())),
        observed_generation: cluster.metadata.generation,
    };
    let after = GardenerClusterStatus { state: state.as_str().to_owned(), conditions: vec![condition] };
    if after == before {
        return Ok(());
    }
    let namespace = &shared.settings.namespace;
    let document = json!({"apiVersion": GARDENER_CLUSTERS.api_version(), "kind": GARDENER_CLUSTERS.kind,
        "metadata": {"name": name, "namespace": namespace}, "status": after});
    let ask = Ask::apply(&GARDENER_CLUSTERS, namespace, &name, FIELD_MANAGER, document).part("status");
    match shared.kcp.tell(ask).await {
        Err(error) if error.is_not_found() => Ok(()),
        Err(error) => Err(error),
        Ok(()) => {
            let changed: Vec<&Condition> = after.conditions.iter().collect();
            events::emit(shared, &GARDENER_CLUSTERS, &cluster.metadata, &changed, "gardener-cluster-controller").await;
            Ok(())
        }
    }
}

fn describe(reason: Reason) -> &'static str {
    match reason {
        Reason::SecretCreated | Reason::SecretRotated => "Secret kubeconfig is fresh",
        Reason::FailedToCheckSecret => "The Secret cannot be read",
        Reason::FailedToCreateSecret => "The Secret cannot be created",
        Reason::FailedToDeleteSecret => "The Secret cannot be deleted",
        Reason::FailedToUpdateSecret => "The Secret cannot be updated",
        Reason::FailedToGetKubeconfig => "Gardener gives no kubeconfig",
    }
}

fn pause(shared: &Shared, error: &Error, attempts: u32) -> Duration {
    let doubled = |first: Duration| (first * 2_u32.saturating_pow(attempts.min(10))).min(PAUSE_MAX);
    match error.class {
        Class::Throttled => error.retry_after.unwrap_or_else(|| doubled(secs(1))),
        Class::Transient | Class::Absent | Class::NoKind | Class::Permanent => {
            shared.random.jitter(doubled(millis(500)))
        }
    }
}
