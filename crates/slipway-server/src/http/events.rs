//! Events: what users are told of their operations, made from the flight recorder.
//!
//! At least one filter is required, and an id that nobody knows yields nothing: a question about
//! one customer must never be answered with everything.

use std::collections::BTreeSet;

use axum::{Json, extract::State};
use slipway_clients::broker::wire;
use slipway_engine::Supervisor;
use slipway_model::{
    InstanceId, OperationId, Record, Timestamp,
    ports::{Filter, StoreError},
    recorder::Level,
};

use super::{
    Api,
    input::{Query, limit, parse},
    problem::Problem,
};

const PAGE: usize = 200;
const PAGE_MAX: usize = 1000;

/// Ids in one request.
const IDS_MAX: usize = 100;

/// Newest operations of an instance that are looked at; older ones can be asked for by their ids.
const OPERATIONS_MAX: usize = 50;

/// Entries read at a time.
const BATCH: usize = 500;

/// `GET /events?instance_ids=&operation_ids=&level=&since=&limit=`, oldest first.
pub(super) async fn list(State(api): State<Api>, query: Query) -> Result<Json<Vec<wire::Event>>, Problem> {
    let [instances, operations, level, since, count] =
        query.take(["instance_ids", "operation_ids", "level", "since", "limit"])?;
    let count = limit(count, PAGE, PAGE_MAX)?;
    let level = level.map(|text| level_of(&text)).transpose()?;
    let since = since.map(|text| since_of(&text)).transpose()?;
    let instances: Vec<InstanceId> = ids("instance_ids", instances)?;
    let operations: Vec<OperationId> = ids("operation_ids", operations)?;
    if instances.is_empty() && operations.is_empty() {
        return Err(Problem::field("instance_ids", "is missing, and so is operation_ids; give one of them"));
    }

    let engine = api.supervisor()?;
    let mut wanted: BTreeSet<(OperationId, String)> = BTreeSet::new();
    for id in operations {
        match engine.store().operation(id).await {
            Ok(op) => drop(wanted.insert((id, op.instance_id.to_string()))),
            Err(StoreError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    for instance in instances {
        let filter = Filter { instance: Some(instance), limit: OPERATIONS_MAX, ..Filter::default() };
        let found = engine.store().operations(&filter).await?;
        wanted.extend(found.iter().map(|op| (op.id, op.instance_id.to_string())));
    }
    let mut events = Vec::new();
    for (id, instance) in wanted {
        for record in records(&engine, id, since, level, count).await? {
            let Some((level, message)) = record.event() else { continue };
            events.push((
                record.at,
                wire::Event {
                    id: record.id.to_string(),
                    level: word(level).to_owned(),
                    instance_id: instance.clone(),
                    operation_id: id.to_string(),
                    message,
                    created_at: record.at.to_string(),
                },
            ));
        }
    }
    events.sort_by(|(a, one), (b, other)| {
        a.cmp(b).then_with(|| one.id.len().cmp(&other.id.len())).then_with(|| one.id.cmp(&other.id))
    });
    Ok(Json(events.into_iter().take(count).map(|(_, event)| event).collect()))
}

/// The first entries of an operation that are events as asked for; no more than can be shown.
async fn records(
    engine: &Supervisor,
    id: OperationId,
    since: Option<Timestamp>,
    level: Option<Level>,
    count: usize,
) -> Result<Vec<Record>, Problem> {
    let (mut found, mut after) = (Vec::new(), 0);
    loop {
        let batch = engine.store().records(id, after, BATCH).await?;
        let is_last = batch.len() < BATCH;
        after = batch.last().map_or(after, |record| record.id);
        let is_asked_for = |record: &Record| {
            since.is_none_or(|since| record.at >= since)
                && record.event().is_some_and(|(own, _)| level.is_none_or(|level| level == own))
        };
        found.extend(batch.into_iter().filter(is_asked_for));
        if is_last || found.len() >= count {
            return Ok(found);
        }
    }
}

fn ids<T: std::str::FromStr<Err = slipway_model::text::BadText>>(
    name: &str,
    list: Option<String>,
) -> Result<Vec<T>, Problem> {
    let list = list.unwrap_or_default();
    let parts: Vec<_> = list.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    if parts.len() > IDS_MAX {
        return Err(Problem::field(name, format!("has more than {IDS_MAX} ids; ask in parts")));
    }
    parts.into_iter().map(|part| parse(name, part)).collect()
}

fn level_of(text: &str) -> Result<Level, Problem> {
    match text {
        "info" => Ok(Level::Info),
        "error" => Ok(Level::Error),
        _ => Err(Problem::field("level", "must be info or error; leave it out for both")),
    }
}

const fn word(level: Level) -> &'static str {
    match level {
        Level::Info => "info",
        Level::Error => "error",
    }
}

fn since_of(text: &str) -> Result<Timestamp, Problem> {
    text.parse().map_err(|_| Problem::field("since", "must be an instant such as 2026-11-15T12:00:00Z; write it so"))
}
