//! The loop: what changed or is due is decided and done, many Shoots at a time, each by itself.
//!
//! One task and one heap of timers for all Shoots. A Shoot that is being worked on is in the hands of
//! one worker, so its writes are in order; what changes meanwhile is looked at when the worker is
//! back. Objects are not kept in memory: a worker reads the Shoot anew.
//!
//! Nothing that goes wrong may end a life: a refused write is decided anew, ever later; a worker that
//! dies leaves its Shoot to the next one, which begins from what is stored; a Shoot of the same name is
//! another one, and what a worker brings back of the first is not put into the second.

mod lookups;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque},
    panic::AssertUnwindSafe,
    sync::Arc,
};

use futures::{FutureExt as _, StreamExt as _};
use jiff::{SignedDuration, Timestamp};
use kube_sandbox::status::Status;
use serde_json::Value;
use tokio::{
    sync::{Notify, mpsc, oneshot},
    task::JoinSet,
};

use super::{
    execute,
    faults::{self, Faults},
    life::{Env, Life, PersistedLife, Settings},
    port::{Change, Glimpse, Port, SEEDS, SHOOTS, version_of},
    protection::{Binding, Users, let_go, let_go_of_left},
};
use crate::garden::{
    chance::Chance,
    clock::Clock,
    endpoints::Endpoints,
    journal::Journal,
    scheduler::Usage,
    value::{has, is_deleting, text},
};

/// Shoots that are worked on at once.
const WORKERS: usize = 64;

/// Writes of one Shoot in one go; more would be an engine that talks to itself.
const ROUNDS: usize = 20;

/// What all workers share.
#[derive(Debug, Clone)]
pub struct Shared<P> {
    /// Where to read and write.
    pub port: P,
    /// Simulated time.
    pub clock: Clock,
    /// Chance.
    pub chance: Chance,
    /// How the landscape is run.
    pub settings: Arc<Settings>,
    /// What goes wrong.
    pub faults: Faults,
    /// How full the Seeds are.
    pub usage: Usage,
    /// Where the Shoots' APIs are.
    pub endpoints: Endpoints,
    /// Client CAs have RSA keys: a real Gardener API server signs with no other.
    pub rsa: bool,
    /// Who uses which binding.
    pub users: Users,
    /// What happened.
    pub journal: Journal,
    /// Rung when everything must be looked at again: faults changed.
    pub bell: Arc<Notify>,
}

type Key = (String, String);

#[derive(Debug, Default)]
struct Tracked {
    /// With a worker while it is none.
    life: Option<(Life, Option<PersistedLife>)>,
    /// To be looked at, whatever its version.
    dirty: bool,
    /// The newest change that was told since a worker set out.
    told: u64,
    wakes: Option<Timestamp>,
    seed: String,
    binding: Option<Binding>,
    holds_room: bool,
    /// Which Shoot of this name.
    uid: String,
    /// The version a worker looked at last.
    looked_at: u64,
    /// Times in a row that a write of it was refused.
    refusals: u32,
}

/// What a worker brings back.
struct Done {
    key: Key,
    uid: String,
    life: Life,
    kept: Option<PersistedLife>,
    /// Not all that was decided has happened.
    unfinished: bool,
    /// The version it looked at last: what is told later about this or older ones is no news.
    looked_at: u64,
}

/// Somebody waits until there is nothing to do before the clock moves, and wants to know when it should.
pub type Question = oneshot::Sender<Option<Timestamp>>;

