//! The page that Prometheus reads.

use axum::{extract::State, http::header, response::IntoResponse};
use slipway_engine::Status;
use slipway_model::time::secs;

use super::Api;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers also while the database is away, without the figures that only it knows: that is when
/// the others are wanted most.
pub(super) async fn page(State(api): State<Api>) -> impl IntoResponse {
    let due = async {
        let engine = api.engine().await.ok()?;
        engine.store().due(engine.now()).await.ok()
    };
    let due = tokio::select! {
        biased;
        due = due => due,
        () = api.clock().sleep(secs(2)) => None,
    };
    let is_ready = *api.status().borrow() == Status::Ready;
    ([(header::CONTENT_TYPE, OPEN_METRICS)], api.metrics().page(is_ready, due))
}
