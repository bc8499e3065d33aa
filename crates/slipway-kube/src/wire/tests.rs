//! One test per class of answer.

use slipway_model::ports::BoxFuture;

use super::*;

struct Always(u16, &'static str);

impl Transport for Always {
    fn send<'a>(
        &'a self,
        _system: &'static str,
        request: Request<Bytes>,
        _timeout: Duration,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            assert_eq!(
                request.uri().path(),
                "/apis/infrastructuremanager.kyma-project.io/v1/namespaces/ns/runtimes/a%2Fb"
            );
            let answer = Response::builder().status(self.0).header(header::RETRY_AFTER, "7");
            Ok(answer.body(Bytes::from_static(self.1.as_bytes())).expect("response"))
        })
    }
}

async fn after(status: u16, body: &'static str) -> Result<Value, Error> {
    Api::new(Arc::new(Always(status, body)), "kubernetes", "http://k").get(&Kind::RUNTIME, "ns", "a/b").await
}

const NAMED: &str = r#"{"kind":"Status","reason":"NotFound","message":"m","details":{"name":"a","kind":"runtimes"}}"#;
const SAID: &str = r#"{"kind":"Status","reason":"Invalid","message":"spec.x: Required value"}"#;

#[tokio::test]
async fn an_object_is_an_object() {
    assert_eq!(after(200, r#"{"kind":"Runtime"}"#).await.expect("an object")["kind"], "Runtime");
}

#[tokio::test]
async fn a_missing_object_and_a_missing_kind_are_told_apart() {
    assert_eq!(after(404, NAMED).await, Err(Error::NotFound));
    assert_eq!(after(404, "404 page not found\n").await, Err(Error::NoKind));
    assert_eq!(after(404, "<html>no backend</html>").await, Err(Error::Garbled), "of a proxy, not of the server");
}

#[tokio::test]
async fn refusals_keep_the_servers_sentence() {
    for status in [400, 405, 413, 415, 422] {
        let error = after(status, SAID).await.expect_err("refused");
        assert!(!error.is_temporary() && error.to_string().contains("spec.x: Required value"), "{status} {error}");
        assert_eq!(error.reason(), "Invalid");
    }
}

#[tokio::test]
async fn busy_servers_missing_rights_and_conflicts_may_pass() {
    for status in [401, 403, 408, 410, 429, 500, 503] {
        let error = after(status, SAID).await.expect_err("busy");
        assert!(matches!(error, Error::Busy { .. }) && error.is_temporary(), "{status}");
        assert!(error.pause_or(secs(1)) >= secs(7));
    }
    assert!(matches!(after(409, SAID).await, Err(Error::Conflict(_))));
}

#[tokio::test]
async fn something_else_is_temporary() {
    for body in ["<html>", "[]", "1", ""] {
        assert_eq!(after(200, body).await, Err(Error::Garbled), "{body}");
    }
}
