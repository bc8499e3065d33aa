//! The loop among troubles: servers that refuse, workers that die, Shoots that come and go under one name.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use futures::{Stream, stream};
use kube_sandbox::{
    cluster::Cluster,
    server::{self, Server},
};
use serde_json::json;

use super::*;
use crate::garden::{
    Pace,
    endpoints::CertificateTime,
    engine::port::{self, Resource},
    kinds,
    kubeconfig::Issuer,
    landscape,
    problems::CORE,
    value::{annotate, number},
};

/// What a server does instead of a write, every so often.
#[derive(Debug, Clone, Copy)]
enum WorkerFault {
    Refuses,
    Dies,
    RefusesAfterwards,
}

/// A cluster with which something goes wrong at every third of the engine's first writes. Not for ever: an
/// operation begins anew with a new worker, so that one which dies every time would never get through.
#[derive(Clone)]
struct Clumsy {
    cluster: Cluster,
    trouble: Option<WorkerFault>,
    writes: Arc<AtomicU64>,
    /// Every event says nothing but "look again".
    relists: bool,
}

impl Clumsy {
    async fn write<T>(&self, write: impl Future<Output = Result<T, Status>> + Send) -> Result<T, Status> {
        let number = self.writes.fetch_add(1, Ordering::Relaxed);
        let strikes = number < 36 && number % 3 == 2;
        match self.trouble.filter(|_| strikes) {
            Some(WorkerFault::Refuses) => Err(Status::new(500, "InternalError", "on demand")),
            Some(WorkerFault::Dies) => panic!("a worker dies on demand"),
            Some(WorkerFault::RefusesAfterwards) => {
                write.await?;
                Err(Status::new(504, "Timeout", "on demand, after it was done"))
            }
            None => write.await,
        }
    }
}

impl Port for Clumsy {
    async fn get(&self, what: Resource, place: &str, called: &str) -> Result<Option<Value>, Status> {
        Port::get(&self.cluster, what, place, called).await
    }

    async fn list(&self, what: Resource, place: &str) -> Result<Vec<Value>, Status> {
        Port::list(&self.cluster, what, place).await
    }

    async fn create(&self, what: Resource, object: Value) -> Result<Value, Status> {
        self.write(Port::create(&self.cluster, what, object)).await
    }

    async fn patch(
        &self,
        what: Resource,
        place: &str,
        called: &str,
        part: &str,
        patch: Value,
    ) -> Result<Value, Status> {
        self.write(Port::patch(&self.cluster, what, place, called, part, patch)).await
    }

    async fn delete(&self, what: Resource, place: &str, called: &str) -> Result<(), Status> {
        self.write(Port::delete(&self.cluster, what, place, called)).await
    }

    async fn bind(&self, place: &str, called: &str, seed: &str) -> Result<Value, Status> {
        self.write(Port::bind(&self.cluster, place, called, seed)).await
    }

    fn shoots(&self) -> impl Stream<Item = Change> + Send + 'static {
        let (cluster, relists) = (self.cluster.clone(), self.relists);
        self.cluster.shoots().flat_map(move |change| {
            stream::iter([if relists {
                Change::All(cluster.list(CORE, "shoots", "").iter().map(Glimpse::of).collect())
            } else {
                change
            }])
        })
    }
}

