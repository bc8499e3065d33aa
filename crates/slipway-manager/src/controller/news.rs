//! Which change wakes whom.
//!
//! Most changes of a Shoot are heartbeats and wake nobody; a progress that is worth telling wakes its Runtime
//! so that the status is brought up to date. Our own status writes come back as changes too, and wake nobody.

use std::sync::Arc;

use slipway_kube::{GardenerCluster, Runtime, Shoot, access::cache::Change, annotations, labels};

use super::{acknowledge, look::note_deletion};
use crate::{kubeconfig::secret::issued_for, observe::SecretView, shared::Shared, status};

/// A Runtime changed.
pub(crate) fn note_runtime(shared: &Arc<Shared>, change: &Change<Runtime>) {
    let shoot = |runtime: &Option<Arc<Runtime>>| runtime.as_ref().map(|runtime| runtime.spec.shoot.name.clone());
    let (before, now) = (shoot(&change.old), shoot(&change.new));
    shared.claims.note(&change.name, before.as_deref(), now.as_deref());
    let state = |runtime: &Option<Arc<Runtime>>| {
        runtime.as_ref().map(|runtime| runtime.status.as_ref().map(|status| status.state).unwrap_or_default())
    };
    shared.metrics.count_state(state(&change.old), state(&change.new));
    let Some(new) = &change.new else {
        shared.memories.forget(&change.name);
        shared.metrics.forget_runtime(&change.name);
        shared.skr.forget(&change.name);
        shared.registry_caches.leave(&change.name);
        // Its Shoot's next Runtime, if there is one, was waiting for this.
        shared.claims.of_shoot(&before.unwrap_or_default()).iter().for_each(|name| shared.runtimes.wake(name));
        return;
    };
    if new.metadata.deletion_timestamp.is_some() {
        note_deletion(shared, new);
        // Its API goes soon.
        shared.registry_caches.leave(&change.name);
    }
    if !shared.shards.has(&change.name) {
        return;
    }
    if acknowledge::is_due(new)
        && change.old.as_ref().is_none_or(|old| old.metadata.generation != new.metadata.generation)
    {
        acknowledge::start(shared, new.clone());
    }
    if change.old.as_ref().is_none_or(|old| is_wish(old, new)) {
        shared.runtimes.wake(&change.name);
        if shared.caches.clusters.get(&change.name).is_some() {
            shared.kubeconfigs.wake(&change.name);
        }
    }
}

/// Whether somebody wants something else, and not only our own status came back.
fn is_wish(old: &Runtime, new: &Runtime) -> bool {
    let (old, new) = (&old.metadata, &new.metadata);
    old.generation != new.generation
        || old.labels != new.labels
        || old.annotations != new.annotations
        || old.deletion_timestamp != new.deletion_timestamp
        || old.finalizers != new.finalizers
        || old.uid != new.uid
}

/// A Shoot changed.
pub(crate) fn note_shoot(shared: &Arc<Shared>, change: &Change<Shoot>) {
    let Some(any) = change.new.as_ref().or(change.old.as_ref()) else { return };
    if change.old.is_none() || change.new.is_none() {
        // Whoever else names it is told what became of it.
        let all = shared.claims.of_shoot(&change.name);
        all.iter().filter(|name| shared.shards.has(name)).for_each(|name| shared.runtimes.wake(name));
    }
    let Some(name) = find_runtime(shared, &change.name, any) else { return };
    if change.new.is_none() {
        let cell = shared.memories.of_runtime(&name);
        let mut memory = cell.lock();
        memory.shoot.note_gone();
        memory.troubles.failed.end();
    }
    if !shared.shards.has(&name) {
        return;
    }
    let matters = match (&change.old, &change.new) {
        (Some(old), Some(new)) => has_moved(old, new) || has_progressed(shared, &name, new),
        _ => true,
    };
    if matters {
        shared.runtimes.wake(&name);
    }
    let reachable = match (&change.old, &change.new) {
        (Some(old), Some(new)) => addresses(old) != addresses(new) || issued_for(old) != issued_for(new),
        _ => true,
    };
    if reachable && shared.caches.clusters.get(&name).is_some() {
        shared.kubeconfigs.wake(&name);
    }
}

