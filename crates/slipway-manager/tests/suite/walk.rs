//! Random walks over the specs of a Runtime: whatever is asked for, in whatever order, the Shoot ends as rendered.
//!
//! A walk is a seed. Each step changes a wish: most are good, some the API refuses, some only the renderer or
//! Gardener can refuse. What is refused there must be told in a condition that names the field, and the next good
//! wish must heal it. Many steps follow each other without waiting, as a customer's do.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, atomic::AtomicU64},
    time::Duration,
};

use kube_sandbox::clock;
use serde_json::{Value, json};
use slipway_kube::Runtime;
use slipway_manager::blueprints::Blueprints;
use slipway_model::{
    ports::{Clock as _, Random as _},
    time::secs,
};

use crate::{
    sweep::stage::{self, NAME, Stage},
    world::{Paced, RUNTIMES, Seeded, files},
};

/// Steps of all walks together.
const STEPS: usize = 1_000;
/// The walks, by their seeds.
const SEEDS: [u64; 4] = [1, 2, 3, 4];
const PATIENCE: Duration = secs(30);

/// What becomes of a step.
#[derive(Clone, Copy)]
enum Kind {
    /// It is done.
    Good,
    /// The API refuses it and says this; nothing changes.
    Refused(&'static str),
    /// It is stored, and a condition says this.
    Told(&'static str),
}

struct Step {
    name: &'static str,
    kind: Kind,
    change: fn(&mut Value, u64),
}

const fn step(name: &'static str, kind: Kind, change: fn(&mut Value, u64)) -> Step {
    Step { name, kind, change }
}

fn provider(it: &mut Value) -> &mut Value {
    &mut it["spec"]["shoot"]["provider"]
}

fn main_pool(it: &mut Value) -> &mut Value {
    &mut provider(it)["workers"][0]
}

fn pools(it: &mut Value) -> &mut Vec<Value> {
    provider(it)["additionalWorkers"].as_array_mut().expect("pools")
}

fn label(it: &mut Value, key: &str, value: Value) {
    it["metadata"]["labels"][key] = value;
}

fn zone(draw: u64) -> Value {
    json!(["eu-central-1a", "eu-central-1b", "eu-central-1c"][(draw % 3) as usize])
}

fn machine(draw: u64) -> Value {
    json!(["m6i.large", "m6i.xlarge", "c7i.large"][(draw % 3) as usize])
}

const ACCOUNT: &str = "kyma-project.io/global-account-id";

#[rustfmt::skip]
static STEPS_THERE_ARE: &[Step] = &[
    step("another maximum", Kind::Good, |it, draw| main_pool(it)["maximum"] = json!(3 + draw % 9)),
    step("another minimum", Kind::Good, |it, draw| main_pool(it)["minimum"] = json!(1 + draw % 3)),
    step("another machine", Kind::Good, |it, draw| main_pool(it)["machine"]["type"] = machine(draw)),
    step("one more zone", Kind::Good, |it, draw| {
        let zones = main_pool(it)["zones"].as_array_mut().expect("zones");
        if !zones.contains(&zone(draw)) { zones.push(zone(draw)); }
    }),
    step("one more pool", Kind::Good, |it, draw| {
        let name = format!("pool-{}", draw % 4);
        if pools(it).iter().all(|pool| pool["name"] != name) {
            let mut pool = stage::pool();
            pool["name"] = json!(name);
            pool["machine"]["type"] = machine(draw >> 8);
            pool["zones"] = json!([zone(draw >> 16)]);
            pools(it).push(pool);
        }
    }),
    step("one pool less", Kind::Good, |it, draw| {
        let count = pools(it).len();
        if count > 0 { pools(it).remove(draw as usize % count); }
    }),
    step("another pool's maximum", Kind::Good, |it, draw| {
        if let Some(pool) = pools(it).first_mut() { pool["maximum"] = json!(2 + draw % 5); }
    }),
    step("another account", Kind::Good, |it, draw| label(it, ACCOUNT, json!(format!("account-{}", draw % 3)))),
    step("other administrators", Kind::Good, |it, draw| {
        let all = ["a@example.com", "b@example.com", "c@example.com"];
        let chosen: Vec<&str> = all.into_iter().enumerate().filter(|(bit, _)| draw >> bit & 1 == 1).map(|(_, it)| it).collect();
        it["spec"]["security"]["administrators"] = if chosen.is_empty() { json!(all) } else { json!(chosen) };
    }),
    step("another login", Kind::Good, |it, draw| {
        it["spec"]["shoot"]["kubernetes"]["kubeAPIServer"] = json!({"additionalOidcConfig": [{
            "clientID": format!("client-{}", draw % 3), "issuerURL": "https://login.example.com",
            "usernameClaim": "sub", "usernamePrefix": "-", "groupsClaim": "groups", "signingAlgs": ["RS256"]}]});
    }),
    step("a newer version", Kind::Good, |it, _| it["spec"]["shoot"]["kubernetes"]["version"] = json!("1.35.2")),
    step("an older version, which is not given", Kind::Good, |it, _| it["spec"]["shoot"]["kubernetes"]["version"] = json!("1.34.5")),

    step("another node network", Kind::Refused("node network"), |it, _| it["spec"]["shoot"]["networking"]["nodes"] = json!("10.20.0.0/16")),
    step("another region", Kind::Refused("region"), |it, _| it["spec"]["shoot"]["region"] = json!("eu-west-1")),
    step("one name for two pools", Kind::Refused("names must be unique"), |it, _| {
        let twin = main_pool(it).clone();
        pools(it).push(twin);
    }),
    step("a minimum above the maximum", Kind::Refused("minimum"), |it, _| main_pool(it)["minimum"] = json!(99)),
    step("no pool", Kind::Refused("workers"), |it, _| provider(it)["workers"] = json!([])),

    step("an unknown machine", Kind::Told("machine"), |it, _| main_pool(it)["machine"]["type"] = json!("m6i.nonsense")),
    step("an unknown zone", Kind::Told("zone"), |it, _| main_pool(it)["zones"] = json!(["mars-1a"])),
    step("an unknown version", Kind::Told("version"), |it, _| it["spec"]["shoot"]["kubernetes"]["version"] = json!("1.99.0")),
    step("an unknown volume", Kind::Told("volume"), |it, _| main_pool(it)["volume"]["type"] = json!("floppy")),
    step("a label less", Kind::Told("metadata.labels[kyma-project.io/subaccount-id]"), |it, _| {
        it["metadata"]["labels"].as_object_mut().expect("labels").remove("kyma-project.io/subaccount-id");
    }),
];

/// Everything in `wanted` is in `there`; lists of pools and other named things have the same members.
fn covers(there: &Value, wanted: &Value, path: &str) -> Option<String> {
    match (there, wanted) {
        (Value::Object(there), Value::Object(wanted)) => wanted.iter().find_map(|(key, value)| {
            let nothing = Value::Null;
            // Told with the next write, and nothing is written for it alone.
            if key == slipway_kube::annotations::RUNTIME_GENERATION {
                return None;
            }
            covers(there.get(key).unwrap_or(&nothing), value, &format!("{path}/{key}"))
        }),
        (Value::Array(there), Value::Array(wanted)) if there.len() == wanted.len() => {
            wanted.iter().enumerate().find_map(|(place, value)| {
                let same = |other: &&Value| {
                    ["name", "type"].iter().any(|id| value.get(id).is_some() && other.get(id) == value.get(id))
                };
                covers(there.iter().find(same).unwrap_or(&there[place]), value, &format!("{path}/{place}"))
            })
        }
        (there, wanted) => (there != wanted).then(|| format!("{path}: {there} instead of {wanted}")),
    }
}

struct Walk {
    seed: u64,
    chance: Seeded,
    stage: Stage,
    blueprints: Blueprints,
    good: Value,
    /// Generations that ask for what nobody can give.
    bad: Arc<Mutex<BTreeSet<u64>>>,
    done: Vec<&'static str>,
}

impl Walk {
    async fn begin(seed: u64) -> Self {
        let stage = Stage::set().await;
        stage.begin();
        let good = stage::story();
        stage.world.apply(good.clone()).await;
        let (chance, blueprints) = (Seeded(AtomicU64::new(seed)), Blueprints::new(files()));
        Self { seed, chance, stage, blueprints, good, bad: Arc::default(), done: Vec::new() }
    }

    fn fail(&self, what: &str) -> ! {
        let status = self.stage.world.runtime(NAME).map(|it| it["status"].to_string());
        let last: Vec<_> = self.done.iter().rev().take(8).collect();
        panic!("seed {}, step {} ({last:?} backwards): {what}; {status:?}", self.seed, self.done.len());
    }

    async fn until(&self, what: &str, is_true: impl Fn() -> Option<String>) {
        let asking = async {
            while is_true().is_some() {
                clock::sleep(Duration::from_millis(6)).await;
            }
        };
        if clock::within(PATIENCE, asking).await.is_none() {
            self.fail(&format!("{what}: {}", is_true().unwrap_or_default()));
        }
    }

    /// What is missing until the Shoot is as rendered and everything says so.
    fn missing(&self) -> Option<String> {
        let world = &self.stage.world;
        if !world.is_settled(NAME, "Ready") || !self.stage.is_idle() {
            return Some("it is not ready".to_owned());
        }
        let Some(shoot) = world.shoot(NAME) else { return Some("there is no Shoot".to_owned()) };
        let stored: Runtime = serde_json::from_value(world.runtime(NAME)?).expect("a Runtime");
        let (rendered, _) = match self.blueprints.render(&stored, &[], Some(&shoot)) {
            Ok(rendered) => rendered,
            Err(error) => return Some(format!("{}: {}", error.path, error.message)),
        };
        covers(&shoot, &rendered, "").or_else(|| self.strangers(&shoot))
    }

    /// Administrators inside the cluster that should not be, or should be and are not.
    fn strangers(&self, shoot: &Value) -> Option<String> {
        let cluster = self.stage.world.server.cluster(shoot["status"]["technicalID"].as_str()?)?;
        let bindings = cluster.list("rbac.authorization.k8s.io", "clusterrolebindings", "");
        let names = |list: &[Value]| -> BTreeSet<String> {
            list.iter().filter_map(|name| name.as_str()).map(str::to_owned).collect()
        };
        let bound: Vec<Value> = bindings.iter().map(|binding| binding["subjects"][0]["name"].clone()).collect();
        let bound: BTreeSet<String> = names(&bound).into_iter().filter(|name| name.contains('@')).collect();
        let wanted = names(self.good["spec"]["security"]["administrators"].as_array()?);
        (bound != wanted).then(|| format!("{bound:?} administer it instead of {wanted:?}"))
    }

    async fn write(&self, wish: &Value) -> Result<Value, String> {
        let place = kube_sandbox::cluster::Place {
            group: RUNTIMES,
            plural: "runtimes",
            namespace: crate::world::NAMESPACE,
            name: NAME,
            subresource: "",
        };
        let written = self.stage.world.kcp.update(&place, |it| {
            it["spec"] = wish["spec"].clone();
            it["metadata"]["labels"] = wish["metadata"]["labels"].clone();
        });
        written.await.map_err(|status| status.to_string())
    }

    /// One step; a good one after `sick` must heal.
    async fn step(&mut self, sick: bool) -> bool {
        let good = |step: &&Step| matches!(step.kind, Kind::Good);
        // Who is sick is healed; and most wishes are good.
        let only_good = sick || self.chance.next_u64().is_multiple_of(2);
        let table: Vec<&Step> = STEPS_THERE_ARE.iter().filter(|step| !only_good || good(step)).collect();
        let step = table[(self.chance.next_u64() % table.len() as u64) as usize];
        self.done.push(step.name);
        let mut wish = self.good.clone();
        (step.change)(&mut wish, self.chance.next_u64());
        match step.kind {
            Kind::Good => {
                self.good = wish;
                if let Err(refusal) = self.write(&self.good).await {
                    self.fail(&refusal);
                }
                if sick || self.chance.next_u64().is_multiple_of(10) {
                    self.until("it does not become ready", || self.missing()).await;
                }
                false
            }
            Kind::Refused(words) => {
                match self.write(&wish).await {
                    Ok(_) => self.fail("the API took it"),
                    Err(refusal) if refusal.contains(words) => {}
                    Err(refusal) => self.fail(&format!("the refusal does not say {words:?}: {refusal}")),
                }
                sick
            }
            Kind::Told(words) => {
                let before = self.stage.world.runtime(NAME).map(|it| it["metadata"]["generation"].clone());
                match self.write(&wish).await {
                    Ok(written) if before.as_ref() != Some(&written["metadata"]["generation"]) => {
                        let generation = written["metadata"]["generation"].as_u64().unwrap_or(0);
                        self.bad.lock().expect("lock").insert(generation);
                    }
                    Ok(_) => {}
                    Err(refusal) => self.fail(&refusal),
                }
                self.until("it is not told", || {
                    let world = &self.stage.world;
                    let said = world.condition(NAME, "Provisioned");
                    let told =
                        said["status"] == "False" && said["message"].as_str().is_some_and(|it| it.contains(words));
                    let failed = world.is_settled(NAME, "Failed");
                    (!told || !failed).then(|| format!("no condition says {words:?}"))
                })
                .await;
                true
            }
        }
    }
}

/// `Ready` is always said of a generation, and never of one that cannot be.
async fn judge(
    mut watch: kube_sandbox::cluster::Watch,
    bad: Arc<Mutex<BTreeSet<u64>>>,
    wrong: Arc<Mutex<Vec<String>>>,
) {
    while let Some(event) = watch.next().await {
        let Ok(event) = event else { continue };
        let runtime = event.object.value();
        let (status, generation) = (&runtime["status"], runtime["metadata"]["generation"].as_u64());
        if status["state"] != "Ready" {
            continue;
        }
        let observed = status["observedGeneration"].as_u64();
        let is_bad = observed.is_some_and(|it| bad.lock().expect("lock").contains(&it));
        if observed.is_none() || observed > generation || is_bad {
            wrong.lock().expect("lock").push(format!("Ready for {observed:?} of {generation:?}"));
        }
    }
}

async fn walk(seed: u64, steps: usize) {
    let mut walk = Walk::begin(seed).await;
    let wrong: Arc<Mutex<Vec<String>>> = Arc::default();
    let watch = walk.stage.world.kcp.watch(RUNTIMES, "runtimes", None).expect("a watch");
    let judging = tokio::spawn(judge(watch, walk.bad.clone(), wrong.clone()));
    walk.until("it does not become ready", || walk.missing()).await;
    let mut sick = false;
    for _ in 0..steps {
        sick = walk.step(sick).await;
        if let Some(wrong) = wrong.lock().expect("lock").first() {
            walk.fail(wrong);
        }
    }
    walk.write(&walk.good).await.unwrap_or_else(|refusal| walk.fail(&refusal));
    walk.until("it does not become ready", || walk.missing()).await;
    judging.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_random_wishes_end_as_rendered_and_what_cannot_be_is_told_and_healed() {
    let clock = Paced::new(1.0);
    let walks: Vec<_> = SEEDS.into_iter().map(|seed| tokio::spawn(walk(seed, STEPS / SEEDS.len()))).collect();
    for walk in walks {
        walk.await.expect("a walk; the panic above names its seed");
    }
    println!("{STEPS} steps in {} walks; {:.0?}", SEEDS.len(), clock.monotonic());
}
