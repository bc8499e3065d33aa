//! The stage of a sweep: one world in which the same story is played again and again.
//!
//! Starting a world is dear and a life is cheap, so lives follow each other on one stage: what one leaves
//! behind is found by the next. The garden's time stands still and is moved by a stage hand, fast while a Shoot
//! is worked on and slowly otherwise, so no kubeconfig is due unless the story says so.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, AtomicU64},
    },
    time::Duration,
};

use jiff::SignedDuration;
use kube_sandbox::{clock, cluster::Place};
use serde_json::{Value, json};
use slipway_kube::annotations;
use slipway_manager::{Manager, Parts, Settings, blueprints::Files};
use slipway_model::time::{hours, secs};
use slipway_sim::garden::{Garden, Pace};
use tokio::task::JoinHandle;

use super::{
    hook::{Blow, Hook, Key, Plan},
    snapshot, wire,
};
use crate::world::{GardenTime, PROJECT, Paced, SHOOTS, Seeded, With, World, files, runtime};

/// The one Runtime of the story.
pub(crate) const NAME: &str = "shop";
const SHOOT: Place<'static> =
    Place { group: SHOOTS, plural: "shoots", namespace: PROJECT, name: NAME, subresource: "" };
/// Longer than anything takes.
const PATIENCE: Duration = secs(60);
/// How much faster the manager's time is. Not more: its patience with calls shrinks with it, and a busy machine must not look
/// like a server that does not answer.
const PACE: f64 = 4.0;

/// A chapter of the story.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Chapter {
    /// A manager starts, a Runtime is made.
    Create,
    /// The worker maximum changes and a pool is added, or both go back.
    Workers,
    /// A label changes.
    Label,
    /// Somebody wants a new kubeconfig.
    Forced,
    /// The kubeconfig is old.
    Due,
    /// The manager is replaced; nothing else happens.
    Restart,
    /// The configuration changes, or goes back.
    Reload,
    /// Somebody changes the Shoot while there is no manager.
    Drift,
    /// Somebody deletes the Shoot.
    Recreate,
    /// The manager is replaced by one that divides Runtimes otherwise.
    Shards,
    /// The Runtime is deleted.
    Delete,
}

impl Chapter {
    /// What can happen between the first and the last. Those that go there and back first: lives are cut between pairs.
    pub(crate) const BETWEEN: [Self; 9] = [
        Self::Workers,
        Self::Label,
        Self::Reload,
        Self::Forced,
        Self::Restart,
        Self::Due,
        Self::Drift,
        Self::Recreate,
        Self::Shards,
    ];

    /// Whether it goes there and back.
    pub(crate) fn is_edit(self) -> bool {
        matches!(self, Self::Workers | Self::Label | Self::Reload)
    }
}

/// The stage.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) plan: Plan,
    hand: JoinHandle<()>,
    incarnation: AtomicU64,
    shards: AtomicU32,
    switches: Mutex<BTreeSet<Chapter>>,
    uid: Mutex<Option<String>>,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.hand.abort();
    }
}

fn is_settled(shoot: &Value) -> bool {
    shoot["status"]["lastOperation"]["state"] == "Succeeded"
        && shoot["status"]["observedGeneration"] == shoot["metadata"]["generation"]
        && shoot["metadata"].get("deletionTimestamp").is_none()
}

/// Moves the garden's time: so far with each tick while a Shoot is worked on, slowly otherwise.
pub(crate) fn start_hand(garden: &Garden, tick: Duration, step: SignedDuration) -> JoinHandle<()> {
    let (cluster, time) = (garden.cluster().clone(), garden.clock().clone());
    tokio::spawn(async move {
        loop {
            let quiet = cluster.list(SHOOTS, "shoots", "").iter().all(is_settled);
            time.advance(if quiet { SignedDuration::from_millis(500) } else { step });
            clock::sleep(tick).await;
        }
    })
}

/// Without the brake: a thousand deletions are the point here.
fn settings() -> Settings {
    Settings { audit_log_mandatory: false, brake_limit: 0, kubeconfig_life: hours(2), ..Settings::default() }
}

impl Stage {
    pub(crate) async fn set() -> Self {
        let world =
            World::without_manager(With { settings: settings(), pace: Pace::Manual, factor: PACE, ..With::default() })
                .await;
        let hand = start_hand(&world.garden, Duration::from_millis(3), SignedDuration::from_mins(10));
        let (plan, incarnation, shards) = (Plan::default(), AtomicU64::new(1), AtomicU32::new(1));
        Self { world, plan, hand, incarnation, shards, switches: Mutex::default(), uid: Mutex::default() }
    }

    /// The configuration as it is now: what a process that starts reads.
    fn files(&self) -> Files {
        let mut files = files();
        if self.is_on(Chapter::Reload) {
            files.config.converter.kubernetes.enable_machine_image_version_auto_update ^= true;
        }
        files
    }

