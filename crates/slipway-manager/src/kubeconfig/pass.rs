//! One pass over one GardenerCluster: fetch first, replace in one write, tell afterwards.
//!
//! Gardener is asked only when a kubeconfig is due. Until the new one is written the old one stays, so no
//! reader ever finds a Secret without content. A GardenerCluster that is gone takes its Secret along: by owner
//! reference, and here, for Secrets that were made before there were owner references.

use std::{sync::Arc, time::Duration};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::{Value, json};
use slipway_kube::{
    GardenerCluster, Shoot,
    access::{
        Ask, Class, Error, Exactly, Priority,
        resource::{GARDENER_CLUSTERS, SECRETS, SHOOTS},
    },
    annotations,
    gardener_cluster::{CONDITION, GardenerClusterStatus, Reason, State, secret_name},
};
use slipway_model::time::{hours, millis, mins, secs};

use super::{
    rotation::{self, Due},
    secret,
};
use crate::{
    controller::look::find_rivals, events, memory::ClusterEnd, observe::SecretView, owner, settings::FIELD_MANAGER,
    shared::Shared, status::to_kubernetes, tasks,
};

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
    /// It asks for what is not its own: somebody must change something.
    Refused {
        reason: Reason,
        why: String,
    },
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
        PassEnd::Refused { .. } => ("fail", Some(mins(5)), false),
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
    let mut there = shared.caches.secrets.get(&key.name);
    let shoot = shared.caches.shoots.get(&cluster.spec.shoot.name);
    if let Some(end) = refuse(shared, cluster, there.as_deref(), shoot.as_deref()) {
        return end;
    }
    let present = secret::read_present(there.as_deref(), &key.key);
    let forced = has_note(cluster, annotations::FORCE_KUBECONFIG_ROTATION);
    let is_of_another = matches!((&there, &shoot), (Some(it), Some(shoot)) if secret::is_of_another(it, shoot));
    let until_replaced = {
        let hash = there.as_ref().and_then(|there| there.hash(&key.key));
        shared.memories.of_runtime(&name).lock().kubeconfig.until_replaced(hash, shared.clock.monotonic())
    };
    let is_refused = until_replaced == Some(Duration::ZERO);
    let is_wanted = forced || is_of_another || is_refused;
    let now = shared.garden_time.wall();
    let due = rotation::due(&name, present, is_wanted, settings.rotation_ratio, settings.kubeconfig_life, now);
    let priority = match due {
        Due::In(next) => {
            if let Some(left) = until_replaced {
                shared.kubeconfigs.wake_in(&name, left);
            }
            if let Some(there) = &there
                && let Err(error) = relabel(shared, cluster, there).await
            {
                return PassEnd::Failed { reason: Reason::FailedToUpdateSecret, error };
            }
            return PassEnd::Fresh { next: next.min(hours(12)), reason: present.map(|_| Reason::SecretCreated) };
        }
        Due::Now(priority) => priority,
    };
    let Some(shoot) = shoot else {
        // Wakes with the Shoot's next event.
        let error = Error::absent(format!("Shoot {} does not exist", cluster.spec.shoot.name));
        return PassEnd::Failed { reason: Reason::FailedToGetKubeconfig, error };
    };
    if shoot.status.as_ref().is_none_or(|status| status.advertised_addresses.is_empty()) {
        return PassEnd::Waiting;
    }
    if there.is_none() {
        // The cache has only what carries our label: another Secret of the name is not ours to write.
        let found: Result<Option<SecretView>, _> =
            shared.kcp.find(Ask::get(&SECRETS, &settings.namespace, &key.name)).await;
        match found {
            Ok(found) => there = found.map(Arc::new),
            Err(error) => return PassEnd::Failed { reason: Reason::FailedToCheckSecret, error },
        }
        if let Some(end) = refuse(shared, cluster, there.as_deref(), Some(&shoot)) {
            return end;
        }
    }
    let (kubeconfig, issued, expires) = match fetch(shared, cluster, priority).await {
        Ok(issued) => issued,
        Err(error) => return PassEnd::Failed { reason: Reason::FailedToGetKubeconfig, error },
    };
    let document = secret::build_document(cluster, &shoot, &kubeconfig, issued, expires);
    let mut ask = Ask::apply(&SECRETS, &key.namespace, &key.name, FIELD_MANAGER, document);
    if let Some(there) = &there {
        ask = ask.only_if(&Exactly::this(&there.metadata));
    }
    let is_new = present.is_none();
    // Before the write: who sees the new one makes a client of it, and that is to be kept.
    shared.skr.forget(&name);
    if let Err(error) = shared.kcp.tell(ask).await {
        let reason = if is_new { Reason::FailedToCreateSecret } else { Reason::FailedToUpdateSecret };
        return PassEnd::Failed { reason, error };
    }
    if is_refused {
        let now = shared.clock.monotonic();
        shared.memories.of_runtime(&name).lock().kubeconfig.note_replaced(now);
        // What was refused is tried again with it.
        shared.runtimes.wake(&name);
    }
    let period = rotation::period(&name, expires.since(issued), settings.rotation_ratio);
    shared.metrics.set_expiry(&name, &cluster.spec.shoot.name, expires, period, expires.since(issued));
    tracing::info!(runtimeID = name, shootName = cluster.spec.shoot.name, %expires, "a kubeconfig was issued");
    if forced && let Err(error) = remove_force(shared, cluster).await {
        return PassEnd::Failed { reason: Reason::FailedToUpdateSecret, error };
    }
    PassEnd::Fresh { next: period, reason: Some(if is_new { Reason::SecretCreated } else { Reason::SecretRotated }) }
}

