//! What all passes share: the ways to the clusters, what is known of them, and time.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use slipway_kube::{
    GardenerCluster, Runtime, Shoot,
    access::{
        Access, Resource,
        cache::{Cache, Change, Projection, Source},
        shards::Shards,
    },
};
use slipway_model::ports::{Clock, Random};

use crate::{
    blueprints::Blueprints, controller::queue::Queue, decide::brake::Brake, memory::Memories, metrics::Metrics,
    observe::SecretView, registry_caches::RegistryCaches, seeds::Seed, settings::Settings, skr::Clients, tasks::Tasks,
};

/// What all passes share.
pub(crate) struct Shared {
    /// How the manager is run.
    pub(crate) settings: Settings,
    pub(crate) kcp: Access,
    pub(crate) garden: Access,
    pub(crate) clock: Arc<dyn Clock>,
    /// Time as the garden counts it: kubeconfigs expire by it. The same, but for gardens that are simulated.
    pub(crate) garden_time: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    /// What is known without asking.
    pub(crate) caches: Caches,
    /// Which Runtimes want which Shoot.
    pub(crate) claims: ShootClaims,
    /// What is remembered of Runtimes.
    pub(crate) memories: Memories,
    /// What Shoots are rendered from.
    pub(crate) blueprints: Blueprints,
    /// Clients of customers' clusters.
    pub(crate) skr: Clients,
    pub(crate) metrics: Metrics,
    /// What is ours.
    pub(crate) shards: Shards,
    pub(crate) registry_caches: RegistryCaches,
    /// Everything that runs.
    pub(crate) tasks: Tasks,
    /// The brake on deletions.
    pub(crate) brake: Mutex<Brake>,
    /// Runtimes to be looked at.
    pub(crate) runtimes: Queue,
    /// GardenerClusters to be looked at.
    pub(crate) kubeconfigs: Queue,
}

impl Shared {
    /// Whether everything we must know is known.
    pub(crate) fn is_synced(&self) -> bool {
        self.caches.are_synced() && self.registry_caches.is_synced()
    }

    /// Ends when it is.
    pub(crate) async fn until_synced(&self) {
        self.caches.until_synced().await;
        self.registry_caches.until_synced().await;
    }

    /// Whether nothing is due and nothing is worked on.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_synced() && self.runtimes.is_idle() && self.kubeconfigs.is_idle()
    }

    /// The objects of one kind; an empty namespace or selector is all of them.
    pub(crate) fn source(
        &self,
        access: &Access,
        resource: &'static Resource,
        namespace: &str,
        selector: &str,
    ) -> Source {
        let (namespace, selector) = (namespace.to_owned(), selector.to_owned());
        Source { access: access.clone(), resource, namespace, selector, random: self.random.clone() }
    }

    /// Fills a cache and keeps it filled, and tells of every change.
    pub(crate) fn follow<T: Projection>(
        self: &Arc<Self>,
        cache: &Cache<T>,
        source: Source,
        on_change: fn(&Arc<Self>, &Change<T>),
    ) {
        let shared = self.clone();
        self.tasks.listen(cache.clone().run(source, Box::new(move |change| on_change(&shared, change))));
    }
}

/// Which Runtimes want the Shoot of which name. More than one is a mistake, and must be seen as one.
#[derive(Debug, Default)]
pub(crate) struct ShootClaims(Mutex<HashMap<String, BTreeSet<String>>>);

impl ShootClaims {
    /// A Runtime wants this Shoot now, or none any more.
    pub(crate) fn note(&self, runtime: &str, before: Option<&str>, now: Option<&str>) {
        if before == now {
            return;
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = before
            && let Some(names) = all.get_mut(before)
        {
            names.remove(runtime);
            if names.is_empty() {
                all.remove(before);
            }
        }
        if let Some(now) = now {
            all.entry(now.to_owned()).or_default().insert(runtime.to_owned());
        }
    }

    /// Those who want this Shoot.
    pub(crate) fn of_shoot(&self, shoot: &str) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(shoot).map(|names| names.iter().cloned().collect()).unwrap_or_default()
    }
}

/// What is known without asking.
#[derive(Default)]
pub(crate) struct Caches {
    pub(crate) runtimes: Cache<Runtime>,
    /// Shoots of the project.
    pub(crate) shoots: Cache<Shoot>,
    pub(crate) clusters: Cache<GardenerCluster>,
    /// Our Secrets, without their content.
    pub(crate) secrets: Cache<SecretView>,
    /// Seeds; whoever may not read them goes without.
    pub(crate) seeds: Cache<Seed>,
}

impl Caches {
    fn are_synced(&self) -> bool {
        let ours = self.runtimes.is_synced() && self.clusters.is_synced() && self.secrets.is_synced();
        ours && self.shoots.is_synced()
    }

    async fn until_synced(&self) {
        self.runtimes.until_synced().await;
        self.shoots.until_synced().await;
        self.clusters.until_synced().await;
        self.secrets.until_synced().await;
    }
}
