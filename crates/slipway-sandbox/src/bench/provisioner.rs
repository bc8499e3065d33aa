//! How many mutations the provisioner accepts, and how long each takes.
//!
//! The provisioner serves on a loopback socket with tokens, tenants, validation and encryption, and nobody runs
//! what it accepts: acceptance is measured alone. In the same run and on the same kind of database, a bare loop
//! writes the same rows through the driver alone, with as many writers as there are clients.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use kube_sandbox::{Server as Kubernetes, Settings};
use serde_json::{Value, json};
use slipway_engine::{EngineConfig, Slots, SystemClock, SystemRandom};
use slipway_model::{OperationId, ports::Clock as _, runtime_record::RuntimeId, time::hours};
use slipway_server::provisioner::{File, Given, LocalIssuer, ProvisionerRole, Scope};
use slipway_sim::ground::CONTROL_PLANE;
use slipway_store::testing::bare_accept::BareAcceptance;
use tokio::task::JoinSet;

use super::{
    engine::{
        Kind,
        databases::{Database, Server},
    },
    measure::{Percentiles, median},
};

/// How much to do.
#[derive(Debug, Clone)]
pub struct Options {
    /// The databases.
    pub databases: Vec<Kind>,
    /// Clients, line by line.
    pub clients: Vec<usize>,
    /// How long each side is measured.
    pub seconds: f64,
    /// How often the two take turns.
    pub rounds: usize,
}

/// One line of figures; rates are medians of the rounds.
#[derive(Debug, serde::Serialize)]
pub struct Line {
    /// Database.
    pub database: Kind,
    /// Clients that ask at once.
    pub clients: usize,
    /// Transactions of the bare loop: five rows each.
    pub bare_inserts_per_s: f64,
    /// How long one of them took.
    pub bare_insert: Percentiles,
    /// Mutations that were accepted and are durable.
    pub mutations_per_s: f64,
    /// How long one took, as its client saw it.
    pub mutation: Percentiles,
    /// Mutations in units of the bare loop.
    pub ratio: f64,
    /// The same of each round.
    pub ratios: Vec<f64>,
}

/// Everything, in the order it was measured.
#[derive(Debug, serde::Serialize)]
pub struct Report {
    /// `provisionRuntime`, accepted.
    pub acceptance: Vec<Line>,
}

/// Measures everything.
pub async fn run(options: &Options, say: &dyn Fn(&str)) -> Result<Report, String> {
    say("starting a PostgreSQL server of our own");
    let server = Server::start()?;
    let mut acceptance = Vec::new();
    for &kind in &options.databases {
        for &clients in &options.clients {
            say(&format!("{kind}: provisionRuntime by {clients} clients"));
            let line = measure(&server, kind, clients, options).await?;
            say(&format!(
                "  {:.0} mutations/s, p99 {} µs; the bare loop {:.0}/s, p99 {} µs; ratio {:.2} ({:?})",
                line.mutations_per_s,
                line.mutation.p99_us,
                line.bare_inserts_per_s,
                line.bare_insert.p99_us,
                line.ratio,
                line.ratios
            ));
            acceptance.push(line);
        }
    }
    Ok(Report { acceptance })
}

async fn measure(server: &Server, kind: Kind, clients: usize, options: &Options) -> Result<Line, String> {
    let length = Duration::from_secs_f64(options.seconds);
    let (mut bare, mut mutations, mut ratios) = (Side::default(), Side::default(), Vec::new());
    for _ in 0..options.rounds {
        let database = server.fresh(kind).await?;
        server.settle(kind).await?;
        let raw = bare.add(insert(&database, clients, length).await?, length);
        let database = server.fresh(kind).await?;
        server.settle(kind).await?;
        let ours = mutations.add(mutate(&database, clients, length).await?, length);
        ratios.push(rounded(ours / raw));
    }
    Ok(Line {
        database: kind,
        clients,
        bare_inserts_per_s: rounded(median(bare.rates)),
        bare_insert: Percentiles::of(bare.took),
        mutations_per_s: rounded(median(mutations.rates)),
        mutation: Percentiles::of(mutations.took),
        ratio: median(ratios.clone()),
        ratios,
    })
}

fn rounded(figure: f64) -> f64 {
    (figure * 100.0).round() / 100.0
}

/// What one side has done so far.
#[derive(Default)]
struct Side {
    rates: Vec<f64>,
    took: Vec<Duration>,
}

impl Side {
    fn add(&mut self, took: Vec<Duration>, length: Duration) -> f64 {
        let rate = took.len() as f64 / length.as_secs_f64();
        self.rates.push(rate);
        self.took.extend(took);
        rate
    }
}

