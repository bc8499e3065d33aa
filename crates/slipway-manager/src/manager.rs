//! The manager, put together: ways to the clusters, caches, queues, elections.
//!
//! Everything it needs is handed to it, so the same manager runs in a pod, on a laptop and in a test. What it
//! starts ends with it: dropping it is a crash, [`Manager::stop`] is a goodbye that gives its Leases back.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use slipway_kube::{
    RuntimeState,
    access::{
        Access, Ask, Breaker, Budget, Calls, Counters, Options, Writes,
        cache::{Cache, OnChange, Projection, Source},
        lease::{Election, Timing},
        resource::{self, Resource},
        shards::Shards,
    },
    labels,
};
use slipway_model::{
    ports::{Clock, Random},
    time::secs,
};
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{
    acl,
    blueprints::{Blueprints, Files},
    controller::{news, queue::Queue, work},
    metrics::{Metrics, Now},
    registry_secrets::RegistrySecrets,
    settings::Settings,
    shared::{Caches, Shared, Wanted},
    skr::{Clients, RegistryWatches},
};

/// What the manager is made of.
pub struct Parts {
    /// How it is run.
    pub settings: Settings,
    /// What Shoots are rendered from.
    pub files: Files,
    /// The control plane.
    pub kcp: kube::Client,
    /// The garden.
    pub garden: kube::Client,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Time as the garden counts it.
    pub garden_time: Arc<dyn Clock>,
    /// Chance.
    pub random: Arc<dyn Random>,
    /// Requests a second to the garden, and at once.
    pub garden_rate: (f64, u32),
    /// Longest time for a write to the garden.
    pub garden_timeout: Duration,
    /// Who this replica is in elections.
    pub identity: String,
    /// Stands before and after every call; for tests.
    pub calls: Option<Arc<dyn Calls>>,
}

