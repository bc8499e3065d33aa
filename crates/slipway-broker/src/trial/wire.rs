//! The simulators without a socket in between: the same clients, the same requests, no network. Also
//! used by the test suite.

use std::{sync::Arc, time::Duration};

use axum::body::{Body, to_bytes};
use bytes::Bytes;
use slipway_model::ports::{BoxFuture, Clock, Transport, TransportError};
use tower::ServiceExt;

/// Leads every request to the simulator of its system.
pub(crate) struct Wire {
    sim: slipway_sim::Systems,
    clock: Arc<dyn Clock>,
}

impl Wire {
    pub(crate) fn to(sim: slipway_sim::Systems, clock: Arc<dyn Clock>) -> Self {
        Self { sim, clock }
    }
}

impl Transport for Wire {
    fn send<'a>(
        &'a self,
        system: &'static str,
        request: http::Request<Bytes>,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<http::Response<Bytes>, TransportError>> {
        let no_answer = move |problem: &str| TransportError::NoAnswer { system, problem: problem.to_owned() };
        Box::pin(async move {
            let row = slipway_sim::SYSTEMS.iter().find(|row| row.name == system).expect("a simulated system");
            let router = (row.router)(&self.sim);
            let answer = async {
                let answer = router.oneshot(request.map(Body::from)).await.expect("a router always answers");
                let (head, body) = answer.into_parts();
                let body = to_bytes(body, usize::MAX).await.map_err(|_| no_answer("half an answer"))?;
                Ok(http::Response::from_parts(head, body))
            };
            tokio::select! {
                biased;
                answer = answer => answer,
                () = self.clock.sleep(timeout) => Err(no_answer("the time ran out")),
            }
        })
    }
}
