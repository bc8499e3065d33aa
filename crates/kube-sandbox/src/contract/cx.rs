//! What a case is given: a namespace of its own, and ways to ask the server.
//!
//! Requests go through `kube::Client`, as JSON: cases are about what is on the wire, codes and texts
//! and headers, which typed calls hide. What typed clients make of it has a theme of its own.

use std::{sync::Arc, time::Duration};

use futures::{AsyncBufReadExt as _, StreamExt as _, stream::BoxStream};
use http::{Method, Request};
use http_body_util::BodyExt as _;
use kube::{Client, client::Body};
use serde_json::{Value, json};

use super::{answer::Answer, target::Target};
use crate::{clock, kubeconfig};

/// Longer than anything here takes, also on a busy machine; only a failure waits for it.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A case's view of a server.
#[derive(Clone)]
pub struct Cx {
    /// The server, as far as a case may know it.
    pub target: Arc<Target>,
    /// A namespace that only this case uses.
    pub ns: String,
    /// A client of the administrator, or of whom [`Cx::with`] named.
    pub client: Client,
}

impl Cx {
    pub(super) async fn new(target: Arc<Target>, theme: &str, case: &str) -> Self {
        let client = client(&target.logins.admin()).await;
        // 63 characters at most; the beginning says who it is, the hash keeps it unique.
        let hash = case.bytes().fold(5381_u32, |hash, byte| hash.wrapping_mul(33) ^ u32::from(byte));
        let ns = format!("{}-{:.40}-{hash:x}", theme, case).replace('_', "-");
        if let Some(home) = &target.home {
            return Self { ns: home.clone(), target, client };
        }
        let cx = Self { target, ns, client };
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": cx.ns } });
        cx.post("/api/v1/namespaces", &namespace).await.created();
        cx
    }

    /// The same namespace through the eyes of whom this kubeconfig belongs to.
    pub async fn with(&self, kubeconfig: &str) -> Self {
        Self { client: client(kubeconfig).await, ..self.clone() }
    }

    /// The path of something of the core group in this namespace: `core("configmaps/a")`.
    pub fn core(&self, rest: &str) -> String {
        format!("/api/v1/namespaces/{}/{rest}", self.ns)
    }

    /// The path of something of another group in this namespace.
    pub fn group(&self, group_version: &str, rest: &str) -> String {
        format!("/apis/{group_version}/namespaces/{}/{rest}", self.ns)
    }

    /// Reads.
    pub async fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, &[], Vec::new()).await
    }

    /// Reads as this media type.
    pub async fn get_as(&self, path: &str, accept: &str) -> Answer {
        self.ask(Method::GET, path, &[("accept", accept)], Vec::new()).await
    }

    /// Creates.
    pub async fn post(&self, path: &str, object: &Value) -> Answer {
        self.ask(Method::POST, path, &[("content-type", "application/json")], object.to_string().into()).await
    }

    /// Replaces.
    pub async fn put(&self, path: &str, object: &Value) -> Answer {
        self.ask(Method::PUT, path, &[("content-type", "application/json")], object.to_string().into()).await
    }

    /// Patches.
    pub async fn patch(&self, path: &str, kind: Patch, patch: &Value) -> Answer {
        self.ask(Method::PATCH, path, &[("content-type", kind.content_type())], patch.to_string().into()).await
    }

    /// Server-side apply by a manager; `more` is appended to the query (`&force=true`).
    pub async fn apply(&self, path: &str, manager: &str, more: &str, object: &Value) -> Answer {
        self.patch(&format!("{path}?fieldManager={manager}{more}"), Patch::Apply, object).await
    }

    /// Deletes.
    pub async fn delete(&self, path: &str) -> Answer {
        self.ask(Method::DELETE, path, &[], Vec::new()).await
    }

    /// Deletes with `DeleteOptions`.
    pub async fn delete_with(&self, path: &str, options: &Value) -> Answer {
        self.ask(Method::DELETE, path, &[("content-type", "application/json")], options.to_string().into()).await
    }

    /// Any request at all.
    pub async fn ask(&self, method: Method, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Answer {
        let request = format!("{method} {path}");
        let mut builder = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        let sent = self.client.send(builder.body(Body::from(body)).expect("a request"));
        let answer = clock::within(PATIENCE, sent).await;
        let answer =
            answer.unwrap_or_else(|| panic!("{request}: no answer")).unwrap_or_else(|e| panic!("{request}: {e}"));
        let (parts, body) = answer.into_parts();
        let bytes = body.collect().await.unwrap_or_else(|e| panic!("{request}: {e}")).to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Answer { request, code: parts.status.as_u16(), headers: parts.headers, text, body }
    }

    /// Opens a watch; the path carries the whole query but `watch=true`.
    pub async fn watch(&self, path: &str) -> Watch {
        let joint = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{joint}watch=true");
        let request = Request::get(&path).body(Vec::new()).expect("a request");
        let lines = self.client.request_stream(request).await.unwrap_or_else(|e| panic!("watch {path}: {e}")).lines();
        Watch { path, lines: lines.boxed() }
    }

    /// Creates a ConfigMap with data and answers it.
    pub async fn config_map(&self, name: &str, data: Value) -> Value {
        self.post(&self.core("configmaps"), &config_map(name, data)).await.created()
    }

    /// Asks again until the answer satisfies.
    pub async fn until(&self, path: &str, satisfied: impl Fn(&Answer) -> bool) -> Answer {
        let asking = async {
            loop {
                let answer = self.get(path).await;
                if satisfied(&answer) {
                    return answer;
                }
                clock::sleep(Duration::from_millis(20)).await;
            }
        };
        clock::within(PATIENCE, asking).await.unwrap_or_else(|| panic!("{path} never became what it should"))
    }
}

/// A ConfigMap, not created.
pub fn config_map(name: &str, data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": data })
}

/// The four kinds of patches.
#[derive(Clone, Copy)]
pub enum Patch {
    /// A list of operations, RFC 6902.
    Json,
    /// A part of the object, RFC 7386.
    Merge,
    /// The same, with lists merged by their keys.
    Strategic,
    /// Server-side apply.
    Apply,
}

impl Patch {
    fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
            Self::Apply => "application/apply-patch+yaml",
        }
    }
}

/// An open watch.
pub struct Watch {
    path: String,
    lines: BoxStream<'static, std::io::Result<String>>,
}

impl Watch {
    /// The next event: its type and its object. Nothing if the server closed the watch.
    pub async fn next(&mut self) -> Option<(String, Value)> {
        let line = clock::within(PATIENCE, self.lines.next()).await;
        let line = line.unwrap_or_else(|| panic!("watch {}: no event", self.path))?;
        let event: Value = serde_json::from_str(&line.expect("a line")).expect("an event");
        Some((event["type"].as_str().unwrap_or_default().to_owned(), event["object"].clone()))
    }

    /// The next event as `TYPE name`, which is what most cases ask.
    pub async fn line(&mut self) -> String {
        let (kind, object) = self.next().await.unwrap_or_else(|| panic!("watch {} was closed", self.path));
        format!("{kind} {}", object["metadata"]["name"].as_str().unwrap_or_default())
    }
}

/// A client for a kubeconfig. One per case: with a shared one a case could be told by the other's load.
async fn client(kubeconfig: &str) -> Client {
    kubeconfig::client(kubeconfig).await.expect("a client")
}