/// Lets so many workers repeat `once` for a while; answers how long each time took.
async fn repeat<F>(
    workers: usize,
    length: Duration,
    once: impl Fn(usize) -> F + Send + Sync + 'static,
) -> Result<Vec<Duration>, String>
where
    F: Future<Output = Result<(), String>> + Send,
{
    let (once, number) = (Arc::new(once), Arc::new(AtomicUsize::new(0)));
    let clock = SystemClock::default();
    let begun = clock.monotonic();
    let mut running = JoinSet::new();
    for _ in 0..workers {
        let (once, number) = (once.clone(), number.clone());
        running.spawn(async move {
            let clock = SystemClock::default();
            let (origin, mut took) = (clock.monotonic(), Vec::new());
            loop {
                let before = clock.monotonic();
                if before - origin >= length {
                    return Ok::<_, String>(took);
                }
                once(number.fetch_add(1, Ordering::Relaxed)).await?;
                took.push(clock.monotonic() - before);
            }
        });
    }
    let mut all = Vec::new();
    while let Some(ended) = running.join_next().await {
        all.extend(ended.map_err(|error| error.to_string())??);
    }
    debug_assert!(clock.monotonic() >= begun);
    Ok(all)
}

/// The bare loop.
async fn insert(database: &Database, writers: usize, length: Duration) -> Result<Vec<Duration>, String> {
    let bare = database.bare().await?;
    let spec = json!({ "cluster": config(0), "defaults": "x".repeat(600) }).to_string();
    let (clock, random) = (Arc::new(SystemClock::default()), Arc::new(SystemRandom::default()));
    let pool = bare.clone();
    let once = move |number: usize| {
        let new = BareAcceptance {
            runtime: RuntimeId::draw(&*random).as_uuid(),
            operation: OperationId::draw(&*clock, &*random).as_uuid(),
            name: format!("b{number}"),
            spec: spec.clone(),
            at: clock.wall().as_micros(),
        };
        let bare = pool.clone();
        async move { bare.accept(&new).await.map_err(|error| error.to_string()) }
    };
    let took = repeat(writers, length, once).await;
    bare.close().await;
    took
}

/// The provisioner, asked over HTTP.
async fn mutate(database: &Database, clients: usize, length: Duration) -> Result<Vec<Duration>, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let kubernetes = Kubernetes::start(Settings::default()).await.map_err(|error| text(&error))?;
    kubernetes.add_cluster(CONTROL_PLANE).await.map_err(|error| text(&error))?;
    let key = LocalIssuer::new_key().map_err(|error| text(&error))?;
    let issuer = LocalIssuer::with_key("https://bench.invalid", &key).map_err(|error| text(&error))?;
    let mut file = File { listen: ([127, 0, 0, 1], 0).into(), metrics: None, ..File::default() };
    file.settings.agent.enabled = false;
    let given = Given {
        storage: database.store.clone(),
        runtimes: database.runtimes.clone(),
        control_plane: kubernetes.client(CONTROL_PLANE).map_err(|error| text(&error))?,
        issuers: vec![issuer.issuer("bench")],
        engine: EngineConfig { slots: Slots::each(0), ..EngineConfig::default() },
        file,
    };
    let role = ProvisionerRole::start(given).await.map_err(|error| text(&error))?;
    let scopes: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    let token = issuer.token("bench", "bench", &scopes, &["acme"], SystemClock::default().wall(), hours(1));
    let token = token.map_err(|error| text(&error))?;
    let http = reqwest::Client::builder().no_proxy().build().map_err(|error| text(&error))?;
    let url = format!("http://{}/graphql", role.address());
    let once = move |number: usize| {
        let request = http.post(&url).bearer_auth(&token).header("tenant", "acme");
        let request = request.body(document(number));
        async move {
            let answer = request.send().await.map_err(|error| error.to_string())?;
            let answer = answer.bytes().await.map_err(|error| error.to_string())?;
            let answer: Value = serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
            match answer["data"]["result"]["id"].as_str() {
                Some(_) => Ok(()),
                None => Err(format!("a mutation was not accepted: {answer}")),
            }
        }
    };
    let took = repeat(clients, length, once).await;
    role.stop().await;
    took
}

fn document(number: usize) -> String {
    let query = "mutation($config: ProvisionRuntimeInput!) { result: provisionRuntime(config: $config) { id operation state message runtimeID } }";
    json!({ "query": query, "variables": { "config": config(number) } }).to_string()
}

fn config(number: usize) -> Value {
    json!({
        "runtimeInput": { "name": format!("b{number}"), "labels": { "broker_instance_id": format!("i-{number}") } },
        "clusterConfig": {
            "administrators": ["ann@example.com"],
            "gardenerConfig": {
                "name": format!("b{number}"), "provider": "gcp", "region": "europe-west3", "targetSecret": "account",
                "machineType": "n2-standard-4", "autoScalerMin": 2, "autoScalerMax": 5, "purpose": "evaluation",
                "providerSpecificConfig": { "gcpConfig": { "zones": ["europe-west3-a", "europe-west3-b"] } },
            },
        },
    })
}
