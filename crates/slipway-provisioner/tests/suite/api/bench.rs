//! A provisioner to talk to.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, Once},
    time::Duration,
};

use kube_sandbox::Server;
use secrecy::SecretString;
use serde_json::{Value, json};
use slipway_clients::{
    ConnectionSettings, Connections, Credentials, HttpTransport, SYSTEMS, SettingsBySystem, director,
    oauth::ClientCredentials,
};
use slipway_engine::{Event, SystemClock, SystemRandom};
use slipway_kube::access::{Access, Options};
use slipway_model::{
    Class, OperationId, OperationState, ProcessKey, ReplicaId, Timestamp,
    operation::Fields,
    ports::{Claim, ClaimRequest, Clock, Commit, CommitOutcome, Next, Runtimes as _, Storage as _, Transport, Want},
    runtime_record::RuntimeId,
    time::hours,
};
use slipway_provisioner::{
    Api, OperationKind, Settings,
    auth::{EVERY_TENANT, Gate, LocalIssuer, Scope},
    clusters::Clusters,
    graphql::ports::EnginePort,
    http::Sockets,
};
use slipway_sim::{
    Listening,
    ground::{CONTROL_PLANE, control_plane},
    systems::director::Director,
};
use slipway_store::MemoryStore;
use tokio::{sync::broadcast, task::JoinHandle};

use super::hand_clock::HandClock;
use crate::{landscape::definitions, newest};

pub(crate) const AUDIENCE: &str = "provisioner";
pub(crate) const TENANT: &str = "acme";

/// Gives budgets and news, and runs nothing.
struct IdleEngine {
    clock: SystemClock,
    news: broadcast::Sender<Event>,
}

impl EnginePort for IdleEngine {
    fn now(&self) -> Timestamp {
        self.clock.wall()
    }

    fn process(&self, kind: OperationKind) -> Option<(ProcessKey, Duration)> {
        Some((newest(kind), hours(24)))
    }

    fn news(&self) -> Option<broadcast::Receiver<Event>> {
        Some(self.news.subscribe())
    }
}

