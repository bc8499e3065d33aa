//! The loop: what changed or is due is decided and done, many Shoots at a time, each by itself.
//!
//! One task and one heap of timers for all Shoots. A Shoot that is being worked on is in the hands of
//! one worker, so its writes are in order; what changes meanwhile is looked at when the worker is
//! back. Objects are not kept in memory: a worker reads the Shoot anew.
//!
//! Nothing that goes wrong may end a life: a refused write is decided anew, ever later; a worker that
//! dies leaves its Shoot to the next one, which begins from what is stored; a Shoot of the same name is
//! another one, and what a worker brings back of the first is not put into the second.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque},
    panic::AssertUnwindSafe,
    sync::Arc,
};

use futures::{FutureExt as _, StreamExt as _};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::{
    sync::{Notify, mpsc, oneshot},
    task::JoinSet,
};

use super::{
    execute,
    faults::{self, Faults},
    life::{Env, Kept, Life, Settings},
    port::{BINDINGS, Change, OWN_PROFILES, PROFILES, PROJECTS, Port, SECRETS, SEEDS, SHOOTS},
};
use crate::{
    garden::{
        chance::Chance,
        clock::Clock,
        endpoints::Endpoints,
        journal::Journal,
        profile::Profile,
        scheduler::{self, Usage},
        shoot::profile_name,
        value::{at, has, is_deleting, name, namespace, text},
    },
    kube::status::Status,
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
    /// What happened.
    pub journal: Journal,
    /// Rung when everything must be looked at again: faults changed.
    pub bell: Arc<Notify>,
}

type Key = (String, String);

#[derive(Debug, Default)]
struct Tracked {
    /// With a worker while it is none.
    life: Option<(Life, Option<Kept>)>,
    dirty: bool,
    wakes: Option<Timestamp>,
    seed: String,
    holds_room: bool,
    /// Which Shoot of this name.
    uid: String,
    /// Times in a row that a write of it was refused.
    refusals: u32,
}

/// What a worker brings back.
struct Done {
    key: Key,
    uid: String,
    life: Life,
    kept: Option<Kept>,
    /// Not all that was decided has happened.
    unfinished: bool,
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

fn key_of(shoot: &Value) -> Key {
    (namespace(shoot).to_owned(), name(shoot).to_owned())
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
            Change::Gone(shoot) => self.gone(&key_of(&shoot)),
            Change::All(shoots) => self.only(&shoots),
        }
    }

    /// These are all there are: whoever is not among them went while nobody looked.
    fn only(&mut self, shoots: &[Value]) {
        let present: BTreeSet<Key> = shoots.iter().map(key_of).collect();
        let missing: Vec<Key> = self.shoots.keys().filter(|key| !present.contains(*key)).cloned().collect();
        missing.iter().for_each(|key| self.gone(key));
        shoots.iter().for_each(|shoot| self.seen(shoot));
    }

    fn seen(&mut self, shoot: &Value) {
        let key = key_of(shoot);
        let uid = text(shoot, "metadata.uid");
        if self.shoots.get(&key).is_some_and(|tracked| tracked.uid != uid) {
            self.gone(&key);
        }
        let tracked = self.shoots.entry(key.clone()).or_insert_with(|| Tracked {
            life: Some((Life::default(), None)),
            uid: uid.to_owned(),
            ..Tracked::default()
        });
        let seed = text(shoot, "spec.seedName");
        if tracked.seed != seed {
            self.shared.usage.moved(&tracked.seed, seed);
            seed.clone_into(&mut tracked.seed);
        }
        tracked.dirty = true;
        if tracked.life.is_some() {
            self.push(key);
        }
    }

    fn gone(&mut self, key: &Key) {
        if let Some(tracked) = self.shoots.remove(key) {
            self.shared.usage.moved(&tracked.seed, "");
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
            tracked.dirty = false;
            workers.spawn(watched_over(self.shared.clone(), key, tracked.uid.clone(), life, kept, has_room));
        }
    }

    fn back(&mut self, done: Done) {
        let Done { key, uid, life, kept, unfinished } = done;
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
        let dirty = tracked.dirty;
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
    kept: Option<Kept>,
    has_room: bool,
) -> Done {
    let (whose, journal, clock) = (key.clone(), shared.journal.clone(), shared.clock.clone());
    let worked = AssertUnwindSafe(work(shared, key, uid.clone(), life, kept, has_room)).catch_unwind().await;
    worked.unwrap_or_else(|_| {
        journal.record(clock.now(), "died", &format!("{}/{}", whose.0, whose.1), Value::Null);
        tracing::error!(shoot = whose.1, "a worker of the garden died; another one begins anew");
        Done { key: whose, uid, life: Life::default(), kept: None, unfinished: true }
    })
}

