//! The manager, put together: ways to the clusters, caches, queues, elections.
//!
//! Everything it needs is handed to it, so the same manager runs in a pod, on a laptop and in a test. What it
//! starts ends with it: dropping it is a crash, [`Manager::stop`] is a goodbye that gives its Leases back when
//! nothing of it writes any more.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use slipway_kube::{
    access::{
        Access, Ask, Breaker, Budget, Calls, Client, Counters, Options, Writes,
        lease::{Election, Timing},
        resource,
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
    memory::Memories,
    metrics::{Gauges, Metrics},
    registry_caches::{self, RegistryCaches},
    settings::Settings,
    shared::{Caches, Shared, ShootClaims},
    skr::Clients,
    tasks::Tasks,
};

/// How long a goodbye may take: less than a pod is given to end.
const GRACE: Duration = secs(5);

/// What the manager is made of.
pub struct Parts {
    /// How it is run.
    pub settings: Settings,
    /// What Shoots are rendered from.
    pub files: Files,
    /// The control plane.
    pub kcp: Client,
    /// The garden.
    pub garden: Client,
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
    /// Outlives what writes: the next replica begins when it ends.
    election: JoinSet<()>,
    leave: CancellationToken,
}

/// How a goodbye went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goodbye {
    /// Everything has ended, and the Leases are given back.
    Complete,
    /// Something took too long and was dropped where it was.
    CutShort,
}

impl Manager {
    /// Starts everything. Nothing is waited for: a cluster that is away is waited for by those who need it.
    pub fn start(parts: Parts) -> Self {
        let (counters, clock, tasks) = (Counters::default(), parts.clock.clone(), Tasks::default());
        let mut settings = parts.settings;
        settings.garden_namespace = parts.files.config.namespace();
        settings.shoot_manager.clone_from(&parts.files.config.converter.gardener.field_manager);
        let (kcp_writes, garden_writes) =
            if settings.dry_run { (Writes::Skipped, Writes::DryRun) } else { (Writes::Real, Writes::Real) };
        let calls = Some(tasks.guard_calls(parts.calls.clone()));
        let common = |cluster, writes, calls: &Option<Arc<dyn Calls>>| Options {
            counters: counters.clone(),
            calls: calls.clone(),
            writes,
            ..Options::new(cluster, clock.clone())
        };
        // Leases are renewed, and given back, when no other call may begin any more.
        let leases = Access::new(parts.kcp.clone(), common("kcp", kcp_writes, &parts.calls));
        let probe = Ask::list(&resource::SHOOTS, &settings.garden_namespace).with("limit", "1");
        let garden = Options {
            budget: Some(Budget::new(parts.garden_rate.0, parts.garden_rate.1, clock.clone())),
            breaker: Some(Breaker::new(probe)),
            write_timeout: parts.garden_timeout.max(secs(1)),
            ..common("garden", garden_writes, &calls)
        };
        let (held, receiver) = watch::channel(BTreeSet::new());
        let shared = Arc::new(Shared {
            kcp: Access::new(parts.kcp, common("kcp", kcp_writes, &calls)),
            garden: Access::new(parts.garden, garden),
            garden_time: parts.garden_time.clone(),
            random: parts.random,
            caches: Caches::default(),
            claims: ShootClaims::default(),
            memories: Memories::default(),
            blueprints: Blueprints::new(parts.files),
            skr: Clients::new(calls, counters.clone(), settings.dry_run),
            metrics: Metrics::new(),
            shards: Shards::new(settings.shards, receiver),
            registry_caches: RegistryCaches::default(),
            tasks,
            brake: std::sync::Mutex::default(),
            runtimes: Queue::new(clock.clone()),
            kubeconfigs: Queue::new(parts.garden_time),
            settings,
            clock,
        });
        fill(&shared);
        let (mut election, leave) = (JoinSet::new(), CancellationToken::new());
        election.spawn(lead(&shared, leases, parts.identity, held, leave.clone()));
        shared.tasks.listen(begin(shared.clone()));
        Self { shared, counters, election, leave }
    }

    /// Requests so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// For whoever serves the page.
    pub fn probe(&self) -> Probe {
        Probe { shared: self.shared.clone(), counters: self.counters.clone() }
    }

    /// Stops: lets no further call begin, waits for the writes that are under way, and then gives the Leases back.
    pub async fn stop(mut self) -> Goodbye {
        let shared = self.shared.clone();
        let ended = async {
            shared.tasks.end().await;
            self.leave.cancel();
            while self.election.join_next().await.is_some() {}
        };
        tokio::select! {
            biased;
            () = ended => Goodbye::Complete,
            () = shared.clock.sleep(GRACE) => {
                tracing::warn!("the manager did not end in time; what it was doing is dropped");
                Goodbye::CutShort
            }
        }
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        self.shared.tasks.crash();
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
        if !self.shared.is_synced() {
            return Some("the first lists are not complete");
        }
        let held = self.garden_held_for();
        held.is_some_and(|held| held > secs(60)).then_some("the garden has not answered for a minute")
    }

