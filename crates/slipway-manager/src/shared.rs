//! What all passes share: the ways to the clusters, what is known of them, and time.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use slipway_kube::{
    GardenerCluster, Runtime, Shoot,
    access::{Access, cache::Cache, shards::Shards},
};
use slipway_model::ports::{Clock, Random};

use crate::{
    blueprints::Blueprints,
    controller::queue::Queue,
    decide::brake::Brake,
    memory::Memories,
    metrics::Metrics,
    observe::SecretView,
    registry_secrets::RegistrySecrets,
    seeds::Seed,
    settings::Settings,
    skr::{Clients, RegistryWatches},
};

/// What all passes share.
pub struct Shared {
    /// How the manager is run.
    pub settings: Settings,
    /// The control plane.
    pub kcp: Access,
    /// The garden.
    pub garden: Access,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Time as the garden counts it: kubeconfigs expire by it. The same, but for gardens that are simulated.
    pub garden_time: Arc<dyn Clock>,
    /// Chance.
    pub random: Arc<dyn Random>,
    /// What is known without asking.
    pub caches: Caches,
    /// Which Runtimes want which Shoot.
    pub wanted: Wanted,
    /// What is remembered of Runtimes.
    pub memories: Memories,
    /// What Shoots are rendered from.
    pub blueprints: Blueprints,
    /// Clients of customers' clusters.
    pub skr: Clients,
    /// Figures.
    pub metrics: Metrics,
    /// What is ours.
    pub shards: Shards,
    /// Credentials of registry caches in the garden.
    pub registry_secrets: RegistrySecrets,
    /// Clusters with registry caches that are listened to.
    pub registry_watches: RegistryWatches,
    /// The brake on deletions.
    pub brake: Mutex<Brake>,
    /// Runtimes to be looked at.
    pub runtimes: Queue,
    /// GardenerClusters to be looked at.
    pub kubeconfigs: Queue,
}

/// Which Runtimes want the Shoot of which name. More than one is a mistake, and must be seen as one.
#[derive(Debug, Default)]
pub struct Wanted(Mutex<HashMap<String, BTreeSet<String>>>);

impl Wanted {
    /// A Runtime wants this Shoot now, or none any more.
    pub fn note(&self, runtime: &str, before: Option<&str>, now: Option<&str>) {
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
    pub fn by(&self, shoot: &str) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(shoot).map(|names| names.iter().cloned().collect()).unwrap_or_default()
    }
}

/// What is known without asking.
#[derive(Default)]
pub struct Caches {
    /// Runtimes.
    pub runtimes: Cache<Runtime>,
    /// Shoots of the project.
    pub shoots: Cache<Shoot>,
    /// GardenerClusters.
    pub clusters: Cache<GardenerCluster>,
    /// Our Secrets, without their content.
    pub secrets: Cache<SecretView>,
    /// Seeds; whoever may not read them goes without.
    pub seeds: Cache<Seed>,
    /// Credentials of registry caches in the garden. Also where nobody looks after them: Shoots name them.
    pub registry_secrets: Cache<SecretView>,
}

impl Caches {
    /// Whether everything we must know is known.
    pub fn are_synced(&self) -> bool {
        let ours = self.runtimes.is_synced() && self.clusters.is_synced() && self.secrets.is_synced();
        ours && self.shoots.is_synced() && self.registry_secrets.is_synced()
    }

    /// Ends when it is.
    pub async fn until_synced(&self) {
        self.runtimes.until_synced().await;
        self.shoots.until_synced().await;
        self.clusters.until_synced().await;
        self.secrets.until_synced().await;
        self.registry_secrets.until_synced().await;
    }
}
