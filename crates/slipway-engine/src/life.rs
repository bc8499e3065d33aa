//! One life of a replica: from a registration until its leases are lost or given back.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use slipway_model::{
    Class, OperationId, ReplicaId, Timestamp,
    ports::{Clock, Peer, Random, Storage, StoreError},
    time::millis,
};
use tokio::sync::{Notify, broadcast, watch};
use tokio_util::sync::CancellationToken;

use crate::{
    committer::Committer, config::EngineConfig, events::Event, process::Registry, run::Parked, step::Domain,
    time::EngineTime,
};

/// What all lives of an engine share.
pub(crate) struct Shared<D: Domain> {
    pub(crate) store: Arc<dyn Storage>,
    pub(crate) registry: Registry<D>,
    pub(crate) systems: Arc<D::Systems>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) config: EngineConfig,
    pub(crate) time: Arc<EngineTime>,
    pub(crate) events: broadcast::Sender<Event>,
    pub(crate) status: watch::Sender<Status>,
}

/// Whether the engine is at work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Not registered yet.
    Starting,
    /// At work.
    Ready,
    /// The database is away; the engine goes on by itself when it is back.
    Waiting {
        /// What is wrong.
        reason: String,
    },
    /// Stopped in good order.
    Stopped,
}

/// One registration.
pub(crate) struct Life<D: Domain> {
    pub(crate) shared: Arc<Shared<D>>,
    pub(crate) replica: ReplicaId,
    pub(crate) committer: Committer,
    /// The leases are gone: drop everything, write nothing.
    pub(crate) over: CancellationToken,
    /// A stop was asked for: begin nothing new.
    pub(crate) stopping: CancellationToken,
    /// Something was freed that the dispatcher may want to fill.
    pub(crate) freed: Notify,
    /// Something falls due before the dispatcher's next look.
    pub(crate) sooner: Notify,
    next_look: AtomicI64,
    work: Mutex<Work>,
}

/// What this replica has in hand.
#[derive(Default)]
pub(crate) struct Work {
    /// Claimed operations.
    pub(crate) running: BTreeMap<OperationId, Running>,
    tickets: u64,
    /// Operations that wait a moment with lease and stage memory kept.
    pub(crate) parked: BTreeMap<OperationId, Parked>,
}

/// A claimed operation.
pub(crate) struct Running {
    /// Under which fence.
    pub(crate) fence: u64,
    /// In whose slots.
    pub(crate) class: Class,
    /// Which run. An operation that parks may be claimed again, under the same fence, before its
    /// earlier run has cleared the table.
    ticket: u64,
}

impl Work {
    /// Notes a claimed operation; the ticket is for [`Work::put_down`].
    pub(crate) fn pick_up(&mut self, id: OperationId, fence: u64, class: Class) -> u64 {
        self.tickets += 1;
        self.running.insert(id, Running { fence, class, ticket: self.tickets });
        self.tickets
    }

    /// The run of this ticket is over.
    pub(crate) fn put_down(&mut self, id: OperationId, ticket: u64) {
        if self.running.get(&id).is_some_and(|running| running.ticket == ticket) {
            self.running.remove(&id);
        }
    }
}