/// Plays until it is dropped. Questions are answered when everything that was there with them is done.
pub async fn run<P: Port>(shared: Shared<P>, mut questions: mpsc::UnboundedReceiver<Question>) {
    let mut asked: Vec<Question> = Vec::new();
    let mut changes = Box::pin(shared.port.shoots());
    let mut loop_state = Loop {
        shared: shared.clone(),
        shoots: BTreeMap::new(),
        timers: BinaryHeap::new(),
        queue: VecDeque::new(),
        queued: BTreeSet::new(),
        running: BTreeMap::new(),
        waiting: BTreeMap::new(),
    };
    let mut workers: JoinSet<Done> = JoinSet::new();
    let_go_of_left(shared.port.clone(), &shared.users).await;
    loop {
        loop_state.start_workers(&mut workers);
        let next = loop_state.next_timer();
        if !asked.is_empty() && workers.is_empty() && next.is_none_or(|next| next > shared.clock.now()) {
            // Whoever asked has seen their own writes; so must we.
            match changes.next().now_or_never() {
                None => {
                    for question in asked.drain(..) {
                        // Nobody waits for the answer any more: fine.
                        let _ = question.send(next);
                    }
                }
                Some(Some(change)) => {
                    loop_state.changed(change);
                    continue;
                }
                Some(None) => return,
            }
        }
        let due = async {
            match next {
                Some(next) => shared.clock.until(next).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            change = changes.next() => match change {
                Some(change) => loop_state.changed(change),
                None => return tracing::error!("the garden's Shoots cannot be watched any more: nothing will happen to them"),
            },
            Some(done) = workers.join_next(), if !workers.is_empty() => match done {
                Ok(done) => loop_state.back(done),
                Err(error) => tracing::error!(%error, "a worker of the garden died"),
            },
            () = due => loop_state.ring(),
            Some(question) = questions.recv() => asked.push(question),
            () = shared.bell.notified() => loop_state.ring_all(),
        }
    }
}

struct Loop<P> {
    shared: Shared<P>,
    shoots: BTreeMap<Key, Tracked>,
    timers: BinaryHeap<Reverse<(Timestamp, Key)>>,
    queue: VecDeque<Key>,
    queued: BTreeSet<Key>,
    running: BTreeMap<String, usize>,
    waiting: BTreeMap<String, VecDeque<Key>>,
}

impl<P: Port> Loop<P> {
    fn push(&mut self, key: Key) {
        if self.queued.insert(key.clone()) {
            self.queue.push_back(key);
        }
    }

    fn changed(&mut self, change: Change) {
        match change {
            Change::Now(shoot) => self.seen(&shoot),
            Change::Gone(shoot) => self.gone(&shoot.key),
            Change::All(shoots) => self.only(&shoots),
        }
    }

    /// These are all there are: whoever is not among them went while nobody looked.
    fn only(&mut self, shoots: &[Glimpse]) {
        let present: BTreeSet<Key> = shoots.iter().map(|shoot| shoot.key.clone()).collect();
        let missing: Vec<Key> = self.shoots.keys().filter(|key| !present.contains(*key)).cloned().collect();
        missing.iter().for_each(|key| self.gone(key));
        shoots.iter().for_each(|shoot| self.seen(shoot));
    }

    fn seen(&mut self, shoot: &Glimpse) {
        let Glimpse { key, uid, seed, binding, version } = shoot;
        if self.shoots.get(key).is_some_and(|tracked| tracked.uid != *uid) {
            self.gone(key);
        }
        let tracked = self.shoots.entry(key.clone()).or_insert_with(|| Tracked {
            life: Some((Life::default(), None)),
            uid: uid.clone(),
            ..Tracked::default()
        });
        if tracked.binding != *binding {
            let left = self.shared.users.moved(uid, tracked.binding.as_ref(), binding.as_ref());
            tracked.binding.clone_from(binding);
            let_go(&self.shared.port, left);
        }
        if tracked.seed != *seed {
            self.shared.usage.moved(&tracked.seed, seed);
            seed.clone_into(&mut tracked.seed);
            // Whoever bound it had no room on that Seed yet.
            tracked.dirty = true;
        }
        if *version != 0 && *version <= tracked.looked_at && !tracked.dirty {
            // Most changes are a worker's own, and it has looked at what came of them.
            return;
        }
        tracked.told = tracked.told.max(*version);
        tracked.dirty |= *version == 0;
        if tracked.life.is_some() {
            self.push(key.clone());
        }
    }

    fn gone(&mut self, key: &Key) {
        if let Some(tracked) = self.shoots.remove(key) {
            self.shared.usage.moved(&tracked.seed, "");
            let_go(&self.shared.port, self.shared.users.moved(&tracked.uid, tracked.binding.as_ref(), None));
            if tracked.holds_room {
                self.release(&tracked.seed);
            }
        }
    }

    fn release(&mut self, seed: &str) {
        if let Some(count) = self.running.get_mut(seed) {
            *count = count.saturating_sub(1);
        }
        // One that is gone must not keep the room from those behind it, and one that is with a worker just now is
        // looked at again when the worker is back.
        while let Some(next) = self.waiting.get_mut(seed).and_then(VecDeque::pop_front) {
            if let Some(tracked) = self.shoots.get_mut(&next) {
                tracked.dirty = true;
                return self.push(next);
            }
        }
    }

    fn next_timer(&mut self) -> Option<Timestamp> {
        while let Some(Reverse((at, key))) = self.timers.peek() {
            if self.shoots.get(key).is_some_and(|tracked| tracked.wakes == Some(*at)) {
                return Some(*at);
            }
            self.timers.pop();
        }
        None
    }

    fn ring(&mut self) {
        let now = self.shared.clock.now();
        while let Some(at) = self.next_timer().filter(|at| *at <= now) {
            let Some(Reverse((_, key))) = self.timers.pop() else { return };
            if let Some(tracked) = self.shoots.get_mut(&key).filter(|tracked| tracked.wakes == Some(at)) {
                tracked.wakes = None;
                tracked.dirty = true;
                self.push(key);
            }
        }
    }

    fn ring_all(&mut self) {
        let keys: Vec<Key> = self.shoots.keys().cloned().collect();
        for key in keys {
            if let Some(tracked) = self.shoots.get_mut(&key) {
                tracked.dirty = true;
            }
            self.push(key);
        }
    }

    fn start_workers(&mut self, workers: &mut JoinSet<Done>) {
        while workers.len() < WORKERS {
            let Some(key) = self.queue.pop_front() else { return };
            self.queued.remove(&key);
            let per_seed = self.shared.settings.per_seed;
            let Some(tracked) = self.shoots.get_mut(&key) else { continue };
            let Some((life, kept)) = tracked.life.take() else { continue };
            let mut has_room = tracked.holds_room;
            if !has_room && !tracked.seed.is_empty() {
                let count = self.running.entry(tracked.seed.clone()).or_default();
                if *count < per_seed {
                    *count += 1;
                    tracked.holds_room = true;
                    has_room = true;
                } else {
                    self.waiting.entry(tracked.seed.clone()).or_default().push_back(key.clone());
                }
            }
            (tracked.dirty, tracked.told) = (false, 0);
            workers.spawn(watched_over(self.shared.clone(), key, tracked.uid.clone(), life, kept, has_room));
        }
    }

    fn back(&mut self, done: Done) {
        let Done { key, uid, life, kept, unfinished, looked_at } = done;
        let now = self.shared.clock.now();
        let Some(tracked) = self.shoots.get_mut(&key).filter(|tracked| tracked.uid == uid) else { return };
        tracked.refusals = if unfinished { tracked.refusals.saturating_add(1) } else { 0 };
        if unfinished && tracked.refusals.is_multiple_of(20) {
            tracing::warn!(
                shoot = key.1,
                times = tracked.refusals,
                "the garden's writes of a Shoot are refused again and again"
            );
        }
        let again_at = unfinished.then(|| now + pause_after(tracked.refusals));
        let wakes = [life.wakes_at(), again_at].into_iter().flatten().min();
        tracked.wakes = wakes;
        if let Some(at) = wakes {
            self.timers.push(Reverse((at, key.clone())));
        }
        let released = (tracked.holds_room && !life.is_running()).then(|| {
            tracked.holds_room = false;
            tracked.seed.clone()
        });
        tracked.looked_at = looked_at;
        let dirty = tracked.dirty || tracked.told > looked_at;
        tracked.life = Some((life, kept));
        if let Some(seed) = released {
            self.release(&seed);
        }
        if dirty {
            self.push(key);
        }
    }
}

/// The pause after so many refusals in a row: 5 s, doubling, up to about 5 min.
fn pause_after(refusals: u32) -> SignedDuration {
    SignedDuration::from_secs(5 << refusals.saturating_sub(1).min(6))
}

/// A worker that dies takes its Shoot's life with it; what is stored is enough to begin another.
async fn watched_over<P: Port>(
    shared: Shared<P>,
    key: Key,
    uid: String,
    life: Life,
    kept: Option<PersistedLife>,
    has_room: bool,
) -> Done {
    let (whose, journal, clock) = (key.clone(), shared.journal.clone(), shared.clock.clone());
    let worked = AssertUnwindSafe(work(shared, key, uid.clone(), life, kept, has_room)).catch_unwind().await;
    worked.unwrap_or_else(|_| {
        journal.record(clock.now(), "died", &format!("{}/{}", whose.0, whose.1), Value::Null);
        tracing::error!(shoot = whose.1, "a worker of the garden died; another one begins anew");
        Done { key: whose, uid, life: Life::default(), kept: None, unfinished: true, looked_at: 0 }
    })
}

/// Looks at a Shoot until there is nothing more to do now.
async fn work<P: Port>(
    shared: Shared<P>,
    key: Key,
    uid: String,
    mut life: Life,
    mut kept: Option<PersistedLife>,
    has_room: bool,
) -> Done {
    let (mut unfinished, mut looked_at) = (false, 0);
    for _ in 0..ROUNDS {
        let before = life.clone();
        match round(&shared, &key, &uid, &mut life, &mut kept, has_room, &mut looked_at).await {
            Ok(true) => {}
            Ok(false) => break,
            Err(status) => {
                // What was decided did not happen, or only half of it: decide again, from what is there then.
                shared.journal.record(shared.clock.now(), "refused", &format!("{}/{}", key.0, key.1), status.to_json());
                tracing::debug!(%status, shoot = key.1, "a write of the garden was refused");
                life = before;
                unfinished = true;
                break;
            }
        }
    }
    Done { key, uid, life, kept, unfinished, looked_at }
}

async fn round<P: Port>(
    shared: &Shared<P>,
    key: &Key,
    uid: &str,
    life: &mut Life,
    kept: &mut Option<PersistedLife>,
    has_room: bool,
    looked_at: &mut u64,
) -> Result<bool, Status> {
    let (place, called) = (key.0.as_str(), key.1.as_str());
    let shoot = shared.port.get(SHOOTS, place, called).await?;
    // Another one of this name has a life of its own.
    let Some(shoot) = shoot.filter(|shoot| text(shoot, "metadata.uid") == uid) else { return Ok(false) };
    *looked_at = version_of(&shoot);
    let id = text(&shoot, "status.technicalID");
    shared.endpoints.set_trouble(id, faults::endpoint(&shared.faults.on(&shoot, None)));
    if kept.is_none() {
        let loaded = execute::load(&shared.port, place, called).await?;
        // The process before us had it open; whoever holds its kubeconfig must find it where it was.
        if loaded.api_up && !id.is_empty() {
            shared.endpoints.up(id, &loaded).await.map_err(Status::internal)?;
        }
        *kept = Some(loaded);
    }
    let kept = kept.get_or_insert_default();
    let now = shared.clock.now();
    let unscheduled = !has(&shoot, "spec.seedName");
    let seeds = if unscheduled { shared.port.consult(SEEDS).await? } else { Arc::default() };
    let idle = !life.is_running();
    let profile = if unscheduled || idle { lookups::profile(&shared.port, &shoot).await? } else { None };
    let project = lookups::project(&shared.port, &shoot).await?;
    let credentials = if life.checks_credentials() && !is_deleting(&shoot) {
        lookups::credentials(&shared.port, &shoot).await?
    } else {
        None
    };
    if life.is_running() && !id.is_empty() && kept.port == 0 {
        kept.port = shared.endpoints.port(id, 0).map_err(Status::internal)?;
    }
    let address = format!("https://127.0.0.1:{}", kept.port);
    let stopped = if idle && !unscheduled { lookups::is_stopped(shared, &shoot).await? } else { false };
    let env = Env {
        now,
        chance: shared.chance,
        settings: &shared.settings,
        faults: &shared.faults,
        seeds: &seeds,
        usage: &shared.usage,
        profile: profile.as_ref(),
        project: &project,
        credentials: credentials.as_deref(),
        address: &address,
        has_room: has_room && !stopped,
    };
    let writes = life.decide(&shoot, kept, &env);
    for write in &writes {
        execute::execute(shared, &shoot, kept, write).await?;
    }
    Ok(!writes.is_empty())
}

#[cfg(test)]
mod tests;
