//! No answer is read without a limit, and lists come whole or not at all.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, StreamBody};
use kube::client::Body;
use serde_json::{Value, json};

use super::bench::{Answer, Simulated, access, json, served};
use crate::access::{Access, Ask, Class, ClientTransport, Error, Options, resource::SHOOTS};

/// A server whose answers never end, and how many KiB of them were taken.
fn endless() -> (kube::Client, Arc<AtomicUsize>) {
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = taken.clone();
    let service = tower::service_fn(move |_: Request<Body>| {
        let counted = counted.clone();
        let frames = stream::repeat_with(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            Bytes::from_static(&[b' '; 1024])
        });
        let frames = frames.then(async |bytes| Full::new(bytes).frame().await.expect("one frame"));
        // It waits for whoever reads, as a socket does.
        std::future::ready(Ok::<_, std::io::Error>(Response::new(StreamBody::new(frames.boxed()))))
    });
    (kube::Client::new(service, "default"), taken)
}

fn over_the_port(client: kube::Client) -> Access {
    let clock = Simulated::new();
    let port = ClientTransport::new(client, clock.clone());
    Access::over(Arc::new(port), "", Options::new("test", clock))
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_end_is_given_up_at_the_limit_by_either_way() {
    for way in [|client| access(client, Simulated::new()), over_the_port] {
        let (client, taken) = endless();
        let error = way(client).send(Ask::get(&SHOOTS, "garden-dev", "shop")).await.expect_err("too much");
        assert_eq!((error.class, error.reason.as_str()), (Class::Permanent, "TooLarge"));
        assert_eq!(error.to_string(), "the answer is larger than 4194304 bytes");
        assert!(taken.load(Ordering::Relaxed) <= 4 * 1024 + 2, "{taken:?} KiB were taken");
    }
}

#[tokio::test(start_paused = true)]
async fn an_endless_line_of_a_watch_is_given_up_at_the_limit() {
    let (client, taken) = endless();
    let mut watching = access(client, Simulated::new()).watch(&Ask::watch(&SHOOTS, "garden-dev")).await.expect("begun");
    let error = watching.next().await.expect("an end").expect_err("too much");
    assert!(error.is_too_large() && taken.load(Ordering::Relaxed) <= 4 * 1024 + 2, "{error}, {taken:?} KiB");
}

#[tokio::test(start_paused = true)]
async fn the_port_carries_no_watch() {
    let (client, taken) = endless();
    let refused = over_the_port(client).watch(&Ask::watch(&SHOOTS, "garden-dev")).await;
    assert_eq!(refused.err().expect("refused").reason, "Unsendable");
    assert_eq!(taken.load(Ordering::Relaxed), 0, "nothing left");
}

/// Lists from these answers; what came of it, and what was asked.
async fn list(answers: Vec<Answer>) -> (Result<Vec<Value>, Error>, Vec<String>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (seen, answers) = (asked.clone(), Arc::new(Mutex::new(answers.into_iter())));
    let client = served(move |_, uri, _| {
        seen.lock().expect("lock").push(uri);
        let answer = answers.lock().expect("lock").next();
        async move { answer.expect("an answer") }
    });
    let listed = access(client, Simulated::new()).list(Ask::list(&SHOOTS, "garden-dev")).await;
    let asked = asked.lock().expect("lock").clone();
    (listed, asked)
}

fn page(items: Value, more: &str) -> Answer {
    json(200, &json!({"metadata": {"continue": more}, "items": items}))
}

#[tokio::test(start_paused = true)]
async fn a_list_comes_in_pages_and_begins_anew_where_its_continuation_is_forgotten() {
    let expired = || json(410, &json!({"kind": "Status", "code": 410, "reason": "Expired"}));
    let answers =
        vec![page(json!([1, 2]), "x"), expired(), page(json!([3]), "y"), page(json!(null), "z"), page(json!([4]), "")];
    let (listed, asked) = list(answers).await;
    assert_eq!(listed, Ok(vec![json!(3), json!(4)]));
    assert!(asked.iter().all(|uri| uri.contains("limit=500")), "{asked:?}");
    assert!(!asked[2].contains("continue") && asked[4].contains("continue=z"), "{asked:?}");
    let (listed, asked) = list((0..8).map(|_| expired()).collect()).await;
    assert_eq!((listed.expect_err("changes too fast").code, asked.len()), (Some(410), 4));
}

#[tokio::test(start_paused = true)]
async fn a_list_of_more_than_may_be_kept_fails_and_so_does_one_without_end() {
    let large = json!(["x".repeat(30 << 20)]);
    let (listed, asked) = list((0..3).map(|_| page(large.clone(), "more")).collect()).await;
    assert!(listed.expect_err("too much").is_too_large() && asked.len() == 3);
    let (listed, asked) = list((0..1_001).map(|_| page(json!([]), "more")).collect()).await;
    assert_eq!((listed.expect_err("no end").reason.as_str(), asked.len()), ("Garbage", 1_000));
}