/// Ends a pass over what is not its own.
fn refuse(
    shared: &Shared,
    cluster: &GardenerCluster,
    there: Option<&SecretView>,
    shoot: Option<&Shoot>,
) -> Option<PassEnd> {
    if let Some(why) = owner::refuse_secret(cluster, there, &shared.settings.namespace) {
        return Some(PassEnd::Refused { reason: Reason::FailedToCheckSecret, why });
    }
    let runtime = shared.caches.runtimes.get(cluster.metadata.name.as_deref().unwrap_or_default());
    let rivals = runtime.as_ref().map(|runtime| find_rivals(shared, runtime)).unwrap_or_default();
    let why = owner::refuse_kubeconfig(cluster, runtime.as_deref(), shoot?, &rivals)?;
    Some(PassEnd::Refused { reason: Reason::FailedToGetKubeconfig, why })
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
async fn relabel(shared: &Shared, cluster: &GardenerCluster, there: &SecretView) -> Result<(), Error> {
    let marks = secret::build_labels(cluster);
    if marks.iter().all(|(key, value)| there.label(key) == Some(value)) {
        return Ok(());
    }
    let (key, only) = (&cluster.spec.kubeconfig.secret, Exactly::this(&there.metadata));
    let change = json!({"metadata": {"labels": marks}});
    shared.kcp.tell(Ask::merge(&SECRETS, &key.namespace, &key.name, &only, change)).await
}

async fn remove_force(shared: &Shared, cluster: &GardenerCluster) -> Result<(), Error> {
    let change = json!({"metadata": {"annotations": {annotations::FORCE_KUBECONFIG_ROTATION: null}}});
    let (name, only) = (cluster.metadata.name.as_deref().unwrap_or_default(), Exactly::this(&cluster.metadata));
    shared.kcp.tell(Ask::merge(&GARDENER_CLUSTERS, &shared.settings.namespace, name, &only, change)).await
}

/// The Secret whose GardenerCluster is gone. Asked once more, because the cache may lag and a Secret is dear.
async fn remove_orphans(shared: &Shared, name: &str) -> Result<(), Error> {
    let namespace = &shared.settings.namespace;
    let orphan = shared.caches.secrets.get(&secret_name(name));
    shared.metrics.forget_cluster(name);
    let Some(orphan) = orphan.filter(|it| owner::is_kubeconfig_of(&it.metadata, name)) else { return Ok(()) };
    let there: Option<Value> = shared.kcp.find(Ask::get(&GARDENER_CLUSTERS, namespace, name)).await?;
    if there.is_some() {
        return Ok(());
    }
    shared.kcp.tell(Ask::delete(&SECRETS, namespace, &secret_name(name), &Exactly::unchanged(&orphan.metadata))).await
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
        PassEnd::Refused { reason, why } => (State::Error, "False", reason, format!("{}: {why}", describe(reason))),
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
    match shared.kcp.tell(ask.only_if(&Exactly::this(&cluster.metadata))).await {
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
        Reason::FailedToCheckSecret => "The Secret cannot be used",
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
