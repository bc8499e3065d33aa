//! A cache lists in pages, follows by watch, and comes back from every kind of interruption.

use std::sync::{Arc, Mutex};

use http::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use slipway_model::{ports::Clock as _, time::secs};

use super::bench::{Answer, Counting, Simulated, access, json, served};
use crate::access::{
    Access, Budget, Options,
    cache::{Cache, Projection, Source},
    resource::SHOOTS,
};

#[derive(Debug, Serialize, Deserialize)]
struct Tiny {
    spec: Spec,
}

impl Projection for Tiny {}

#[derive(Debug, Serialize, Deserialize)]
struct Spec {
    region: String,
}

fn shoot(name: &str, version: u64, region: &str) -> Value {
    json!({"metadata": {"name": name, "resourceVersion": version.to_string(), "managedFields": ["much"]}, "spec": {"region": region}})
}

fn lines(changes: &[Value]) -> Answer {
    let text: String = changes.iter().map(|change| format!("{change}\n")).collect();
    Ok(Response::new(text.into_bytes()))
}

/// Answers the requests in this order, then lets every watch hang.
fn script(answers: Vec<Answer>) -> (kube::Client, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let answers = Arc::new(Mutex::new(answers.into_iter()));
    let seen = asked.clone();
    let client = served(move |_, uri, _| {
        seen.lock().expect("lock").push(uri);
        let answer = answers.lock().expect("lock").next();
        async move {
            match answer {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        }
    });
    (client, asked)
}

async fn run(answers: Vec<Answer>) -> (Cache<Tiny>, Vec<String>, Vec<String>) {
    run_in("garden-dev", answers).await
}

async fn run_in(namespace: &str, answers: Vec<Answer>) -> (Cache<Tiny>, Vec<String>, Vec<String>) {
    let (client, asked) = script(answers);
    let clock = Simulated::new();
    let source = Source {
        access: access(client, clock.clone()),
        resource: &SHOOTS,
        namespace: namespace.to_owned(),
        selector: String::new(),
        random: Arc::new(Counting::default()),
    };
    let cache = Cache::<Tiny>::default();
    let told = Arc::new(Mutex::new(Vec::new()));
    let notes = told.clone();
    let task = tokio::spawn(cache.clone().run(
        source,
        Box::new(move |change| {
            let what = match (&change.old, &change.new) {
                (None, Some(new)) => format!("+{} {}", change.name, new.spec.region),
                (Some(_), Some(new)) => format!("~{} {}", change.name, new.spec.region),
                (_, None) => format!("-{}", change.name),
            };
            notes.lock().expect("lock").push(what);
        }),
    ));
    clock.sleep(secs(120)).await;
    task.abort();
    let (told, asked) = (told.lock().expect("lock").clone(), asked.lock().expect("lock").clone());
    (cache, told, asked)
}

fn page(items: &[Value], version: u64, more: Option<&str>) -> Answer {
    json(200, &json!({"metadata": {"resourceVersion": version.to_string(), "continue": more}, "items": items}))
}

#[tokio::test(start_paused = true)]
async fn a_list_comes_in_pages_of_500_and_the_watch_goes_on_from_there() {
    let (cache, told, asked) = run(vec![
        page(&[shoot("a", 1, "eu")], 9, Some("next")),
        page(&[shoot("b", 2, "us")], 9, None),
        lines(&[
            json!({"type": "MODIFIED", "object": shoot("a", 10, "ap")}),
            json!({"type": "DELETED", "object": shoot("b", 11, "us")}),
            json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "15"}}}),
        ]),
    ])
    .await;
    assert_eq!(told, ["+a eu", "+b us", "~a ap", "-b"]);
    assert_eq!(cache.get("a").expect("there").spec.region, "ap");
    assert!(asked[0].contains("limit=500") && asked[1].contains("continue=next"), "{asked:?}");
    assert!(asked[2].contains("watch=true") && asked[2].contains("resourceVersion=9"), "{asked:?}");
    assert!(asked[3].contains("resourceVersion=15"), "resumed where it was: {asked:?}");
}

