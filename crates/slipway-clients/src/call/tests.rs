//! One test per class of answer, once for all systems.

use slipway_model::time::secs;

use super::*;
use crate::{
    chain, director, hello,
    testing::{Always, talking_to},
};

async fn after(status: u16, body: &'static str) -> Error {
    let hello: hello::Client = talking_to(Always::saying(status, body));
    hello.greeting("ann").await.expect_err("no greeting")
}

fn answer(status: u16) -> Answer {
    Answer { status: StatusCode::from_u16(status).expect("status"), retry_after: Some(secs(7)) }
}

#[tokio::test]
async fn a_missing_thing_is_not_found() {
    let error = after(404, "").await;
    assert!(error.is_not_found() && !error.is_temporary());
}

#[tokio::test]
async fn busy_and_broken_servers_are_temporary_and_name_their_pause() {
    for status in [408, 425, 429, 500, 502, 503, 504, 599] {
        let error = after(status, "").await;
        assert_eq!(error.class(), &Class::Busy(answer(status)));
        assert!(error.is_temporary() && error.is_effect_unknown());
        assert!(error.pause_or(secs(1)) >= secs(7), "{status}");
    }
}

#[tokio::test]
async fn every_other_refusal_is_permanent() {
    let good = r#"{"greeting": "Hello"}"#;
    for status in [301, 400, 405, 410, 413, 422] {
        assert_eq!(after(status, good).await.class(), &Class::Refused(answer(status)));
    }
    for status in [401, 403] {
        assert_eq!(after(status, good).await.class(), &Class::Denied(answer(status)));
    }
    assert_eq!(after(409, good).await.class(), &Class::Conflict(answer(409)));
    for status in [301, 400, 401, 403, 405, 409, 410, 413, 422] {
        let error = after(status, good).await;
        assert!(!error.is_temporary() && !error.is_effect_unknown(), "{status}");
    }
}

#[tokio::test]
async fn something_else_than_was_promised_is_temporary() {
    for body in ["<html>", "", "{}", r#"{"greeting": 1}"#, r#"{"greeting": "Hel"#] {
        let error = after(200, body).await;
        assert_eq!(error.class(), &Class::Garbled("a greeting"));
        assert!(error.is_temporary() && error.is_effect_unknown());
    }
}

#[tokio::test]
async fn silence_is_temporary_and_told_once() {
    let hello: hello::Client = talking_to(Always::silent());
    let error = hello.greeting("ann").await.expect_err("no greeting");
    assert!(error.is_temporary() && error.is_effect_unknown());
    assert_eq!(chain(&error), "hello gave no answer: hello did not answer: the time ran out");
}

#[tokio::test]
async fn a_token_endpoint_that_does_not_answer_is_told_as_what_it_is() {
    let director: director::Client = talking_to(Always::silent());
    let error = director.runtime("acme", "7").await.expect_err("no token");
    assert!(error.is_temporary() && !error.is_effect_unknown(), "nothing was asked yet");
    let said =
        "no token for the Director: the token endpoint gave no answer: director did not answer: the time ran out";
    assert_eq!(chain(&error), said);
}

#[test]
fn credentials_that_cannot_stand_in_a_header_are_never_sent() {
    assert!(matches!(bearer(&"two\nlines".into()), Authorization::Unusable));
    let Authorization::Fixed(header) = basic("me", &"s3cret".into()) else { panic!("a header") };
    assert!(header.is_sensitive() && header == "Basic bWU6czNjcmV0");
}
