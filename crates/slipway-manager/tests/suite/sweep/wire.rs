//! A wire that can be tapped: between the manager and a cluster, so that reads and watches can be made worse.
//!
//! Hooks can hold a call up or let it fail; to give an earlier answer or to lose an event one must stand where
//! the bytes pass.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::body::Body as Whole;
use futures::{StreamExt as _, stream};
use http::{Request, Response};
use kube::client::Body;
use kube_sandbox::clock;
use serde_json::json;

use super::hook::{How, Plan};

/// How late a late event is: several passes fit in between.
const LATE: Duration = Duration::from_millis(60);

/// The kinds that are watched: a path tells them.
const WATCHED: [&str; 5] = ["runtimes", "gardenerclusters", "secrets", "shoots", "seeds"];

/// The last two different answers to each read.
type Memory = Arc<Mutex<HashMap<String, [Option<Kept>; 2]>>>;
type Kept = (http::StatusCode, bytes::Bytes);

/// A client of the same cluster, with the wire tapped.
pub(crate) fn tap(cluster: &'static str, client: kube::Client, plan: Plan) -> kube::Client {
    let memory = Memory::default();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, plan, memory) = (client.clone(), plan.clone(), memory.clone());
        async move { pass(cluster, client, plan, memory, request).await }
    });
    kube::Client::new(service, "default")
}

async fn pass(
    cluster: &'static str,
    client: kube::Client,
    plan: Plan,
    memory: Memory,
    request: Request<Body>,
) -> Result<Response<Whole>, kube::Error> {
    let path = request.uri().path().to_owned();
    let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
    let is_read = request.method() == http::Method::GET;
    let response = client.send(request).await?;
    if !is_read {
        return Ok(response.map(Whole::new));
    }
    let plural = WATCHED.into_iter().find(|plural| path.split('/').any(|part| part == *plural));
    if is_watch {
        return Ok(match plural {
            Some(plural) => response.map(|body| watched(body, cluster, plural, plan)),
            None => response.map(Whole::new),
        });
    }
    let (head, body) = response.into_parts();
    let whole = axum::body::to_bytes(Whole::new(body), usize::MAX).await;
    let fresh: Kept = (head.status, whole.expect("a whole answer"));
    let stale = plan.is_stale(cluster, &path);
    let mut memory = memory.lock().expect("lock");
    let known = memory.entry(path).or_default();
    if known[1].as_ref() != Some(&fresh) {
        known[0] = known[1].replace(fresh.clone());
    }
    // What was never read before was not there before.
    let (status, bytes) = match (&known[0], stale) {
        (Some(earlier), true) => {
            plan.note_struck();
            earlier.clone()
        }
        _ => fresh,
    };
    let mut answer = Response::builder().status(status).body(Whole::from(bytes)).expect("an answer");
    answer.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    Ok(answer)
}

/// Events as they come, until one is struck.
fn watched(body: Body, cluster: &'static str, plural: &'static str, plan: Plan) -> Whole {
    // The server writes an event at a time, each with its line end.
    let parts = Whole::new(body).into_data_stream();
    let told = stream::unfold(Some(parts), move |parts| {
        let plan = plan.clone();
        async move {
            let mut parts = parts?;
            let part = match parts.next().await? {
                Ok(part) => part,
                Err(error) => return Some((Err(error), None)),
            };
            if is_bookmark(&part) {
                return Some((Ok(part), Some(parts)));
            }
            match plan.event(cluster, plural) {
                Some(How::Closed) => None,
                Some(How::Late) => {
                    clock::sleep(LATE).await;
                    Some((Ok(part), Some(parts)))
                }
                Some(How::Expired) => {
                    let status = json!({"type": "ERROR", "object": {"kind": "Status", "code": 410,
                        "reason": "Expired", "message": "struck by the sweep"}});
                    Some((Ok(bytes::Bytes::from(format!("{status}\n"))), None))
                }
                _ => Some((Ok(part), Some(parts))),
            }
        }
    });
    Whole::from_stream(told)
}

fn is_bookmark(part: &[u8]) -> bool {
    let head = &part[..part.len().min(40)];
    String::from_utf8_lossy(head).contains("BOOKMARK")
}
