//! Serving a router on a socket: the one way of all our listeners, so that none is without its limits.
//!
//! Whoever sends half a head, half a body or nothing at all holds a connection. Without an end to that, and to how many
//! there are, a few hundred idle strangers keep everybody else out. Answers may take as long as they do: a client that
//! waits for events says nothing meanwhile.

use std::{
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{Router, body::Bytes, http::Request};
use hyper::{
    body::{Body, Frame, Incoming, SizeHint},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use slipway_model::{
    ports::{BoxFuture, Clock},
    time::secs,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

/// What one listener bears.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// How long a head may take, and how long a connection may rest before its next one.
    pub(crate) head: Duration,
    /// How long a body may take.
    pub(crate) body: Duration,
    /// Connections at a time; further ones wait in the system's queue until one ends.
    pub(crate) connections: usize,
}

impl Default for Limits {
    /// A head is one packet and a body at most some megabytes: both are there within a second on any line that works. A
    /// thousand connections are far below what a process may have open.
    fn default() -> Self {
        Self { head: secs(15), body: secs(30), connections: 1_000 }
    }
}

/// How long to stay away from a system that gives no further connection: files run out, and come back.
const PAUSE: Duration = secs(1);

/// Serves until told to stop; then takes nobody new, and ends when everybody has had the answer that was under way.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(limits.connections));
    let mut connections = JoinSet::new();
    while let Some((stream, place)) = accept(&listener, &places, &mut connections, &*clock, &stop).await {
        connections.spawn(attend(stream, router.clone(), limits, clock.clone(), stop.clone(), place));
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// The next connection; none when it is time to stop.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
    connections: &mut JoinSet<()>,
    clock: &dyn Clock,
    stop: &CancellationToken,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    loop {
        let next = async {
            let place = places.clone().acquire_owned().await.expect("nobody closes it");
            listener.accept().await.map(|(stream, _)| (stream, place))
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => return None,
            Some(_) = connections.join_next() => {}
            accepted = next => match accepted {
                Ok(accepted) => return Some(accepted),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    clock.sleep(PAUSE).await;
                }
            },
        }
    }
}

async fn attend(
    stream: TcpStream,
    router: Router,
    limits: Limits,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
    _place: OwnedSemaphorePermit,
) {
    // Events are small and wanted at once.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| {
        let deadline = clock.sleep(limits.body);
        router.clone().oneshot(request.map(|body| TimedBody { body, deadline }))
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.head);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service).with_upgrades());
    let mut is_stopping = false;
    loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection broke");
                }
                return;
            }
            () = stop.cancelled(), if !is_stopping => {
                connection.as_mut().graceful_shutdown();
                is_stopping = true;
            }
        }
    }
}

/// A body that must be there in time.
struct TimedBody {
    body: Incoming,
    deadline: BoxFuture<'static, ()>,
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| frame.map_err(axum::Error::new)));
        }
        ready!(self.deadline.as_mut().poll(cx));
        Poll::Ready(Some(Err(axum::Error::new("the body did not arrive in time"))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::{net::SocketAddr, time::Duration};

    use axum::routing::{get, post};
    use slipway_engine::SystemClock;
    use slipway_model::time::millis;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const SHORT: Limits = Limits { head: millis(150), body: millis(150), connections: 2 };
    /// Ends a test that has failed anyway.
    const PATIENCE: Duration = secs(30);

    async fn begin(limits: Limits) -> (SocketAddr, CancellationToken, tokio::task::JoinHandle<()>) {
        let router = Router::new()
            .route("/", get(|| async { "hello" }))
            .route("/late", get(|| async { SystemClock::default().sleep(millis(600)).await }))
            .route("/echo", post(|body: String| async { body }));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let stop = CancellationToken::new();
        let task = tokio::spawn(serve(listener, router, limits, Arc::new(SystemClock::default()), stop.clone()));
        (address, stop, task)
    }

    async fn in_time<T>(work: impl Future<Output = T>) -> T {
        tokio::select! {
            done = work => done,
            () = SystemClock::default().sleep(PATIENCE) => panic!("it does not end"),
        }
    }

    /// Sends this and reads until the other side ends the connection.
    async fn say(address: SocketAddr, text: &str) -> String {
        let mut stream = TcpStream::connect(address).await.expect("connected");
        stream.write_all(text.as_bytes()).await.expect("sent");
        let mut said = Vec::new();
        // A connection that is reset has ended too.
        let _ = in_time(stream.read_to_end(&mut said)).await;
        String::from_utf8_lossy(&said).into_owned()
    }

    #[tokio::test]
    async fn who_sends_nothing_or_half_of_it_is_not_waited_for() {
        let (address, ..) = begin(SHORT).await;
        for silence in ["", "GET", "GET / HTTP/1.1\r\nhost: x\r\n"] {
            assert!(!say(address, silence).await.contains("hello"), "{silence:?}");
        }
        let half = say(address, "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf").await;
        assert!(half.starts_with("HTTP/1.1 400"), "{half}");
        let rests = say(address, "GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
        assert!(rests.ends_with("hello"), "answered, and ended when nothing more came: {rests}");
    }

    #[tokio::test]
    async fn an_answer_may_take_longer_than_a_request() {
        let (address, ..) = begin(SHORT).await;
        let late = say(address, "GET /late HTTP/1.1\r\nhost: x\r\n\r\n").await;
        assert!(late.starts_with("HTTP/1.1 200"), "{late}");
    }

    #[tokio::test]
    async fn idle_strangers_keep_nobody_out_for_long() {
        let (address, ..) = begin(SHORT).await;
        let mut idle = Vec::new();
        for _ in 0..20 {
            idle.push(TcpStream::connect(address).await.expect("taken by the system"));
        }
        assert!(say(address, "GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.ends_with("hello"));
    }

    #[tokio::test]
    async fn a_stop_waits_for_the_answer_under_way_and_not_for_those_who_rest() {
        let (address, stop, task) = begin(Limits::default()).await;
        let resting = TcpStream::connect(address).await.expect("connected");
        let late = tokio::spawn(async move { say(address, "GET /late HTTP/1.1\r\nhost: x\r\n\r\n").await });
        SystemClock::default().sleep(millis(100)).await;
        stop.cancel();
        in_time(task).await.expect("it ends although somebody rests");
        assert!(late.await.expect("no panic").starts_with("HTTP/1.1 200"));
        drop(resting);
    }
}