impl<D: Domain> Life<D> {
    pub(crate) fn new(
        shared: Arc<Shared<D>>,
        replica: ReplicaId,
        committer: Committer,
        over: CancellationToken,
        stopping: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            shared,
            replica,
            committer,
            over,
            stopping,
            freed: Notify::new(),
            sooner: Notify::new(),
            next_look: AtomicI64::new(0),
            work: Mutex::default(),
        })
    }

    /// The dispatcher sleeps until then.
    pub(crate) fn plan_look(&self, at: Timestamp) {
        self.next_look.store(at.as_micros(), Ordering::Relaxed);
    }

    /// An operation falls due at this time: shortens the dispatcher's sleep if need be.
    pub(crate) fn look_at(&self, at: Timestamp) {
        if at.as_micros() < self.next_look.load(Ordering::Relaxed) {
            self.sooner.notify_one();
        }
    }

    pub(crate) fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that this replica lives, follows the database's time, and gives up dead peers. Ends
    /// when this replica's own leases can no longer be trusted.
    pub(crate) async fn keep_alive(self: Arc<Self>) {
        let shared = &self.shared;
        let mut peers = Peers::default();
        let mut trusted_since = shared.clock.monotonic();
        loop {
            shared.clock.sleep(shared.config.heartbeat).await;
            let begun = shared.clock.monotonic();
            let beat = tokio::select! {
                biased;
                beat = shared.store.heartbeat(&self.replica, shared.time.now()) => beat,
                () = shared.clock.sleep(shared.config.lease) => {
                    Err(StoreError::Unavailable("no answer to a heartbeat".to_owned()))
                }
            };
            match beat {
                Ok(beat) if beat.alive => {
                    trusted_since = begun;
                    shared.time.follow(beat.database_now);
                    shared.time.join(beat.peers.iter().map(|peer| peer.at).max());
                    shared.status.send_if_modified(|status| replace(status, Status::Ready));
                    for dead in peers.observe(beat.peers, shared.clock.monotonic(), shared.config.lease) {
                        self.take_over(&dead).await;
                    }
                }
                Ok(_) => {
                    tracing::warn!(replica = %self.replica, "the other replicas gave this one up; it starts anew");
                    return;
                }
                Err(error) => {
                    let reason = error.to_string();
                    shared.status.send_if_modified(|status| replace(status, Status::Waiting { reason }));
                    // The others count from the last heartbeat they saw, which is not earlier
                    // than the beginning of our last good one: we let go before they take.
                    if shared.clock.monotonic().saturating_sub(trusted_since) >= shared.config.lease {
                        tracing::warn!(replica = %self.replica, %error, "no heartbeat for too long; letting go of all operations");
                        return;
                    }
                }
            }
        }
    }

    async fn take_over(&self, dead: &Peer) {
        match self.shared.store.take_over(dead, self.shared.time.now()).await {
            Ok(0) => {}
            Ok(count) => {
                tracing::warn!(dead = %dead.id, operations = count, "took over the operations of a dead replica");
                let _ = self.shared.events.send(Event::LeasesTaken { operations: count });
            }
            // Its heartbeat is still unchanged at the next look, so this is tried again.
            Err(error) => tracing::warn!(dead = %dead.id, %error, "could not take over from a dead replica"),
        }
    }

    /// Pause between two tries when the database is away.
    pub(crate) async fn pause_after_error(&self) {
        self.shared.clock.sleep(self.shared.random.jitter(millis(250))).await;
    }
}

pub(crate) fn replace(status: &mut Status, new: Status) -> bool {
    let changed = *status != new;
    *status = new;
    changed
}

/// Heartbeats of the others, and since when each stands still by our own clock.
#[derive(Default)]
struct Peers {
    seen: BTreeMap<ReplicaId, (u64, Duration)>,
}

impl Peers {
    /// Takes a look at the others; names those that stand still for `lease`.
    fn observe(&mut self, peers: Vec<Peer>, now: Duration, lease: Duration) -> Vec<Peer> {
        let before = std::mem::take(&mut self.seen);
        let mut dead = Vec::new();
        for peer in peers {
            let since = match before.get(&peer.id) {
                Some((beat, since)) if *beat == peer.beat => *since,
                _ => now,
            };
            self.seen.insert(peer.id.clone(), (peer.beat, since));
            if now.saturating_sub(since) >= lease {
                dead.push(peer);
            }
        }
        dead
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slipway_model::time::secs;

    #[test]
    fn a_peer_is_given_up_only_when_its_heartbeat_stood_still_for_the_whole_lease() {
        let mut peers = Peers::default();
        let id: ReplicaId = "r-1".parse().expect("id");
        let mut look = |beat, at| {
            peers.observe(vec![Peer { id: id.clone(), beat, at: Timestamp::default() }], secs(at), secs(3)).len()
        };
        assert_eq!(look(5, 10), 0, "first sight");
        assert_eq!(look(5, 12), 0, "still for 2 s");
        assert_eq!(look(6, 13), 0, "it lives");
        assert_eq!(look(6, 15), 0, "still for 2 s");
        assert_eq!(look(6, 16), 1, "still for 3 s");
    }
}
