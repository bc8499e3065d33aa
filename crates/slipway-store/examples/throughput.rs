//! Step commits a second, without the engine: `cargo run --release -p slipway-store --example throughput`.
//!
//! Groups of 64 commits, each with new fields, one ledger row and two records: what a step writes.

use std::{sync::Arc, time::Duration};

use secrecy::SecretString;
use slipway_model::{
    JsonText, NewOperation, OperationId, OperationType, ProcessKey, RecordKind, StepRecord, StepStatus, Timestamp,
    ports::{Claim, ClaimRequest, Clock, Commit, CommitOutcome, Next, Random, Storage, Want},
    recorder::Outcome,
    state::Class,
};
use slipway_store::{
    Keyring, PgOptions, PgStore, SqliteStore,
    testing::{Chance, Postgres, RealClock},
};

const GROUP: usize = 64;
const SECONDS: u64 = 5;

#[tokio::main]
async fn main() {
    let clock: Arc<dyn Clock> = Arc::new(RealClock::start());
    let random: Arc<dyn Random> = Arc::new(Chance::seeded(1));
    let keys = [("k".to_owned(), SecretString::from("a".repeat(64)))];
    let keyring = Keyring::new(keys, "k", Arc::clone(&random)).expect("a good key");

    let folder = tempfile::tempdir().expect("a temporary folder");
    let sqlite =
        SqliteStore::open(&folder.path().join("s.db"), keyring.clone(), Arc::clone(&clock)).await.expect("opens");
    measure("SQLite, 1 group at a time", Arc::new(sqlite), &clock, &random, 1).await;

    let server = Postgres::start().expect("a server");
    for writers in [1, 2, 4] {
        let url = server.fresh_database().await.expect("a database");
        let store = PgStore::open(&url, keyring.clone(), PgOptions::default(), Arc::clone(&clock)).await;
        let name = format!("PostgreSQL, {writers} group(s) at a time");
        measure(&name, Arc::new(store.expect("opens")), &clock, &random, writers).await;
    }
}

async fn measure(
    name: &str,
    store: Arc<dyn Storage>,
    clock: &Arc<dyn Clock>,
    random: &Arc<dyn Random>,
    writers: usize,
) {
    let now = clock.wall();
    let process = ProcessKey { name: "provision".to_owned(), version: 1 };
    for n in 0..GROUP * writers {
        let new = NewOperation {
            id: OperationId::draw(clock.as_ref(), random.as_ref()),
            instance_id: format!("i{n}").parse().expect("an id"),
            kind: OperationType::Provision,
            temporary: false,
            plan: "azure".to_owned(),
            process: process.clone(),
            data: JsonText::parse(format!(r#"{{"padding":"{}"}}"#, "x".repeat(1200))).expect("an object"),
            secrets: None,
            by: "bench".to_owned(),
        };
        store.enqueue(new, now).await.expect("accepts");
    }
    let replica = "r-1".parse().expect("an id");
    store.register(&replica).await.expect("registers");
    let wants = vec![Want { class: Class::Provision, limit: GROUP * writers }];
    let request = ClaimRequest { replica, now: clock.wall(), known: vec![process], wants };
    let claims = store.claim(&request).await.expect("claims").claims;
    assert_eq!(claims.len(), GROUP * writers);
    let start = clock.monotonic();
    let tasks: Vec<_> = claims
        .chunks(GROUP)
        .map(|chunk| tokio::spawn(write(Arc::clone(&store), chunk.to_vec(), Arc::clone(clock), start)))
        .collect();
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await.expect("no panic"));
    }
    let rate = (latencies.len() * GROUP) as f64 / (clock.monotonic() - start).as_secs_f64();
    latencies.sort_unstable();
    let at = |percent: usize| latencies[(latencies.len() - 1) * percent / 100];
    println!("{name}: {rate:.0} steps/s; a group p50 {:.1?}, p99 {:.1?}", at(50), at(99));
}

async fn write(store: Arc<dyn Storage>, claims: Vec<Claim>, clock: Arc<dyn Clock>, start: Duration) -> Vec<Duration> {
    let mut latencies = Vec::new();
    let mut number = 0;
    while (clock.monotonic() - start).as_secs() < SECONDS {
        number += 1;
        let now = clock.wall();
        let group: Vec<Commit> = claims.iter().map(|claim| commit(claim, number, now)).collect();
        let began = clock.monotonic();
        let outcomes = store.commit(&group).await.expect("answers");
        latencies.push(clock.monotonic() - began);
        assert!(outcomes.iter().all(|outcome| matches!(outcome, CommitOutcome::Committed { .. })));
    }
    latencies
}

fn commit(claim: &Claim, number: u64, now: Timestamp) -> Commit {
    let step = StepRecord::new(1, "create", &format!("Step_{}", number % 20), StepStatus::Done);
    let attempt = RecordKind::Attempt {
        stage: "create".to_owned(),
        step: step.step.clone(),
        attempt: 1,
        outcome: Outcome::Done,
        took_us: 120,
        reason: None,
        until: None,
        on: None,
    };
    let call = RecordKind::Call {
        step: step.step.clone(),
        system: "provisioner".to_owned(),
        method: "POST".to_owned(),
        path: "/graphql".to_owned(),
        status: Some(200),
        error: None,
        took_us: 90,
    };
    Commit {
        operation: claim.operation.id,
        lease: claim.lease.clone(),
        number,
        expected_version: claim.operation.version + number - 1,
        seen_control: 0,
        clear_skip: false,
        at: now,
        fields: Some(claim.operation.fields.clone()),
        steps: vec![step],
        records: vec![(now, call), (now, attempt)],
        next: Next::Run,
    }
}
