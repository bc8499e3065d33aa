//! Fetches the kubeconfig of the cluster into the memory of the stage.
//!
//! **Why here:** first in every stage that enters the cluster. The infrastructure manager rotates it, so it
//! is read at use and kept no longer than a stage; it is never stored.
//!
//! **Why a repeat does no harm:** it only reads.
//!
//! **When we give up:** when the manager has written none in the time of the stage it is in; the shortest
//! of those is five minutes.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use secrecy::SecretString;
use slipway_engine::{Step, StepCtx, StepResult};
use slipway_kube::{
    gardener_cluster,
    wire::{Error, Kind},
};
use slipway_model::{Component, time::secs};

use super::{Outcome, runtime_id, settle, wait};
use crate::domain::{Kubeconfig, Provisioner};

/// See the [module](self).
pub struct FetchKubeconfig;

impl Step<Provisioner> for FetchKubeconfig {
    fn name(&self) -> &'static str {
        "Fetch_Kubeconfig"
    }

    fn component(&self) -> Component {
        Component::ProvisionerK8s
    }

    async fn run(&self, ctx: &mut StepCtx<Provisioner>) -> StepResult {
        let deadline = ctx.systems().deadlines.bindings;
        let outcome = act(ctx).await;
        settle(ctx, outcome, Component::ProvisionerK8s, deadline)
    }
}

async fn act(ctx: &mut StepCtx<Provisioner>) -> Outcome {
    let systems = ctx.systems();
    let name = gardener_cluster::secret_name(&runtime_id(ctx)?.to_string());
    let secret = match systems.control_plane.get(&Kind::SECRET, &systems.namespace, &name).await {
        Ok(secret) => Some(secret),
        Err(Error::NotFound) => None,
        Err(error) => return Err(error.into()),
    };
    let text = secret.as_ref().and_then(|secret| secret["data"][gardener_cluster::SECRET_KEY].as_str());
    let text =
        text.and_then(|text| String::from_utf8(STANDARD.decode(text).ok()?).ok()).filter(|text| !text.is_empty());
    match text {
        Some(text) => {
            ctx.memory().put(Kubeconfig::new(SecretString::from(text)));
            Ok(ctx.done())
        }
        None => wait(ctx, secs(20), systems.deadlines.bindings, "waiting for the kubeconfig of the cluster"),
    }
}
