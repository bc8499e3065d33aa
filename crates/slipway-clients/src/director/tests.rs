//! One test per class of answer, and the calls against the simulator.

use slipway_model::{Reason, ports::TransportError, time::secs};
use slipway_sim::{Fault, Systems, systems::director::Redeemed};

use super::*;
use crate::{
    oauth,
    testing::{Always, simulated, simulated_as, talking_to},
};

/// A Director that gives a good token and then always this answer.
async fn after(status: u16, body: &'static str) -> Error {
    let director: Client = talking_to(Always::saying(status, body));
    director.runtime("acme", "7").await.expect_err("no runtime")
}

fn class_of(error: &Error) -> &Class {
    let Error::Call(error) = error else { panic!("{error}") };
    error.class()
}

async fn after_code(code: u16) -> Error {
    let body = format!(
        r#"{{"errors":[{{"message":"x","path":["result"],"extensions":{{"error_code":{code},"error":"Word"}}}}],"data":null}}"#
    );
    after(200, Box::leak(body.into_boxed_str())).await
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    assert_eq!(after_code(20).await, Error::NotFound);
}

#[tokio::test]
async fn names_that_are_taken_tenants_that_are_unknown_and_credentials_have_classes_of_their_own() {
    for code in [21, 31] {
        assert_eq!(after_code(code).await, Error::NotUnique("Word".to_owned()));
    }
    for code in [24, 25] {
        assert_eq!(after_code(code).await, Error::Tenant("Word".to_owned()));
    }
    for code in [23, 26] {
        assert_eq!(after_code(code).await, Error::Denied("Word".to_owned()));
    }
}

#[tokio::test]
async fn bad_data_are_permanent() {
    for code in [22, 27, 29, 30, 33] {
        let error = after_code(code).await;
        assert_eq!(error, Error::Refused("Word".to_owned()));
        assert!(!error.is_temporary() && !error.is_effect_unknown());
    }
}

#[tokio::test]
async fn troubles_of_the_director_pass() {
    for code in [0, 10, 11, 28, 32, 35, 99] {
        let error = after_code(code).await;
        assert_eq!(error, Error::Troubled("Word".to_owned()), "{code}");
        assert!(error.is_temporary());
    }
}

#[tokio::test]
async fn the_status_is_looked_at_before_the_body() {
    let good = r#"{"data":{"result":{"id":"7","name":"n","status":{"condition":"INITIAL"}}}}"#;
    for status in [408, 425, 429, 500, 502, 503] {
        let error = after(status, good).await;
        assert!(matches!(class_of(&error), Class::Busy(_)) && error.is_temporary(), "{status} {error:?}");
        assert!(error.pause_or(secs(1)) >= secs(7), "{status}");
    }
    for status in [400, 404, 422] {
        let error = after(status, good).await;
        assert!(!error.is_temporary() && error != Error::NotFound, "{status}: no word of a runtime");
        assert_eq!(error.reason(), Reason::HttpStatusCode);
    }
    assert!(matches!(class_of(&after(403, good).await), Class::Denied(_)));
    assert!(matches!(class_of(&after(401, good).await), Class::Denied(_)), "also with a fresh token");
}

#[tokio::test]
async fn half_an_answer_is_temporary_and_leaves_the_effect_open() {
    for body in ["<html>", "{}", r#"{"data":null}"#, r#"{"data":{"result":null}}"#, r#"{"data":{"result":{"id":7}}}"#] {
        let error = after(200, body).await;
        assert!(matches!(class_of(&error), Class::Garbled(_)), "{body}");
        assert_eq!(error.reason(), Reason::DirectorNilResponse);
        assert!(error.is_temporary() && error.is_effect_unknown());
    }
    let other = r#"{"data":{"result":{"id":"8","name":"n","status":{"condition":"INITIAL"}}}}"#;
    assert_eq!(after(200, other).await, Error::OtherRuntime);
    assert_eq!(Error::OtherRuntime.reason(), Reason::DirectorRuntimeIdMismatch);
}

