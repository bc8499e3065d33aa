//! Whether the process lives, and whether it is at work.

use axum::extract::State;

use super::{Api, problem::Problem};

/// Lives: it answers. A database that is away is no reason to be killed.
pub(super) async fn livez() -> &'static str {
    "ok\n"
}

/// At work: every engine of this process is registered with the database and takes operations.
pub(super) async fn readyz(State(api): State<Api>) -> Result<&'static str, Problem> {
    api.ready().map(|()| "ready\n")
}
