//! One test per answer: what it is taken for.

use std::time::Duration;

use http::Response;
use serde_json::json;
use slipway_model::time::secs;

use super::bench::{Answer, Simulated, access, json, served};
use crate::access::{Ask, Class, Error, Exactly, resource::SHOOTS};

async fn error_of(answer: fn() -> Answer) -> Error {
    let access = access(served(move |_, _, _| async move { answer() }), Simulated::new());
    access.send(Ask::get(&SHOOTS, "garden-dev", "shop")).await.expect_err("a failure")
}

fn status(code: u16, reason: &str, message: &str) -> Answer {
    json(code, &json!({"kind": "Status", "code": code, "reason": reason, "message": message}))
}

/// What is answered, how, and what we make of it.
type Row = (&'static str, fn() -> Answer, Class);

#[tokio::test(start_paused = true)]
async fn every_answer_has_its_class() {
    let table: [Row; 12] = [
        ("409", || status(409, "Conflict", "the object has been modified"), Class::Transient),
        (
            "403 without a field",
            || status(403, "Forbidden", "shoots is forbidden: User x cannot patch"),
            Class::Transient,
        ),
        (
            "403 of an admission plugin",
            || {
                status(
                    403,
                    "Forbidden",
                    "shoots \"a\" is forbidden: spec.provider.workers[0].machine.type: Unsupported value: \"x\"",
                )
            },
            Class::Permanent,
        ),
        ("404", || status(404, "NotFound", "shoots \"shop\" not found"), Class::Permanent),
        ("422", || status(422, "Invalid", "spec.region: Required value"), Class::Permanent),
        ("400", || status(400, "BadRequest", "no"), Class::Permanent),
        ("401", || status(401, "Unauthorized", "who?"), Class::Transient),
        ("410", || status(410, "Expired", "too old"), Class::Transient),
        ("429", || status(429, "TooManyRequests", "slower"), Class::Throttled),
        ("500", || status(500, "InternalError", "oh"), Class::Transient),
        (
            "503 of a proxy",
            || Ok(Response::builder().status(503).body(b"<html>secret</html>".to_vec()).expect("answer")),
            Class::Transient,
        ),
        ("garbage", || Ok(Response::new(b"{\"half\":".to_vec())), Class::Transient),
    ];
    for (name, answer, class) in table {
        let error = error_of(answer).await;
        assert_eq!(error.class, class, "{name}: {error:?}");
        assert!(!error.message.contains("secret"), "{name} repeats an unknown body: {error}");
    }
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
}

#[tokio::test(start_paused = true)]
async fn a_sentence_of_gardener_is_kept_and_a_very_long_one_is_cut() {
    let long = error_of(|| status(422, "Invalid", &"spec.x: Invalid value; ".repeat(200))).await;
    assert!(long.message.starts_with("spec.x: Invalid value") && long.message.chars().count() == 1_001);
}
