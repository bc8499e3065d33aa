//! The HTTP face of a cluster.
//!
//! One function answers every request, whether it came over TLS, at a cluster's own port or from a
//! client in this process: who asks, may they, what is meant, do it.

pub mod answers;
pub mod body;
pub mod discovery;
pub mod json_path;
pub mod listing;
pub mod media;
mod meta;
pub mod options;
pub mod path;
pub mod protobuf;
pub mod resource;
pub mod table;
pub mod troubles;
pub mod watching;

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, header};

use self::{
    path::{Query, Route},
    resource::ObjectRequest,
};
use super::{
    auth::{authn, review},
    cluster::Cluster,
    kind::{Access, User, View},
    status::Status,
};
use crate::clock;

/// Who a connection says it is.
#[derive(Debug, Clone)]
pub enum Asker {
    /// Somebody in this process: it is believed.
    Known(User),
    /// Somebody with a good client certificate.
    Certificate(User),
    /// Somebody whose certificate is not signed by ours, or has ended.
    BadCertificate,
    /// Somebody without one.
    Nobody,
}

/// What goes wrong on purpose with a request.
#[derive(Debug, Clone)]
pub enum Trouble {
    /// Answer this instead of doing anything.
    Status(Status),
    /// Break the connection without doing anything.
    Reset,
    /// Do it, but only after this time.
    Delay(Duration),
    /// Do it, then break the connection instead of answering.
    ResetAfter,
    /// Do it, and answer what cannot be read.
    Garbage(troubles::Garbage),
    /// Open the watch, and spoil it.
    Watch(troubles::Spoiled),
    /// Answer lists that take whatever is cached (`resourceVersion=0`) as of this version.
    AsOf(u64),
}

/// A request, as a fault chooser sees it.
#[derive(Debug)]
pub struct Seen<'a> {
    /// Cluster.
    pub cluster: &'a str,
    /// Method.
    pub method: &'a Method,
    /// Path within the cluster.
    pub path: &'a str,
    /// What follows the question mark.
    pub query: &'a str,
    /// Who asks.
    pub user: &'a User,
}

/// Chooses what goes wrong.
pub type Faults = Arc<dyn Fn(&Seen<'_>) -> Option<Trouble> + Send + Sync>;

/// A request that was answered, as a recorder sees it.
#[derive(Debug)]
pub struct Answered<'a> {
    /// What was asked, and by whom.
    pub seen: &'a Seen<'a>,
    /// Media type of the body.
    pub media: &'a str,
    /// The body; empty if it was not read.
    pub body: &'a [u8],
    /// The code of the answer; 0 if the connection was broken instead.
    pub code: u16,
}

