//! The observation of one Runtime, from caches and memory. No call is made here.

use std::sync::{Arc, PoisonError};

use slipway_kube::{
    Runtime, annotations,
    conditions::Type,
    gardener_cluster::{SECRET_KEY, secret_name},
};
use slipway_model::time::Timestamp;

use crate::{
    decide::brake::{Deletion, HELD},
    observe::Observation,
    owner::{self, Rival},
    registry_caches,
    shared::Shared,
    skr,
};

/// What is known of this Runtime; none if it is gone.
pub(crate) fn observe(shared: &Shared, name: &str) -> Option<Observation> {
    let runtime = shared.caches.runtimes.get(name)?;
    let shoot = shared.caches.shoots.get(&runtime.spec.shoot.name);
    let now = shared.clock.monotonic();
    let secret = shared.caches.secrets.get(&secret_name(name));
    let kubeconfig = secret.as_ref().and_then(|secret| secret.hash(SECRET_KEY));
    let registry_caches = shared.registry_caches.observe(name, &runtime, kubeconfig);
    let memory = {
        let cell = shared.memories.of_runtime(name);
        let mut memory = cell.lock();
        // After a restart nobody knows when it was looked after; not at once for all of them, in any case.
        memory.prepared_at.get_or_insert(now);
        registry_caches::begin_looks(shared, &runtime, &mut memory.registry_caches);
        memory.clone()
    };
    let deleting = runtime.metadata.deletion_timestamp.is_some();
    let tenant = shared.blueprints.shared_tenant();
    Some(Observation {
        input_hash: Some(shared.blueprints.input_hash(&runtime, &registry_caches.secrets)),
        registry_caches,
        prepared_hash: skr::prepared_hash(&runtime, shoot.as_deref(), &tenant),
        rivals: find_rivals(shared, &runtime),
        deletion_held: deleting && is_held(shared, &runtime),
        cluster: shared.caches.clusters.get(name),
        secret,
        shoot,
        runtime,
        memory,
        now,
    })
}

/// Other Runtimes with the same Shoot name, and whether each was there before, by age and then by name. One that gets
/// nothing because of its label is none.
pub(crate) fn find_rivals(shared: &Shared, runtime: &Runtime) -> Vec<Rival> {
    let age = |runtime: &Runtime| {
        let created = runtime.metadata.creation_timestamp.as_ref().map(|time| time.0);
        (created, runtime.metadata.name.clone())
    };
    let others = shared.claims.of_shoot(&runtime.spec.shoot.name);
    let others = others.iter().filter(|name| Some(*name) != runtime.metadata.name.as_ref());
    let others = others.filter_map(|name| shared.caches.runtimes.get(name));
    let rivals = others.filter(|other| owner::wrong_label(other).is_none());
    let rival = |other: Arc<Runtime>| Rival {
        name: other.metadata.name.clone().unwrap_or_default(),
        uid: other.metadata.uid.clone(),
        is_older: age(&other) < age(runtime),
    };
    rivals.map(rival).collect()
}

/// Tells the brake of a Runtime that is being deleted: of all of them, whosever shard they are.
pub(crate) fn note_deletion(shared: &Shared, runtime: &Runtime) {
    let Some(asked) = &runtime.metadata.deletion_timestamp else { return };
    let conditions = runtime.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let told = conditions.iter().find(|condition| condition.type_ == Type::Deprovisioned.as_str());
    let deletion = Deletion {
        asked: Timestamp::from_micros(asked.0.as_microsecond()),
        shoot: runtime.spec.shoot.name.clone(),
        is_held: told.is_some_and(|condition| condition.message.starts_with(HELD)),
        is_confirmed: runtime.annotation(annotations::DELETION_CONFIRMED) == Some("true"),
        has_shoot: false,
    };
    let name = runtime.metadata.name.as_deref().unwrap_or_default();
    let mut brake = shared.brake.lock().unwrap_or_else(PoisonError::into_inner);
    brake.note(name, deletion, shared.settings.brake_window);
}

fn is_held(shared: &Shared, runtime: &Runtime) -> bool {
    let (limit, window) = (shared.settings.brake_limit, shared.settings.brake_window);
    let exists = |shoot: &str| shared.caches.shoots.get(shoot).is_some();
    let mut brake = shared.brake.lock().unwrap_or_else(PoisonError::into_inner);
    brake.holds(runtime.metadata.name.as_deref().unwrap_or_default(), limit, window, exists)
}
