//! The loops: take a name, work on it, set its timer.

use std::{
    collections::HashMap,
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use slipway_model::time::{mins, secs};
use tokio::sync::Semaphore;

use super::queue::Queue;
use crate::{acl, kubeconfig, pass, registry_caches, shared::Shared};

/// Gives the name back however the pass ends: a panic must not lock a Runtime for ever.
struct Held {
    queue: Queue,
    name: String,
    shared: Arc<Shared>,
    ended: bool,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.queue.finish(&self.name);
        if !self.ended && std::thread::panicking() {
            self.shared.metrics.count_stop();
            self.queue.wake_in(&self.name, mins(1));
        }
    }
}

pub(crate) async fn reconcile_runtimes(shared: Arc<Shared>) {
    let workers = shared.settings.runtime_workers;
    let queue = shared.runtimes.clone();
    serve(shared, queue, workers, |shared, name| async move { pass::run(&shared, &name).await }).await;
}

pub(crate) async fn rotate_kubeconfigs(shared: Arc<Shared>) {
    let workers = shared.settings.kubeconfig_workers;
    let queue = shared.kubeconfigs.clone();
    let attempts: Arc<Mutex<HashMap<String, u32>>> = Arc::default();
    serve(shared, queue, workers, move |shared, name| {
        let attempts = attempts.clone();
        async move {
            let before = attempts.lock().unwrap_or_else(PoisonError::into_inner).get(&name).copied().unwrap_or(0);
            let (next, failed) = kubeconfig::pass::run(&shared, &name, before).await;
            let mut attempts = attempts.lock().unwrap_or_else(PoisonError::into_inner);
            if failed {
                attempts.insert(name, before.saturating_add(1));
            } else {
                attempts.remove(&name);
            }
            next
        }
    })
    .await;
}

/// Takes names and starts a pass for each, as many at a time as there are workers.
async fn serve<F, Fut>(shared: Arc<Shared>, queue: Queue, workers: usize, work: F)
where
    F: Fn(Arc<Shared>, String) -> Fut + Clone + Send + 'static,
    Fut: Future<Output = Option<Duration>> + Send + 'static,
{
    let places = Arc::new(Semaphore::new(workers.max(1)));
    loop {
        // Nobody closes it.
        let place = places.clone().acquire_owned().await.ok();
        let name = queue.next().await;
        let (to, queue, work) = (shared.clone(), queue.clone(), work.clone());
        shared.tasks.work(async move {
            let shared = to;
            let mut held = Held { queue: queue.clone(), name: name.clone(), shared: shared.clone(), ended: false };
            if !shared.shards.has(&name) {
                held.ended = true;
                return;
            }
            let next = tokio::select! {
                biased;
                // Whoever lost the lease writes nothing more, in the middle of a pass if need be.
                () = shared.shards.until_lost(&name) => None,
                next = work(shared.clone(), name.clone()) => next,
            };
            held.ended = true;
            drop(held);
            if let Some(next) = next {
                queue.wake_in(&name, next);
            }
            drop(place);
        });
    }
}

/// Wakes what became ours, and all that were held when the garden answers again.
pub(crate) async fn wake_on_changes(shared: Arc<Shared>) {
    let mut shards = shared.shards.changes();
    let mut breaker = shared.garden.options().breaker.as_ref().map(slipway_kube::access::Breaker::changes);
    loop {
        let opened = async {
            match &mut breaker {
                Some(changes) => {
                    // The sender lives as long as the access.
                    let _ = changes.changed().await;
                    !*changes.borrow()
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            changed = shards.changed() => {
                if changed.is_err() {
                    return;
                }
                shared.memories.keep(|name| shared.shards.has(name));
                registry_caches::sweep(&shared);
                wake_all(&shared);
            }
            closed = opened => if closed { wake_all(&shared) },
            () = shared.clock.sleep(secs(60)) => {
                shared.skr.sweep(shared.clock.monotonic());
                registry_caches::sweep(&shared);
                acl::read(&shared).await;
            }
        }
    }
}

/// Looks at everything that is ours. Costs no call by itself.
pub(crate) fn wake_all(shared: &Shared) {
    for name in shared.caches.runtimes.names().into_iter().filter(|name| shared.shards.has(name)) {
        shared.runtimes.wake(&name);
    }
    for name in shared.caches.clusters.names().into_iter().filter(|name| shared.shards.has(name)) {
        shared.kubeconfigs.wake(&name);
    }
    let secrets = shared.caches.secrets.all();
    let owners = secrets.values().filter_map(|secret| secret.label(slipway_kube::labels::CLUSTER_NAME));
    owners.filter(|name| shared.shards.has(name)).for_each(|name| shared.kubeconfigs.wake(name));
}
