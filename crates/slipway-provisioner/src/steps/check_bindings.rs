//! Waits until the administrators have their rights in the cluster.
//!
//! **Why here:** an operation that has succeeded must not leave its owner locked out. The infrastructure
//! manager writes the bindings; this looks whether they are there.
//!
//! **Why a repeat does no harm:** it only reads.
//!
//! **When we give up:** after five minutes.

use serde_json::Value;
use slipway_engine::{Step, StepCtx, StepResult};
use slipway_kube::access::{Ask, resource::CLUSTER_ROLE_BINDINGS};
use slipway_model::{Component, time::secs};

use super::{Outcome, record, settle, wait};
use crate::{domain::Provisioner, reach, resource};

/// See the [module](self).
pub struct CheckBindings;

impl Step<Provisioner> for CheckBindings {
    fn name(&self) -> &'static str {
        "Check_Bindings"
    }

    fn component(&self) -> Component {
        Component::ClusterK8s
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.bindings;
        let outcome = act(ctx).await;
        settle(ctx, outcome, Component::ClusterK8s, deadline)
    }
}

async fn act(ctx: &mut StepCtx<Provisioner>) -> Outcome {
    let record = record(ctx).await?;
    let (_, people) = resource::configuration(ctx, &record).await?;
    let bindings: Vec<Value> = reach::cluster(ctx).await?.list(Ask::list(&CLUSTER_ROLE_BINDINGS, "")).await?;
    let missing =
        people.administrators.iter().filter(|name| !bindings.iter().any(|binding| binds(binding, name))).count();
    if missing == 0 {
        return Ok(ctx.done());
    }
    let deadline = ctx.systems().deadlines.bindings;
    wait(ctx, secs(20), deadline, format!("waiting for the rights of {missing} administrators"))
}

/// Whether a binding makes somebody an administrator.
fn binds(binding: &Value, name: &str) -> bool {
    let is_subject = |subject: &Value| subject["kind"] == "User" && subject["name"] == *name;
    binding["roleRef"]["name"] == "cluster-admin"
        && binding["subjects"].as_array().is_some_and(|all| all.iter().any(is_subject))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_binding_of_the_user_to_the_administrators_role_counts() {
        let binding = |role: &str, kind: &str| json!({ "roleRef": { "name": role }, "subjects": [{ "kind": kind, "name": "ann" }] });
        assert!(binds(&binding("cluster-admin", "User"), "ann"));
        assert!(!binds(&binding("cluster-admin", "User"), "bob"));
        assert!(!binds(&binding("cluster-admin", "Group"), "ann"));
        assert!(!binds(&binding("view", "User"), "ann"));
        assert!(!binds(&json!({ "roleRef": { "name": "cluster-admin" } }), "ann"));
    }
}
