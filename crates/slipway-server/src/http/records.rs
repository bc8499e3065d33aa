//! The flight recorder of an operation.

use axum::{Json, extract::State};
use slipway_clients::broker::wire;
use slipway_model::OperationId;

use super::{
    Api,
    input::{Id, Query, limit},
    problem::Problem,
    view,
};

const PAGE: usize = 200;
const PAGE_MAX: usize = 2000;

/// `GET /operations/{id}/records?after=&limit=`, oldest first.
pub(super) async fn list(
    State(api): State<Api>,
    Id(id): Id<OperationId>,
    query: Query,
) -> Result<Json<wire::RecordList>, Problem> {
    let [after, count] = query.take(["after", "limit"])?;
    let count = limit(count, PAGE, PAGE_MAX)?;
    let after = match after.map(|text| text.parse::<u64>()) {
        None => 0,
        Some(Ok(number)) if i64::try_from(number).is_ok() => number,
        Some(_) => return Err(Problem::field("after", "must be the number of an entry; take it from next_after")),
    };
    let engine = api.supervisor()?;
    // A wrong id has no entries either: ask for the operation, so that it is 404.
    engine.store().operation(id).await?;
    let mut found = engine.store().records(id, after, count + 1).await?;
    let is_more = found.len() > count;
    found.truncate(count);
    let next_after = found.last().filter(|_| is_more).map(|last| last.id);
    Ok(Json(wire::RecordList { records: found.iter().map(view::record).collect(), next_after }))
}
