//! The one transport below the door: a client of the library, or the port that the flight recorder, the
//! simulators and the failure matrix are made for. Whatever it is, no answer is read without a limit.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response, response::Parts};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use kube::{Client, client::Body};
use slipway_model::ports::{BoxFuture, Clock, Transport, TransportError};

use super::Error;

/// Most bytes of one object: a server keeps none above 1.5 MiB, and JSON is not twice as long as what it keeps.
pub(super) const OBJECT_MAX: usize = 4 << 20;
/// Most bytes of one page of a list: 500 Shoots of 100 KiB fit.
pub(super) const PAGE_MAX: usize = 64 << 20;

/// Carries requests.
#[derive(Clone)]
pub(super) enum Wire {
    /// To the cluster of this client.
    Client(Client),
    /// Through the port; `base` goes before every path.
    Port { transport: Arc<dyn Transport>, base: Arc<str> },
}

/// How much of an answer may be read, told to whoever reads it behind the port.
#[derive(Clone, Copy)]
struct Most(usize);

/// Stands on an answer in the place of a body that was too large.
#[derive(Clone, Copy)]
struct Cut;

impl Wire {
    /// One exchange, the answer whole.
    pub(super) async fn exchange(
        &self,
        cluster: &'static str,
        request: Request<Vec<u8>>,
        timeout: Duration,
        most: usize,
    ) -> Result<(Parts, Bytes), Error> {
        match self {
            Self::Client(client) => read(send(client, request).await?, most).await,
            Self::Port { transport, base } => {
                let (mut head, body) = request.into_parts();
                let uri = format!("{base}{}", head.uri).parse();
                head.uri = uri.map_err(|_| Error::unsendable("the address of the cluster is of no use"))?;
                head.extensions.insert(Most(most));
                let answer = transport.send(cluster, Request::from_parts(head, body.into()), timeout).await;
                let (head, body) = answer.map_err(|error| Error::port(&error))?.into_parts();
                let is_cut = head.extensions.get::<Cut>().is_some() || body.len() > most;
                if is_cut { Err(Error::too_large(most)) } else { Ok((head, body)) }
            }
        }
    }

    /// Begins an answer that has no end. The port reads answers whole, so it carries none of these.
    pub(super) async fn open(&self, request: Request<Vec<u8>>) -> Result<Response<Body>, Error> {
        match self {
            Self::Client(client) => send(client, request).await,
            Self::Port { .. } => Err(Error::unsendable("this way carries no watches")),
        }
    }
}

async fn send(client: &Client, request: Request<Vec<u8>>) -> Result<Response<Body>, Error> {
    client.send(request.map(Body::from)).await.map_err(|error| Error::transport(&error))
}

/// The whole answer. One that is too large is given up where the limit is, and its connection with it.
pub(super) async fn read(answer: Response<Body>, most: usize) -> Result<(Parts, Bytes), Error> {
    let (head, body) = answer.into_parts();
    let whole = Limited::new(body, most).collect().await.map_err(|error| match error.is::<LengthLimitError>() {
        true => Error::too_large(most),
        false => Error::broken_off(&error.to_string()),
    })?;
    Ok((head, whole.to_bytes()))
}

/// A client as the port, so that the flight recorder can stand before it.
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

    async fn exchange(&self, request: Request<Vec<u8>>, most: usize) -> Result<Response<Bytes>, Error> {
        let answer = send(&self.client, request).await?;
        let (status, version) = (answer.status(), answer.version());
        match read(answer, most).await {
            Ok((head, body)) => Ok(Response::from_parts(head, body)),
            Err(error) if error.is_too_large() => {
                let mut cut = Response::new(Bytes::new());
                (*cut.status_mut(), *cut.version_mut()) = (status, version);
                cut.extensions_mut().insert(Cut);
                Ok(cut)
            }
            Err(error) => Err(error),
        }
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
            let most = request.extensions().get::<Most>().map_or(PAGE_MAX, |most| most.0);
            let answer = tokio::select! {
                biased;
                answer = self.exchange(request.map(Vec::from), most) => answer,
                () = self.clock.sleep(timeout) => Err(Error::timeout(timeout)),
            };
            answer.map_err(|Error { effect_unknown, message: problem, .. }| match effect_unknown {
                true => TransportError::NoAnswer { system, problem },
                false => TransportError::NotSent { system, problem },
            })
        })
    }
}
