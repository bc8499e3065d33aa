//! One document: read, checked, executed, answered.

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{FromRequestParts as _, Query, Request as HttpRequest, State, ws::WebSocketUpgrade},
    http::{HeaderMap, StatusCode, request::Parts},
    response::Response,
};
use futures::StreamExt as _;
use juniper::{DefaultScalarValue, ExecutionError, GraphQLError, OperationType, ValidatedOperation};
use serde::Deserialize;
use serde_json::{Value, json};
use slipway_model::{Reason, time::secs};

use super::{Listener, answer, error_body, refusal, socket};
use crate::{
    errors::{ApiError, Class},
    graphql::{Names, Request},
    juniper_gaps::{self, Prepared},
};

/// Twice what the slowest mutation may take. Longer is a defect, and the client must not hang on it.
const REQUEST_MAX: Duration = secs(60);

/// How long a body may take to arrive.
const READ_MAX: Duration = secs(30);

/// What a document that is not executed is counted as.
const NO_FIELD: &str = "document";

/// A body may be so many times too long and is still read to its end.
const DROPPED_MAX: usize = 32;

/// What a client sends.
#[derive(Debug, Default, Deserialize)]
struct Document {
    query: String,
    /// `null` is none.
    #[serde(default)]
    variables: Option<Value>,
    #[serde(default, rename = "operationName")]
    operation_name: Option<String>,
}

/// How it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// By `GET`: only queries, because links are followed by anybody.
    Query,
    /// By `POST`.
    Body,
}

pub(super) async fn by_body(State(listener): State<Listener>, request: HttpRequest<Body>) -> Response {
    let (parts, body) = request.into_parts();
    // Who has no right to ask is not read.
    let caller = match listener.api.gate.caller(&parts.headers, &listener.api.settings).await {
        Ok(caller) => caller,
        Err(error) => return refusal(StatusCode::UNAUTHORIZED, &error),
    };
    let most = listener.api.settings.limits.body_bytes;
    let bytes = tokio::select! {
        biased;
        bytes = whole(body, most) => bytes,
        () = listener.api.clock.sleep(READ_MAX) => {
            let error = ApiError::bad(Reason::Validation, "the body did not arrive in time");
            return refusal(StatusCode::REQUEST_TIMEOUT, &error);
        }
    };
    let Some(bytes) = bytes else {
        let message = format!("the body is longer than {most} bytes, or broke off; send less");
        return refusal(StatusCode::PAYLOAD_TOO_LARGE, &ApiError::bad(Reason::Validation, message));
    };
    match serde_json::from_slice::<Document>(&bytes) {
        Ok(document) => {
            let request = Request::new(listener.api.clone(), caller, Names::of(&parts.headers));
            respond(listener, request, document, Way::Body).await
        }
        Err(error) => {
            // The kind and the place, never the content.
            let place = format!("line {}, column {}", error.line(), error.column());
            let message = format!("the body must be a JSON object with query, variables and operationName ({place})");
            refusal(StatusCode::BAD_REQUEST, &ApiError::bad(Reason::Validation, message))
        }
    }
}

/// The body, unless it is too long. The rest of one that is too long is read and dropped, up to a point:
/// a client that is cut off while it sends never reads why.
async fn whole(body: Body, most: usize) -> Option<Vec<u8>> {
    let (mut all, mut seen) = (Vec::new(), 0_usize);
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.ok()?;
        seen = seen.saturating_add(chunk.len());
        if seen > most.saturating_mul(DROPPED_MAX) {
            return None;
        }
        if seen <= most {
            all.extend_from_slice(&chunk);
        }
    }
    (seen <= most).then_some(all)
}

pub(super) async fn by_query(State(listener): State<Listener>, request: HttpRequest<Body>) -> Response {
    let (mut parts, _) = request.into_parts();
    if is_upgrade(&parts.headers) {
        return match WebSocketUpgrade::from_request_parts(&mut parts, &listener).await {
            Ok(upgrade) => socket::take(upgrade, parts.headers, listener),
            Err(error) => refusal(StatusCode::BAD_REQUEST, &ApiError::bad(Reason::Validation, error.body_text())),
        };
    }
    let caller = match listener.api.gate.caller(&parts.headers, &listener.api.settings).await {
        Ok(caller) => caller,
        Err(error) => return refusal(StatusCode::UNAUTHORIZED, &error),
    };
    match document_in(&parts) {
        Ok(document) => {
            let request = Request::new(listener.api.clone(), caller, Names::of(&parts.headers));
            respond(listener, request, document, Way::Query).await
        }
        Err(error) => refusal(StatusCode::BAD_REQUEST, &error),
    }
}

