//! The sample system: greets by name, and keeps a note that a greeting was passed on.
//!
//! `GET /greetings/{name}` gives `{"greeting": "..."}`; `PUT /reports/{id}` with `{"override": "..."}`
//! keeps a note, 201 for a new one, 200 for the same again, 409 for another one under the same id;
//! `GET /reports/{id}` gives `{"override": "...", "read": true}`; `POST /reports/{id}/read` is what a
//! person does who reads it. Everything else is refused with 400, and remembered as a complaint.

use std::{collections::BTreeMap, ops::Deref};

use axum::{
    Json, Router,
    extract::{Path, State},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, Uri, header};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::broadcast;

use super::desk::{Desk, Shared};

/// The simulator. Clones are the same system.
#[derive(Debug, Clone)]
pub struct Hello {
    desk: Desk,
    inner: Shared<Inner>,
    read: broadcast::Sender<String>,
}

impl Deref for Hello {
    type Target = Desk;

    fn deref(&self) -> &Desk {
        &self.desk
    }
}

/// Who reads greetings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// Somebody who has read it when it is asked about for this many times and once more.
    AfterLooks(u32),
    /// A person, by `POST /reports/{id}/read`.
    Person,
}

/// A note, and what was done with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Its id.
    pub id: String,
    /// What it says.
    pub override_key: String,
    /// It has been read.
    pub read: bool,
    /// How often it was written.
    pub writes: u32,
    /// How often it was asked about.
    pub looks: u32,
}

#[derive(Debug)]
struct Inner {
    reader: Reader,
    greeted: BTreeMap<String, u32>,
    reports: BTreeMap<String, Report>,
}

impl Default for Hello {
    fn default() -> Self {
        let inner = Inner { reader: Reader::AfterLooks(1), greeted: BTreeMap::new(), reports: BTreeMap::new() };
        Self { desk: Desk::default(), inner: Shared::new(inner), read: broadcast::Sender::new(256) }
    }
}

impl Hello {
    /// Its HTTP service.
    pub fn router(&self) -> Router {
        let routes = Router::new()
            .route("/greetings/{name}", get(greeting))
            .route("/reports/{id}", get(report).put(put_report))
            .route("/reports/{id}/read", post(read_report))
            .with_state(self.clone());
        self.serve(routes)
    }

    /// Sets who reads greetings; somebody does after one look, unless told otherwise.
    pub fn read_by(&self, reader: Reader) {
        self.inner.lock().reader = reader;
    }

    /// A person reads; false if there is no such note.
    pub fn read(&self, id: &str) -> bool {
        let found = self.inner.lock().reports.get_mut(id).map(|report| report.read = true).is_some();
        if found {
            // Nobody listening is fine.
            let _ = self.read.send(id.to_owned());
        }
        found
    }

    /// Ids of notes, as they are read by a person.
    pub fn reads(&self) -> broadcast::Receiver<String> {
        self.read.subscribe()
    }

    /// How often this name was greeted.
    pub fn greeted(&self, name: &str) -> u32 {
        self.inner.lock().greeted.get(name).copied().unwrap_or(0)
    }

