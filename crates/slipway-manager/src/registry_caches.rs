//! Caches of image registries: all that the manager does for them, in one folder behind one hook.
//!
//! The rest of the manager knows the rows of the step tables, [`RegistryCaches`] among what all passes share,
//! [`Memory`] in what is remembered of a Runtime, and [`Observed`] in what a pass knows. Rendering is told which
//! Secrets are in use, and nothing else.
//!
//! | part | is |
//! |---|---|
//! | [`decide`] | which caches a cluster gets: pure |
//! | [`memory`] | what is remembered between looks, and when the next is due: pure |
//! | [`wishes`] | what a cluster asks for, read there and answered there |
//! | [`watch`] | news of wishes |
//! | [`secrets`] | which credentials are in the garden, and which of them are in use |
//! | [`credentials`] | their way to the garden, and out of it |
//! | [`align`] | the step that looks, and what it changes |
//! | [`clean_up`] | the steps at the end of a change, and of a Runtime |

mod align;
mod clean_up;
mod credentials;
mod decide;
mod memory;
mod secrets;
mod watch;
mod wishes;

use std::sync::Arc;

use slipway_kube::{
    Runtime,
    access::{
        cache::{Cache, Change},
        resource::SECRETS,
    },
    labels,
};

#[cfg(test)]
pub(crate) use self::memory::tests::make_due;
pub use self::secrets::secrets_named_by;
pub(crate) use self::{
    align::AlignCaches,
    clean_up::{CleanUpCaches, RemoveCredentials},
    memory::{Memory, until_look},
};
use self::{
    secrets::{GardenSecrets, SecretIndex, choose},
    watch::Watches,
};
use crate::{controller::look, observe::SecretView, render::RegistrySecret, shared::Shared};

/// What all passes share of it.
#[derive(Default)]
pub(crate) struct RegistryCaches {
    /// Credentials in the garden. Also where nobody looks after them: Shoots name them.
    cache: Cache<SecretView>,
    secrets: SecretIndex,
    watches: Watches,
}

/// What a pass knows of the caches of its Runtime.
#[derive(Debug, Clone, Default)]
pub(crate) struct Observed {
    /// Their Secrets in the garden.
    known: GardenSecrets,
    /// Those in use.
    pub(crate) secrets: Vec<RegistrySecret>,
    /// Whether the cluster is listened to with a kubeconfig of yesterday.
    watch_is_outdated: bool,
}

impl RegistryCaches {
    /// Begins to follow the credentials in the garden.
    pub(crate) fn start(shared: &Arc<Shared>) {
        let selector = format!("{}={},{}", labels::APP_MANAGED_BY, labels::MANAGED_BY_US, labels::REGISTRY_CACHE_ID);
        let source = shared.source(&shared.garden, &SECRETS, &shared.settings.garden_namespace, &selector);
        shared.follow(&shared.registry_caches.cache, source, note_secret);
    }

    /// Whether the credentials in the garden are known.
    pub(crate) fn is_synced(&self) -> bool {
        self.cache.is_synced()
    }

    /// Ends when they are.
    pub(crate) async fn until_synced(&self) {
        self.cache.until_synced().await;
    }

    /// What is known of a Runtime's caches, given the hash of its kubeconfig.
    pub(crate) fn observe(&self, name: &str, runtime: &Runtime, kubeconfig: Option<&str>) -> Observed {
        let known = self.secrets.of_runtime(name);
        let secrets = choose(&known, &runtime.spec.image_registry_cache);
        Observed { secrets, known, watch_is_outdated: self.watches.is_outdated(name, kubeconfig) }
    }

    /// A Runtime is gone, or goes: what its cluster asks for does not matter any more.
    pub(crate) fn leave(&self, name: &str) {
        self.watches.end(name);
    }
}

/// Sees to it that the cluster of this Runtime is looked into from time to time, where that is switched on.
pub(crate) fn begin_looks(shared: &Shared, runtime: &Runtime, memory: &mut Memory) {
    let Some(period) = shared.settings.registry_caches else { return };
    let now = shared.clock.monotonic();
    let part = || period.mul_f64((shared.random.next_u64() % 1_000) as f64 / 1_000.0);
    // Who has caches may have been left in the middle of a change. The others are spread over the period.
    memory.begin(|| if runtime.spec.image_registry_cache.is_empty() { now + part() } else { now });
}

/// What a cluster asks for may have changed: it is looked at.
pub(crate) fn look_soon(shared: &Shared, name: &str) {
    if shared.settings.registry_caches.is_none() || shared.caches.runtimes.get(name).is_none() {
        return;
    }
    let wait = shared.memories.of_runtime(name).lock().registry_caches.hurry(shared.clock.monotonic());
    shared.runtimes.wake_in(name, wait);
}

/// Stops listening to clusters that are not ours, that sleep, or that go: nobody answers there.
pub(crate) fn sweep(shared: &Shared) {
    shared.registry_caches.watches.keep(|name| {
        let seen = shared.shards.has(name).then(|| look::observe(shared, name)).flatten();
        seen.is_some_and(|seen| !seen.is_asleep() && !seen.is_deleting())
    });
}

/// Credentials changed in the garden.
fn note_secret(shared: &Arc<Shared>, change: &Change<SecretView>) {
    let Some(any) = change.new.as_ref().or(change.old.as_ref()) else { return };
    let Some(name) = any.label(labels::RUNTIME_ID) else { return };
    let (secrets, old) = (&shared.registry_caches.secrets, change.old.as_ref());
    let is_going = |secret: &SecretView| secret.metadata.deletion_timestamp.is_some();
    // Perhaps it is in use, and somebody else takes it away. What we removed ourselves was not, or is forgotten already.
    let is_taken = match &change.new {
        Some(new) => {
            secrets.note(&change.name, new);
            is_going(new) && old.is_some_and(|old| !is_going(old)) && new.label(labels::DIRTY).is_none()
        }
        None => secrets.forget(name, &change.name) && old.is_some_and(|it| !is_going(it)),
    };
    if is_taken && shared.shards.has(name) {
        look_soon(shared, name);
    }
}
