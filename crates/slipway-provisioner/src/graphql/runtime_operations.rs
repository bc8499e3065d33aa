//! `runtimeOperations`: the history of a runtime, page by page.

use juniper::GraphQLObject;
use slipway_model::OperationId;

use super::{operation_status::OperationStatus, request::Request};
use crate::{OperationKind, errors::ApiError};

/// A page if nobody says how long, and the longest.
const USUAL: usize = 20;
const MOST: i32 = 100;

/// A page of operations, newest first.
#[derive(Debug, Clone, GraphQLObject)]
#[graphql(context = Request)]
pub struct OperationPage {
    /// The operations.
    pub data: Vec<OperationStatus>,
    /// Give it as `after` for the next page; none at the end.
    pub end_cursor: Option<String>,
    /// There are older ones.
    pub has_next_page: bool,
}

pub(super) async fn resolve(
    request: &Request,
    id: String,
    first: Option<i32>,
    after: Option<String>,
) -> Result<OperationPage, ApiError> {
    let tenant = request.reads()?;
    let limit = match first {
        None => USUAL,
        Some(first @ 1..=MOST) => usize::try_from(first).unwrap_or(USUAL),
        Some(_) => return Err(ApiError::field("first", "page", format!("must be 1 to {MOST}"))),
    };
    let before = after.map(|text| text.parse::<OperationId>()).transpose();
    let before = before.map_err(|problem| ApiError::field("after", "V14", format!("{problem}")))?;
    let granted = request.runtime(&id, &tenant).await?;
    let mut operations = request.api.runtimes.runtime_operations(granted.record.id, before, limit + 1).await?;
    let has_next_page = operations.len() > limit;
    operations.truncate(limit);
    let end_cursor = operations.last().filter(|_| has_next_page).map(|operation| operation.id.to_string());
    let shown = |operation: slipway_model::Operation| {
        let kind = OperationKind::of(&operation.process)?;
        Some(OperationStatus::new(operation, kind).with_director_id(granted.record.director_id.clone()))
    };
    Ok(OperationPage { data: operations.into_iter().filter_map(shown).collect(), end_cursor, has_next_page })
}
