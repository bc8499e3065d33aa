//! News from outside: something happened to a thing that operations wait on.

use axum::{Json, extract::State};
use slipway_clients::broker::wire;
use slipway_model::WaitKey;

use super::{
    Api,
    input::{Body, parse, sentence},
    problem::Problem,
};

/// `POST /wake`. A wake-up that nobody waits for is kept for whoever is about to.
pub(super) async fn wake(State(api): State<Api>, Body(wake): Body<wire::Wake>) -> Result<Json<wire::Woken>, Problem> {
    let wire::Wake { key, cause } = wake;
    let (key, cause): (WaitKey, _) = (parse("key", &key)?, sentence("cause", &cause, 200)?);
    let woken = api.supervisor()?.wake(&[key], &cause).await?;
    Ok(Json(wire::Woken { woken }))
}