/// Looks at a Shoot until there is nothing more to do now.
async fn work<P: Port>(
    shared: Shared<P>,
    key: Key,
    uid: String,
    mut life: Life,
    mut kept: Option<Kept>,
    has_room: bool,
) -> Done {
    let mut unfinished = false;
    for _ in 0..ROUNDS {
        let before = life.clone();
        match round(&shared, &key, &uid, &mut life, &mut kept, has_room).await {
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
    Done { key, uid, life, kept, unfinished }
}

async fn round<P: Port>(
    shared: &Shared<P>,
    key: &Key,
    uid: &str,
    life: &mut Life,
    kept: &mut Option<Kept>,
    has_room: bool,
) -> Result<bool, Status> {
    let (place, called) = (key.0.as_str(), key.1.as_str());
    let shoot = shared.port.get(SHOOTS, place, called).await?;
    // Another one of this name has a life of its own.
    let Some(shoot) = shoot.filter(|shoot| text(shoot, "metadata.uid") == uid) else { return Ok(false) };
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
    let seeds = if unscheduled { shared.port.list(SEEDS, "").await? } else { Vec::new() };
    let idle = !life.is_running();
    let profile = if unscheduled || idle { profile(&shared.port, &shoot).await? } else { None };
    let project = project(&shared.port, &shoot).await?;
    let credentials =
        if life.checks_credentials() && !is_deleting(&shoot) { credentials(&shared.port, &shoot).await? } else { None };
    if life.is_running() && !id.is_empty() && kept.port == 0 {
        kept.port = shared.endpoints.port(id, 0).map_err(Status::internal)?;
    }
    let address = format!("https://127.0.0.1:{}", kept.port);
    let stopped = if idle && !unscheduled { is_stopped(shared, &shoot).await? } else { false };
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

/// The Seed has reconciliations switched off: nothing begins there.
async fn is_stopped<P: Port>(shared: &Shared<P>, shoot: &Value) -> Result<bool, Status> {
    let seed = shared.port.get(SEEDS, "", text(shoot, "spec.seedName")).await?;
    Ok(seed.is_some_and(|seed| scheduler::is_stopped(&seed)))
}

async fn profile<P: Port>(port: &P, shoot: &Value) -> Result<Option<Profile>, Status> {
    let called = profile_name(shoot);
    if text(shoot, "spec.cloudProfile.kind") == "NamespacedCloudProfile" {
        let found = port.get(OWN_PROFILES, namespace(shoot), called).await?;
        return Ok(found.map(|found| Profile {
            root: text(&found, "spec.parent.name").to_owned(),
            spec: at(&found, "status.cloudProfileSpec").clone(),
        }));
    }
    let found = port.get(PROFILES, "", called).await?;
    Ok(found.map(|found| Profile { root: called.to_owned(), spec: found["spec"].clone() }))
}

async fn project<P: Port>(port: &P, shoot: &Value) -> Result<String, Status> {
    let id = text(shoot, "status.technicalID");
    // `shoot--<project>--<name>`, once it is known.
    if let Some(project) = id.strip_prefix("shoot--").and_then(|rest| rest.split("--").next()) {
        return Ok(project.to_owned());
    }
    let projects = port.list(PROJECTS, "").await?;
    let found = projects.iter().find(|one| text(one, "spec.namespace") == namespace(shoot));
    Ok(found.map_or_else(|| namespace(shoot).trim_start_matches("garden-").to_owned(), |one| name(one).to_owned()))
}

/// Keys without which a cloud knows nobody.
const KEYS: [(&str, &[&str]); 5] = [
    ("aws", &["accessKeyID", "secretAccessKey"]),
    ("azure", &["clientID", "clientSecret", "subscriptionID", "tenantID"]),
    ("gcp", &["serviceaccount.json"]),
    ("openstack", &["domainName", "tenantName"]),
    ("alicloud", &["accessKeyID", "accessKeySecret"]),
];

/// Why the credentials do not work, if they do not (F13).
async fn credentials<P: Port>(port: &P, shoot: &Value) -> Result<Option<String>, Status> {
    let binding = text(shoot, "spec.credentialsBindingName");
    if binding.is_empty() {
        return Ok(None);
    }
    let Some(binding) = port.get(BINDINGS, namespace(shoot), binding).await? else {
        return Ok(Some("the credentials binding is gone".to_owned()));
    };
    if text(&binding, "credentialsRef.kind") != "Secret" {
        return Ok(None);
    }
    let (place, called) = (text(&binding, "credentialsRef.namespace"), text(&binding, "credentialsRef.name"));
    let secret = port.get(SECRETS, place, called).await?.unwrap_or_default();
    let wanted = KEYS
        .iter()
        .find(|(provider, _)| *provider == text(shoot, "spec.provider.type"))
        .map_or(&[][..], |(_, keys)| keys);
    let missing = wanted.iter().find(|key| at(&secret, "data").get(**key).is_none());
    Ok(missing.map(|key| format!("the provider does not know us: {key} is missing in the credentials")))
}

#[cfg(test)]
mod tests;
