//! WebSockets of clients that mean no good, or do not listen.

use std::{sync::Arc, time::Duration};

use futures::{SinkExt as _, StreamExt as _, future};
use serde_json::json;
use slipway_model::time::{hours, secs};
use slipway_provisioner::{Settings, auth::Scope};
use tokio::io::AsyncWriteExt as _;
use tokio_tungstenite::tungstenite::Message;

use super::{
    bench::{Bench, TENANT},
    hand_clock::HandClock,
    subscription::{Socket, begun, connect, say},
};

/// How the server ends a connection: its code and its words.
async fn ending(socket: &mut Socket) -> (u16, String) {
    loop {
        match socket.next().await {
            Some(Ok(Message::Close(Some(frame)))) => {
                // With this the client says that it has heard.
                let _ = socket.next().await;
                return (frame.code.into(), frame.reason.to_string());
            }
            Some(Ok(_)) => {}
            other => panic!("no close, but {other:?}"),
        }
    }
}

fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: usize = text.split(' ').nth(1).expect("resident").parse().expect("a number");
    pages * 4096
}

const MEGABYTE: usize = 1024 * 1024;

/// A text frame of a client, with a mask of zeros.
fn frame(text: &str) -> Vec<u8> {
    let length = u16::try_from(text.len()).expect("short").to_be_bytes();
    [&[0x81, 0x80 | 126][..], &length, &[0; 4], text.as_bytes()].concat()
}

/// Sends as much as it can, reads nothing, and lets the time pass; answers how much memory that took at most, and
/// whether it was cut off.
async fn flood(socket: Socket, text: &str, clock: &HandClock) -> (usize, bool) {
    let before = resident();
    let frames = frame(text).repeat(32);
    let mut socket = match socket.into_inner() {
        tokio_tungstenite::MaybeTlsStream::Plain(socket) => socket,
        _ => panic!("no TLS here"),
    };
    let sending = tokio::spawn(async move {
        for _ in 0..400 * MEGABYTE / frames.len() {
            if socket.write_all(&frames).await.is_err() {
                return true;
            }
        }
        false
    });
    let mut most = 0;
    while !sending.is_finished() {
        most = most.max(resident().saturating_sub(before));
        assert!(most < 64 * MEGABYTE, "{} MB", most / MEGABYTE);
        clock.pass(secs(1));
        #[expect(clippy::disallowed_methods, reason = "the flood is real; only the clock by hand decides")]
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    (most, sending.await.expect("sent"))
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_sends_and_never_reads_costs_no_memory_and_is_cut_off() {
    let ping = json!({"type": "ping", "payload": {"filler": "x".repeat(110)}}).to_string();
    let unknown =
        format!("subscription($id: Nope = 1) {{ runtimeOperationUpdated(id: \"{}\") {{ state }} }}", "x".repeat(2000));
    let refused = json!({"id": "1", "type": "subscribe", "payload": {"query": unknown}}).to_string();
    let query = format!("{{ a: runtimeStatus(id: \"{}\") {{ problems {{ message }} }} }}", "x".repeat(2000));
    let query = json!({"id": "1", "type": "subscribe", "payload": {"query": query}}).to_string();
    for (is_signed_in, text) in [(false, &refused), (true, &ping), (true, &refused), (true, &query)] {
        let (bench, clock) = Bench::by_hand(Settings::default()).await;
        let socket = match is_signed_in {
            true => begun(&bench, &[Scope::Read], TENANT).await,
            false => connect(&bench).await,
        };
        let (most, is_cut) = flood(socket, text, &clock).await;
        assert!(is_cut, "signed in: {is_signed_in}, {} MB, {:.60}", most / MEGABYTE, text);
    }
}

#[tokio::test]
async fn nothing_but_a_sign_in_may_come_first() {
    let bench = Bench::start().await;
    let subscribe = json!({"id": "1", "type": "subscribe", "payload": {"query": "{{{{"}}).to_string();
    for (first, code) in [
        (subscribe, 4401),
        (json!({"id": "1", "type": "complete"}).to_string(), 4401),
        (json!({"type": "ping"}).to_string(), 4401),
        (json!({"type": "nonsense"}).to_string(), 4400),
        ("{".to_owned(), 4400),
        (json!({"type": "connection_init", "payload": {}}).to_string(), 4403),
        (json!({"type": "connection_init", "payload": {"Authorization": "Bearer a.b.c"}}).to_string(), 4403),
        (json!({"type": "connection_init", "payload": {"x": "y".repeat(70_000)}}).to_string(), 1009),
    ] {
        let mut socket = connect(&bench).await;
        socket.send(Message::text(&first)).await.expect("sent");
        assert_eq!(ending(&mut socket).await.0, code, "{first:.80}");
    }
}

#[tokio::test]
async fn whoever_does_not_sign_in_is_sent_away_after_ten_seconds() {
    let (bench, clock) = Bench::by_hand(Settings::default()).await;
    let mut socket = connect(&bench).await;
    clock.until_somebody_sleeps(secs(10)).await;
    socket.send(Message::Ping("I am here".into())).await.expect("sent");
    clock.pass(secs(10));
    assert_eq!(ending(&mut socket).await.0, 4408);
}

#[tokio::test]
async fn a_connection_ends_with_its_token() {
    let (bench, clock) = Bench::by_hand(Settings::default()).await;
    let mut socket = begun(&bench, &[Scope::Read], TENANT).await;
    clock.until_somebody_sleeps(hours(1) + secs(60)).await;
    clock.pass(hours(1) + secs(62));
    let (code, why) = ending(&mut socket).await;
    assert_eq!(code, 4403);
    assert!(why.contains("expired"), "{why}");
}

#[tokio::test]
async fn a_server_that_stops_says_so_and_is_not_held_up() {
    let (bench, _clock) = Bench::by_hand(Settings::default()).await;
    let mut stranger = connect(&bench).await;
    let mut signed_in = begun(&bench, &[Scope::Read], TENANT).await;
    let ((), first, second) = future::join3(bench.sockets.close(), ending(&mut stranger), ending(&mut signed_in)).await;
    assert_eq!((first.0, second.0), (1001, 1001));
}

#[tokio::test]
async fn there_are_no_more_sockets_than_are_set_and_a_place_is_free_again_when_one_ends() {
    let mut settings = Settings::default();
    settings.limits.sockets = 2;
    let bench = Arc::new(Bench::with(settings, false).await);
    let mut kept = vec![connect(&bench).await, connect(&bench).await];
    let refused = super::subscription::try_connect(&bench).await.expect_err("full");
    assert!(refused.to_string().contains("503"), "{refused}");
    let mut one = kept.pop().expect("one");
    say(&mut one, json!({"type": "nonsense"})).await;
    assert_eq!(ending(&mut one).await.0, 4400);
    drop(one);
    // Its place comes back when the server has seen its end.
    while super::subscription::try_connect(&bench).await.is_err() {
        tokio::task::yield_now().await;
    }
}
