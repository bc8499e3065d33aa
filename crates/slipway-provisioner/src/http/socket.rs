//! Subscriptions over WebSocket, in the protocol `graphql-transport-ws`. Browsers cannot send headers with one, so a
//! token and a tenant are taken from its first message too, under the same names.
//!
//! Whoever opens one is a stranger until that message: nothing else is looked at before. Nothing is ever queued: the
//! next message is read when the last has been answered, and what is answered must be taken in time, so that a
//! client that sends and does not read fills its own buffers and is cut off. Documents are looked at before they are
//! executed, as those by POST are: some would be the end of the connection.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade},
    http::{HeaderMap, StatusCode, header},
    response::Response,
};
use futures::{SinkExt as _, StreamExt as _};
use juniper::{DefaultScalarValue, InputValue, ScalarValue as _, Variables};
use juniper_graphql_ws::{
    ConnectionConfig,
    graphql_transport_ws::{ClientMessage, Connection, Input, Output},
};
use serde_json::json;
use slipway_model::{Reason, ports::Clock, time::secs};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::{Listener, refusal};
use crate::{
    errors::{ApiError, Class},
    graphql::{Names, Request},
    juniper_gaps,
    settings::Limits,
};

/// Documents that one connection may have under way.
const IN_FLIGHT_MAX: usize = 32;

/// How long a stranger may take to sign in.
const INIT_MAX: Duration = secs(10);

/// How long a client may take to read what it is sent.
const WRITE_MAX: Duration = secs(10);

/// How long what a client still sends is read and dropped, so that it gets to read why it is sent away.
const LINGER_MAX: Duration = secs(1);

/// The longest reason that fits into the frame of a close.
const REASON_MAX: usize = 123;

/// Bytes of the buffers that one connection has for either way; what is longer grows them for its time.
const BUFFER: usize = 4 * 1024;

/// The WebSockets of a listener. Clones are the same.
#[derive(Clone)]
pub struct Sockets {
    most: u32,
    places: Arc<Semaphore>,
    stopping: watch::Sender<bool>,
}

impl Sockets {
    /// As many as the limits allow.
    pub fn new(limits: &Limits) -> Self {
        let most = u32::from(limits.sockets);
        Self { most, places: Arc::new(Semaphore::new(limits.sockets.into())), stopping: watch::Sender::new(false) }
    }

    /// Closes all of them and lets no other in; ends when they are gone.
    pub async fn close(&self) {
        self.stopping.send_replace(true);
        // The places are kept: nobody comes in any more.
        if let Ok(all) = self.places.acquire_many(self.most).await {
            all.forget();
        }
    }

    async fn stopped(&self) {
        // The sender is at hand, so it cannot be gone.
        let _ = self.stopping.subscribe().wait_for(|stopping| *stopping).await;
    }
}

/// Takes a connection, if there is a place for it.
pub(super) fn take(upgrade: WebSocketUpgrade, headers: HeaderMap, listener: Listener) -> Response {
    let limits = &listener.api.settings.limits;
    let Ok(place) = Arc::clone(&listener.sockets.places).try_acquire_owned() else {
        let message = format!("there are {} WebSockets already; try again later, or ask by POST", limits.sockets);
        let error = ApiError::new(Class::Overloaded, Reason::ProvisionerInternal, message);
        return refusal(StatusCode::SERVICE_UNAVAILABLE, &error);
    };
    upgrade
        .protocols(["graphql-transport-ws"])
        .max_message_size(limits.socket_message_bytes)
        .max_frame_size(limits.socket_message_bytes)
        .read_buffer_size(BUFFER)
        .write_buffer_size(BUFFER)
        .on_upgrade(move |socket| serve(socket, headers, listener, place))
}

/// How a connection ends: with a reason that is still to be told, or without.
type End = Option<CloseFrame>;

async fn serve(mut socket: WebSocket, headers: HeaderMap, listener: Listener, _place: OwnedSemaphorePermit) {
    let clock = listener.api.clock.clone();
    let end = tokio::select! {
        biased;
        () = listener.sockets.stopped() => Some(close(1001, "the server stops; connect again")),
        end = talk(&mut socket, headers, &listener) => end,
    };
    if let Some(frame) = end
        && say(&mut socket, Message::Close(Some(frame)), &*clock).await.is_err()
    {
        return;
    }
    tokio::select! {
        () = async { while let Some(Ok(_)) = socket.recv().await {} } => {}
        () = clock.sleep(LINGER_MAX) => {}
    }
}

