//! What goes wrong on purpose with answers, watches and lists.
//!
//! A watch is spoiled on its way out: it was opened as always, and what it sends is one line after the
//! other. So every kind of trouble is a filter of lines, and the watch itself knows nothing of it. A
//! stale list is an ordinary list of an older version: nothing is made up, so a client that goes on from
//! there sees what it missed.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::{Method, Response, Uri};

use super::{answers, path::Query};
use crate::{clock, status::Status};

/// How a watch is spoiled. What is not set does not happen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spoiled {
    /// After so many events comes the end; at once if it is zero.
    pub events: Option<u32>,
    /// After this time comes the end.
    pub after: Option<Duration>,
    /// Every line comes so much later.
    pub delay: Option<Duration>,
    /// Only bookmarks come.
    pub silent: bool,
    /// What the end is.
    pub end: End,
}

/// How a spoiled watch ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum End {
    /// It is closed.
    #[default]
    Closed,
    /// It is told that its version is too old, and closed.
    Expired,
    /// Nothing comes any more, and nobody says so.
    HalfOpen,
}

/// How an answer is made unreadable. What was asked for is done all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Garbage {
    /// The first half of it, as if that were all.
    Half,
    /// A page for people, as proxies have them, with the code of a success.
    Page,
    /// JSON, of a shape that nobody asked for.
    Other,
}

/// Makes an answer unreadable.
pub(super) async fn garble(answer: Response<Body>, how: Garbage, watch: bool) -> Response<Body> {
    let (parts, body) = answer.into_parts();
    let code = parts.status.as_u16();
    match how {
        Garbage::Page => answers::typed(200, "text/html", "<html><body>It works!</body></html>"),
        Garbage::Other => answers::json(code, r#"["nobody asked"]"#),
        Garbage::Half if watch => answers::json(code, r#"{"type":"ADDED","object":{"kind":"#),
        Garbage::Half => {
            let whole = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
            answers::typed(code, "application/json", whole.slice(..whole.len() / 2))
        }
    }
}

/// Whether a request opens a watch.
pub fn is_watch(method: &Method, path: &str, query: &str) -> bool {
    *method == Method::GET && (Query::parse(Some(query)).is("watch") || path.contains("/watch/"))
}

/// Spoils an answered watch.
pub(super) fn spoil(answer: Response<Body>, spoiled: Spoiled) -> Response<Body> {
    if !answer.status().is_success() {
        return answer;
    }
    let (parts, body) = answer.into_parts();
    let deadline = spoiled.after.map(|after| Box::pin(clock::sleep(after)));
    let state = (body.into_data_stream(), spoiled, deadline, 0_u32, false);
    let lines = stream::unfold(state, |(mut lines, spoiled, mut deadline, mut seen, over)| async move {
        if over {
            return None;
        }
        loop {
            if spoiled.events.is_some_and(|most| seen >= most) {
                let last = end(spoiled.end).await?;
                return Some((Ok(last), (lines, spoiled, deadline, seen, true)));
            }
            let late = async {
                match &mut deadline {
                    Some(deadline) => deadline.await,
                    None => std::future::pending().await,
                }
            };
            let line = tokio::select! {
                line = lines.next() => line?,
                () = late => {
                    let last = end(spoiled.end).await?;
                    return Some((Ok(last), (lines, spoiled, None, seen, true)));
                }
            };
            let is_event = !line.as_ref().is_ok_and(|line| line.starts_with(br#"{"type":"BOOKMARK""#));
            seen += u32::from(is_event);
            if spoiled.silent && is_event {
                continue;
            }
            if let Some(delay) = spoiled.delay {
                clock::sleep(delay).await;
            }
            return Some((line, (lines, spoiled, deadline, seen, false)));
        }
    });
    Response::from_parts(parts, Body::from_stream(lines))
}

/// The last line, if there is one.
async fn end(end: End) -> Option<Bytes> {
    match end {
        End::Closed => None,
        End::HalfOpen => std::future::pending().await,
        End::Expired => {
            let status = Status::expired("too old resource version, on demand").to_json();
            Some(format!("{{\"type\":\"ERROR\",\"object\":{status}}}\n").into())
        }
    }
}

/// A list that takes whatever is cached gets what was there at this version.
pub(super) fn as_of(method: &Method, uri: &Uri, version: u64) -> Option<Uri> {
    let query = uri.query().unwrap_or_default();
    if *method != Method::GET || is_watch(method, uri.path(), query) {
        return None;
    }
    let others = |pair: &&str| !pair.starts_with("resourceVersion=") && !pair.starts_with("resourceVersionMatch=");
    (Query::parse(uri.query()).get("resourceVersion") == "0").then_some(())?;
    let rest: Vec<&str> = query.split('&').filter(others).collect();
    let exact = format!("resourceVersion={version}&resourceVersionMatch=Exact");
    format!("{}?{}", uri.path(), [rest, vec![exact.as_str()]].concat().join("&")).parse().ok()
}
