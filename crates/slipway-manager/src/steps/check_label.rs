//! A Runtime whose label names another one gets nothing: it is a copy, or somebody mistook the label.
//!
//! The label is what the rest of the landscape knows a Runtime by. Where it and the name disagree nobody can say which
//! cluster is meant, so nothing is touched, not even by its deletion.

use slipway_kube::conditions::{Reason, Status, Type};

use crate::{
    observe::Observation,
    outcome::{ConditionUpdate, Outcome},
    owner::{self, Owner},
    pass::Pass,
    runtime::Step,
    steps::{finalizer::ReleaseFinalizer, find_shoot},
};

/// Refuses it.
pub(crate) struct CheckLabel;

impl Step for CheckLabel {
    fn applies(&self, seen: &Observation) -> bool {
        owner::wrong_label(&seen.runtime).is_some()
    }

    async fn run(&self, pass: &mut Pass) -> Outcome {
        let why = owner::describe_wrong_label(&pass.seen.runtime).unwrap_or_default();
        fail(Type::Provisioned, Reason::ConversionErr, why)
    }
}

/// Keeps a deletion from what may be another's, and a Runtime whose Shoot nobody else would look after from going.
pub(crate) struct CheckOwner;

impl Step for CheckOwner {
    fn applies(&self, seen: &Observation) -> bool {
        CheckLabel.applies(seen) || matches!(seen.owner(), Some(Owner::Other { is_namesake: true, .. }))
    }

    async fn run(&self, pass: &mut Pass) -> Outcome {
        let Some(why) = owner::describe_wrong_label(&pass.seen.runtime) else {
            return fail(Type::Deprovisioned, Reason::GardenerErr, pass.seen.foreign().unwrap_or_default());
        };
        if let Err(outcome) = find_shoot::find(pass, Type::Deprovisioned).await {
            return outcome;
        }
        let id = pass.seen.shoot.as_ref().and_then(|shoot| shoot.runtime_id());
        let may_be_ours = pass.seen.shoot.as_ref().is_some_and(|shoot| {
            owner::may_be_ours(&shoot.metadata, &pass.seen.runtime)
                && (shoot.annotation(slipway_kube::annotations::RUNTIME_UID).is_some()
                    || id == Some(pass.seen.name())
                    || id == owner::wrong_label(&pass.seen.runtime))
        });
        if may_be_ours {
            return fail(Type::Deprovisioned, Reason::KubernetesErr, why);
        }
        // A copy came with the finalizer of its original, and has nothing that it would guard.
        match ReleaseFinalizer.applies(&pass.seen) {
            true => ReleaseFinalizer.run(pass).await,
            false => Outcome::Halt,
        }
    }
}

fn fail(of: Type, reason: Reason, why: String) -> Outcome {
    Outcome::Fail { condition: ConditionUpdate::new(of, Status::False, reason, why) }
}
