//! Subscriptions over WebSocket. Browsers cannot send headers with one, so a token and a tenant are
//! taken from its first message too, under the same names.

use std::sync::Arc;

use axum::{
    extract::ws::{WebSocket, WebSocketUpgrade},
    http::{HeaderMap, header},
    response::Response,
};
use juniper::{DefaultScalarValue, InputValue, ScalarValue as _, Variables};
use juniper_graphql_ws::ConnectionConfig;

use super::Listener;
use crate::graphql::{Names, Request};

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
        .protocols(["graphql-transport-ws", "graphql-ws"])
        .max_message_size(most)
        .max_frame_size(most)
        .on_upgrade(move |socket| serve(socket, headers, listener))
}

async fn serve(socket: WebSocket, headers: HeaderMap, listener: Listener) {
    let schema = listener.schema.clone();
    let init = move |first: Variables| begin(first, headers, listener);
    juniper_axum::subscriptions::serve_ws(socket, schema, init).await;
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
