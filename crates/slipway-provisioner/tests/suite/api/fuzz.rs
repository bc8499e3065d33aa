//! Requests that nobody would write: whatever comes, the answer is JSON with a code a client can act on,
//! nothing panics, and what is accepted can be mapped to a Runtime.
//!
//! Three kinds, drawn from a seed: inputs built from the schema itself with right, odd and wrong values;
//! published documents with their tokens shuffled; and bytes. A moment by default; `make test` gives it a
//! minute with `SLIPWAY_FUZZ_SECONDS`. A failure prints the seed (`SLIPWAY_FUZZ_SEED`) and the request.

mod generate;
mod mutate;

use std::{fmt::Write as _, sync::LazyLock, time::Duration};

use axum::{body::Body, http::Request};
use serde_json::Value;
use slipway_engine::SystemClock;
use slipway_kube::Cidr;
use slipway_model::ports::{Clock as _, Runtimes as _};
use slipway_provisioner::{
    Settings,
    auth::Scope,
    graphql,
    input::{ClusterSecrets, ClusterSpec, Version},
    juniper_gaps,
    mapping::{self, Owner},
};
use tower::ServiceExt as _;

use self::{generate::Types, mutate::Mutator};
use super::bench::{Bench, TENANT};

/// Rounds without a time: enough to notice a broken target, quick enough for every day.
const ROUNDS: usize = 1_500;

/// A store fills up with what is accepted; a new one keeps every round alike.
const ROUNDS_PER_BENCH: usize = 5_000;

/// Numbers from a seed: SplitMix64.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.draw() % u64::try_from(limit.max(1)).expect("fits")).expect("fits")
    }

    pub(super) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(super) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[tokio::test]
async fn no_request_breaks_the_listener() {
    let seconds = number("SLIPWAY_FUZZ_SECONDS");
    let seed = number("SLIPWAY_FUZZ_SEED").unwrap_or(20_250_101);
    let clock = SystemClock::default();
    let begin = clock.monotonic();
    let goes_on = |round: usize| match seconds {
        Some(seconds) => clock.monotonic() - begin < Duration::from_secs(seconds),
        None => round < ROUNDS,
    };
    let mut dice = Dice(seed);
    let types = Types::of(&slipway_provisioner::graphql::schema(&slipway_provisioner::Settings::default()));
    let (mut round, mut executed, mut accepted) = (0, 0, 0);
    while goes_on(round) {
        let bench = Bench::start().await;
        let target = Target::new(&bench).await;
        let mutator = Mutator::new(&target.runtime);
        for _ in 0..ROUNDS_PER_BENCH {
            if !goes_on(round) {
                break;
            }
            let body = match dice.below(10) {
                0 => mutate::bytes(&mut dice),
                1..=4 => mutator.document(&mut dice),
                _ => types.request(&mut dice, &target.runtime),
            };
            let status = target.judge(&body, &format!("seed {seed}, round {round}")).await;
            executed += usize::from(status == 200);
            parsers(&body);
            round += 1;
        }
        accepted += target.check_accepted(&bench).await;
    }
    println!("fuzz: seed {seed}, {round} requests, {executed} executed, {accepted} clusters accepted");
    assert!(executed * 5 > round, "too few requests get past the parser: {executed} of {round}");
    assert!(accepted > 0, "no request was ever accepted");
}

/// What reads texts of clients directly.
fn parsers(body: &[u8]) {
    let text = String::from_utf8_lossy(body);
    for word in text.split(|c: char| c == '"' || c.is_whitespace()).take(50) {
        if let Ok(range) = word.parse::<Cidr>() {
            assert_eq!(range.to_string().parse::<Cidr>(), Ok(range));
        }
        let _ = word.parse::<Version>();
    }
    static SCHEMA: LazyLock<graphql::Schema> = LazyLock::new(|| graphql::schema(&Settings::default()));
    let _ = juniper_gaps::prepare(&text, serde_json::from_slice(body).ok(), &SCHEMA.schema, 1000);
}

struct Target {
    router: axum::Router,
    token: String,
    /// A living runtime, so that changes have something to work on.
    runtime: String,
}

impl Target {
    async fn new(bench: &Bench) -> Self {
        let runtime = bench.living(&super::bench::cluster("gcp", "living", &[])).await;
        Self { router: bench.router.clone(), token: bench.token("fuzz", &Scope::ALL), runtime }
    }

    /// Sends a request and looks at what comes back.
    async fn judge(&self, body: &[u8], place: &str) -> u16 {
        let request = Request::post("/graphql")
            .header("authorization", format!("Bearer {}", self.token))
            .header("tenant", TENANT)
            .body(Body::from(body.to_vec()))
            .expect("a request");
        let answer = self.router.clone().oneshot(request).await.expect("an answer");
        let status = answer.status().as_u16();
        let content = axum::body::to_bytes(answer.into_body(), usize::MAX).await.expect("a body");
        let shown = || {
            format!(
                "{place}\nrequest: {}\nanswer {status}: {}",
                String::from_utf8_lossy(body),
                String::from_utf8_lossy(&content)
            )
        };
        assert!([200, 400, 405, 413].contains(&status), "{}", shown());
        let answer: Value = serde_json::from_slice(&content).unwrap_or_else(|_| panic!("not JSON: {}", shown()));
        for error in answer["errors"].as_array().into_iter().flatten() {
            let code = error["extensions"]["error_code"].as_u64();
            assert!(code.is_some_and(|code| (400..500).contains(&code)), "an error without a 4xx code: {}", shown());
            assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "{}", shown());
        }
        assert!(answer.get("errors").is_some() || answer.get("data").is_some(), "{}", shown());
        status
    }

    /// Whatever was accepted is a Runtime that Kubernetes could take; answers how many clusters were.
    async fn check_accepted(&self, bench: &Bench) -> usize {
        let records = bench.store.live_runtimes(None, 100_000).await.expect("listed");
        for record in &records {
            let stored = bench.store.config(record.id, None).await.expect("read").expect("stored");
            let spec: ClusterSpec = stored.spec.to().expect("a stored document reads back");
            let secrets = ClusterSecrets::open(stored.secrets.as_ref()).expect("opened");
            let operation = bench.store.runtime_operations(record.id, None, 1).await.expect("read")[0].id;
            let owner = Owner {
                id: record.id,
                tenant: &record.tenant,
                sub_account: None,
                namespace: "kcp-system",
                operation,
                created_at: record.created_at,
            };
            let runtime = serde_json::to_value(mapping::runtime(&owner, &spec, &secrets)).expect("JSON");
            for (key, value) in runtime["metadata"]["labels"].as_object().expect("labels") {
                let value = value.as_str().expect("text");
                let fits = slipway_provisioner::input::is_label_value(value);
                assert!(fits, "label {key} has {value:?}, which Kubernetes does not take");
            }
            let again: slipway_kube::Runtime = serde_json::from_value(runtime).expect("a Runtime reads back");
            let _ = write!(String::new(), "{again:?}");
        }
        records.len() - 1
    }
}
