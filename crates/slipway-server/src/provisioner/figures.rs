//! The page that Prometheus reads, on a port of its own: it needs no token, and tells no id, tenant or name.

use std::sync::Arc;

use axum::{Router, http::header, routing::get};
use slipway_model::ports::{Clock, Runtimes};
use slipway_provisioner::Metrics;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What the page is made of.
pub(super) struct Figures {
    pub(super) metrics: Arc<Metrics>,
    pub(super) runtimes: Arc<dyn Runtimes>,
    pub(super) clock: Arc<dyn Clock>,
}

impl Figures {
    pub(super) fn router(self) -> Router {
        let all = Arc::new(self);
        let page = move || {
            let all = all.clone();
            async move { ([(header::CONTENT_TYPE, OPEN_METRICS)], all.metrics.page(&*all.runtimes, &*all.clock).await) }
        };
        Router::new().route("/metrics", get(page))
    }
}