#[tokio::test(start_paused = true)]
async fn two_of_one_name_in_two_namespaces_are_two() {
    let placed = |namespace: &str, version: u64| {
        let mut shoot = shoot("a", version, "eu");
        shoot["metadata"]["namespace"] = json!(namespace);
        shoot
    };
    let (cache, told, _) = run_in(
        "",
        vec![
            page(&[placed("n1", 1), placed("n2", 2)], 9, None),
            lines(&[
                json!({"type": "DELETED", "object": placed("n1", 10)}),
                json!({"type": "DELETED", "object": placed("n2", 11)}),
            ]),
        ],
    )
    .await;
    assert_eq!(told, ["+n1/a eu", "+n2/a eu", "-n1/a", "-n2/a"]);
    assert!(cache.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_too_old_lists_again_and_tells_only_what_differs() {
    let (_, told, asked) = run(vec![
        page(&[shoot("a", 1, "eu"), shoot("b", 2, "us")], 9, None),
        lines(&[json!({"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}})]),
        page(&[shoot("a", 1, "eu"), shoot("c", 20, "sa")], 21, None),
    ])
    .await;
    assert_eq!(told, ["+a eu", "+b us", "+c sa", "-b"], "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn a_broken_watch_is_resumed_and_an_unreadable_object_hides_no_other() {
    let (cache, told, asked) = run(vec![
        page(&[json!({"metadata": {"name": "odd", "resourceVersion": "1"}}), shoot("a", 2, "eu")], 9, None),
        Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset)),
        json(500, &json!({})),
        lines(&[json!({"type": "ADDED", "object": shoot("b", 12, "us")})]),
    ])
    .await;
    assert_eq!(told, ["+a eu", "+b us"]);
    assert_eq!((cache.len(), asked.iter().filter(|uri| uri.contains("limit=")).count()), (2, 1), "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn a_page_that_is_too_large_is_asked_for_in_halves_and_a_forgotten_continuation_begins_anew() {
    let (_, told, asked) = run(vec![
        Ok(Response::new(vec![b'x'; (64 << 20) + 1])),
        page(&[shoot("a", 1, "eu")], 9, Some("next")),
        json(410, &json!({"kind": "Status", "code": 410, "reason": "Expired"})),
        page(&[shoot("a", 1, "eu"), shoot("b", 2, "us")], 10, None),
    ])
    .await;
    assert_eq!(told, ["+a eu", "+b us"], "{asked:?}");
    assert!(asked[1].contains("limit=250") && asked[2].contains("continue=next"), "{asked:?}");
    assert!(asked[3].contains("limit=500") && !asked[3].contains("continue"), "{asked:?}");
    assert!(asked[4].contains("resourceVersion=10"), "{asked:?}");
}

/// A server that opens every watch and closes it at once.
async fn asked_in_two_minutes(lines: &'static str, budget: Option<Budget>) -> usize {
    let (clock, count) = (Simulated::new(), Arc::new(Mutex::new(0)));
    let counted = count.clone();
    let client = served(move |_, uri, _| {
        *counted.lock().expect("lock") += 1;
        async move { if uri.contains("watch") { Ok(Response::new(lines.into())) } else { page(&[], 9, None) } }
    });
    let access = Access::new(client, Options { budget, ..Options::new("test", clock.clone()) });
    let (namespace, selector) = ("garden-dev".to_owned(), String::new());
    let source = Source { access, resource: &SHOOTS, namespace, selector, random: Arc::new(Counting::default()) };
    let task = tokio::spawn(Cache::<Tiny>::default().run(source, Box::new(|_| {})));
    clock.sleep(secs(120)).await;
    task.abort();
    *count.lock().expect("lock")
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_at_once_is_opened_ever_more_slowly() {
    let asked = asked_in_two_minutes("", None).await;
    assert!((8..=16).contains(&asked), "{asked}");
}

#[tokio::test(start_paused = true)]
async fn watches_that_bring_little_each_draw_from_the_budget() {
    let bookmark = "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\"}}}\n";
    let asked = asked_in_two_minutes(bookmark, Some(Budget::new(2.0, 1, Simulated::new()))).await;
    assert!((200..=250).contains(&asked), "two a second: {asked}");
}

#[tokio::test(start_paused = true)]
async fn a_line_of_a_watch_that_is_too_long_is_left_unread_and_everything_listed_anew() {
    let (_, told, asked) = run(vec![
        page(&[shoot("a", 1, "eu")], 9, None),
        Ok(Response::new(vec![b'x'; (4 << 20) + 1])),
        page(&[shoot("b", 12, "us")], 12, None),
    ])
    .await;
    assert_eq!(told, ["+a eu", "+b us", "-a"], "{asked:?}");
}
