//! The way into a customer's cluster, for the steps that have fetched its kubeconfig.

use std::sync::Arc;

use secrecy::ExposeSecret as _;
use slipway_engine::{RecordingTransport, StepCtx, StepError};
use slipway_kube::wire::{self, Api, ClientTransport};
use slipway_model::{
    Reason,
    ports::{Clock, Transport},
};

use crate::{
    domain::{Connect, Kubeconfig, Provisioner, Systems},
    steps::Problem,
};

/// Opens clusters by their kubeconfigs, over real connections; the calls of steps are recorded.
pub fn by_kubeconfig(clock: Arc<dyn Clock>) -> Connect {
    Arc::new(move |kubeconfig| {
        let clock = clock.clone();
        Box::pin(async move {
            let client = wire::connect(kubeconfig.expose_secret()).await.map_err(|error| error.to_string())?;
            let transport = RecordingTransport::new(ClientTransport::new(client, clock.clone()), clock);
            Ok((Arc::new(transport) as Arc<dyn Transport>, String::new()))
        })
    })
}

/// The cluster of the kubeconfig in the memory of the stage.
pub(crate) async fn cluster(ctx: &mut StepCtx<Provisioner>) -> Result<Api, Problem> {
    let Some(kubeconfig) = ctx.memory().get::<Kubeconfig>().map(|kubeconfig| kubeconfig.secret().clone()) else {
        return Err(Problem::last(StepError::internal("no kubeconfig was fetched in this stage")));
    };
    match (ctx.systems().connect)(kubeconfig).await {
        Ok((transport, base)) => Ok(Api::new(transport, Systems::CLUSTER, &base)),
        // The manager may be about to write a better one; the stage begins anew with it.
        Err(problem) => {
            Err(Problem::passing(StepError::new(Reason::Kubeconfig, "the cluster cannot be reached", problem)))
        }
    }
}