/// The Runtime of a Shoot: by its annotation, else by the name.
fn find_runtime(shared: &Shared, shoot_name: &str, shoot: &Shoot) -> Option<String> {
    if let Some(id) = shoot.runtime_id()
        && shared.caches.runtimes.get(id).is_some_and(|runtime| runtime.spec.shoot.name == shoot_name)
    {
        return Some(id.to_owned());
    }
    shared.claims.of_shoot(shoot_name).into_iter().next()
}

fn addresses(shoot: &Shoot) -> Vec<String> {
    let status = shoot.status.as_ref();
    status.iter().flat_map(|status| &status.advertised_addresses).map(|address| address.url.clone()).collect()
}

/// Whether something moved that a Runtime acts on.
fn has_moved(old: &Shoot, new: &Shoot) -> bool {
    let key = |shoot: &Shoot| {
        let status = shoot.status.as_ref();
        let operation = status.and_then(|status| status.last_operation.as_ref());
        let codes: Vec<String> =
            status.iter().flat_map(|status| &status.last_errors).flat_map(|error| error.codes.clone()).collect();
        let notes: Vec<Option<String>> = [
            annotations::RUNTIME_ID,
            annotations::RUNTIME_UID,
            annotations::INPUT_HASH,
            annotations::RUNTIME_GENERATION,
            annotations::GARDENER_OPERATION,
        ]
        .map(|key| shoot.annotation(key).map(str::to_owned))
        .into();
        (
            shoot.metadata.generation,
            status.map(|status| status.observed_generation),
            operation.map(|operation| (operation.operation_type.clone(), operation.state.clone())),
            codes,
            shoot.metadata.deletion_timestamp.clone(),
            shoot.spec.dns.clone(),
            (addresses(shoot), issued_for(shoot)),
            (notes, shoot.metadata.labels.clone(), shoot.metadata.uid.clone()),
        )
    };
    key(old) != key(new)
}

/// Whether it went on so far that it should be told.
fn has_progressed(shared: &Shared, name: &str, new: &Shoot) -> bool {
    let told = {
        let cell = shared.memories.of_runtime(name);
        let memory = cell.lock();
        memory.reported.status(None).and_then(|status| status.shoot_last_operation.clone())
    };
    let told = told.or_else(|| shared.caches.runtimes.get(name)?.status.as_ref()?.shoot_last_operation.clone());
    let now = new.status.as_ref().and_then(|status| status.last_operation.as_ref());
    status::operation_is_news(told.as_ref(), now)
}

/// A GardenerCluster changed.
pub(crate) fn note_cluster(shared: &Arc<Shared>, change: &Change<GardenerCluster>) {
    if !shared.shards.has(&change.name) {
        return;
    }
    let state = |cluster: &Arc<GardenerCluster>| cluster.status.as_ref().map(|status| status.state.clone());
    let (wishes, settles) = match (&change.old, &change.new) {
        (Some(old), Some(new)) => {
            let (before, after) = (&old.metadata, &new.metadata);
            let wishes = before.generation != after.generation
                || before.labels != after.labels
                || before.annotations != after.annotations
                || before.deletion_timestamp != after.deletion_timestamp
                || before.uid != after.uid;
            (wishes, state(old) != state(new))
        }
        _ => (true, true),
    };
    if wishes {
        shared.kubeconfigs.wake(&change.name);
    }
    if settles || wishes {
        shared.runtimes.wake(&change.name);
    }
}

/// A kubeconfig Secret changed.
pub(crate) fn note_secret(shared: &Arc<Shared>, change: &Change<SecretView>) {
    let Some(any) = change.new.as_ref().or(change.old.as_ref()) else { return };
    let Some(name) = any.label(labels::CLUSTER_NAME).filter(|name| shared.shards.has(name)) else { return };
    let same = matches!((&change.old, &change.new), (Some(old), Some(new)) if old.hashes == new.hashes && old.metadata.labels == new.metadata.labels);
    if !same {
        shared.kubeconfigs.wake(name);
        shared.runtimes.wake(name);
    }
}
