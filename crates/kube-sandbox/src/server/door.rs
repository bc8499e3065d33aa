//! A TLS port, and how it closes.
//!
//! A closed door breaks its connections at once, watches too: this is what a client of a hibernated
//! cluster sees. A door that refuses keeps its port and answers nobody.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::body::Body;
use http::{Request, Response};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};
use tokio_rustls::TlsAcceptor;

use super::ServerError;
use crate::{
    http::{Asker, Reset},
    tls::Tls,
};

/// Requests at the same time on one HTTP/2 connection: clients put all their watches on one.
const STREAMS: u32 = 4096;

/// A port somebody can come in by. It closes when this is dropped.
#[derive(Debug)]
pub struct Door {
    address: SocketAddr,
    refuses: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Door {
    pub(super) async fn open<H, F>(address: SocketAddr, tls: Tls, handle: H) -> Result<Self, ServerError>
    where
        H: Fn(Asker, Request<Body>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Result<Response<Body>, Reset>> + Send + 'static,
    {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let refuses = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(accept(listener, tls, handle, refuses.clone()));
        Ok(Self { address, refuses, task })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it is, as a URL.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Breaks every new connection before it says anything, or stops doing so. Present ones are not touched.
    pub fn refuse(&self, refuses: bool) {
        self.refuses.store(refuses, Ordering::Relaxed);
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept<H, F>(listener: TcpListener, tls: Tls, handle: H, refuses: Arc<AtomicBool>)
where
    H: Fn(Asker, Request<Body>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<Response<Body>, Reset>> + Send + 'static,
{
    let acceptor = TlsAcceptor::from(tls.config.clone());
    // Dropped with this task, and every connection with it.
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok(_) if refuses.load(Ordering::Relaxed) => {}
            Ok((stream, _)) => drop(connections.spawn(serve(stream, acceptor.clone(), tls.clone(), handle.clone()))),
            // Out of file descriptors or a connection that went away: neither is worth ending for.
            Err(error) => {
                tracing::debug!(%error, "a connection was not accepted");
                crate::clock::sleep(std::time::Duration::from_millis(10)).await;
            }
        }
    }
}

async fn serve<H, F>(stream: TcpStream, acceptor: TlsAcceptor, tls: Tls, handle: H) -> io::Result<()>
where
    H: Fn(Asker, Request<Body>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<Response<Body>, Reset>> + Send + 'static,
{
    // Small answers at once: a watch event must not wait for the next one.
    stream.set_nodelay(true)?;
    let stream = acceptor.accept(stream).await?;
    let shown: Option<Arc<Vec<_>>> = stream
        .get_ref()
        .1
        .peer_certificates()
        .map(|shown| Arc::new(shown.iter().map(|one| one.clone().into_owned()).collect()));
    let service = service_fn(move |request: Request<Incoming>| {
        let asker = tls.asker(shown.as_ref().map(|shown| shown.as_slice()));
        handle(asker, request.map(Body::new))
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http2().max_concurrent_streams(STREAMS);
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(error, "a connection ended early");
    }
    Ok(())
}