    /// A process starts.
    pub(crate) fn begin(&self) {
        let number = self.incarnation.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let world = &self.world;
        let parts = Parts {
            settings: Settings { shards: self.shards.load(std::sync::atomic::Ordering::Relaxed), ..settings() },
            files: self.files(),
            kcp: wire::tap("kcp", world.server.client("kcp").expect("a client"), self.plan.clone()),
            garden: wire::tap("garden", world.garden.client().expect("a client"), self.plan.clone()),
            clock: Paced::new(PACE),
            garden_time: Arc::new(GardenTime(world.garden.clock().clone())),
            random: Arc::new(Seeded(AtomicU64::new(number << 32))),
            garden_rate: (1_000.0, 1_000),
            garden_timeout: secs(60),
            identity: format!("test-{number}"),
            calls: Some(Arc::new(Hook::new(self.plan.clone()))),
        };
        *world.manager.lock().expect("lock") = Some(Manager::start(parts));
    }

    /// Edits go there and back: whether this one goes there.
    fn switch(&self, chapter: Chapter) -> bool {
        let mut on = self.switches.lock().expect("lock");
        if !on.remove(&chapter) {
            on.insert(chapter);
        }
        on.contains(&chapter)
    }

    pub(crate) fn is_on(&self, chapter: Chapter) -> bool {
        self.switches.lock().expect("lock").contains(&chapter)
    }

    /// Plays a chapter; the world must become one of `wanted`, if any is known. Answers what it became.
    pub(crate) async fn play(&self, chapter: Chapter, blow: Option<Blow>, wanted: &[Value]) -> Played {
        let world = &self.world;
        self.plan.set(blow);
        let before = world.secret(NAME).map(|secret| secret["data"].clone());
        let fresh = || world.secret(NAME).is_some_and(|secret| Some(&secret["data"]) != before.as_ref());
        let problem = match chapter {
            Chapter::Create => {
                world.kill();
                self.switches.lock().expect("lock").clear();
                self.begin();
                world.apply(story()).await;
                self.until(wanted, || self.is_ready()).await
            }
            Chapter::Workers => {
                let on = self.switch(chapter);
                let (maximum, pools) = if on { (7, json!([pool()])) } else { (4, json!([])) };
                world
                    .edit(NAME, |it| {
                        it["spec"]["shoot"]["provider"]["workers"][0]["maximum"] = json!(maximum);
                        it["spec"]["shoot"]["provider"]["additionalWorkers"] = pools.clone();
                    })
                    .await;
                let has = || {
                    let shoot = world.shoot(NAME).unwrap_or_default();
                    let workers = &shoot["spec"]["provider"]["workers"];
                    workers[0]["maximum"] == maximum && workers.get(1).is_some() == on
                };
                self.until(wanted, || self.is_ready() && has()).await
            }
            Chapter::Label => {
                let account = if self.switch(chapter) { "account-2" } else { "account-1" };
                world
                    .edit(NAME, |it| it["metadata"]["labels"]["kyma-project.io/global-account-id"] = json!(account))
                    .await;
                let told = |object: Option<Value>| {
                    object.is_some_and(|it| it["metadata"]["labels"].to_string().contains(account))
                };
                let all = || told(world.shoot(NAME)) && told(world.gardener_cluster(NAME)) && told(world.secret(NAME));
                self.until(wanted, || self.is_ready() && all()).await
            }
            Chapter::Forced => {
                let key = annotations::FORCE_KUBECONFIG_ROTATION;
                world.edit_cluster(NAME, |it| it["metadata"]["annotations"][key] = json!("true")).await;
                self.until(wanted, || self.is_ready() && fresh()).await
            }
            Chapter::Due => {
                world.garden.clock().advance(SignedDuration::from_mins(80));
                self.until(wanted, || self.is_ready() && fresh()).await
            }
            Chapter::Restart => {
                world.kill();
                self.begin();
                self.until(wanted, || self.is_ready()).await
            }
            Chapter::Reload => {
                let auto_update = |world: &World| {
                    world.shoot(NAME).unwrap_or_default()["spec"]["maintenance"]["autoUpdate"]["machineImageVersion"]
                        .clone()
                };
                let before = auto_update(world);
                self.switch(chapter);
                let probe = world.manager.lock().expect("lock").as_ref().expect("a manager").probe();
                probe.reload(self.files()).await;
                self.until(wanted, || self.is_ready() && auto_update(world) != before).await
            }
            Chapter::Drift => {
                let maximum = |shoot: &Value| shoot["spec"]["provider"]["workers"][0]["maximum"].clone();
                let ours = maximum(&world.shoot(NAME).unwrap_or_default());
                world.kill();
                let change = |shoot: &mut Value| shoot["spec"]["provider"]["workers"][0]["maximum"] = json!(9);
                world.garden.cluster().update(&SHOOT, change).await.expect("taken");
                self.begin();
                self.until(wanted, || self.is_ready() && world.shoot(NAME).is_some_and(|it| maximum(&it) == ours)).await
            }
            Chapter::Recreate => {
                let uid = |world: &World| world.shoot(NAME).unwrap_or_default()["metadata"]["uid"].clone();
                let old = uid(world);
                let key = annotations::CONFIRM_DELETION;
                let confirm = |shoot: &mut Value| shoot["metadata"]["annotations"][key] = json!("true");
                world.garden.cluster().update(&SHOOT, confirm).await.expect("confirmed");
                world.garden.cluster().delete(&SHOOT, &Default::default()).await.expect("deleted");
                self.until(wanted, || self.is_ready() && fresh() && uid(world) != old).await
            }
            Chapter::Shards => {
                world.kill();
                let count = self.incarnation.load(std::sync::atomic::Ordering::Relaxed) % 4 + 1;
                self.shards.store(u32::try_from(count).expect("small"), std::sync::atomic::Ordering::Relaxed);
                self.begin();
                self.until(wanted, || self.is_ready()).await
            }
            Chapter::Delete => {
                let cluster =
                    world.shoot(NAME).and_then(|shoot| shoot["status"]["technicalID"].as_str().map(str::to_owned));
                let cluster = cluster.expect("a cluster");
                world.delete(NAME).await;
                self.until(wanted, || world.runtime(NAME).is_none() && world.server.cluster(&cluster).is_none()).await
            }
        };
        let problem = problem.or_else(|| self.same_shoot(chapter));
        let (calls, events, struck) = self.plan.end();
        Played { calls, events, struck, problem, world: snapshot::of(world) }
    }

