//! Operations: list them, look at one, start one. Whichever engine runs them; but only the broker's can be
//! started by name.

use axum::{
    Json,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use secrecy::SecretString;
use slipway_clients::broker::wire;
use slipway_model::{
    InstanceId, JsonText, NewOperation, Operation, OperationId, OperationState,
    ports::{Enqueued, Filter},
};

use super::{
    Api,
    input::{Body, Id, Query, limit, parse, sentence},
    problem::Problem,
    view,
};

/// A page of a table for people; programs ask for more.
const PAGE: usize = 50;
const PAGE_MAX: usize = 1000;

/// `GET /operations?state=&instance_id=&before=&limit=`, newest first.
pub(super) async fn list(State(api): State<Api>, query: Query) -> Result<Json<wire::OperationList>, Problem> {
    let [state, instance, before, count] = query.take(["state", "instance_id", "before", "limit"])?;
    let count = limit(count, PAGE, PAGE_MAX)?;
    let states = state.iter().flat_map(|states| states.split(',')).map(str::trim);
    let filter = Filter {
        instance: instance.map(|text| parse("instance_id", &text)).transpose()?,
        states: states.map(|text| parse::<OperationState>("state", text)).collect::<Result<_, _>>()?,
        before: before.map(|text| parse("before", &text)).transpose()?,
        // One more tells whether there is a next page.
        limit: count + 1,
    };
    let mut found = api.supervisor()?.store().operations(&filter).await?;
    let is_more = found.len() > count;
    found.truncate(count);
    let next_before = found.last().filter(|_| is_more).map(|last| last.id.to_string());
    let stranded = api.stranded().await;
    let operations = found.iter().map(|operation| view::operation(operation, &stranded)).collect();
    Ok(Json(wire::OperationList { operations, next_before }))
}

/// `GET /operations/{id}`: the operation and its ledger.
pub(super) async fn show(
    State(api): State<Api>,
    Id(id): Id<OperationId>,
) -> Result<Json<wire::OperationDetails>, Problem> {
    let engine = api.supervisor()?;
    let (operation, steps) = (engine.store().operation(id).await?, engine.store().steps(id).await?);
    let (operation, steps) =
        (view::operation(&operation, &api.stranded().await), steps.iter().map(view::step).collect());
    Ok(Json(wire::OperationDetails { operation, steps }))
}

/// `POST /operations`: 202 when it is accepted and durable, 200 when this id was accepted before.
pub(super) async fn start(State(api): State<Api>, Body(new): Body<wire::StartOperation>) -> Result<Response, Problem> {
    let wire::StartOperation { process, instance_id, operation_id, by, secrets } = new;
    let engine = api.supervisor()?;
    let offer = api.offer(&process)?;
    let instance_id: InstanceId = parse("instance_id", &instance_id)?;
    let id = match operation_id {
        Some(text) => parse("operation_id", &text)?,
        None => engine.draw_id(),
    };
    let new = NewOperation {
        id,
        instance_id: instance_id.clone(),
        kind: offer.kind,
        temporary: false,
        plan: process,
        process: offer.process.clone(),
        budget: offer.budget.min(api.operation_timeout()),
        data: JsonText::empty(),
        secrets: secrets.map(|secrets| SecretString::from(serde_json::Value::Object(secrets).to_string())),
        by: by.map_or_else(|| Ok("operator API".to_owned()), |by| sentence("by", &by, 200))?,
    };
    match engine.store().enqueue(new, engine.now()).await? {
        Enqueued::New(operation) => Ok(accepted(StatusCode::ACCEPTED, &operation)),
        Enqueued::Existing(operation) if operation.id != id => Ok(accepted(StatusCode::ACCEPTED, &operation)),
        Enqueued::Existing(operation)
            if operation.instance_id == instance_id && operation.process.name == offer.process.name =>
        {
            Ok(accepted(StatusCode::OK, &operation))
        }
        Enqueued::Existing(_) => {
            Err(Problem::Conflict(format!("field operation_id: {id} is taken by another request; choose a new id")))
        }
    }
}

fn accepted(status: StatusCode, operation: &Operation) -> Response {
    let mut answer = (status, Json(view::operation(operation, &[]))).into_response();
    if let Ok(place) = HeaderValue::try_from(format!("/operations/{}", operation.id)) {
        answer.headers_mut().insert(header::LOCATION, place);
    }
    answer
}