    /// All notes, by id.
    pub fn reports(&self) -> Vec<Report> {
        self.inner.lock().reports.values().cloned().collect()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewReport {
    #[serde(rename = "override")]
    override_key: String,
}

async fn greeting(
    State(hello): State<Hello>,
    Path(name): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if let Err(what) = check(&uri, &headers, &body) {
        return hello.complain(StatusCode::BAD_REQUEST, what);
    }
    *hello.inner.lock().greeted.entry(name.clone()).or_default() += 1;
    Json(json!({ "greeting": format!("Hello, {name}!") })).into_response()
}

async fn report(
    State(hello): State<Hello>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if let Err(what) = check(&uri, &headers, &body) {
        return hello.complain(StatusCode::BAD_REQUEST, what);
    }
    let mut inner = hello.inner.lock();
    let reader = inner.reader;
    let Some(report) = inner.reports.get_mut(&id) else { return StatusCode::NOT_FOUND.into_response() };
    report.read |= matches!(reader, Reader::AfterLooks(looks) if report.looks >= looks);
    report.looks += 1;
    Json(json!({ "override": report.override_key, "read": report.read })).into_response()
}

async fn put_report(
    State(hello): State<Hello>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if let Err(what) = check(&uri, &headers, &[]) {
        return hello.complain(StatusCode::BAD_REQUEST, what);
    }
    let new: NewReport = match hello.parse_body(&headers, &body, "a report") {
        Ok(new) => new,
        Err(refusal) => return *refusal,
    };
    if new.override_key.is_empty() {
        return hello.complain(StatusCode::BAD_REQUEST, "a report needs a key".to_owned());
    }
    let mut inner = hello.inner.lock();
    if let Some(report) = inner.reports.get_mut(&id) {
        if report.override_key != new.override_key {
            drop(inner);
            return hello.complain(StatusCode::CONFLICT, format!("report {id} exists and says something else"));
        }
        report.writes += 1;
        return Json(json!({})).into_response();
    }
    let report = Report { id: id.clone(), override_key: new.override_key, read: false, writes: 1, looks: 0 };
    inner.reports.insert(id, report);
    (StatusCode::CREATED, Json(json!({}))).into_response()
}

async fn read_report(State(hello): State<Hello>, Path(id): Path<String>) -> StatusCode {
    if hello.read(&id) { StatusCode::NO_CONTENT } else { StatusCode::NOT_FOUND }
}

/// What every right request has in common.
fn check(uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Result<(), String> {
    if uri.query().is_some() {
        return Err(format!("{} takes no query", uri.path()));
    }
    if !body.is_empty() {
        return Err(format!("{} takes no body", uri.path()));
    }
    if headers.get(header::ACCEPT).is_none_or(|kind| kind != "application/json") {
        return Err(format!("{} answers JSON, and the request must accept it", uri.path()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;
    use crate::{dial::Fault, systems::Systems};

    async fn send(hello: &Hello, line: &str, body: &str) -> (u16, String) {
        let (method, path) = line.split_once(' ').expect("method and path");
        let mut request = Request::builder().method(method).uri(path).header(header::ACCEPT, "application/json");
        if !body.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let request = request.body(Bytes::from(body.to_owned())).expect("request");
        match (Systems { hello: hello.clone(), ..Systems::default() }).exchange("hello", request).await {
            Ok(answer) => (answer.status().as_u16(), String::from_utf8(answer.body().to_vec()).expect("text")),
            Err(broken) => (0, broken.to_string()),
        }
    }

    #[tokio::test]
    async fn wrong_requests_are_refused_and_remembered() {
        let hello = Hello::default();
        let wrong = [
            ("GET /greeting/ann", ""),
            ("POST /greetings/ann", ""),
            ("GET /greetings/ann?loud=1", ""),
            ("GET /greetings/ann", "{}"),
            ("PUT /reports/1", r#"{"override": "k", "value": "v"}"#),
            ("PUT /reports/1", r#"{"override": ""}"#),
            ("PUT /reports/1", "[]"),
        ];
        for (line, body) in wrong {
            assert_eq!(send(&hello, line, body).await.0, 400, "{line} {body}");
        }
        assert_eq!(hello.complaints().len(), wrong.len());
        assert!(hello.reports().is_empty() && hello.greeted("ann") == 0);
    }

    #[tokio::test]
    async fn a_report_is_kept_once_counted_and_read() {
        let hello = Hello::default();
        hello.read_by(Reader::Person);
        let mut reads = hello.reads();
        let (put, body) = ("PUT /reports/1", r#"{"override": "k"}"#);
        assert_eq!(send(&hello, put, body).await.0, 201);
        assert_eq!(send(&hello, put, body).await.0, 200);
        assert_eq!(send(&hello, put, r#"{"override": "other"}"#).await.0, 409);
        assert_eq!(send(&hello, "GET /reports/1", "").await.1, r#"{"override":"k","read":false}"#);
        assert_eq!(send(&hello, "POST /reports/1/read", "").await.0, 204);
        assert_eq!(reads.try_recv().as_deref(), Ok("1"));
        assert_eq!(send(&hello, "GET /reports/1", "").await.1, r#"{"override":"k","read":true}"#);
        assert_eq!(send(&hello, "GET /reports/2", "").await.0, 404);
        assert_eq!(hello.reports()[0].writes, 2);
        assert_eq!(hello.complaints().len(), 1, "the other content under the same id");
    }

    #[tokio::test]
    async fn each_fault_strikes_once_with_or_without_the_effect() {
        let hello = Hello::default();
        let broken = (0, "the connection broke in the middle of the answer".to_owned());
        let good = (200, r#"{"greeting":"Hello, ann!"}"#.to_owned());
        for (fault, seen, greeted) in [
            (Fault::Status(500), (500, String::new()), 0),
            (Fault::Busy { retry_after: 7 }, (429, String::new()), 0),
            (Fault::DropAfterEffect, broken.clone(), 1),
            (Fault::HalfBody, broken.clone(), 1),
            (Fault::WrongJson, (200, r#"{"unexpected":[]}"#.to_owned()), 1),
            (Fault::Delay(std::time::Duration::from_millis(1)), good.clone(), 1),
        ] {
            let before = hello.greeted("ann");
            hello.dial().next(fault.clone());
            assert_eq!(send(&hello, "GET /greetings/ann", "").await, seen, "{fault:?}");
            assert_eq!(hello.greeted("ann") - before, greeted, "{fault:?}");
            assert_eq!(send(&hello, "GET /greetings/ann", "").await, good, "{fault:?}");
        }
    }
}