pub(crate) struct Bench {
    pub(crate) url: String,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) kube: Server,
    pub(crate) director: Option<Director>,
    pub(crate) issuer: LocalIssuer,
    pub(crate) router: axum::Router,
    pub(crate) sockets: Sockets,
    http: reqwest::Client,
    news: broadcast::Sender<Event>,
    held: Mutex<HashMap<OperationId, Claim>>,
    task: JoinHandle<()>,
    _director_door: Option<Listening>,
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A request in the making.
pub(crate) struct Ask<'a> {
    bench: &'a Bench,
    body: Value,
    tenant: Option<String>,
    token: Option<String>,
    sub_account: Option<&'static str>,
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Bench {
    pub(crate) async fn start() -> Self {
        Self::with(Settings::default(), false).await
    }

    pub(crate) async fn set(change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::default();
        change(&mut settings);
        Self::with(settings, false).await
    }

    pub(crate) async fn with_director() -> Self {
        Self::with(Settings::default(), true).await
    }

    pub(crate) async fn with(settings: Settings, has_director: bool) -> Self {
        let kube = Server::start(kube_sandbox::Settings::default()).await.expect("a Kubernetes API");
        control_plane(&kube, definitions()).await.expect("a control plane");
        Self::on(kube, settings, has_director, Arc::new(SystemClock::default())).await
    }

    /// Another one on the same control plane, with a database of its own.
    pub(crate) async fn beside(other: &Self) -> Self {
        Self::on(other.kube.clone(), Settings::default(), false, Arc::new(SystemClock::default())).await
    }

    /// One whose time a test makes.
    pub(crate) async fn by_hand(settings: Settings) -> (Self, Arc<HandClock>) {
        let clock = Arc::new(HandClock::default());
        let kube = Server::start(kube_sandbox::Settings::default()).await.expect("a Kubernetes API");
        kube.add_cluster(CONTROL_PLANE).await.expect("a cluster");
        (Self::on(kube, settings, false, clock.clone()).await, clock)
    }

    async fn on(kube: Server, mut settings: Settings, has_director: bool, clock: Arc<dyn Clock>) -> Self {
        static TLS: Once = Once::new();
        TLS.call_once(|| {
            let _ = rustls::crypto::ring::default_provider().install_default();
        });
        settings.trusted_callers.push("broker".to_owned());
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let key = LocalIssuer::new_key().expect("a key");
        let issuer = LocalIssuer::with_key("tests", &key).expect("an issuer");
        let news = broadcast::Sender::new(64);
        let (simulated, door, client) = match has_director {
            true => {
                let (simulated, door, client) = a_director(clock.clone()).await;
                (Some(simulated), Some(door), Some(Arc::new(client)))
            }
            false => (None, None, None),
        };
        let api = Api {
            store: store.clone(),
            runtimes: store.clone(),
            engine: Arc::new(IdleEngine { clock: SystemClock::default(), news: news.clone() }),
            clock: clock.clone(),
            random: Arc::new(SystemRandom::default()),
            director: client,
            clusters: Clusters::new(
                Access::new(kube.client(CONTROL_PLANE).expect("a client"), Options::new("kcp", clock.clone())),
                &settings.namespace,
            ),
            gate: Gate::new(vec![issuer.issuer(AUDIENCE)], clock),
            settings,
            metrics: Arc::default(),
        };
        let sockets = Sockets::new(&api.settings.limits);
        let router = slipway_provisioner::http::router(Arc::new(api), sockets.clone());
        let served = router.clone();
        let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", socket.local_addr().expect("an address"));
        let task = tokio::spawn(async move { axum::serve(socket, served).await.expect("serves") });
        let http = reqwest::Client::builder().no_proxy().build().expect("a client");
        let held = Mutex::default();
        Self {
            url,
            store,
            kube,
            director: simulated,
            issuer,
            router,
            sockets,
            http,
            news,
            held,
            task,
            _director_door: door,
        }
    }

    /// A token with these scopes, good for every tenant.
    pub(crate) fn token(&self, subject: &str, scopes: &[Scope]) -> String {
        self.token_for(subject, scopes, &[EVERY_TENANT])
    }

    /// A token with these scopes, good for these tenants.
    pub(crate) fn token_for(&self, subject: &str, scopes: &[Scope], tenants: &[&str]) -> String {
        let scopes: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
        let now = SystemClock::default().wall();
        self.issuer.token(subject, AUDIENCE, &scopes, tenants, now, hours(1)).expect("signed")
    }

    /// A request by the tests' usual caller: everything allowed, no right to move tenants.
    pub(crate) fn ask(&self, query: &str) -> Ask<'_> {
        let token = self.token("ann", &Scope::ALL);
        Ask {
            bench: self,
            body: json!({ "query": query }),
            tenant: Some(TENANT.to_owned()),
            token: Some(token),
            sub_account: None,
        }
    }

    /// A body of any kind, with a good token.
    pub(crate) async fn post(&self, body: impl Into<reqwest::Body>) -> Reply {
        let token = self.token("ann", &Scope::ALL);
        let request = self.http.post(format!("{}/graphql", self.url)).bearer_auth(token).header("tenant", TENANT);
        read(request.body(body)).await
    }

    pub(crate) fn get(&self, path: &str) -> reqwest::RequestBuilder {
        self.http.get(format!("{}{path}", self.url))
    }

    /// Provisions a cluster and answers its id and its operation's.
    pub(crate) async fn provisioned(&self, config: &Value) -> (String, String) {
        let reply = self.provision(config).await;
        let result = reply.data("result");
        let text = |key: &str| result[key].as_str().unwrap_or_else(|| panic!("{reply:?}")).to_owned();
        (text("runtimeID"), text("id"))
    }

    pub(crate) async fn provision(&self, config: &Value) -> Reply {
        let query = "mutation($config: ProvisionRuntimeInput!) {
            result: provisionRuntime(config: $config) { id operation state message runtimeID compassRuntimeID warnings }
        }";
        self.ask(query).variables(json!({ "config": config })).send().await
    }

    /// A cluster whose provisioning has ended well.
    pub(crate) async fn living(&self, config: &Value) -> String {
        let (runtime, operation) = self.provisioned(config).await;
        self.end(&operation, OperationState::Succeeded).await;
        runtime
    }

    /// Ends an operation.
    pub(crate) async fn end(&self, operation: &str, state: OperationState) {
        self.write(operation, Next::End { state }, |_| {}).await;
    }

    /// What a step would write.
    pub(crate) async fn write(&self, operation: &str, next: Next, change: impl FnOnce(&mut Fields)) {
        let id: OperationId = operation.parse().expect("an id");
        self.claim().await;
        let mut claim = self.held.lock().expect("held").remove(&id).expect("the operation can be claimed");
        let stored = self.store.operation(id).await.expect("stored");
        let mut fields = stored.fields.clone();
        change(&mut fields);
        let commit = Commit {
            operation: id,
            lease: claim.lease.clone(),
            number: stored.schedule.commits + 1,
            expected_version: stored.version,
            seen_control: stored.control.seq,
            clear_skip: false,
            at: SystemClock::default().wall(),
            fields: Some(fields),
            steps: Vec::new(),
            records: Vec::new(),
            next: next.clone(),
        };
        let outcomes = self.store.commit(&[commit]).await.expect("committed");
        assert!(matches!(outcomes[0], CommitOutcome::Committed { .. }), "{outcomes:?}");
        if matches!(next, Next::Run) {
            claim.operation = self.store.operation(id).await.expect("stored");
            self.held.lock().expect("held").insert(id, claim);
        }
        let _ = self.news.send(Event::LeaseLost);
    }

    async fn claim(&self) {
        let replica: ReplicaId = "r-tests".parse().expect("a replica");
        self.store.register(&replica, &[]).await.expect("registered");
        let request = ClaimRequest {
            replica,
            now: SystemClock::default().wall(),
            known: OperationKind::all().map(newest).collect(),
            wants: Class::ALL.iter().map(|class| Want { class: *class, limit: 100 }).collect(),
        };
        let claimed = self.store.claim(&request).await.expect("claimed");
        let mut held = self.held.lock().expect("held");
        held.extend(claimed.claims.into_iter().map(|claim| (claim.operation.id, claim)));
    }

    /// The news that an operation has moved.
    pub(crate) fn tell(&self, operation: &str) {
        let id: OperationId = operation.parse().expect("an id");
        let _ = self.news.send(Event::OperationFinished {
            operation: id,
            instance_id: "x".parse().expect("an instance"),
            kind: slipway_model::OperationType::Update,
            process: newest(OperationKind::UpgradeShoot),
            plan: String::new(),
            state: OperationState::Succeeded,
            last_error: None,
            duration: Duration::ZERO,
        });
    }

    /// The stored document of a runtime's cluster.
    pub(crate) async fn stored(&self, runtime: &str) -> Value {
        let id: RuntimeId = runtime.parse().expect("an id");
        let config = self.store.config(id, None).await.expect("read").expect("stored");
        serde_json::from_str(config.spec.as_str()).expect("JSON")
    }

    pub(crate) fn kube_client(&self) -> kube::Client {
        self.kube.client(CONTROL_PLANE).expect("a client")
    }
}

