//! Every fault of requests, seen by a client over HTTP.

use std::{sync::Arc, time::Duration};

use futures::{AsyncBufReadExt as _, StreamExt as _, stream::BoxStream};
use serde_json::{Value, json};

use super::*;
use crate::{
    clock,
    garden::{Options, Pace, value::text},
};

const MAPS: &str = "/api/v1/namespaces/garden-dev/configmaps";

struct Play {
    garden: Arc<Garden>,
    client: kube::Client,
}

type Lines = BoxStream<'static, std::io::Result<String>>;

impl Play {
    /// Behind a real socket, as a client would be.
    async fn start() -> Self {
        let garden =
            Arc::new(Garden::start(Options { pace: Pace::Manual, ..Options::default() }).await.expect("garden"));
        let config = kube::config::Kubeconfig::from_yaml(&garden.kubeconfig().expect("a door")).expect("kubeconfig");
        let config = kube::Config::from_custom_kubeconfig(config, &kube::config::KubeConfigOptions::default()).await;
        Self { garden, client: kube::Client::try_from(config.expect("config")).expect("client") }
    }

    fn fault(&self, fault: Value) {
        self.garden.fail_requests(vec![serde_json::from_value(fault).expect("a fault")]);
    }

    async fn make(&self, called: &str) {
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": called, "namespace": "garden-dev"}});
        kube_sandbox::cluster::Cluster::create(self.garden.cluster(), map).await.expect("made");
    }

    async fn names(&self, query: &str) -> (Vec<String>, String) {
        let request = http::Request::get(format!("{MAPS}?{query}")).body(Vec::new()).expect("request");
        let list: Value = self.client.request(request).await.expect("a list");
        let names = list["items"].as_array().into_iter().flatten().map(|one| text(one, "metadata.name").to_owned());
        (names.collect(), text(&list, "metadata.resourceVersion").to_owned())
    }

    async fn watch(&self) -> Lines {
        let version = self.names("").await.1;
        let path = format!("{MAPS}?watch=true&allowWatchBookmarks=true&resourceVersion={version}");
        let request = http::Request::get(path).body(Vec::new()).expect("request");
        self.client.request_stream(request).await.expect("a watch").lines().boxed()
    }
}

/// Longer than anything takes; only a failure waits for it.
const PATIENCE: Duration = Duration::from_secs(60);

async fn next(lines: &mut Lines) -> Option<Value> {
    let line = clock::within(PATIENCE, lines.next()).await.expect("in time")?;
    serde_json::from_str(&line.ok()?).ok()
}

#[tokio::test]
async fn a_watch_is_closed_after_some_events_and_can_be_opened_again() {
    let play = Play::start().await;
    play.fault(json!({"watch": {"events": 2}}));
    for round in ["a", "b"] {
        let mut lines = play.watch().await;
        for number in 0..3 {
            play.make(&format!("{round}{number}")).await;
        }
        assert_eq!(next(&mut lines).await.expect("one")["object"]["metadata"]["name"], format!("{round}0"));
        assert_eq!(next(&mut lines).await.expect("two")["type"], "ADDED");
        assert_eq!(next(&mut lines).await, None, "closed");
    }
}

#[tokio::test]
async fn a_watch_is_closed_after_some_time_or_told_that_it_is_too_old() {
    let play = Play::start().await;
    play.fault(json!({"watch": {"seconds": 0.05}}));
    assert_eq!(next(&mut play.watch().await).await, None, "closed without an event");
    play.fault(json!({"watch": {"events": 0, "end": "expired"}, "times": 1}));
    let mut lines = play.watch().await;
    let told = next(&mut lines).await.expect("an error");
    assert_eq!((text(&told, "type"), &told["object"]["code"]), ("ERROR", &json!(410)));
    assert_eq!(next(&mut lines).await, None, "closed");
    let mut lines = play.watch().await;
    play.make("later").await;
    assert_eq!(next(&mut lines).await.expect("once")["type"], "ADDED");
}

#[tokio::test]
async fn a_watch_falls_silent_and_nobody_says_so() {
    let play = Play::start().await;
    for fault in [json!({"watch": {"silent": true}}), json!({"watch": {"events": 0, "end": "halfOpen"}})] {
        play.fault(fault);
        let mut lines = play.watch().await;
        play.garden.fail_requests(Vec::new());
        let mut other = play.watch().await;
        play.make(&format!("silent{}", play.names("").await.0.len())).await;
        assert_eq!(next(&mut other).await.expect("seen by others")["type"], "ADDED");
        // That nothing comes cannot be waited for; after another one has seen it for a while it would have come.
        assert_eq!(clock::within(Duration::from_millis(300), lines.next()).await.map(|_| ()), None);
    }
}

#[tokio::test]
async fn a_watch_lags_behind() {
    let play = Play::start().await;
    play.fault(json!({"watch": {"delaySeconds": 0.2}}));
    let mut lines = play.watch().await;
    let before = crate::clock::now();
    play.make("late").await;
    assert_eq!(next(&mut lines).await.expect("late")["type"], "ADDED");
    assert!(crate::clock::now().duration_since(before).as_millis() >= 200);
}

#[tokio::test]
async fn lists_from_the_cache_are_stale_and_others_are_not() {
    let play = Play::start().await;
    play.make("old").await;
    play.fault(json!({"path": "/configmaps", "stale": true}));
    let before = play.names("resourceVersion=0").await;
    play.make("new").await;
    let (stale, version) = play.names("resourceVersion=0").await;
    assert!(stale.contains(&"old".to_owned()) && !stale.contains(&"new".to_owned()), "{stale:?}");
    assert_eq!(version, before.1, "and it says how old it is");
    assert!(play.names("").await.0.contains(&"new".to_owned()), "whoever wants the newest gets it");
    play.garden.fail_requests(Vec::new());
    assert!(play.names("resourceVersion=0").await.0.contains(&"new".to_owned()));
}

#[tokio::test]
async fn requests_fail_with_a_probability_that_the_seed_decides() {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let play = Play::start().await;
        play.fault(
            json!({"method": "GET", "path": "/configmaps/none", "code": 409, "message": "busy", "probability": 0.5}),
        );
        let mut codes = Vec::new();
        for _ in 0..40 {
            let request = http::Request::get(format!("{MAPS}/none")).body(Vec::new()).expect("request");
            match play.client.request::<Value>(request).await {
                Err(kube::Error::Api(status)) => codes.push(status.code),
                other => panic!("{other:?}"),
            }
        }
        let failed = codes.iter().filter(|code| **code == 409).count();
        assert!((5..35).contains(&failed) && codes.contains(&404), "{codes:?}");
        let lines = play.garden.journal().since(0);
        assert_eq!(lines.iter().filter(|line| line["what"] == "request fault").count(), failed);
        runs.push(codes);
    }
    assert_eq!(runs[0], runs[1], "the same seed, the same luck");
}
