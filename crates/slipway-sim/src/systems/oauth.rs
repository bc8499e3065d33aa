//! A token endpoint, for the systems that want bearer tokens: client credentials in, a token out
//! that ends, carries scopes and can be taken back.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, StatusCode, header};
use serde_json::json;
use tokio::time::Instant;

use crate::clock;

/// As long as the real ones live.
const LIFE: Duration = Duration::from_secs(3600);

/// Tokens and who may have them.
#[derive(Debug)]
pub struct Tokens {
    client_id: String,
    client_secret: String,
    scopes: BTreeSet<String>,
    issued: BTreeMap<String, (Instant, BTreeSet<String>)>,
}

/// Why a request is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// No token, a wrong one, or one that has ended.
    Unknown,
    /// It does not allow this.
    Scope,
}

impl Tokens {
    /// One client and what it may ask for.
    pub fn new(client_id: &str, client_secret: &str, scopes: &[&str]) -> Self {
        Self {
            client_id: client_id.to_owned(),
            client_secret: client_secret.to_owned(),
            scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            issued: BTreeMap::new(),
        }
    }

    /// Who the client is: id and secret.
    pub fn client(&self) -> (String, String) {
        (self.client_id.clone(), self.client_secret.clone())
    }

    /// `POST` to the token endpoint. The second is a complaint about a client that does it wrong.
    pub fn issue(&mut self, headers: &HeaderMap, body: &[u8]) -> (Response, Option<String>) {
        let form = headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/x-www-form-urlencoded");
        let fields = form.then(|| fields(body)).flatten().unwrap_or_default();
        if fields.get("grant_type").map(String::as_str) != Some("client_credentials")
            || fields.keys().any(|key| key != "grant_type" && key != "scope")
        {
            let what = "a token is asked for with a form: grant_type=client_credentials, and scope".to_owned();
            return (refusal(StatusCode::BAD_REQUEST, "invalid_request"), Some(what));
        }
        let expected = format!("Basic {}", STANDARD.encode(format!("{}:{}", self.client_id, self.client_secret)));
        if headers.get(header::AUTHORIZATION).is_none_or(|given| given != expected.as_str()) {
            return (refusal(StatusCode::UNAUTHORIZED, "invalid_client"), None);
        }
        let wanted: BTreeSet<String> = fields
            .get("scope")
            .map(|scope| scope.split_whitespace().map(ToOwned::to_owned).collect())
            .unwrap_or_default();
        if !wanted.is_subset(&self.scopes) {
            return (refusal(StatusCode::BAD_REQUEST, "invalid_scope"), None);
        }
        let token: String = clock::random::<16>().iter().map(|byte| format!("{byte:02x}")).collect();
        self.issued.insert(token.clone(), (clock::steady() + LIFE, wanted));
        let answer = json!({ "access_token": token, "token_type": "bearer", "expires_in": LIFE.as_secs() });
        (Json(answer).into_response(), None)
    }

    /// Whether a request may do what needs this scope.
    pub fn check(&self, headers: &HeaderMap, scope: &str) -> Result<(), Denied> {
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let (until, scopes) = given.and_then(|token| self.issued.get(token)).ok_or(Denied::Unknown)?;
        if *until <= clock::steady() {
            return Err(Denied::Unknown);
        }
        if scopes.contains(scope) { Ok(()) } else { Err(Denied::Scope) }
    }

    /// Every token given out so far is worth nothing any more.
    pub fn revoke(&mut self) {
        self.issued.clear();
    }
}

fn refusal(status: StatusCode, error: &str) -> Response {
    (status, Json(json!({ "error": error }))).into_response()
}

fn fields(body: &[u8]) -> Option<BTreeMap<String, String>> {
    let text = std::str::from_utf8(body).ok()?;
    text.split('&').map(|pair| pair.split_once('=').map(|(key, value)| (plain(key), plain(value)))).collect()
}

/// Undoes the quoting of forms.
fn plain(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16)).unwrap_or(0);
                let (high, low) = (digit(), digit());
                bytes.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(basic: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, "application/x-www-form-urlencoded".parse().expect("header"));
        headers.insert(header::AUTHORIZATION, format!("Basic {}", STANDARD.encode(basic)).parse().expect("header"));
        headers
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_opens_what_its_scopes_say_and_ends() {
        let mut tokens = Tokens::new("me", "s3cret", &["read", "write"]);
        let (answer, complaint) = tokens.issue(&headers("me:s3cret"), b"grant_type=client_credentials&scope=read");
        assert_eq!((answer.status().as_u16(), complaint), (200, None));
        let body = axum::body::to_bytes(answer.into_body(), usize::MAX).await.expect("a body");
        let body: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
        let mut with = HeaderMap::new();
        let bearer = format!("Bearer {}", body["access_token"].as_str().expect("a token"));
        with.insert(header::AUTHORIZATION, bearer.parse().expect("header"));
        assert_eq!(tokens.check(&with, "read"), Ok(()));
        assert_eq!(tokens.check(&with, "write"), Err(Denied::Scope));
        clock::sleep(LIFE).await;
        assert_eq!(tokens.check(&with, "read"), Err(Denied::Unknown));
    }

    #[tokio::test]
    async fn wrong_credentials_scopes_and_forms_are_told_apart() {
        let mut tokens = Tokens::new("me", "s3cret", &["read"]);
        for (basic, form, status, complains) in [
            ("me:wrong", "grant_type=client_credentials", 401, false),
            ("me:s3cret", "grant_type=client_credentials&scope=admin", 400, false),
            ("me:s3cret", "grant_type=password", 400, true),
            ("me:s3cret", "grant_type=client_credentials&audience=x", 400, true),
        ] {
            let (answer, complaint) = tokens.issue(&headers(basic), form.as_bytes());
            assert_eq!((answer.status().as_u16(), complaint.is_some()), (status, complains), "{basic} {form}");
        }
    }
}
