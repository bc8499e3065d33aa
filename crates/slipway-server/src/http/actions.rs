//! What an operator can ask of an operation. Each action goes on record with who and why.

use axum::{Json, extract::State};
use slipway_clients::broker::wire;
use slipway_model::{Action, OperationId};

use super::{
    Api,
    input::{Body, Id, sentence},
    problem::Problem,
    view,
};

/// `POST /operations/{id}/actions`: answers with the operation as it is now; the engine meets the
/// wish at its next step boundary or wait.
pub(super) async fn act(
    State(api): State<Api>,
    Id(id): Id<OperationId>,
    Body(act): Body<wire::Act>,
) -> Result<Json<wire::Operation>, Problem> {
    let wire::Act { action, step, by, why } = act;
    let action = action_of(&action, step)?;
    let (by, why) = (sentence("by", &by, 200)?, sentence("why", &why, 1000)?);
    let operation = api.supervisor()?.act(id, &action, &by, &why).await?;
    Ok(Json(view::operation(&operation, &api.stranded().await)))
}

fn action_of(name: &str, step: Option<String>) -> Result<Action, Problem> {
    let action = match (name, step) {
        ("skip_step", Some(step)) => return Ok(Action::SkipStep { step: sentence("step", &step, 200)? }),
        ("skip_step", None) => return Err(Problem::field("step", "is missing; name the step to skip")),
        (_, Some(_)) => return Err(Problem::field("step", "goes with skip_step only; leave it out")),
        ("retry_now", None) => Action::RetryNow,
        ("cancel", None) => Action::Cancel,
        ("pause", None) => Action::Pause,
        ("resume", None) => Action::Resume,
        (_, None) => {
            return Err(Problem::field("action", "must be retry_now, skip_step, cancel, pause or resume; choose one"));
        }
    };
    Ok(action)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_has_its_word() {
        let step = || Some("Hello_World".to_owned());
        for (name, step) in
            [("retry_now", None), ("skip_step", step()), ("cancel", None), ("pause", None), ("resume", None)]
        {
            assert_eq!(action_of(name, step).expect(name).name(), name);
        }
        for (name, step) in [("skip_step", None), ("cancel", step()), ("explode", None)] {
            assert!(action_of(name, step).is_err(), "{name}");
        }
    }
}