/// The running manager.
pub struct Manager {
    shared: Arc<Shared>,
    counters: Counters,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Manager {
    /// Starts everything. Nothing is waited for: a cluster that is away is waited for by those who need it.
    pub fn start(parts: Parts) -> Self {
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let (counters, clock) = (Counters::default(), parts.clock.clone());
        let mut settings = parts.settings;
        settings.garden_namespace = parts.files.config.namespace();
        settings.shoot_manager.clone_from(&parts.files.config.converter.gardener.field_manager);
        let (kcp_writes, garden_writes) =
            if settings.dry_run { (Writes::Skipped, Writes::DryRun) } else { (Writes::Real, Writes::Real) };
        let calls = parts.calls;
        let common = |cluster, writes| Options {
            counters: counters.clone(),
            calls: calls.clone(),
            writes,
            ..Options::new(cluster, clock.clone())
        };
        let kcp = Access::new(parts.kcp, common("kcp", kcp_writes));
        let probe = Ask::list(&resource::SHOOTS, &settings.garden_namespace).with("limit", "1");
        let garden = Access::new(
            parts.garden,
            Options {
                budget: Some(Budget::new(parts.garden_rate.0, parts.garden_rate.1, clock.clone())),
                breaker: Some(Breaker::new(probe)),
                write_timeout: parts.garden_timeout.max(secs(1)),
                ..common("garden", garden_writes)
            },
        );
        let (held, receiver) = watch::channel(BTreeSet::new());
        let shards = Shards::new(settings.shards, receiver);
        let shared = Arc::new(Shared {
            kcp: kcp.clone(),
            garden: garden.clone(),
            garden_time: parts.garden_time.clone(),
            random: parts.random.clone(),
            caches: Caches::default(),
            wanted: Wanted::default(),
            memories: crate::memory::Memories::default(),
            blueprints: Blueprints::new(parts.files),
            skr: Clients::new(calls, counters.clone(), settings.dry_run),
            metrics: Metrics::new(),
            shards,
            registry_secrets: RegistrySecrets::default(),
            registry_watches: RegistryWatches::default(),
            brake: std::sync::Mutex::default(),
            runtimes: Queue::new(clock.clone()),
            kubeconfigs: Queue::new(parts.garden_time),
            settings,
            clock,
        });
        fill(&shared, &mut tasks);
        let leader = lead(&shared, parts.identity, held, stop.clone());
        tasks.spawn(leader);
        tasks.spawn(begin(shared.clone(), stop.clone()));
        Self { shared, counters, stop, tasks }
    }

    /// What all passes share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Requests so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// For whoever serves the page.
    pub fn probe(&self) -> Probe {
        Probe { shared: self.shared.clone(), counters: self.counters.clone() }
    }

    /// Stops: starts nothing more, abandons what runs between two calls, gives the Leases back.
    pub async fn stop(mut self) {
        self.stop.cancel();
        let clock = self.shared.clock.clone();
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        tokio::select! {
            biased;
            () = ended => {}
            () = clock.sleep(secs(5)) => tracing::warn!("the manager did not end in time"),
        }
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Answers how the manager is, while it runs.
#[derive(Clone)]
pub struct Probe {
    shared: Arc<Shared>,
    counters: Counters,
}

impl Probe {
    /// Why it is not ready; none if it is. A garden that is away for a moment is no reason.
    pub fn unready(&self) -> Option<&'static str> {
        if !self.shared.caches.are_synced() {
            return Some("the first lists are not complete");
        }
        let breaker = self.shared.garden.options().breaker.as_ref();
        let held = breaker.and_then(|breaker| breaker.open_for(self.shared.clock.monotonic()));
        held.is_some_and(|held| held > secs(60)).then_some("the garden has not answered for a minute")
    }

    /// The page of figures.
    pub fn figures(&self) -> String {
        figures(&self.shared, &self.counters)
    }

    /// Takes other files from now on. Whose Shoot is affected is found by its hash.
    pub fn reload(&self, files: Files) {
        reload(&self.shared, files);
    }

    /// The switches of the files in force.
    pub fn files(&self) -> Arc<Files> {
        self.shared.blueprints.files()
    }
}

/// Other files from now on; those whose Shoot they concern are looked at, at a rate.
pub(crate) fn reload(shared: &Shared, files: Files) {
    shared.blueprints.swap(files);
    shared.metrics.reloaded();
    let rate = shared.settings.rollout_per_second.max(0.01);
    // Production last, at a rate: what is wrong with a configuration shows elsewhere first.
    let mut names: Vec<(bool, String)> = shared
        .caches
        .runtimes
        .all()
        .into_iter()
        .filter(|(name, _)| shared.shards.has(name))
        .map(|(name, runtime)| (runtime.spec.shoot.purpose == "production", name))
        .collect();
    names.sort();
    for (place, (_, name)) in names.iter().enumerate() {
        shared.runtimes.wake_in(name, Duration::from_secs_f64(place as f64 / rate));
    }
}

fn figures(shared: &Shared, counters: &Counters) -> String {
    let now = shared.clock.monotonic();
    let caches = &shared.caches;
    let mut states: Vec<(RuntimeState, usize)> =
        [RuntimeState::Pending, RuntimeState::Ready, RuntimeState::Terminating, RuntimeState::Failed]
            .map(|it| (it, 0))
            .into();
    for runtime in caches.runtimes.all().into_values() {
        let state = runtime.status.as_ref().map(|status| status.state).unwrap_or_default();
        states.iter_mut().filter(|(other, _)| *other == state).for_each(|(_, count)| *count += 1);
    }
    let options = shared.garden.options();
    shared.metrics.page(&Now {
        depth: [("runtime", shared.runtimes.depth()), ("gardener-cluster", shared.kubeconfigs.depth())],
        counters,
        waits: options.budget.as_ref().map(Budget::waits).unwrap_or_default(),
        lag: vec![
            ("runtimes", caches.runtimes.silence(now)),
            ("shoots", caches.shoots.silence(now)),
            ("gardenerclusters", caches.clusters.silence(now)),
            ("secrets", caches.secrets.silence(now)),
        ],
        skr_clients: shared.skr.len(),
        circuit_open: options.breaker.as_ref().is_some_and(Breaker::is_open),
        states,
    })
}

/// Starts the caches.
fn fill(shared: &Arc<Shared>, tasks: &mut JoinSet<()>) {
    let (kcp, garden) = (&shared.kcp, &shared.garden);
    let (ours, project) = (shared.settings.namespace.as_str(), shared.settings.garden_namespace.as_str());
    let marked = format!("{}={}", labels::MANAGED_BY, labels::MANAGED_BY_US);
    let on = |shared: &Arc<Shared>| shared.clone();
    let caches = &shared.caches;
    let s = on(shared);
    watch_kind(
        tasks,
        &caches.runtimes,
        source(shared, kcp, &resource::RUNTIMES, ours, ""),
        Box::new(move |it| news::runtime(&s, it)),
    );
    let s = on(shared);
    watch_kind(
        tasks,
        &caches.clusters,
        source(shared, kcp, &resource::GARDENER_CLUSTERS, ours, ""),
        Box::new(move |it| news::cluster(&s, it)),
    );
    let s = on(shared);
    watch_kind(
        tasks,
        &caches.secrets,
        source(shared, kcp, &resource::SECRETS, ours, &marked),
        Box::new(move |it| news::secret(&s, it)),
    );
    let s = on(shared);
    watch_kind(
        tasks,
        &caches.shoots,
        source(shared, garden, &resource::SHOOTS, project, ""),
        Box::new(move |it| news::shoot(&s, it)),
    );
    let of_caches = format!("{}={},{}", labels::APP_MANAGED_BY, labels::MANAGED_BY_US, labels::REGISTRY_CACHE_ID);
    let s = on(shared);
    watch_kind(
        tasks,
        &caches.registry_secrets,
        source(shared, garden, &resource::SECRETS, project, &of_caches),
        Box::new(move |it| news::registry_secret(&s, it)),
    );
    watch_kind(tasks, &caches.seeds, source(shared, garden, &resource::SEEDS, "", ""), Box::new(|_| {}));
}

fn source(shared: &Shared, access: &Access, resource: &'static Resource, namespace: &str, selector: &str) -> Source {
    let (namespace, selector) = (namespace.to_owned(), selector.to_owned());
    Source { access: access.clone(), resource, namespace, selector, random: shared.random.clone() }
}

fn watch_kind<T: Projection>(tasks: &mut JoinSet<()>, cache: &Cache<T>, source: Source, on_change: OnChange<T>) {
    tasks.spawn(cache.clone().run(source, on_change));
}

/// Works once everything is known: before that, what is not known would look like what is not there.
async fn begin(shared: Arc<Shared>, stop: CancellationToken) {
    tokio::select! {
        biased;
        () = stop.cancelled() => return,
        () = async {
            shared.caches.until_synced().await;
            acl::read(&shared).await;
        } => {}
    }
    work::wake_all(&shared);
    futures::join!(
        work::runtimes(shared.clone(), stop.clone()),
        work::kubeconfigs(shared.clone(), stop.clone()),
        work::wake_ups(shared, stop),
    );
}

/// Holds shards: by Leases, or simply.
async fn lead_simply(shards: BTreeSet<u32>, held: watch::Sender<BTreeSet<u32>>, stop: CancellationToken) {
    held.send_replace(shards);
    stop.cancelled().await;
    held.send_replace(BTreeSet::new());
}

fn lead(
    shared: &Arc<Shared>,
    identity: String,
    held: watch::Sender<BTreeSet<u32>>,
    stop: CancellationToken,
) -> impl Future<Output = ()> + use<> {
    let settings = &shared.settings;
    let all: BTreeSet<u32> = (0..settings.shards.max(1)).collect();
    let wanted = if settings.own_shards.is_empty() { all } else { settings.own_shards.clone() };
    let election = settings.leader_elect.then(|| Election {
        access: shared.kcp.clone(),
        namespace: settings.namespace.clone(),
        lease: "f1c68560.kyma-project.io".to_owned(),
        identity,
        shards: wanted.clone(),
        count: settings.shards,
        timing: Timing::default(),
        random: shared.random.clone(),
    });
    async move {
        match election {
            Some(election) => election.run(held, stop).await,
            None => lead_simply(wanted, held, stop).await,
        }
    }
}
