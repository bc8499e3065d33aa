//! The transport tells what never left from what may have had its effect.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::Request;
use slipway_clients::{ConnectionSettings, Connections, Credentials, HttpTransport, SYSTEMS, SettingsBySystem, hello};
use slipway_model::{
    OperationId, Timestamp,
    ports::{BoxFuture, Clock, Transport, TransportError},
    time::{millis, mins, secs},
};
use slipway_sim::{Fault, Listening, systems::hello::Hello};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// Time that stands still; only tokens ask for it, and hello wants none.
struct StillClock;

impl Clock for StillClock {
    fn wall(&self) -> Timestamp {
        Timestamp::from_micros(0)
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }
}

async fn get(url: &str, timeout: Duration) -> Result<http::Response<Bytes>, TransportError> {
    let request = Request::get(url).header("accept", "application/json").body(Bytes::new()).expect("request");
    HttpTransport::new().expect("transport").send("hello", request, timeout).await
}

/// A server that reads one request and answers these bytes, whatever they are.
async fn answering(bytes: Vec<u8>) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a caller");
        let _ = stream.read(&mut [0; 4096]).await;
        let _ = stream.write_all(&bytes).await;
    });
    url
}

fn is_no_answer(result: &Result<http::Response<Bytes>, TransportError>) -> bool {
    matches!(result, Err(TransportError::NoAnswer { .. }))
}

#[tokio::test]
async fn the_client_speaks_with_a_real_server_as_the_simulator_wants_it() {
    let hello = Hello::default();
    let socket = Listening::start(hello.router()).await.expect("a free port");
    let wire: Arc<dyn Transport> = Arc::new(HttpTransport::new().expect("transport"));
    let clock: Arc<dyn Clock> = Arc::new(StillClock);
    let settings = ConnectionSettings::of::<hello::Client>(socket.url().parse().expect("address"), Credentials::None);
    let connections = Connections::new(SYSTEMS, &SettingsBySystem::from([settings]), &wire, &clock);
    let client: hello::Client = connections.client();
    let id: OperationId = "0198c0de-0000-7000-8000-000000000000".parse().expect("id");

    assert_eq!(client.greeting("a/b c").await.expect("greeting").greeting, "Hello, a/b c!");
    assert!(client.find_report(id).await.expect_err("no report yet").is_not_found());
    client.report(id, "greeting.text").await.expect("reported");
    client.report(id, "greeting.text").await.expect("reported again");
    let report = client.find_report(id).await.expect("a report");
    assert_eq!((report.override_key.as_str(), report.read), ("greeting.text", false));
    assert_eq!(hello.complaints(), Vec::<String>::new());
}

#[tokio::test]
async fn where_nobody_listens_nothing_was_sent() {
    let free = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port").local_addr().expect("an address");
    let error = get(&format!("http://{free}/?token=hunter2"), secs(10)).await.expect_err("nobody listens");
    assert!(matches!(error, TransportError::NotSent { .. }), "{error}");
    assert!(!error.to_string().contains("hunter2"), "{error}");
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_request_leaves_the_effect_unknown() {
    let hello = Hello::default();
    let socket = Listening::start(hello.router()).await.expect("a free port");
    for (times, fault) in [(1, Fault::DropAfterEffect), (2, Fault::HalfBody)] {
        hello.dial().next(fault.clone());
        let result = get(&format!("{}/greetings/ann", socket.url()), secs(10)).await;
        assert!(is_no_answer(&result), "{fault:?}: {result:?}");
        assert_eq!(hello.greeted("ann"), times, "it had its effect");
    }
    let silent = answering(Vec::new()).await;
    assert!(is_no_answer(&get(&silent, secs(10)).await));
}

#[tokio::test]
async fn a_late_answer_is_no_answer() {
    let hello = Hello::default();
    let socket = Listening::start(hello.router()).await.expect("a free port");
    hello.dial().next(Fault::Delay(mins(10)));
    let error = get(&format!("{}/greetings/ann?q=hunter2", socket.url()), millis(50)).await.expect_err("too late");
    assert_eq!(error.to_string(), "hello did not answer: the time ran out");
}

#[tokio::test]
async fn an_answer_that_would_fill_the_memory_is_refused() {
    let promised = answering(b"HTTP/1.1 200 OK\r\ncontent-length: 8388609\r\n\r\n".to_vec()).await;
    let mut chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for _ in 0..9 {
        chunked.extend_from_slice(b"100000\r\n");
        chunked.extend_from_slice(&[b'x'; 0x10_0000]);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    for url in [promised, answering(chunked).await] {
        let error = get(&url, secs(30)).await.expect_err("too long");
        assert_eq!(error.to_string(), "hello did not answer: the answer is longer than 8 MiB");
    }
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_not_followed() {
    let elsewhere = Hello::default();
    let socket = Listening::start(elsewhere.router()).await.expect("a free port");
    let answer = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: {}/greetings/ann\r\ncontent-length: 0\r\n\r\n",
        socket.url()
    );
    let answer = get(&answering(answer.into_bytes()).await, secs(10)).await.expect("an answer");
    assert_eq!(answer.status(), 307);
    assert_eq!(elsewhere.greeted("ann"), 0);
}

#[tokio::test]
async fn where_no_secure_connection_can_be_made_nothing_was_sent() {
    let plain = answering(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n".to_vec()).await;
    let error = get(&plain.replace("http://", "https://"), secs(10)).await.expect_err("it speaks no TLS");
    assert!(matches!(error, TransportError::NotSent { .. }), "{error}");
}
