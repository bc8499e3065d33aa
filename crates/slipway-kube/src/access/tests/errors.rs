//! One test per answer: what it is taken for.

use std::time::Duration;

use http::Response;
use serde_json::json;
use slipway_model::time::secs;

use super::bench::{Answer, Simulated, access, json, served};
use crate::access::{Access, Ask, Class, ClientTransport, Error, Exactly, Options, resource::SHOOTS};

async fn error_of(answer: fn() -> Answer) -> Error {
    let access = access(served(move |_, _, _| async move { answer() }), Simulated::new());
    access.send(Ask::get(&SHOOTS, "garden-dev", "shop")).await.expect_err("a failure")
}

fn status(code: u16, reason: &str, message: &str) -> Answer {
    json(code, &json!({"kind": "Status", "code": code, "reason": reason, "message": message}))
}

/// What is answered, how, and what we make of it.
type Row = (&'static str, fn() -> Answer, Class);

fn plain(code: u16, body: &str) -> Answer {
    Ok(Response::builder().status(code).body(body.as_bytes().to_vec()).expect("answer"))
}

fn of_object(code: u16) -> Answer {
    let details = json!({"name": "shop", "kind": "shoots"});
    json(code, &json!({"kind": "Status", "reason": "NotFound", "message": "no shop", "details": details}))
}

/// The rows of the table in the module, each by an answer of a real server.
const TABLE: &[Row] = &[
    ("429", || status(429, "TooManyRequests", "slower"), Class::Throttled),
    ("404 of an object", || of_object(404), Class::Absent),
    ("404 of a kind", || plain(404, "404 page not found\n"), Class::NoKind),
    ("404 of a kind by its status", || status(404, "NotFound", "the server could not find it"), Class::NoKind),
    ("404 of a proxy", || plain(404, "<html>secret</html>"), Class::Transient),
    ("403 of missing rights", || status(403, "Forbidden", "User x cannot patch resource shoots"), Class::Transient),
    ("403 of a quota", || status(403, "Forbidden", "exceeded quota: pods"), Class::Transient),
    ("403 of a proxy", || plain(403, "secret"), Class::Transient),
    (
        "403 of an admission plugin",
        || status(403, "Forbidden", "is forbidden: spec.provider.workers[0].machine.type: Unsupported value: \"x\""),
        Class::Permanent,
    ),
    (
        "403 with a field in its causes",
        || json(403, &json!({"kind": "Status", "details": {"causes": [{"field": "spec.region"}]}})),
        Class::Permanent,
    ),
    (
        "403 of a webhook",
        || status(403, "Forbidden", "admission webhook \"w.example\" denied the request: no"),
        Class::Permanent,
    ),
    ("401", || status(401, "Unauthorized", "who?"), Class::Transient),
    ("408", || status(408, "Timeout", "late"), Class::Transient),
    ("409", || status(409, "Conflict", "the object has been modified"), Class::Transient),
    ("410", || status(410, "Expired", "too old"), Class::Transient),
    ("500", || status(500, "InternalError", "oh"), Class::Transient),
    ("503 of a proxy", || plain(503, "<html>secret</html>"), Class::Transient),
    ("504", || status(504, "Timeout", "late"), Class::Transient),
    ("no connection", || Err(std::io::ErrorKind::ConnectionRefused.into()), Class::Transient),
    ("a lost connection", || Err(std::io::ErrorKind::ConnectionReset.into()), Class::Transient),
    ("half an answer", || plain(200, "{\"half\":"), Class::Transient),
    ("something else", || plain(200, "[]"), Class::Transient),
    ("nothing", || plain(200, ""), Class::Transient),
    ("400", || status(400, "BadRequest", "no"), Class::Permanent),
    ("405", || status(405, "MethodNotAllowed", "no"), Class::Permanent),
    ("413", || status(413, "RequestEntityTooLarge", "no"), Class::Permanent),
    ("415", || status(415, "UnsupportedMediaType", "no"), Class::Permanent),
    ("422", || status(422, "Invalid", "spec.region: Required value"), Class::Permanent),
    ("too large", || plain(200, &"x".repeat((4 << 20) + 1)), Class::Permanent),
];

#[tokio::test(start_paused = true)]
async fn every_answer_has_its_class() {
    for (name, answer, class) in TABLE {
        let error = error_of(*answer).await;
        assert_eq!(error.class, *class, "{name}: {error:?}");
        assert!(!error.message.contains("secret"), "{name} repeats an unknown body: {error}");
    }
}

/// Steps call through the port, because they are recorded there; nothing else may differ.
#[tokio::test(start_paused = true)]
async fn through_the_port_every_answer_has_the_same_class() {
    for (name, answer, class) in TABLE {
        let (clock, answer) = (Simulated::new(), *answer);
        let port = ClientTransport::new(served(move |_, _, _| async move { answer() }), clock.clone());
        let access = Access::over(std::sync::Arc::new(port), "http://kcp/", Options::new("kcp", clock));
        let error = access.send(Ask::get(&SHOOTS, "garden-dev", "shop")).await.expect_err("a failure");
        let direct = error_of(answer).await;
        assert_eq!(
            (error.class, error.code, error.effect_unknown),
            (*class, direct.code, direct.effect_unknown),
            "{name}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn only_a_missing_object_is_none_and_a_missing_kind_only_where_it_may_be() {
    let of = |answer: fn() -> Answer| access(served(move |_, _, _| async move { answer() }), Simulated::new());
    let ask = || Ask::get(&SHOOTS, "garden-dev", "shop");
    let (absent, no_kind) = (of(|| of_object(404)), of(|| plain(404, "404 page not found")));
    assert_eq!(absent.find::<serde_json::Value>(ask()).await, Ok(None));
    assert_eq!(no_kind.find::<serde_json::Value>(ask()).await.expect_err("no kind").class, Class::NoKind);
    assert_eq!(no_kind.find_if_served::<serde_json::Value>(ask()).await, Ok(None));
    let gone = || Ask::delete(&SHOOTS, "garden-dev", "shop", &Exactly::default());
    assert_eq!(absent.tell(gone()).await, Ok(()));
    assert_eq!(no_kind.tell(gone()).await.expect_err("nobody knows").class, Class::NoKind);
}

#[tokio::test(start_paused = true)]
async fn a_refused_connection_had_no_effect_and_a_broken_one_may_have() {
    let refused = error_of(|| Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused))).await;
    assert_eq!(
        (refused.class, refused.reason.as_str(), refused.effect_unknown),
        (Class::Transient, "ConnectionRefused", false)
    );
    let reset = error_of(|| Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset))).await;
    assert_eq!((reset.class, reset.effect_unknown), (Class::Transient, true));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_come_is_given_up_after_the_timeout_of_its_verb() {
    let access = access(served(|_, _, _| std::future::pending()), Simulated::new());
    let read = access.send(Ask::get(&SHOOTS, "garden-dev", "shop")).await.expect_err("a timeout");
    assert_eq!(read, Error::timeout(secs(5)));
    let before = access.clock().monotonic();
    let merge = Ask::merge(&SHOOTS, "garden-dev", "shop", &Exactly::default(), json!({}));
    let write = access.send(merge).await.expect_err("a timeout");
    assert_eq!(access.clock().monotonic() - before, secs(15));
    assert!(write.effect_unknown && write.class == Class::Transient);
}

#[tokio::test(start_paused = true)]
async fn the_server_says_how_long_to_stay_away_by_header_or_by_details() {
    let header = error_of(|| {
        let answer = Response::builder().status(429).header("retry-after", "7");
        Ok(answer.body(Vec::new()).expect("answer"))
    });
    assert_eq!(header.await.retry_after, Some(secs(7)));
    let details = error_of(|| json(429, &json!({"kind": "Status", "details": {"retryAfterSeconds": 3}})));
    assert_eq!(details.await.retry_after, Some(Duration::from_secs(3)));
    assert_eq!(error_of(|| status(429, "TooManyRequests", "slower")).await.retry_after, None);
    let forever = error_of(|| json(503, &json!({"kind": "Status", "details": {"retryAfterSeconds": 3_600}}))).await;
    assert_eq!(forever.retry_after, Some(secs(300)), "a server may slow us down, but not put us to sleep");
}

#[tokio::test(start_paused = true)]
async fn a_sentence_of_gardener_is_kept_and_a_very_long_one_is_cut() {
    let long = error_of(|| status(422, "Invalid", &"spec.x: Invalid value; ".repeat(200))).await;
    assert!(long.message.starts_with("spec.x: Invalid value") && long.message.chars().count() == 1_001);
}
