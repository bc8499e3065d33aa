//! The engine: keeps one life after the other going until it is asked to stop.

use std::{ops::Deref, sync::Arc, time::Duration};

use slipway_model::{
    NewOperation, ReplicaId,
    ports::{Clock, Enqueued, Random, Storage, StoreError, StoreResult},
    time::{millis, secs},
};
use tokio::{
    sync::{broadcast, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use crate::{
    committer::Committer,
    config::EngineConfig,
    dispatcher::dispatch,
    events::Event,
    housekeeping,
    life::{Life, Shared, Status, replace},
    process::Registry,
    step::Domain,
    supervisor::Supervisor,
    time::EngineTime,
};

/// News kept for a slow listener before it loses the oldest.
const NEWS_KEPT: usize = 4096;

/// Replicas that live say so every second; a gap of more than this means that none does, or that
/// the database's clock has jumped.
const DOUBTFUL_GAP: Duration = secs(5);

/// What an engine is made of.
pub struct Parts<D: Domain> {
    /// The database.
    pub store: Arc<dyn Storage>,
    /// The processes.
    pub registry: Registry<D>,
    /// The outside systems.
    pub systems: Arc<D::Systems>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub random: Arc<dyn Random>,
    /// Settings.
    pub config: EngineConfig,
}

/// A running engine. Dropping it abandons the work as a crash would; [`Engine::stop`] ends it in
/// good order.
pub struct Engine<D: Domain> {
    shared: Arc<Shared<D>>,
    supervisor: Supervisor,
    stopping: CancellationToken,
    task: JoinHandle<()>,
}

/// Whoever has an engine can do what operators can.
impl<D: Domain> Deref for Engine<D> {
    type Target = Supervisor;

    fn deref(&self) -> &Supervisor {
        &self.supervisor
    }
}

impl<D: Domain> Engine<D> {
    /// Starts an engine. It needs no database to start: it registers as soon as there is one.
    pub fn start(parts: Parts<D>) -> Self {
        let Parts { store, registry, systems, clock, random, config } = parts;
        let time = Arc::new(EngineTime::new(clock.clone()));
        let status = watch::Sender::new(Status::Starting);
        let supervisor = Supervisor {
            store: store.clone(),
            clock: clock.clone(),
            random: random.clone(),
            time: time.clone(),
            status: status.subscribe(),
            offers: registry.offers().into(),
        };
        let events = broadcast::Sender::new(NEWS_KEPT);
        let shared = Arc::new(Shared { store, registry, systems, time, clock, random, config, events, status });
        let stopping = CancellationToken::new();
        let task = tokio::spawn(live(shared.clone(), stopping.clone()));
        Self { shared, supervisor, stopping, task }
    }

    /// Accepts an operation. When this returns it is durable.
    pub async fn enqueue(&self, new: NewOperation) -> StoreResult<Enqueued> {
        if self.shared.registry.get(&new.process).is_none() {
            return Err(StoreError::Refused(format!("there is no process {}", new.process)));
        }
        self.shared.store.enqueue(new, self.now()).await
    }

    /// The processes.
    pub fn registry(&self) -> &Registry<D> {
        &self.shared.registry
    }

    /// News from now on.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.shared.events.subscribe()
    }

    /// Stops in good order: takes nothing new, lets running steps end within the grace, gives all
    /// operations back so that another replica goes on at once.
    pub async fn stop(mut self) {
        self.stopping.cancel();
        if (&mut self.task).await.is_err() {
            tracing::error!("the engine broke while stopping; its operations are taken over by others");
        }
    }

    /// Ends as a crash would, at once, wherever it stands.
    pub fn abort(self) {
        drop(self);
    }
}

impl<D: Domain> Drop for Engine<D> {
    /// A task whose handle is dropped goes on by itself; an engine that nobody holds must not.
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Life after life.
async fn live<D: Domain>(shared: Arc<Shared<D>>, stopping: CancellationToken) {
    let mut earlier = None;
    while !stopping.is_cancelled() {
        let Some(replica) = register(&shared, &stopping, earlier.take()).await else { break };
        one_life(&shared, &replica, &stopping).await;
        if stopping.is_cancelled() {
            release(&shared, &replica).await;
        } else {
            let _ = shared.events.send(Event::LeaseLost);
            earlier = Some(replica);
        }
    }
    shared.status.send_if_modified(|status| replace(status, Status::Stopped));
}

/// Registers under a new id, as soon as the database lets us. What an earlier life of ours held is
/// given back first: we know that nothing of it runs any more.
async fn register<D: Domain>(
    shared: &Shared<D>,
    stopping: &CancellationToken,
    mut earlier: Option<ReplicaId>,
) -> Option<ReplicaId> {
    let (replica, known) = (ReplicaId::draw(&*shared.random), shared.registry.keys());
    let pause = millis(250);
    let mut patience = shared.config.lease.as_millis() / pause.as_millis();
    loop {
        let registered = async {
            if let Some(old) = &earlier {
                shared.store.release(old, shared.time.now()).await?;
                earlier = None;
            }
            shared.store.register(&replica, &known).await
        };
        match registered.await {
            // Nobody has given a sign for long, by a clock that may have jumped: wait for one.
            Ok(told) if told.has_peers && told.gap > DOUBTFUL_GAP && patience > 0 => patience -= 1,
            Ok(told) => {
                shared.time.begin(told.now);
                tracing::info!(%replica, "registered");
                shared.status.send_if_modified(|status| replace(status, Status::Ready));
                return Some(replica);
            }
            Err(error) => {
                let reason = error.to_string();
                tracing::warn!(%reason, "cannot register with the database; trying again");
                shared.status.send_if_modified(|status| replace(status, Status::Waiting { reason }));
            }
        }
        tokio::select! {
            biased;
            () = stopping.cancelled() => return None,
            () = shared.clock.sleep(shared.random.jitter(pause)) => {}
        }
    }
}

/// From registration until the leases are lost or the work is put down.
async fn one_life<D: Domain>(shared: &Arc<Shared<D>>, replica: &ReplicaId, stopping: &CancellationToken) {
    let over = CancellationToken::new();
    let _everything_ends_with_this_future = over.clone().drop_guard();
    let (committer, write) = Committer::new(shared.store.clone(), shared.clock.clone(), &shared.config, over.clone());
    let life = Life::new(shared.clone(), replica.clone(), committer, over.clone(), stopping.clone());

    let grace = async {
        stopping.cancelled().await;
        shared.clock.sleep(shared.config.grace).await;
        tracing::warn!("some steps did not end within the grace period; they run again elsewhere");
    };
    tokio::select! {
        biased;
        () = dispatch(life.clone()) => {}
        () = life.clone().keep_alive() => {}
        () = write => {}
        () = housekeeping::keep_house(shared) => {}
        () = grace => {}
    }
}

async fn release<D: Domain>(shared: &Shared<D>, replica: &ReplicaId) {
    // A moment, not for ever: if the database is away, the others take over anyway.
    for _ in 0..5 {
        match shared.store.release(replica, shared.time.now()).await {
            Ok(count) => return tracing::info!(%replica, operations = count, "gave back all operations"),
            Err(error) => tracing::warn!(%error, "could not give operations back; trying again"),
        }
        shared.clock.sleep(Duration::from_millis(200)).await;
    }
}
