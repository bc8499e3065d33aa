//! The observation of one Runtime, from caches and memory. No call is made here.

use std::sync::{Arc, PoisonError};

use slipway_kube::{
    Runtime, annotations,
    conditions::Type,
    gardener_cluster::{SECRET_KEY, secret_name},
};
use slipway_model::time::Timestamp;

use crate::{decide::brake::HELD, observe::Observation, registry_caches, shared::Shared, skr};

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
        rival: if shoot.is_none() || deleting { find_rival(shared, &runtime) } else { None },
        deletion_held: deleting && is_held(shared, &runtime),
        cluster: shared.caches.clusters.get(name),
        secret,
        shoot,
        runtime,
        memory,
        now,
    })
}

/// Another Runtime with the same Shoot name that was there before, by age and then by name.
fn find_rival(shared: &Shared, runtime: &Arc<Runtime>) -> Option<String> {
    let age = |runtime: &Runtime| {
        let created = runtime.metadata.creation_timestamp.as_ref().map(|time| time.0);
        (created, runtime.metadata.name.clone())
    };
    let others = shared.claims.of_shoot(&runtime.spec.shoot.name);
    let others = others.iter().filter_map(|name| shared.caches.runtimes.get(name));
    let mut rivals = others.filter(|other| other.metadata.uid != runtime.metadata.uid && age(other) < age(runtime));
    rivals.next()?.metadata.name.clone()
}

fn is_held(shared: &Shared, runtime: &Runtime) -> bool {
    if runtime.annotation(annotations::DELETION_CONFIRMED).is_some() {
        return false;
    }
    let (name, limit) = (runtime.metadata.name.clone().unwrap_or_default(), shared.settings.brake_limit);
    let asked = runtime.metadata.deletion_timestamp.as_ref();
    let asked = asked.map_or_else(|| shared.clock.wall(), |time| Timestamp::from_micros(time.0.as_microsecond()));
    let status = runtime.status.as_ref();
    let told = status
        .and_then(|status| status.conditions.iter().find(|condition| condition.type_ == Type::Deprovisioned.as_str()));
    let was_held = told.is_some_and(|condition| condition.message.starts_with(HELD));
    let mut brake = shared.brake.lock().unwrap_or_else(PoisonError::into_inner);
    brake.holds(&name, asked, was_held, limit, shared.settings.brake_window)
}