async fn a_director(clock: Arc<dyn Clock>) -> (Director, Listening, director::Client) {
    let simulated = Director::default();
    let door = Listening::start(simulated.router()).await.expect("a port");
    let (client_id, secret) = simulated.client();
    let base = door.url();
    let credentials = Credentials::Client(ClientCredentials {
        url: format!("{base}/oauth2/token").parse().expect("an address"),
        client_id,
        client_secret: SecretString::from(secret),
    });
    let address = format!("{base}/graphql").parse().expect("an address");
    let settings = SettingsBySystem::from([ConnectionSettings::of::<director::Client>(address, credentials)]);
    let wire: Arc<dyn Transport> = Arc::new(HttpTransport::new().expect("a transport"));
    (simulated, door, Connections::new(SYSTEMS, &settings, &wire, &clock).client())
}

impl Ask<'_> {
    pub(crate) fn variables(mut self, variables: Value) -> Self {
        self.body["variables"] = variables;
        self
    }

    pub(crate) fn named(mut self, operation: &str) -> Self {
        self.body["operationName"] = operation.into();
        self
    }

    pub(crate) fn tenant(mut self, tenant: Option<&str>) -> Self {
        self.tenant = tenant.map(str::to_owned);
        self
    }

    pub(crate) fn sub_account(mut self, sub_account: &'static str) -> Self {
        self.sub_account = Some(sub_account);
        self
    }

    pub(crate) fn by(mut self, subject: &str, scopes: &[Scope]) -> Self {
        self.token = Some(self.bench.token(subject, scopes));
        self
    }

    pub(crate) fn token(mut self, token: Option<&str>) -> Self {
        self.token = token.map(str::to_owned);
        self
    }

    pub(crate) async fn send(self) -> Reply {
        let mut request = self.bench.http.post(format!("{}/graphql", self.bench.url));
        request =
            request.header("Accept", "application/json; charset=utf-8").header("Content-Type", "application/json");
        for (name, value) in [("Tenant", self.tenant.as_deref()), ("sub-account", self.sub_account)] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        read(request.body(self.body.to_string())).await
    }
}

