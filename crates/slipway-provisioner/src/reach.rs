//! The way into a customer's cluster, for the steps that have fetched its kubeconfig.

use std::sync::Arc;

use secrecy::ExposeSecret as _;
use slipway_engine::{RecordingTransport, StepCtx, StepError};
use slipway_kube::access::{self, Access, ClientTransport};
use slipway_model::{Reason, ports::Clock};

use crate::{
    domain::{Connect, Kubeconfig, Provisioner, Systems},
    steps::Problem,
};

/// Opens clusters by their kubeconfigs, over real connections; the calls of steps are recorded.
pub fn by_kubeconfig(clock: Arc<dyn Clock>) -> Connect {
    Arc::new(move |kubeconfig| {
        let clock = clock.clone();
        Box::pin(async move {
            let connected = access::from_secret_text(kubeconfig.expose_secret()).await;
            let client = connected.map_err(|error| error.to_string())?;
            Ok(recorded(client, Systems::CLUSTER, clock))
        })
    })
}

/// A cluster whose calls are recorded where they are those of steps.
pub fn recorded(client: access::Client, cluster: &'static str, clock: Arc<dyn Clock>) -> Access {
    let transport = RecordingTransport::new(ClientTransport::new(client, clock.clone()), clock.clone());
    Access::over(Arc::new(transport), "", Systems::access_options(cluster, clock))
}

/// The cluster of the kubeconfig in the memory of the stage.
pub(crate) async fn cluster(ctx: &mut StepCtx<Provisioner>) -> Result<Access, Problem> {
    let Some(kubeconfig) = ctx.memory().get::<Kubeconfig>().map(|kubeconfig| kubeconfig.secret().clone()) else {
        return Err(Problem::last(StepError::internal("no kubeconfig was fetched in this stage")));
    };
    match (ctx.systems().connect)(kubeconfig).await {
        Ok(access) => Ok(access),
        // The manager may be about to write a better one; the stage begins anew with it.
        Err(problem) => {
            let reason = Reason::Other("err_kubeconfig".to_owned());
            Err(Problem::passing(StepError::new(reason, "the cluster cannot be reached", problem)))
        }
    }
}