    fn is_ready(&self) -> bool {
        let cluster = self.world.gardener_cluster(NAME).unwrap_or_default();
        self.world.is_settled(NAME, "Ready")
            && cluster["status"]["state"] == "Ready"
            && cluster["metadata"]["annotations"].get(annotations::FORCE_KUBECONFIG_ROTATION).is_none()
            && self.world.secret(NAME).is_some()
            && self.world.shoot(NAME).as_ref().is_some_and(is_settled)
    }

    pub(crate) fn is_idle(&self) -> bool {
        let manager = self.world.manager.lock().expect("lock");
        manager.as_ref().is_some_and(|manager| manager.probe().is_idle())
    }

    /// Waits until it is true and the world is as wanted; whoever dies meanwhile is replaced.
    async fn until(&self, wanted: &[Value], is_true: impl Fn() -> bool) -> Option<String> {
        let asking = async {
            loop {
                if self.plan.take_killed() {
                    self.world.kill();
                    self.begin();
                }
                if is_true() && self.is_idle() {
                    let found = snapshot::of(&self.world);
                    if wanted.is_empty() || wanted.contains(&found) {
                        return;
                    }
                }
                clock::sleep(Duration::from_millis(6)).await;
            }
        };
        if clock::within(PATIENCE, asking).await.is_some() {
            return None;
        }
        let found = snapshot::of(&self.world);
        let nearest = wanted.iter().map(|wanted| snapshot::difference(wanted, &found)).min_by_key(Vec::len);
        let differences = nearest.unwrap_or_default();
        let status = self.world.runtime(NAME).map(|runtime| runtime["status"].to_string());
        Some(format!("it never came right; differences {differences:#?}; status {status:?}"))
    }

    /// One Shoot per life, never another.
    fn same_shoot(&self, chapter: Chapter) -> Option<String> {
        let now = self.world.shoot(NAME).and_then(|shoot| Some(shoot["metadata"]["uid"].as_str()?.to_owned()));
        let mut known = self.uid.lock().expect("lock");
        if matches!(chapter, Chapter::Create | Chapter::Recreate) {
            known.clone_from(&now);
        }
        if chapter == Chapter::Delete {
            known.clone_from(&now);
        }
        (*known != now).then(|| format!("the Shoot was {known:?} and is {now:?}"))
    }
}

/// What came of a chapter.
pub(crate) struct Played {
    pub(crate) calls: BTreeMap<Key, usize>,
    pub(crate) events: BTreeMap<Key, usize>,
    pub(crate) struck: bool,
    pub(crate) problem: Option<String>,
    pub(crate) world: Value,
}

pub(crate) fn pool() -> Value {
    let mut pool = runtime(NAME)["spec"]["shoot"]["provider"]["workers"][0].clone();
    (pool["name"], pool["minimum"], pool["maximum"]) = (json!("more"), json!(1), json!(2));
    (pool["zones"], pool["maxSurge"]) = (json!(["eu-central-1a"]), json!(1));
    pool
}

pub(crate) fn story() -> Value {
    let mut runtime = runtime(NAME);
    let provider = &mut runtime["spec"]["shoot"]["provider"];
    provider["additionalWorkers"] = json!([]);
    let worker = &mut provider["workers"][0];
    (worker["minimum"], worker["maximum"]) = (json!(1), json!(4));
    (worker["zones"], worker["maxSurge"]) = (json!(["eu-central-1a"]), json!(1));
    if let Some(shoot) = runtime["spec"]["shoot"].as_object_mut() {
        shoot.remove("controlPlane");
    }
    runtime["metadata"]["labels"]["kyma-project.io/global-account-id"] = json!("account-1");
    runtime
}