    /// How long the garden has been left alone because it does not answer; none while it is called.
    pub fn garden_held_for(&self) -> Option<Duration> {
        self.shared.garden.options().breaker.as_ref()?.open_for(self.shared.clock.monotonic())
    }

    /// Whether everything is known, nothing is due and nothing is worked on.
    pub fn is_idle(&self) -> bool {
        self.shared.is_idle()
    }

    /// The shards this replica has.
    pub fn shards(&self) -> BTreeSet<u32> {
        self.shared.shards.held()
    }

    /// Looks soon at the registry caches that the cluster of this Runtime asks for, as if it had told of a change.
    pub fn look_at_registry_caches(&self, runtime: &str) {
        registry_caches::look_soon(&self.shared, runtime);
    }

    /// The page of figures.
    pub fn figures(&self) -> String {
        let (shared, now) = (&self.shared, self.shared.clock.monotonic());
        let (caches, options) = (&shared.caches, shared.garden.options());
        shared.metrics.page(&Gauges {
            depth: [("runtime", shared.runtimes.depth()), ("gardener-cluster", shared.kubeconfigs.depth())],
            counters: &self.counters,
            waits: options.budget.as_ref().map(Budget::waits).unwrap_or_default(),
            lag: [
                ("runtimes", caches.runtimes.silence(now)),
                ("shoots", caches.shoots.silence(now)),
                ("gardenerclusters", caches.clusters.silence(now)),
                ("secrets", caches.secrets.silence(now)),
            ],
            skr_clients: shared.skr.len(),
            circuit_open: options.breaker.as_ref().is_some_and(Breaker::is_open),
        })
    }

    /// Takes other files from now on, once everything that they name was read. Whose Shoot is affected is found by its hash.
    pub async fn reload(&self, files: Files) {
        acl::take(&self.shared, &files).await;
        self.shared.blueprints.swap_files(files);
        roll_out(&self.shared);
    }

    /// The files cannot be used; those in force stay.
    pub fn note_unread(&self) {
        self.shared.metrics.count_unread("files");
    }

    /// The files in force.
    pub fn files(&self) -> Arc<Files> {
        self.shared.blueprints.files()
    }
}

/// Shoots are rendered from something else now; those whom it concerns are looked at, at a rate.
pub(crate) fn roll_out(shared: &Shared) {
    shared.metrics.count_reload();
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

/// Starts the caches.
fn fill(shared: &Arc<Shared>) {
    let (kcp, garden, caches) = (&shared.kcp, &shared.garden, &shared.caches);
    let (ours, project) = (shared.settings.namespace.as_str(), shared.settings.garden_namespace.as_str());
    let marked = format!("{}={}", labels::MANAGED_BY, labels::MANAGED_BY_US);
    shared.follow(&caches.runtimes, shared.source(kcp, &resource::RUNTIMES, ours, ""), news::note_runtime);
    shared.follow(&caches.clusters, shared.source(kcp, &resource::GARDENER_CLUSTERS, ours, ""), news::note_cluster);
    shared.follow(&caches.secrets, shared.source(kcp, &resource::SECRETS, ours, &marked), news::note_secret);
    shared.follow(&caches.shoots, shared.source(garden, &resource::SHOOTS, project, ""), news::note_shoot);
    shared.follow(&caches.seeds, shared.source(garden, &resource::SEEDS, "", ""), |_, _| {});
    RegistryCaches::start(shared);
}

/// Works once everything is known: before that, what is not known would look like what is not there.
async fn begin(shared: Arc<Shared>) {
    shared.until_synced().await;
    work::wake_all(&shared);
    let reconcile = async {
        acl::until_read(&shared).await;
        work::reconcile_runtimes(shared.clone()).await;
    };
    futures::join!(reconcile, work::rotate_kubeconfigs(shared.clone()), work::wake_on_changes(shared.clone()));
}

/// Holds shards until told to leave: by Leases, or simply.
fn lead(
    shared: &Shared,
    access: Access,
    identity: String,
    held: watch::Sender<BTreeSet<u32>>,
    leave: CancellationToken,
) -> impl Future<Output = ()> + use<> {
    let settings = &shared.settings;
    let all: BTreeSet<u32> = (0..settings.shards.max(1)).collect();
    let wanted = if settings.own_shards.is_empty() { all } else { settings.own_shards.clone() };
    let election = settings.leader_elect.then(|| Election {
        access,
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
            Some(election) => election.run(held, leave).await,
            None => {
                held.send_replace(wanted);
                leave.cancelled().await;
                held.send_replace(BTreeSet::new());
            }
        }
    }
}