fn is_upgrade(headers: &HeaderMap) -> bool {
    let value = headers.get(axum::http::header::UPGRADE).and_then(|value| value.to_str().ok());
    value.is_some_and(|value| value.eq_ignore_ascii_case("websocket"))
}

fn document_in(parts: &Parts) -> Result<Document, ApiError> {
    let wrong = |message: &str| ApiError::bad(Reason::Validation, message);
    let Query(mut given): Query<HashMap<String, String>> =
        Query::try_from_uri(&parts.uri).map_err(|_| wrong("the query of the address cannot be read"))?;
    let query = given.remove("query").ok_or_else(|| wrong("the address needs ?query=; or send a document by POST"))?;
    let variables = given.remove("variables").filter(|text| !text.is_empty());
    let variables = variables.map(|text| serde_json::from_str(&text)).transpose();
    Ok(Document {
        query,
        variables: variables.map_err(|_| ApiError::field("variables", "schema", "must be a JSON object"))?,
        operation_name: given.remove("operationName"),
    })
}

/// How an executed document ended.
type Executed = Result<(juniper::Value, Vec<ExecutionError<DefaultScalarValue>>), Unexecuted>;

/// Why a document was not executed.
enum Unexecuted {
    Document(GraphQLError),
    MutationByGet,
    SubscriptionByHttp,
}

async fn respond(listener: Listener, request: Request, document: Document, way: Way) -> Response {
    let Document { query, variables, operation_name } = document;
    let prepared =
        juniper_gaps::prepare(&query, variables, &listener.schema.schema, listener.api.settings.limits.tokens);
    let Prepared { query, variables } = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return refusal(StatusCode::BAD_REQUEST, &error),
    };
    let (clock, metrics) = (listener.api.clock.clone(), listener.api.metrics.clone());
    let begun = clock.monotonic();
    // A task of its own: a client that hangs up must not stop a mutation half-way, and a defect in one
    // request must not take the connection with it.
    let schema = Arc::clone(&listener.schema);
    let work = tokio::spawn(async move {
        let operation = ValidatedOperation::new(&query, operation_name.as_deref(), &schema);
        let operation = operation.map_err(Unexecuted::Document)?;
        match (operation.operation_type(), way) {
            (OperationType::Mutation, Way::Query) => Err(Unexecuted::MutationByGet),
            (OperationType::Subscription, _) => Err(Unexecuted::SubscriptionByHttp),
            (OperationType::Query, _) | (OperationType::Mutation, Way::Body) => {
                operation.execute(&variables, &request).await.map_err(Unexecuted::Document)
            }
        }
    });
    tokio::select! {
        biased;
        executed = work => match executed {
            Ok(executed) => {
                if executed.is_err() {
                    metrics.answered(NO_FIELD, 400, clock.monotonic().saturating_sub(begun));
                }
                answered(executed)
            }
            Err(broken) => {
                tracing::error!(%broken, "a request met a defect");
                answer(StatusCode::OK, &json!({ "data": null, "errors": [error_body(&ApiError::internal())] }))
            }
        },
        () = clock.sleep(REQUEST_MAX) => {
            let message = "the request took too long; it may have had its effect, and may be repeated";
            let error = ApiError::new(Class::Overloaded, Reason::ProvisionerTimeout, message);
            answer(StatusCode::OK, &json!({ "data": null, "errors": [error_body(&error)] }))
        }
    }
}

fn answered(executed: Executed) -> Response {
    match executed {
        Ok((data, errors)) if errors.is_empty() => answer(StatusCode::OK, &json!({ "data": data })),
        Ok((data, errors)) => {
            let errors: Vec<Value> = errors.iter().map(juniper_gaps::add_code).collect();
            answer(StatusCode::OK, &json!({ "data": data, "errors": errors }))
        }
        Err(Unexecuted::Document(error)) => {
            answer(StatusCode::BAD_REQUEST, &json!({ "errors": juniper_gaps::explain_errors(&error) }))
        }
        Err(Unexecuted::MutationByGet) => {
            let error = ApiError::bad(Reason::Validation, "mutations are not taken by GET; send them by POST");
            refusal(StatusCode::METHOD_NOT_ALLOWED, &error)
        }
        Err(Unexecuted::SubscriptionByHttp) => {
            let message = "subscriptions need a WebSocket with the protocol graphql-transport-ws, at this address";
            refusal(StatusCode::BAD_REQUEST, &ApiError::bad(Reason::Validation, message))
        }
    }
}
