//! The wire to a real cluster: `kube::Client` below, because it knows kubeconfigs, certificates and
//! token plugins; the port above, because the flight recorder wants every call.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use slipway_model::{
    ports::{BoxFuture, Clock, Transport, TransportError},
    time::secs,
};

/// Why no client can be made. No text of a kubeconfig is in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// It is no kubeconfig, or lacks something.
    #[error("the kubeconfig is of no use: {0}")]
    Kubeconfig(&'static str),
    /// TLS cannot be prepared.
    #[error("the connection cannot be prepared")]
    Tls,
}

/// A client by the text of a kubeconfig. The library's own retries are off: they would sleep by the wall
/// clock and hide requests from the recorder.
pub async fn connect(kubeconfig: &str) -> Result<Client, ConnectError> {
    // Errors of the parser may quote the text, and the text holds a key.
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).map_err(|_| ConnectError::Kubeconfig("it cannot be read"))?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .map_err(|_| ConnectError::Kubeconfig("it names no cluster, or a user without credentials"))?;
    config.connect_timeout = Some(secs(5));
    config.default_retry = false;
    Client::try_from(config).map_err(|_| ConnectError::Tls)
}

/// The wire.
#[derive(Clone)]
pub struct ClientTransport {
    client: Client,
    clock: Arc<dyn Clock>,
}

impl ClientTransport {
    /// Everything goes to the cluster of this client, whatever host a request names.
    pub fn new(client: Client, clock: Arc<dyn Clock>) -> Self {
        Self { client, clock }
    }
}

impl Transport for ClientTransport {
    fn send<'a>(
        &'a self,
        system: &'static str,
        request: Request<Bytes>,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let exchange = async {
                let answer = self.client.send(request.map(Body::from)).await.map_err(|error| lost(system, &error))?;
                let (head, body) = answer.into_parts();
                let whole = body.collect().await.map_err(|_| TransportError::NoAnswer {
                    system,
                    problem: "the connection broke in the middle of the answer".to_owned(),
                })?;
                Ok(Response::from_parts(head, whole.to_bytes()))
            };
            tokio::select! {
                biased;
                answer = exchange => answer,
                () = self.clock.sleep(timeout) => {
                    Err(TransportError::NoAnswer { system, problem: "the time ran out".to_owned() })
                }
            }
        })
    }
}

/// Only a refused connection proves that nothing happened on the other side.
fn lost(system: &'static str, error: &kube::Error) -> TransportError {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    let (mut deepest, mut never_sent) = (error.to_string(), false);
    while let Some(inner) = source {
        if let Some(io) = inner.downcast_ref::<std::io::Error>() {
            never_sent |= io.kind() == std::io::ErrorKind::ConnectionRefused;
        }
        deepest = inner.to_string();
        source = inner.source();
    }
    match never_sent {
        true => TransportError::NotSent { system, problem: deepest },
        false => TransportError::NoAnswer { system, problem: deepest },
    }
}
