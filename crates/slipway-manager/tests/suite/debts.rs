//! Defects that operators of the reference knew, and that must not come back. Others of them are told beside what
//! they are about; each carries its number.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use kube_sandbox::http::{
    Trouble,
    troubles::{Spoiled, is_watch},
};
use serde_json::{Value, json};
use slipway_kube::access::{Ask, Calls, Error, Verb, Verdict};
use slipway_model::ports::BoxFuture;

use crate::world::{With, World, runtime};

async fn ready(with: With, change: impl Fn(&mut Value)) -> World {
    let world = World::with(with).await;
    let mut wanted = runtime("shop");
    change(&mut wanted);
    world.apply(wanted).await;
    world.until_state("shop", "Ready").await;
    world.until_idle().await;
    world
}

/// W2: a cache that is behind makes no conflict, because a status is applied and not replaced.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn news_that_come_late_lead_to_no_conflict() {
    let world = World::without_manager(With::default()).await;
    world.fail(|seen| {
        let meant = seen.cluster == "kcp" && is_watch(seen.method, seen.path, seen.query);
        let late = Spoiled { delay: Some(Duration::from_millis(150)), ..Spoiled::default() };
        meant.then_some(Trouble::Watch(late))
    });
    world.begin();
    world.apply(runtime("shop")).await;
    for maximum in [21, 22, 23] {
        world
            .edit("shop", |runtime| runtime["spec"]["shoot"]["provider"]["workers"][0]["maximum"] = json!(maximum))
            .await;
        world.until_state("shop", "Ready").await;
    }
    world
        .until("the Shoot follows", || {
            world.shoot("shop").is_some_and(|shoot| shoot["spec"]["provider"]["workers"][0]["maximum"] == 23)
        })
        .await;
    world.until_state("shop", "Ready").await;
    let manager = world.manager.lock().expect("lock");
    let mut conflicts = manager.as_ref().expect("a manager").counters().all();
    conflicts.retain(|(counted, _)| counted.code == 409 && counted.cluster == "kcp");
    // But for the finalizer: it changes a list of an object that this test writes three times meanwhile.
    let finalizer: u64 = conflicts.extract_if(.., |(counted, _)| counted.subresource.is_empty()).map(|(_, n)| n).sum();
    assert!(conflicts.is_empty() && finalizer <= 3, "{conflicts:?}, and {finalizer} of the finalizer");
}

/// Writes of logins, in their order.
#[derive(Default)]
struct Asked(Mutex<Vec<String>>);

impl Calls for Asked {
    fn before<'a>(&'a self, _: &'static str, ask: &'a Ask) -> BoxFuture<'a, Verdict> {
        if ask.resource.plural == "openidconnects" && ask.verb.is_write() {
            self.0.lock().expect("lock").push(format!("{} {}", ask.verb.as_str(), ask.name));
        }
        Box::pin(async { Verdict::Pass })
    }

    fn after<'a>(&'a self, _: &'static str, _: &'a Ask, _: Option<&'a Error>) -> BoxFuture<'a, Verdict> {
        Box::pin(async { Verdict::Pass })
    }
}

fn logins(clients: &[&str]) -> Value {
    let entry = |client: &&str| json!({"clientID": client, "issuerURL": format!("https://{client}.example.com")});
    json!(clients.iter().map(entry).collect::<Vec<_>>())
}

/// W9: who may log in before a change and after it may log in all the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logins_are_changed_one_by_one_and_surplus_ones_go_last() {
    let list = |runtime: &mut Value, clients: &[&str]| {
        runtime["spec"]["shoot"]["kubernetes"]["kubeAPIServer"]["additionalOidcConfig"] = logins(clients);
    };
    let asked = Arc::new(Asked::default());
    let with = With { calls: Some(asked.clone()), ..With::default() };
    let world = ready(with, |runtime| list(runtime, &["first", "second", "third"])).await;
    let path = "/apis/authentication.gardener.cloud/v1alpha1/openidconnects";
    let there = async || {
        let all = world.inside("shop", path).await;
        let one = |item: &Value| (item["spec"]["clientID"].clone(), item["metadata"]["uid"].clone());
        all["items"].as_array().expect("a list").iter().map(one).collect::<Vec<_>>()
    };
    let before = there().await;
    assert_eq!(before.len(), 3);
    asked.0.lock().expect("lock").clear();
    world.edit("shop", |runtime| list(runtime, &["first", "other"])).await;
    world.until_state("shop", "Ready").await;
    let after = there().await;
    assert_eq!(after.iter().map(|(client, _)| client.clone()).collect::<Vec<_>>(), ["first", "other"]);
    assert_eq!(after[0], before[0], "the same object, untouched");
    assert_eq!(after[1].1, before[1].1, "changed, not made anew");
    assert_eq!(*asked.0.lock().expect("lock"), ["patch kyma-oidc-1", "delete kyma-oidc-2"]);
}

/// W12: one client of the customer's cluster does for all steps and all passes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_of_a_cluster_is_kept() {
    let world = ready(With::default(), |_| ()).await;
    let made = || {
        let manager = world.manager.lock().expect("lock");
        let counters = manager.as_ref().expect("a manager").counters();
        counters.sum(|it| it.cluster == "kcp" && it.resource == "secrets" && it.verb == Verb::Get)
    };
    let first = made();
    for maximum in [21, 22] {
        world
            .edit("shop", |runtime| runtime["spec"]["shoot"]["provider"]["workers"][0]["maximum"] = json!(maximum))
            .await;
        world.until_state("shop", "Ready").await;
        let told = world.inside("shop", "/api/v1/namespaces/kyma-system/configmaps/kyma-provisioning-info").await;
        assert!(told["data"]["details"].as_str().expect("text").contains(&maximum.to_string()), "{told}");
    }
    assert_eq!(made(), first, "each costs a read of the Secret and a handshake");
}
