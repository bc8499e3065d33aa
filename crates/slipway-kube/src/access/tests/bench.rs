//! What the tests stand on: a clock of the runtime's own (simulated) time, seeded chance, a server made of a function.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use http::{Request, Response};
use http_body_util::BodyExt as _;
use kube::client::Body;
use slipway_model::{
    ports::{BoxFuture, Clock, Random},
    time::Timestamp,
};

use crate::access::{Access, Options};

/// Follows the runtime's clock, which tests pause.
pub(super) struct Simulated(tokio::time::Instant);

impl Simulated {
    #[expect(clippy::disallowed_methods, reason = "this is the clock of the tests")]
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(tokio::time::Instant::now()))
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the clock of the tests")]
impl Clock for Simulated {
    fn wall(&self) -> Timestamp {
        Timestamp::from_micros(1_789_000_000_000_000) + self.0.elapsed()
    }

    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// The same numbers every time.
#[derive(Default)]
pub(super) struct Counting(AtomicU64);

impl Random for Counting {
    fn next_u64(&self) -> u64 {
        self.0.fetch_add(7_919, Ordering::Relaxed)
    }
}

/// What a test server answers.
pub(super) type Answer = Result<Response<Vec<u8>>, std::io::Error>;

/// A client whose server is this function: method, path with query, body.
pub(super) fn served<F, Fut>(serve: F) -> kube::Client
where
    F: Fn(String, String, Vec<u8>) -> Fut + Clone + Send + 'static,
    Fut: Future<Output = Answer> + Send + 'static,
{
    let service = tower::service_fn(move |request: Request<Body>| {
        let serve = serve.clone();
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.map(|body| body.to_bytes().to_vec()).unwrap_or_default();
            let answer = serve(head.method.to_string(), head.uri.to_string(), body).await?;
            Ok::<_, std::io::Error>(answer.map(Body::from))
        }
    });
    kube::Client::new(service, "default")
}

pub(super) fn json(code: u16, body: &serde_json::Value) -> Answer {
    Ok(Response::builder().status(code).body(body.to_string().into_bytes()).expect("an answer"))
}

pub(super) fn access(client: kube::Client, clock: Arc<dyn Clock>) -> Access {
    Access::new(client, Options::new("test", clock))
}
