//! One test per class of answer.

use slipway_model::Reason;

use super::*;
use crate::testing::Always;
use wire::State;

const OWNER: Owner<'static> = Owner { tenant: "acme", sub_account: Some("sub") };

fn client(transport: Always) -> Client {
    let base = "http://provisioner/graphql".parse().expect("address");
    Client::new(Arc::new(transport), base, Some("t0ken".into()))
}

fn class_of(error: &Error) -> &Class {
    let Error::Call(error) = error else { panic!("{error}") };
    error.class()
}

async fn after(status: u16, body: &'static str) -> Result<OperationStatus, Error> {
    client(Always::saying(status, body)).operation(OWNER, "7").await
}

async fn after_error(code: u16, reason: &str) -> Error {
    let extensions = format!(r#"{{"error_code":{code},"error_reason":"{reason}","operation_id":"op-1"}}"#);
    let body = format!(r#"{{"data":null,"errors":[{{"message":"because","extensions":{extensions}}}]}}"#);
    after(200, Box::leak(body.into_boxed_str())).await.expect_err("an error")
}

#[tokio::test]
async fn an_operation_is_read_and_an_error_of_empty_texts_is_none() {
    let body = r#"{"data":{"result":{"id":"7","operation":"Provision","state":"InProgress","message":"m",
        "runtimeID":"r","lastError":{"errMessage":"","reason":"","component":""},"errors":[]}}}"#;
    let operation = after(200, body).await.expect("an operation");
    assert_eq!((operation.state, operation.error()), (State::InProgress, None));
}

#[tokio::test]
async fn the_reason_decides_before_the_code() {
    assert_eq!(after_error(404, "err_db_not_found").await, Error::NotFound("because".to_owned()));
    assert_eq!(after_error(2, "err_db_not_found").await, Error::NotFound("because".to_owned()));
    let busy = after_error(400, "err_operation_in_progress").await;
    assert_eq!(busy, Error::InProgress { operation: Some("op-1".to_owned()), message: "because".to_owned() });
    assert!(busy.is_temporary());
}

#[tokio::test]
async fn refusals_are_permanent_and_troubles_pass() {
    let refused = after_error(400, "err_validation").await;
    assert!(matches!(refused, Error::Refused { .. }) && !refused.is_temporary());
    let denied = after_error(403, "err_tenant_mismatch").await;
    assert!(matches!(denied, Error::Denied(_)) && !denied.is_temporary());
    for code in [0, 500, 501, 502, 503] {
        let error = after_error(code, "err_x").await;
        assert!(matches!(error, Error::Troubled { .. }) && error.is_temporary(), "{code}");
    }
}

#[tokio::test]
async fn statuses_without_a_graphql_error_have_their_classes_too() {
    for status in [408, 425, 429, 500, 502, 503] {
        let error = after(status, "<html>").await.expect_err("busy");
        assert!(matches!(class_of(&error), Class::Busy(_)) && error.is_temporary(), "{status}");
    }
    for status in [400, 401, 403, 404, 413] {
        let error = after(status, "").await.expect_err("refused");
        let permanent = matches!(class_of(&error), Class::Refused(_) | Class::Denied(_) | Class::NotFound);
        assert!(permanent && !error.is_temporary(), "{status}");
    }
    let said =
        r#"{"errors":[{"message":"no such field","extensions":{"error_code":400,"error_reason":"err_validation"}}]}"#;
    let refused = after(400, said).await.expect_err("refused");
    assert_eq!(refused, Error::Refused { reason: Reason::Validation, message: "no such field".to_owned() });
}

#[tokio::test]
async fn half_an_answer_and_silence_are_temporary() {
    for body in ["<html>", "{}", r#"{"data":{"result":null}}"#, r#"{"data":{"result":{"id":"7"}}}"#] {
        let error = after(200, body).await.expect_err("no operation");
        assert!(matches!(class_of(&error), Class::Garbled(_)) && error.is_temporary(), "{body}");
    }
    let error = client(Always::silent()).deprovision(OWNER, "7").await.expect_err("silence");
    assert!(matches!(class_of(&error), Class::Unreachable(_)) && error.is_temporary());
}