/// Is told every request when it was answered.
pub type Recorder = Arc<dyn Fn(&Answered<'_>) + Send + Sync>;

/// The connection breaks here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the connection was reset")]
pub struct Reset;

/// What belongs to the server rather than to one cluster.
#[derive(Clone)]
pub struct Frame {
    /// Opens everything, on every cluster.
    pub admin_token: Arc<str>,
    /// What goes wrong.
    pub faults: Option<Faults>,
    /// Who is told.
    pub recorder: Option<Recorder>,
    /// In front of every path, for documents that name paths: `/clusters/name` or nothing.
    pub prefix: String,
}

/// Answers a request to a cluster.
pub async fn handle(
    cluster: &Cluster,
    frame: &Frame,
    asker: Asker,
    request: Request<Body>,
) -> Result<Response<Body>, Reset> {
    let (mut head, body) = request.into_parts();
    let user = match identify(cluster, frame, asker, &head.headers) {
        Ok(user) => user,
        Err(status) => return Ok(answers::refusal(&status)),
    };
    let (asked, method) = (head.uri.clone(), head.method.clone());
    let (path, query) = (asked.path(), asked.query().unwrap_or_default());
    let seen = Seen { cluster: cluster.name(), method: &method, path, query, user: &user };
    let kept = OnceLock::new();
    let answered = serve(cluster, frame, &seen, &mut head, body, &kept).await;
    if let Some(recorder) = &frame.recorder {
        let media = head.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let body = kept.get().map_or(&[][..], |body: &Bytes| body);
        let code = answered.as_ref().map_or(0, |answer| answer.status().as_u16());
        recorder(&Answered { seen: &seen, media, body, code });
    }
    answered
}

/// Answers what somebody known asks, unless something goes wrong on purpose.
async fn serve(
    cluster: &Cluster,
    frame: &Frame,
    seen: &Seen<'_>,
    head: &mut http::request::Parts,
    body: Body,
    kept: &OnceLock<Bytes>,
) -> Result<Response<Body>, Reset> {
    let trouble = frame.faults.as_ref().and_then(|faults| faults(seen));
    match &trouble {
        Some(Trouble::Status(status)) => return Ok(answers::refusal(status)),
        Some(Trouble::Reset) => return Err(Reset),
        Some(Trouble::Delay(time)) => clock::sleep(*time).await,
        Some(Trouble::AsOf(version)) => {
            if let Some(stale) = troubles::as_of(&head.method, &head.uri, *version) {
                head.uri = stale;
            }
        }
        Some(Trouble::ResetAfter | Trouble::Garbage(_) | Trouble::Watch(_)) | None => {}
    }
    let answer =
        answer(cluster, frame, seen.user, head, body, kept).await.unwrap_or_else(|status| answers::refusal(&status));
    match trouble {
        Some(Trouble::ResetAfter) => Err(Reset),
        Some(Trouble::Garbage(how)) => {
            Ok(troubles::garble(answer, how, troubles::is_watch(seen.method, seen.path, seen.query)).await)
        }
        Some(Trouble::Watch(spoiled)) => Ok(troubles::spoil(answer, spoiled)),
        _ => Ok(answer),
    }
}

async fn answer(
    cluster: &Cluster,
    frame: &Frame,
    user: &User,
    head: &http::request::Parts,
    body: Body,
    kept: &OnceLock<Bytes>,
) -> Result<Response<Body>, Status> {
    let (path, query) = (head.uri.path(), Query::parse(head.uri.query()));
    match Route::parse(path) {
        Route::Resource(target) => {
            let verb = resource::verb(&head.method, &target, &query);
            let access = Access {
                verb,
                group: &target.group,
                resource: &target.resource,
                subresource: &target.subresource,
                namespace: &target.namespace,
                name: &target.name,
                path: "",
            };
            authorize(cluster, user, &access)?;
            let body = body::read(body).await?;
            // A body is shared, not copied; nobody else sets it.
            let _ = kept.set(body.clone());
            let asked = ObjectRequest {
                cluster,
                user,
                target: &target,
                method: &head.method,
                query: &query,
                headers: &head.headers,
            };
            asked.serve(body).await
        }
        Route::Other => {
            let verb = head.method.as_str().to_lowercase();
            authorize(cluster, user, &Access { verb: &verb, path, ..Access::default() })?;
            meta::serve(cluster, frame, &head.method, path, &query, &head.headers)
        }
    }
}

fn authorize(cluster: &Cluster, user: &User, access: &Access<'_>) -> Result<(), Status> {
    if meta::is_public(access.path) || cluster.may(user, access) {
        return Ok(());
    }
    // Everybody who is somebody may ask about themselves and find out what there is.
    let own = ["selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"];
    let is_somebody = user.is_in("system:authenticated");
    if is_somebody && (own.contains(&access.resource) || meta::is_discovery(access.path)) {
        return Ok(());
    }
    Err(review::refusal(user, access))
}

fn identify(cluster: &Cluster, frame: &Frame, asker: Asker, headers: &HeaderMap) -> Result<User, Status> {
    let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).and_then(|text| {
        let (scheme, token) = text.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let user = match (asker, token) {
        (Asker::Known(user) | Asker::Certificate(user), _) => user,
        (_, Some(token)) if constant_time_eq(token.as_bytes(), frame.admin_token.as_bytes()) => User::admin(),
        (_, Some(token)) => authn::token(cluster, token).ok_or_else(Status::unauthorized)?,
        (Asker::BadCertificate | Asker::Nobody, None) => return Err(Status::unauthorized()),
    };
    impersonate(cluster, user, headers)
}

/// `kubectl --as`: somebody who may speaks for somebody else.
fn impersonate(cluster: &Cluster, user: User, headers: &HeaderMap) -> Result<User, Status> {
    let texts = |name: &str| -> Vec<String> {
        headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).map(ToOwned::to_owned).collect()
    };
    let (names, mut groups) = (texts("impersonate-user"), texts("impersonate-group"));
    let Some(name) = names.first() else { return Ok(user) };
    let wanted = std::iter::once(("users", name)).chain(groups.iter().map(|group| ("groups", group)));
    for (resource, name) in wanted {
        let access = Access { verb: "impersonate", resource, name, ..Access::default() };
        if !cluster.may(&user, &access) {
            return Err(review::refusal(&user, &access));
        }
    }
    if let Some((namespace, _)) = name.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'))
        && groups.is_empty()
    {
        groups = vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
    }
    let own = if name == "system:anonymous" { "system:unauthenticated" } else { "system:authenticated" };
    if !groups.iter().any(|group| group == own) {
        groups.push(own.to_owned());
    }
    Ok(User { name: name.clone(), groups, ..User::default() })
}

/// Takes the same time wherever the first difference is.
fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (x, y)| all | (x ^ y)) == 0
}