struct Play {
    cluster: Cluster,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Play {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Play {
    async fn start(trouble: Option<WorkerFault>, relists: bool, per_seed: usize) -> Self {
        let server = Server::start(server::Settings::default()).await.expect("server");
        let cluster = server.add_cluster("garden").await.expect("cluster");
        let clock = Clock::start(Pace::Scale(600.0));
        let (usage, chance) = (Usage::default(), Chance::new(1));
        let shared = kinds::Shared {
            clock: clock.clone(),
            issuer: Issuer::default(),
            usage: usage.clone(),
            chance,
            faults: Faults::default(),
        };
        kinds::kinds(&shared).into_iter().for_each(|kind| cluster.register(kind));
        port::seed(&cluster, landscape::objects()).await.expect("landscape");
        let endpoints = Endpoints::new(server, CertificateTime::Simulated(clock.clone()));
        let settings = Arc::new(Settings { per_seed, ..Settings::default() });
        let shared = Shared {
            port: Clumsy { cluster: cluster.clone(), trouble, writes: Arc::default(), relists },
            clock,
            chance,
            settings,
            faults: Faults::default(),
            usage,
            endpoints,
            users: Users::default(),
            rsa: false,
            journal: Journal::default(),
            bell: Arc::default(),
        };
        // Nobody asks.
        let task = tokio::spawn(run(shared, mpsc::unbounded_channel().1));
        Self { cluster, task }
    }

    async fn create(&self, called: &str) -> Value {
        let mut shoot = landscape::shoot(called);
        annotate(&mut shoot, crate::garden::shoot::CONFIRM_DELETION, "true");
        Cluster::create(&self.cluster, shoot).await.expect("created")
    }

    async fn delete(&self, called: &str) {
        Port::delete(&self.cluster, SHOOTS, "garden-dev", called).await.expect("deleted");
    }

    fn get(&self, called: &str) -> Value {
        Cluster::get(&self.cluster, CORE, "shoots", "garden-dev", called).unwrap_or_default()
    }

    /// Only a failure waits for the end of it.
    async fn until(&self, called: &str, done: impl Fn(&Value) -> bool) {
        for _ in 0..6000 {
            if done(&self.get(called)) {
                return;
            }
            crate::clock::sleep(Duration::from_millis(10)).await;
        }
        panic!("never: {:#}", self.get(called)["status"]);
    }
}

fn is_done(shoot: &Value) -> bool {
    text(shoot, "status.lastOperation.state") == "Succeeded"
        && number(shoot, "status.observedGeneration") == number(shoot, "metadata.generation")
}

#[tokio::test]
async fn a_life_goes_on_whatever_becomes_of_single_writes() {
    for trouble in [WorkerFault::Refuses, WorkerFault::Dies, WorkerFault::RefusesAfterwards] {
        let play = Play::start(Some(trouble), false, 20).await;
        play.create("shop").await;
        play.until("shop", is_done).await;
        let wish = json!({"metadata": {"annotations": {"gardener.cloud/operation": "rotate-credentials-start"}}});
        Port::patch(&play.cluster, SHOOTS, "garden-dev", "shop", "", wish).await.expect("asked");
        let phase = "status.credentials.rotation.certificateAuthorities.phase";
        play.until("shop", |shoot| is_done(shoot) && text(shoot, phase) == "Prepared").await;
        play.delete("shop").await;
        play.until("shop", Value::is_null).await;
    }
}

#[tokio::test]
async fn those_who_wait_for_room_get_it_however_the_others_end() {
    for relists in [false, true] {
        // One at a time on each Seed: whoever keeps its room keeps everybody else waiting.
        let play = Play::start(None, relists, 1).await;
        let names: Vec<String> = (0..6).map(|number| format!("shop{number}")).collect();
        for called in &names {
            play.create(called).await;
        }
        for called in &names[..3] {
            play.delete(called).await;
        }
        for called in &names[3..] {
            play.until(called, is_done).await;
        }
        for called in &names[..3] {
            play.until(called, Value::is_null).await;
        }
    }
}

#[tokio::test]
async fn another_shoot_of_the_same_name_has_a_life_of_its_own() {
    let play = Play::start(None, false, 20).await;
    let mut uids = BTreeSet::new();
    for _ in 0..3 {
        uids.insert(text(&play.create("shop").await, "metadata.uid").to_owned());
        play.until("shop", is_done).await;
        let shoot = play.get("shop");
        assert!(text(&shoot, "status.clusterIdentity").contains(text(&shoot, "metadata.uid")));
        play.delete("shop").await;
        play.until("shop", Value::is_null).await;
    }
    assert_eq!(uids.len(), 3);
}
