//! Requests in the journal, and playing a journal again.
//!
//! A request is written down with who asked, what, and the code of the answer, and without what must stay secret:
//! content of Secrets, kubeconfigs and tokens are replaced, their keys stay. A journal of a garden whose clock stood
//! still holds every moment at which something happened, so the same requests at the same moments on a fresh garden
//! with the same seed give the same histories.

use std::sync::Arc;

use jiff::Timestamp;
use kube_sandbox::{
    http::{Answered, Recorder},
    kind::User,
};
use serde_json::{Value, json};

use super::{Garden, clock::Clock, journal::Journal, run::CLUSTER, value::text};

/// What stands where a secret was; in base64, because most are.
const REDACTED: &str = "cmVkYWN0ZWQ=";

/// Fields whose text is nobody's business, wherever they stand.
const SECRET_FIELDS: [&str; 4] = ["token", "kubeconfig", "password", "ca.key"];

/// Where `kubectl apply` keeps what it sent.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Writes down every request to the garden.
pub(super) fn recorder(journal: Journal, clock: Clock) -> Recorder {
    Arc::new(move |answered| {
        if answered.seen.cluster == CLUSTER {
            let about = format!("{} {}", answered.seen.method, answered.seen.path);
            journal.record(clock.now(), "request", &about, describe_request(answered));
        }
    })
}

fn describe_request(answered: &Answered<'_>) -> Value {
    let Answered { seen, media, body, code } = answered;
    let mut told = json!({
        "method": seen.method.as_str(), "path": seen.path, "query": seen.query,
        "user": seen.user.name, "groups": seen.user.groups, "code": code,
    });
    if !body.is_empty() {
        told["media"] = json!(media);
        // Apply patches are YAML, of which JSON is a part; protobuf is neither.
        let read: Option<Value> = std::str::from_utf8(body).ok().and_then(|body| serde_saphyr::from_str(body).ok());
        match read {
            Some(mut read) => {
                redact(&mut read, is_secret(seen.path));
                told["body"] = read;
            }
            None => told["bytes"] = json!(body.len()),
        }
    }
    told
}

/// Whether a path is one of Secrets or InternalSecrets.
fn is_secret(path: &str) -> bool {
    path.split('/').any(|part| ["secrets", "internalsecrets"].contains(&part))
}

/// Replaces what must stay secret. In a Secret that is all of its content, also where a JSON patch carries it.
fn redact(value: &mut Value, secret: bool) {
    match value {
        Value::Array(items) => {
            for item in items {
                let content = |path: &str| path.starts_with("/data") || path.starts_with("/stringData");
                if secret && item["path"].as_str().is_some_and(content) {
                    hide(&mut item["value"]);
                }
                redact(item, secret);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                let lower = key.to_lowercase();
                let hidden = SECRET_FIELDS.iter().any(|field| lower.ends_with(field)) || key == LAST_APPLIED;
                if hidden || (secret && ["data", "stringData"].contains(&key.as_str())) {
                    hide(value);
                } else {
                    redact(value, secret);
                }
            }
        }
        _ => {}
    }
}

/// Every text in it.
fn hide(value: &mut Value) {
    match value {
        Value::String(text) => REDACTED.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(hide),
        Value::Object(fields) => fields.values_mut().for_each(hide),
        _ => {}
    }
}

impl Garden {
    /// Plays a journal again, on a garden whose clock stands still and which has seen nothing yet: the same writes at
    /// the same moments, the same faults. Answers how many requests were sent; those whose body could not be
    /// written down are an error.
    pub async fn replay(&self, lines: &[Value]) -> Result<usize, String> {
        let mut sent = 0;
        for line in lines {
            let wrong = |why: &str| format!("line {}: {why}", line["n"]);
            let time: Timestamp = text(line, "time").parse().map_err(|_| wrong("time: must be a moment"))?;
            if time > self.clock().now() {
                self.clock().advance_to(time);
            }
            let more = &line["more"];
            match text(line, "what") {
                "request" if !["GET", "HEAD"].contains(&text(more, "method")) => {
                    self.settled().await;
                    self.send_again(more).await.map_err(|why| wrong(&why))?;
                    sent += 1;
                }
                "fault" => {
                    self.settled().await;
                    self.inject(serde_json::from_value(more.clone()).map_err(|error| wrong(&error.to_string()))?);
                }
                "faults cleared" => {
                    self.settled().await;
                    self.clear_faults(text(line, "about"));
                }
                "request faults" => {
                    self.fail_requests(
                        serde_json::from_value(more.clone()).map_err(|error| wrong(&error.to_string()))?,
                    );
                }
                _ => {}
            }
            self.settled().await;
        }
        Ok(sent)
    }

    async fn send_again(&self, told: &Value) -> Result<(), String> {
        if told.get("bytes").is_some() {
            return Err("the body was not written down, so the request cannot be sent again".to_owned());
        }
        let groups: Vec<&str> = told["groups"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let user = User::named(text(told, "user"), &groups);
        let client = self.server().client_as(CLUSTER, user).map_err(|error| error.to_string())?;
        let (path, query) = (text(told, "path"), text(told, "query"));
        let uri = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
        let mut request = http::Request::builder().method(text(told, "method")).uri(uri);
        let body = told.get("body").map_or_else(Vec::new, |body| body.to_string().into_bytes());
        if !body.is_empty() {
            request = request.header("content-type", text(told, "media"));
        }
        let request = request.body(kube::client::Body::from(body)).map_err(|error| error.to_string())?;
        // Its answer is what it was, a refusal too; whether it is shows in the histories.
        client.send(request).await.map(drop).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_secret_is_not_written_down() {
        let mut secret = json!({"metadata": {"name": "aws", "annotations": { LAST_APPLIED: "{\"data\":\"hunter2\"}" }},
            "data": {"accessKeyID": "aHVudGVyMg=="}, "stringData": {"password": "hunter2"}});
        redact(&mut secret, is_secret("/api/v1/namespaces/garden-dev/secrets"));
        assert_eq!(secret["data"], json!({"accessKeyID": REDACTED}), "the keys stay");
        let mut patch = json!([{"op": "replace", "path": "/data/accessKeyID", "value": "aHVudGVyMg=="}]);
        redact(&mut patch, is_secret("/api/v1/namespaces/garden-dev/secrets/aws"));
        let mut review = json!({"kind": "TokenReview", "spec": {"token": "hunter2"}});
        redact(&mut review, is_secret("/apis/authentication.k8s.io/v1/tokenreviews"));
        for told in [secret, patch, review] {
            assert!(!told.to_string().contains("hunter2") && !told.to_string().contains("aHVudGVy"), "{told}");
        }
        let mut shoot =
            json!({"spec": {"kubernetes": {"kubeAPIServer": {"admissionPlugins": [{"kubeconfigSecretName": "k"}]}}}});
        let before = shoot.clone();
        redact(&mut shoot, is_secret("/apis/core.gardener.cloud/v1beta1/namespaces/garden-dev/shoots"));
        assert_eq!(shoot, before, "names are no secrets");
    }
}