async fn read(request: reqwest::RequestBuilder) -> Reply {
    let answer = request.send().await.expect("an answer");
    let status = answer.status().as_u16();
    let kind = answer.headers().get("content-type").expect("a type").to_str().expect("text").to_owned();
    assert_eq!(kind, "application/json", "always JSON");
    let body = answer.bytes().await.expect("a body");
    Reply { status, body: serde_json::from_slice(&body).expect("JSON") }
}

impl Reply {
    /// The data under a root field; panics if there are errors.
    pub(crate) fn data(&self, field: &str) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        assert!(self.body.get("errors").is_none(), "{self:?}");
        self.body["data"][field].clone()
    }

    /// The first error's code and reason.
    pub(crate) fn error(&self) -> (u64, String) {
        let extensions = &self.body["errors"][0]["extensions"];
        let code = extensions["error_code"].as_u64().unwrap_or_else(|| panic!("no code: {self:?}"));
        let reason = extensions["error_reason"].as_str().unwrap_or_else(|| panic!("no reason: {self:?}"));
        assert!(extensions["error_component"].is_string(), "{self:?}");
        (code, reason.to_owned())
    }

    pub(crate) fn message(&self) -> String {
        self.body["errors"][0]["message"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }

    /// The paths and rules of all violations.
    pub(crate) fn violations(&self) -> Vec<(String, String)> {
        let list = self.body["errors"][0]["extensions"]["violations"].as_array().cloned().unwrap_or_default();
        let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
        list.iter().map(|row| (text(row, "path"), text(row, "rule"))).collect()
    }

    /// Refused with this violation among others.
    pub(crate) fn violates(&self, path: &str, rule: &str) {
        assert_eq!(self.error().0, 400, "{self:?}");
        assert!(self.violations().contains(&(path.to_owned(), rule.to_owned())), "{path} {rule}: {self:?}");
    }
}

/// The least that the contract asks for.
pub(crate) fn minimal(provider: &str) -> Value {
    json!({
        "runtimeInput": { "name": "shop" },
        "clusterConfig": { "gardenerConfig": {
            "provider": provider, "region": "europe-west3", "targetSecret": "cloud-account"
        } }
    })
}

/// The same with a name and some changes, given as pointers into `gardenerConfig`.
pub(crate) fn cluster(provider: &str, name: &str, changes: &[(&str, Value)]) -> Value {
    let mut config = minimal(provider);
    let gardener = &mut config["clusterConfig"]["gardenerConfig"];
    gardener["name"] = name.into();
    for (field, value) in changes {
        set(gardener, field, value.clone());
    }
    config
}

/// Sets a value at a dotted path.
pub(crate) fn set(target: &mut Value, path: &str, value: Value) {
    let mut place = target;
    for part in path.split('.') {
        place = &mut place[part];
    }
    *place = value;
}
