//! Whether the process lives, and whether it is at work.

use axum::extract::State;
use slipway_engine::Status;

use super::{Api, problem::Problem};

/// Lives: it answers. A database that is away is no reason to be killed.
pub(super) async fn livez() -> &'static str {
    "ok\n"
}

/// At work: registered with the database and taking operations.
pub(super) async fn readyz(State(api): State<Api>) -> Result<&'static str, Problem> {
    let status = api.status().borrow().clone();
    match status {
        Status::Ready => Ok("ready\n"),
        Status::Starting => Err(Problem::Unavailable("the engine is starting".to_owned())),
        Status::Waiting { reason } => {
            Err(Problem::Unavailable(format!("the engine waits and goes on by itself: {reason}")))
        }
        Status::Stopped => Err(Problem::Unavailable("the engine has stopped".to_owned())),
    }
}
