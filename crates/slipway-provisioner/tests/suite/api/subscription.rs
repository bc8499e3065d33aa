//! `runtimeOperationUpdated` over a real WebSocket.

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use slipway_model::{OperationState, ports::Next};
use slipway_provisioner::auth::Scope;
use tokio_tungstenite::{
    connect_async,
    tungstenite::{self, Message, client::IntoClientRequest as _},
};

use super::bench::{Bench, TENANT, cluster};

pub(crate) type Socket = tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>;

pub(crate) async fn connect(bench: &Bench) -> Socket {
    try_connect(bench).await.expect("a socket")
}

pub(crate) async fn try_connect(bench: &Bench) -> Result<Socket, tungstenite::Error> {
    let mut request =
        format!("{}/graphql", bench.url.replace("http://", "ws://")).into_client_request().expect("a request");
    request.headers_mut().insert("sec-websocket-protocol", "graphql-transport-ws".parse().expect("a header"));
    connect_async(request).await.map(|(socket, _)| socket)
}

pub(crate) async fn say(socket: &mut Socket, message: Value) {
    socket.send(Message::text(message.to_string())).await.expect("sent");
}

/// The next message that is not about keeping the connection alive.
pub(crate) async fn hear(socket: &mut Socket) -> Value {
    loop {
        match socket.next().await.expect("open").expect("a message") {
            Message::Text(text) => {
                let message: Value = serde_json::from_str(&text).expect("JSON");
                match message["type"].as_str() {
                    Some("ping") => say(socket, json!({"type": "pong"})).await,
                    Some("pong") => {}
                    _ => return message,
                }
            }
            Message::Close(frame) => return json!({"type": "closed", "frame": format!("{frame:?}")}),
            _ => {}
        }
    }
}

pub(crate) async fn begun(bench: &Bench, scopes: &[Scope], tenant: &str) -> Socket {
    signed_in(bench, &bench.token("ann", scopes), tenant).await
}

pub(crate) async fn signed_in(bench: &Bench, token: &str, tenant: &str) -> Socket {
    let mut socket = connect(bench).await;
    let payload = json!({"Authorization": format!("Bearer {token}"), "tenant": tenant});
    say(&mut socket, json!({"type": "connection_init", "payload": payload})).await;
    assert_eq!(hear(&mut socket).await["type"], "connection_ack");
    socket
}

async fn subscribe(socket: &mut Socket, id: &str) {
    let query = "subscription($id: String!) { runtimeOperationUpdated(id: $id) { state message } }";
    say(socket, json!({"id": "1", "type": "subscribe", "payload": {"query": query, "variables": {"id": id}}})).await;
}

#[tokio::test]
async fn an_operation_is_followed_until_its_end() {
    let bench = Bench::start().await;
    let (_, operation) = bench.provisioned(&cluster("gcp", "shop", &[])).await;
    let mut socket = begun(&bench, &[Scope::Read], TENANT).await;
    subscribe(&mut socket, &operation).await;
    let now = |message: &Value| message["payload"]["data"]["runtimeOperationUpdated"].clone();
    assert_eq!(now(&hear(&mut socket).await), json!({"state": "InProgress", "message": "Provisioning started"}));
    bench.write(&operation, Next::Run, |fields| fields.description = "Waiting for the cluster".to_owned()).await;
    bench.tell(&operation);
    assert_eq!(now(&hear(&mut socket).await)["message"], "Waiting for the cluster");
    bench.end(&operation, OperationState::Succeeded).await;
    bench.tell(&operation);
    assert_eq!(now(&hear(&mut socket).await), json!({"state": "Succeeded", "message": "Operation succeeded"}));
    assert_eq!(hear(&mut socket).await, json!({"id": "1", "type": "complete"}));
}

#[tokio::test]
async fn without_a_good_token_the_socket_is_closed() {
    let bench = Bench::start().await;
    for payload in [json!({}), json!({"Authorization": "Bearer nope"})] {
        let mut socket = connect(&bench).await;
        say(&mut socket, json!({"type": "connection_init", "payload": payload})).await;
        assert_eq!(hear(&mut socket).await["type"], "closed");
    }
}

#[tokio::test]
async fn another_tenants_operation_is_not_shown_and_nothing_is_changed_over_a_socket() {
    let bench = Bench::start().await;
    let (runtime, operation) = bench.provisioned(&cluster("gcp", "shop", &[])).await;
    let mut socket = begun(&bench, &Scope::ALL, "rival").await;
    subscribe(&mut socket, &operation).await;
    let message = hear(&mut socket).await;
    assert!(message.to_string().contains("err_tenant_mismatch"), "{message}");
    let mut socket = begun(&bench, &Scope::ALL, TENANT).await;
    let query = format!("mutation {{ deprovisionRuntime(id: \"{runtime}\") }}");
    say(&mut socket, json!({"id": "2", "type": "subscribe", "payload": {"query": query}})).await;
    let message = hear(&mut socket).await;
    assert!(message.to_string().contains("send them by POST"), "{message}");
}

/// The next answer, passing over the ends of earlier ones.
async fn answered(socket: &mut Socket) -> Value {
    loop {
        let message = hear(socket).await;
        if message["type"] != "complete" {
            return message;
        }
    }
}

/// By POST these are refused with their path; here too, and the connection lives on.
#[tokio::test]
async fn a_document_that_cannot_be_executed_is_refused_and_the_connection_goes_on() {
    let bench = Bench::start().await;
    let (_, operation) = bench.provisioned(&cluster("gcp", "shop", &[])).await;
    let mut socket = begun(&bench, &[Scope::Read], TENANT).await;
    for query in [
        "subscription($id: Nope = 1) { runtimeOperationUpdated(id: \"x\") { state } }",
        "subscription($id: String!) { runtimeOperationUpdated(id: $id) { nope } }",
        "subscription { runtimeOperationUpdated(id: 99999999999999999999) { state } }",
        "{{{{",
        "",
    ] {
        say(&mut socket, json!({"id": "9", "type": "subscribe", "payload": {"query": query}})).await;
        let message = answered(&mut socket).await;
        let told = message["payload"][0]["message"].as_str().or(message["payload"]["errors"][0]["message"].as_str());
        assert!(message["id"] == "9" && told.is_some(), "{query}: {message}");
    }
    subscribe(&mut socket, &operation).await;
    let message = answered(&mut socket).await;
    assert_eq!(message["payload"]["data"]["runtimeOperationUpdated"]["state"], "InProgress", "{message}");
}
