//! A store to test on, and the short words the stories are told in.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use secrecy::SecretString;
use slipway_model::{
    Action, InstanceId, JsonText, NewOperation, Operation, OperationId, OperationState, OperationType, ProcessKey,
    RecordKind, ReplicaId, StepRecord, Timestamp, WaitKey,
    operation::Fields,
    ports::{
        BoxFuture, Claim, ClaimRequest, Claimed, Clock, Commit, CommitOutcome, Enqueued, Entropy, Filter, Lease, Next,
        Peer, Random, Runtimes, Storage, StoreResult, Want,
    },
    state::Class,
    time::hours,
};
use slipway_store::{
    Keyring, MemoryStore, PgOptions, PgStore, SqliteStore,
    testing::{Chance, Postgres, RealClock},
};
use tempfile::TempDir;

/// Ids are drawn from here: each later than the one before, so that "newest first" is decided.
struct IdClock(AtomicI64);

impl Clock for IdClock {
    fn wall(&self) -> Timestamp {
        Timestamp::from_micros(self.0.fetch_add(1_000, Ordering::Relaxed))
    }
    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

/// A store and what draws ids for it.
pub(crate) struct Bed {
    pub(crate) store: Arc<dyn Storage>,
    /// The same store by its other port.
    pub(crate) runtimes: Arc<dyn Runtimes>,
    pub(crate) chance: Arc<Chance>,
    ids: IdClock,
    _folder: Option<TempDir>,
}

/// `seconds` after the stories begin, which is in the past of every real clock.
pub(crate) fn t(seconds: i64) -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000 + seconds * 1_000_000)
}

pub(crate) fn keyring(keys: &[(&str, char)], active: &str) -> Keyring {
    // One source for all keyrings of the test run: a nonce must not come twice.
    static CHANCE: Chance = Chance::seeded(0x51);
    struct Shared;
    impl Entropy for Shared {
        fn fill(&self, bytes: &mut [u8]) {
            CHANCE.fill(bytes);
        }
    }
    let keys = keys.iter().map(|(id, digit)| ((*id).to_owned(), SecretString::from(digit.to_string().repeat(64))));
    Keyring::new(keys, active, Arc::new(Shared)).expect("good keys")
}

pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(RealClock::start())
}

pub(crate) async fn open_postgres(url: &str) -> PgStore {
    PgStore::open(url, keyring(&[("k1", 'a')], "k1"), PgOptions::default(), clock()).await.expect("opens")
}

pub(crate) async fn open_sqlite(path: &std::path::Path) -> SqliteStore {
    SqliteStore::open(path, keyring(&[("k1", 'a')], "k1"), clock()).await.expect("opens")
}

/// A folder with room for one file.
pub(crate) fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("slipway.db");
    (folder, file)
}

impl Bed {
    pub(crate) fn on<S: Storage + Runtimes>(store: Arc<S>) -> Self {
        let ids = IdClock(AtomicI64::new(t(0).as_micros()));
        let runtimes: Arc<dyn Runtimes> = Arc::clone(&store) as _;
        Self { store, runtimes, chance: Arc::new(Chance::seeded(1)), ids, _folder: None }
    }

    pub(crate) async fn memory() -> Self {
        Self::on(Arc::new(MemoryStore::new(clock())))
    }

    pub(crate) async fn sqlite() -> Self {
        let (folder, file) = folder();
        Self { _folder: Some(folder), ..Self::on(Arc::new(open_sqlite(&file).await)) }
    }

    pub(crate) async fn postgres() -> Self {
        let url = Postgres::shared().fresh_database().await.expect("a database");
        Self::on(Arc::new(open_postgres(&url).await))
    }

    pub(crate) fn new_id(&self) -> OperationId {
        OperationId::draw(&self.ids, self.chance.as_ref())
    }