#[tokio::test]
async fn silence_is_temporary_and_the_effect_is_unknown_only_if_it_was_sent() {
    let director: Client = talking_to(Always::silent());
    let problem = "x".to_owned();
    let unreachable = |error| Error::from(director.connection.error(Class::Unreachable(error)));
    let lost = unreachable(TransportError::NoAnswer { system: "director", problem: problem.clone() });
    let unsent = unreachable(TransportError::NotSent { system: "director", problem });
    assert!(lost.is_temporary() && lost.is_effect_unknown());
    assert!(unsent.is_temporary() && !unsent.is_effect_unknown());
}

#[tokio::test]
async fn wrong_credentials_are_told_before_anything_is_asked() {
    let sim = Systems::default();
    let wrong: Client = simulated_as(&sim, ("me".to_owned(), "wrong".to_owned()));
    let error = wrong.runtime("acme", "7").await.expect_err("no token");
    assert!(matches!(class_of(&error), Class::NoToken(oauth::Error::Denied(_))) && !error.is_temporary());
    assert!(sim.director.complaints().is_empty());
}

fn input(name: &str) -> RuntimeInput {
    let labels = [("slipway_intent".to_owned(), Value::from("k-1"))].into_iter().collect();
    RuntimeInput { name: name.to_owned(), description: Some("a \"shop\"".to_owned()), labels, status_condition: None }
}

#[tokio::test]
async fn a_runtime_is_registered_found_amended_and_unregistered() {
    let sim = Systems::default();
    let director: Client = simulated(&sim);
    let id = director.register("acme", &input("shop")).await.expect("registered");
    assert_eq!(director.find("acme", "slipway_intent", "k-1").await, Ok(vec![id.clone()]));
    assert_eq!(director.find("acme", "slipway_intent", "\"; drop").await, Ok(vec![]));
    assert!(matches!(director.register("acme", &input("shop")).await, Err(Error::NotUnique(_))));
    let labels = [("gardenerClusterName", "c-1"), ("gardenerClusterDomain", "c-1.example.com")];
    director.amend("acme", &id, Some(Condition::Provisioning), &labels).await.expect("amended");
    let kept = &sim.director.runtimes()[0];
    assert_eq!((kept.condition.as_str(), kept.labels.len()), ("PROVISIONING", 3));
    assert_eq!(kept.description.as_deref(), Some("a \"shop\""), "sent back unchanged");
    director.unregister("acme", &id).await.expect("gone");
    assert_eq!(director.unregister("acme", &id).await, Err(Error::NotFound));
    assert!(matches!(director.runtime("acme", &id).await, Err(Error::NotFound)));
    assert_eq!(sim.director.complaints(), Vec::<String>::new());
}

#[tokio::test]
async fn a_one_time_token_connects_an_agent_once() {
    let sim = Systems::default();
    let director: Client = simulated(&sim);
    let id = director.register("acme", &input("shop")).await.expect("registered");
    let token = director.one_time_token("acme", &id).await.expect("a token");
    use secrecy::ExposeSecret as _;
    assert!(matches!(sim.director.redeem(token.token.expose_secret(), &id), Redeemed::Connected(_)));
    assert!(!format!("{token:?}").contains(token.token.expose_secret()), "a token does not show itself");
}

#[tokio::test]
async fn a_token_that_has_ended_is_replaced_at_once() {
    let sim = Systems::default();
    let director: Client = simulated(&sim);
    let id = director.register("acme", &input("shop")).await.expect("registered");
    sim.director.expire_tokens();
    director.runtime("acme", &id).await.expect("with a fresh token");
    sim.director.dial().next(Fault::Status(503));
    let busy = director.runtime("acme", &id).await.expect_err("busy");
    assert!(matches!(class_of(&busy), Class::Busy(_)));
}
