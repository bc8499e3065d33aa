//! The page that Prometheus reads.

use axum::{extract::State, http::header, response::IntoResponse};
use slipway_model::time::secs;

use super::Api;
use crate::metrics::Counts;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers also while the database is away, without the figures that only it knows: that is when
/// the others are wanted most.
pub(super) async fn page(State(api): State<Api>) -> impl IntoResponse {
    let counts = async {
        let engine = api.supervisor().ok()?;
        let due = engine.store().due(engine.now()).await.ok()?;
        Some(Counts { due, stranded: api.stranded().await })
    };
    let counts = tokio::select! {
        biased;
        counts = counts => counts,
        () = api.clock().sleep(secs(2)) => None,
    };
    ([(header::CONTENT_TYPE, OPEN_METRICS)], api.metrics().page(api.ready().is_ok(), counts))
}