    pub(crate) fn asked(&self, kind: OperationType, instance: &str) -> NewOperation {
        NewOperation {
            id: self.new_id(),
            instance_id: instance.parse().expect("an instance id"),
            kind,
            temporary: false,
            plan: "azure".to_owned(),
            process: ProcessKey { name: kind.as_str().to_owned(), version: 1 },
            budget: hours(24),
            data: JsonText::parse(r#"{"a": 1}"#.to_owned()).expect("an object"),
            secrets: Some(SecretString::from(r#"{"password":"hunter2"}"#)),
            by: "the shop".to_owned(),
        }
    }

    /// Enqueues a new operation that must not join another.
    pub(crate) async fn accept(&self, kind: OperationType, instance: &str, at: Timestamp) -> OperationId {
        let new = self.asked(kind, instance);
        let id = new.id;
        match self.store.enqueue(new, at).await.expect("accepted") {
            Enqueued::New(op) => assert_eq!(op.id, id),
            Enqueued::Existing(op) => panic!("joined {op:?}"),
        }
        id
    }

    pub(crate) async fn replica(&self, name: &str) -> ReplicaId {
        let id = replica(name);
        self.store.register(&id, &[]).await.expect("registers");
        id
    }

    pub(crate) async fn claim_all(&self, replica: &ReplicaId, now: Timestamp) -> Claimed {
        self.claim(replica, now, 100).await.expect("claims")
    }

    pub(crate) async fn claim(&self, replica: &ReplicaId, now: Timestamp, limit: usize) -> StoreResult<Claimed> {
        self.store.claim(&request(replica, now, limit)).await
    }

    /// Claims the one operation that is due.
    pub(crate) async fn claim_one(&self, replica: &ReplicaId, now: Timestamp) -> Claim {
        let mut claims = self.claim_all(replica, now).await.claims;
        assert_eq!(claims.len(), 1, "{claims:?}");
        claims.remove(0)
    }

    /// An operation of its own instance, accepted and claimed at `at`.
    pub(crate) async fn running(&self, replica: &ReplicaId, at: Timestamp) -> Run {
        let id = self.accept(OperationType::Provision, &format!("i-{}", self.chance.next_u64()), at).await;
        let claim = self.claim_one(replica, at).await;
        assert_eq!(claim.operation.id, id);
        Run::of(&claim)
    }

    pub(crate) async fn commit(&self, commit: Commit) -> CommitOutcome {
        self.store.commit(&[commit]).await.expect("answers").remove(0)
    }

    /// Commits what must be taken.
    pub(crate) async fn must(&self, commit: Commit) -> u64 {
        let id = commit.operation;
        match self.commit(commit).await {
            CommitOutcome::Committed { .. } => self.get(id).await.version,
            other => panic!("not committed: {other:?}"),
        }
    }

    pub(crate) async fn act(&self, id: OperationId, action: Action, now: Timestamp) -> StoreResult<Operation> {
        self.store.act(id, &action, "ada", "because", now).await
    }

    pub(crate) async fn get(&self, id: OperationId) -> Operation {
        self.store.operation(id).await.expect("is there")
    }

    pub(crate) async fn kinds(&self, id: OperationId) -> Vec<RecordKind> {
        self.store.records(id, 0, 1000).await.expect("reads").into_iter().map(|record| record.kind).collect()
    }

    pub(crate) async fn all(&self) -> Vec<Operation> {
        self.store.operations(&Filter { limit: 10_000, ..Filter::default() }).await.expect("lists")
    }
}

pub(crate) fn replica(name: &str) -> ReplicaId {
    name.parse().expect("a replica id")
}

pub(crate) fn key(text: &str) -> WaitKey {
    text.parse().expect("a wait key")
}

pub(crate) fn instance(text: &str) -> InstanceId {
    text.parse().expect("an instance id")
}

pub(crate) fn known() -> Vec<ProcessKey> {
    OperationType::ALL.iter().map(|kind| ProcessKey { name: kind.as_str().to_owned(), version: 1 }).collect()
}

pub(crate) fn request(replica: &ReplicaId, now: Timestamp, limit: usize) -> ClaimRequest {
    let wants = Class::ALL.iter().map(|class| Want { class: *class, limit }).collect();
    ClaimRequest { replica: replica.clone(), now, known: known(), wants }
}

/// The holder's side of a running operation: counts its commits and knows its version.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) id: OperationId,
    pub(crate) lease: Lease,
    pub(crate) fields: Fields,
    pub(crate) version: u64,
    pub(crate) number: u64,
    pub(crate) seen: u64,
}

impl Run {
    pub(crate) fn of(claim: &Claim) -> Self {
        let op = &claim.operation;
        Self {
            id: op.id,
            lease: claim.lease.clone(),
            fields: op.fields.clone(),
            version: op.version,
            number: op.schedule.commits,
            seen: op.control.seq,
        }
    }

    /// The next commit, without new fields.
    pub(crate) fn next(&mut self, at: Timestamp, next: Next) -> Commit {
        self.number += 1;
        Commit {
            operation: self.id,
            lease: self.lease.clone(),
            number: self.number,
            expected_version: self.version,
            seen_control: self.seen,
            clear_skip: false,
            at,
            fields: None,
            steps: Vec::new(),
            records: Vec::new(),
            next,
        }
    }

    /// The next commit, with a new description.
    pub(crate) fn saying(&mut self, description: &str, at: Timestamp, next: Next) -> Commit {
        let fields = Fields { description: description.to_owned(), ..self.fields.clone() };
        let commit = Commit { fields: Some(fields), ..self.next(at, next) };
        self.version += 1;
        commit
    }

    pub(crate) fn end(&mut self, at: Timestamp) -> Commit {
        self.next(at, Next::End { state: OperationState::Succeeded })
    }

    /// The next commit, with ledger rows.
    pub(crate) fn with_steps(&mut self, at: Timestamp, next: Next, steps: Vec<StepRecord>) -> Commit {
        Commit { steps, ..self.next(at, next) }
    }
}

pub(crate) fn park(due_at: Timestamp, on: Option<&str>, keep_lease: bool) -> Next {
    Next::Park { due_at, wait_on: on.map(key), keep_lease }
}

impl Bed {
    pub(crate) async fn get_or_none(&self, id: OperationId) -> Option<Operation> {
        self.store.operation(id).await.ok()
    }
}

/// Another replica as somebody saw it at this heartbeat.
pub(crate) fn peer(id: &ReplicaId, beat: u64) -> Peer {
    Peer { id: id.clone(), beat, at: Timestamp::default() }
}