/// Signs the client in and answers it until either has had enough.
async fn talk(socket: &mut WebSocket, headers: HeaderMap, listener: &Listener) -> End {
    let clock = &*listener.api.clock;
    let begun = tokio::select! {
        biased;
        begun = begin(socket, headers, listener) => begun,
        () = clock.sleep(INIT_MAX) => Err(Some(close(4408, "Connection initialisation timeout"))),
    };
    let (request, payload) = match begun {
        Ok(begun) => begun,
        Err(end) => return end,
    };
    let mut expiry = clock.sleep(request.caller.expires.since(clock.wall()));
    let config = ConnectionConfig::new(request).with_max_in_flight_operations(IN_FLIGHT_MAX);
    let mut connection = Connection::new(Arc::clone(&listener.schema), config);
    let mut heard = Some(Ok(ClientMessage::ConnectionInit { payload }));
    loop {
        if let Some(message) = heard.take() {
            // It cannot fail, and waits for nothing.
            let _ = connection.send(Heard(message)).await;
        }
        // Answers come first: what is read next is read when there are none.
        let answer = tokio::select! {
            biased;
            () = &mut expiry => return Some(close(4403, "the token has expired; connect again with another one")),
            answer = connection.next() => match answer {
                Some(answer) => spelled(answer),
                None => return None,
            },
            message = socket.recv() => match message {
                Some(Ok(Message::Close(_))) | None => return None,
                Some(Err(_)) => return Some(unreadable()),
                Some(Ok(message)) => match read(&message).map(|message| screened(message, listener)) {
                    None => continue,
                    Some(Ok(message)) => {
                        heard = Some(message);
                        continue;
                    }
                    Some(Err(refusal)) => refusal,
                },
            },
        };
        let is_last = matches!(answer, Message::Close(_));
        if say(socket, answer, clock).await.is_err() || is_last {
            return None;
        }
    }
}

/// The client does not read, or is gone.
struct Unheard;

async fn say(socket: &mut WebSocket, message: Message, clock: &dyn Clock) -> Result<(), Unheard> {
    tokio::select! {
        biased;
        sent = socket.send(message) => sent.map_err(|_| Unheard),
        () = clock.sleep(WRITE_MAX) => Err(Unheard),
    }
}

fn close(code: u16, reason: &str) -> CloseFrame {
    CloseFrame { code, reason: reason[..reason.floor_char_boundary(REASON_MAX)].into() }
}

fn unreadable() -> CloseFrame {
    close(1009, "the message is too long, or no WebSocket message")
}

type Read = Result<ClientMessage<DefaultScalarValue>, serde_json::Error>;

/// What a message of the protocol says; nothing for those that are answered below us.
fn read(message: &Message) -> Option<Read> {
    match message {
        Message::Text(text) => Some(serde_json::from_str(text)),
        Message::Binary(bytes) => Some(serde_json::from_slice(bytes)),
        Message::Close(_) | Message::Ping(_) | Message::Pong(_) => None,
    }
}

/// A message for the library, read or not.
struct Heard(Read);

impl TryFrom<Heard> for Input<DefaultScalarValue> {
    type Error = serde_json::Error;

    fn try_from(heard: Heard) -> Result<Self, Self::Error> {
        heard.0.map(Input::Message)
    }
}

/// A message that may be passed on; what is to be answered to a document that must not be executed.
fn screened(message: Read, listener: &Listener) -> Result<Read, Message> {
    if let Ok(ClientMessage::Subscribe { id, payload }) = &message
        && let Err(error) = juniper_gaps::check_types(&payload.query, &listener.schema.schema)
    {
        let refusal = json!({"id": id, "type": "error", "payload": [super::error_body(&error)]});
        return Err(Message::text(refusal.to_string()));
    }
    Ok(message)
}

fn spelled(output: Output<DefaultScalarValue>) -> Message {
    match output {
        Output::Message(message) => match serde_json::to_string(&message) {
            Ok(text) => Message::text(text),
            Err(error) => Message::Close(Some(close(1011, &format!("the answer cannot be written: {error}")))),
        },
        Output::Close { code, message } => Message::Close(Some(close(code, &message))),
    }
}

/// The first message: who it is, and under which names. Anything else ends the connection.
async fn begin(
    socket: &mut WebSocket,
    headers: HeaderMap,
    listener: &Listener,
) -> Result<(Request, Variables<DefaultScalarValue>), End> {
    let first = loop {
        match socket.recv().await {
            Some(Ok(Message::Close(_))) | None => return Err(None),
            Some(Ok(message)) => {
                if let Some(first) = read(&message) {
                    break first;
                }
            }
            Some(Err(_)) => return Err(Some(unreadable())),
        }
    };
    match first {
        Ok(ClientMessage::ConnectionInit { payload }) => match sign_in(&payload, &headers, listener).await {
            Ok(request) => Ok((request, payload)),
            Err(error) => Err(Some(close(4403, &error.message))),
        },
        Ok(_) => Err(Some(close(4401, "Unauthorized: connection_init comes first"))),
        Err(error) => Err(Some(close(4400, &format!("no message of graphql-transport-ws: {error}")))),
    }
}

async fn sign_in(first: &Variables, headers: &HeaderMap, listener: &Listener) -> Result<Request, ApiError> {
    let said = |name: &str| {
        let found = first.iter().find(|(key, _)| key.as_str().eq_ignore_ascii_case(name));
        match found {
            Some((_, InputValue::Scalar(value))) => value.try_as_str().map(str::to_owned),
            _ => None,
        }
    };
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let authorization = said(header::AUTHORIZATION.as_str()).or_else(|| header(header::AUTHORIZATION.as_str()));
    let api = &listener.api;
    let caller = api.gate.caller_with(authorization.as_deref(), &api.settings).await?;
    let names = Names {
        tenant: said("tenant").or_else(|| header("tenant")),
        sub_account: said("sub-account").or_else(|| header("sub-account")),
    };
    Ok(Request::over_socket(Arc::clone(api), caller, names))
}
