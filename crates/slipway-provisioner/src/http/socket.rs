//! Subscriptions over WebSocket, in the protocol `graphql-transport-ws`. Browsers cannot send headers with one, so a
//! token and a tenant are taken from its first message too, under the same names.
//!
//! Documents are looked at before they are executed, as those by POST are: some would be the end of the connection.

use std::{future::ready, pin::pin, sync::Arc};

use axum::{
    extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade},
    http::{HeaderMap, header},
    response::Response,
};
use futures::{StreamExt as _, channel::mpsc, future, stream};
use juniper::{DefaultScalarValue, InputValue, ScalarValue as _, Variables};
use juniper_graphql_ws::{
    ConnectionConfig,
    graphql_transport_ws::{ClientMessage, Connection, Input, Output},
};
use serde_json::json;

use super::Listener;
use crate::{
    graphql::{Names, Request},
    juniper_gaps,
};

/// Documents that one connection may have under way.
const IN_FLIGHT_MAX: usize = 32;

/// Why a connection is not taken.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Refused(String);

/// Takes a connection.
pub(super) fn take(upgrade: WebSocketUpgrade, headers: HeaderMap, listener: Listener) -> Response {
    let most = listener.api.settings.limits.body_bytes;
    upgrade
        .protocols(["graphql-transport-ws"])
        .max_message_size(most)
        .max_frame_size(most)
        .on_upgrade(move |socket| serve(socket, headers, listener))
}

async fn serve(socket: WebSocket, headers: HeaderMap, listener: Listener) {
    let (to_client, from_client) = socket.split();
    let schema = listener.schema.clone();
    let screening = listener.clone();
    let init = move |first: Variables| begin(first, headers, listener);
    let (connection, answers) = Connection::new(schema, init).split();
    let (refuse, refusals) = mpsc::unbounded();
    let documents = from_client
        .take_while(|message| ready(message.is_ok()))
        .filter_map(move |message| ready(message.ok().and_then(|message| screened(message, &screening, &refuse))))
        .map(Ok)
        .forward(connection);
    let answers = stream::select(answers.map(spelled), refusals).map(Ok).forward(to_client);
    // Whoever ends first ends the connection; how does not matter any more.
    let _ = future::select(pin!(documents), pin!(answers)).await;
}

/// A message, read or not.
struct Heard(Result<Input<DefaultScalarValue>, serde_json::Error>);

impl TryFrom<Heard> for Input<DefaultScalarValue> {
    type Error = serde_json::Error;

    fn try_from(heard: Heard) -> Result<Self, Self::Error> {
        heard.0
    }
}

/// What is passed on. Pings are answered below us; a document that must not be executed is refused here.
fn screened(message: Message, listener: &Listener, refuse: &mpsc::UnboundedSender<Message>) -> Option<Heard> {
    let read = match &message {
        Message::Text(text) => serde_json::from_str(text),
        Message::Binary(bytes) => serde_json::from_slice(bytes),
        Message::Close(_) => return Some(Heard(Ok(Input::Close))),
        Message::Ping(_) | Message::Pong(_) => return None,
    };
    if let Ok(ClientMessage::Subscribe { id, payload }) = &read
        && let Err(error) = juniper_gaps::check_types(&payload.query, &listener.schema.schema)
    {
        let refusal = json!({"id": id, "type": "error", "payload": [super::error_body(&error)]});
        // Nobody listens any more: then nobody needs it.
        let _ = refuse.unbounded_send(Message::text(refusal.to_string()));
        return None;
    }
    Some(Heard(read.map(Input::Message)))
}

fn spelled(output: Output<DefaultScalarValue>) -> Message {
    let close = |code, reason: String| Message::Close(Some(CloseFrame { code, reason: reason.into() }));
    match output {
        Output::Message(message) => match serde_json::to_string(&message) {
            Ok(text) => Message::text(text),
            Err(error) => close(1011, format!("the answer cannot be written: {error}")),
        },
        Output::Close { code, message } => close(code, message),
    }
}

async fn begin(
    first: Variables,
    headers: HeaderMap,
    listener: Listener,
) -> Result<ConnectionConfig<Request, DefaultScalarValue>, Refused> {
    let said = |name: &str| {
        let found = first.iter().find(|(key, _)| key.as_str().eq_ignore_ascii_case(name));
        match found {
            Some((_, InputValue::Scalar(value))) => value.try_as_str().map(str::to_owned),
            _ => None,
        }
    };
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let authorization = said(header::AUTHORIZATION.as_str()).or_else(|| header(header::AUTHORIZATION.as_str()));
    let api = listener.api;
    let caller = api.gate.caller_with(authorization.as_deref(), &api.settings).await;
    let caller = caller.map_err(|error| Refused(error.message))?;
    let names = Names {
        tenant: said("tenant").or_else(|| header("tenant")),
        sub_account: said("sub-account").or_else(|| header("sub-account")),
    };
    let request = Request::over_socket(Arc::clone(&api), caller, names);
    Ok(ConnectionConfig::new(request).with_max_in_flight_operations(IN_FLIGHT_MAX))
}
