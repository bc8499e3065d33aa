//! The state of a runtime, put together from what is stored and what Kubernetes shows.
//!
//! It answers for runtimes that are still being made and for those long gone: a part that cannot be
//! seen is null, with a sentence under `problems`, and never an error of the whole. No customer's
//! cluster is called: what its agent does was looked at before, in the background.

mod view;

use juniper::GraphQLObject;
use secrecy::ExposeSecret as _;
use slipway_kube::Runtime;
use slipway_model::{
    Timestamp,
    ports::StoreResult,
    runtime_record::{AgentConnection, AgentState, RuntimeRecord},
    time::spell,
};

use crate::{
    OperationKind,
    auth::Scope,
    errors::ApiError,
    graphql::{
        operation_status::OperationStatus,
        outputs::{
            Error, HibernationStatus, KymaConfig, RuntimeAgentConnectionStatus, RuntimeConfig, RuntimeConnectionConfig,
            RuntimeConnectionStatus,
        },
        request::Request,
    },
    input::{ClusterSecrets, ClusterSpec, KymaSecrets, KymaSpec},
    ownership::OwnRuntime,
    settings::Agent,
};

/// The state of a runtime.
#[derive(Debug, Clone, GraphQLObject)]
#[graphql(context = Request)]
pub struct RuntimeStatus {
    /// Its latest operation.
    pub last_operation_status: Option<OperationStatus>,
    /// Whether its agent is connected.
    pub runtime_connection_status: Option<RuntimeConnectionStatus>,
    /// What it is.
    pub runtime_configuration: Option<RuntimeConfig>,
    /// Whether its cluster sleeps.
    pub hibernation_status: Option<HibernationStatus>,
    /// Use `runtimeConfiguration.kubeconfig`.
    #[graphql(deprecated = "use runtimeConfiguration.kubeconfig")]
    pub runtime_connection_config: Option<RuntimeConnectionConfig>,
    /// Why a part is missing.
    pub problems: Option<Vec<Error>>,
}

/// Puts the state of a runtime together.
pub async fn assemble(request: &Request, record: &RuntimeRecord) -> Result<RuntimeStatus, ApiError> {
    let api = &request.api;
    let mut problems = Vec::new();
    let last_operation_status = api.last_operation(record.id).await?.and_then(|operation| {
        let kind = OperationKind::of(&operation.process)?;
        Some(OperationStatus::new(operation, kind).with_director_id(record.director_id.clone()))
    });

    let runtime = observed(request, record, &mut problems).await;
    let may_see_secrets = request.caller.may(Scope::SecretsRead);
    let kubeconfig = kubeconfig(request, record, runtime.as_ref(), &mut problems).await;

    let stored = api.runtimes.config(record.id, None).await?;
    let cluster_config = match stored {
        Some(stored) => {
            let spec: ClusterSpec = readable(stored.spec.to())?;
            let secrets = readable(ClusterSecrets::open(stored.secrets.as_ref()))?;
            let shown = may_see_secrets.then_some(&secrets);
            Some(view::cluster(&spec, shown, runtime.as_deref()))
        }
        None => {
            problems.push(Error::of("the configuration of the cluster is no longer stored"));
            None
        }
    };
    let kyma_config = kyma(api.runtimes.kyma(record.id).await, may_see_secrets)?;

    let hibernation_status = hibernation(runtime.as_deref());
    if hibernation_status.is_none() && record.is_live() {
        problems.push(Error::of("whether the cluster sleeps is not known yet"));
    }
    let credentials_secret_name = cluster_config.as_ref().and_then(|config| config.target_secret.clone());
    Ok(RuntimeStatus {
        last_operation_status,
        runtime_connection_status: Some(match record.is_live() {
            true => connection(record.agent.as_ref(), &api.settings.agent, api.now()),
            false => cut_off(),
        }),
        runtime_connection_config: kubeconfig.clone().map(|kubeconfig| RuntimeConnectionConfig { kubeconfig }),
        runtime_configuration: Some(RuntimeConfig { cluster_config, kyma_config, kubeconfig, credentials_secret_name }),
        hibernation_status,
        problems: Some(problems),
    })
}

fn readable<T>(read: Result<T, serde_json::Error>) -> Result<T, ApiError> {
    read.map_err(|error| {
        tracing::error!(%error, "a stored document cannot be read");
        ApiError::internal()
    })
}

async fn observed(request: &Request, record: &RuntimeRecord, problems: &mut Vec<Error>) -> Option<OwnRuntime> {
    if !record.is_live() {
        problems.push(Error::of("the runtime has been deprovisioned; what is shown was asked for last"));
        return None;
    }
    match request.api.clusters.runtime(record).await {
        Ok(Some(runtime)) => Some(runtime),
        Ok(None) => {
            problems.push(Error::of("there is no Runtime resource (yet); what is shown was asked for last"));
            None
        }
        Err(unseen) => {
            problems.push(Error::of(format!("{unseen}; what is shown was asked for last")));
            None
        }
    }
}

/// Never an empty text: the known client takes fewer than ten characters for a broken one. Only that of a Runtime which
/// is proven to be the record's.
async fn kubeconfig(
    request: &Request,
    record: &RuntimeRecord,
    runtime: Option<&OwnRuntime>,
    problems: &mut Vec<Error>,
) -> Option<String> {
    if !record.is_live() {
        return None;
    }
    if !request.caller.may(Scope::SecretsRead) {
        problems.push(Error::of(format!("the kubeconfig needs the scope {}", Scope::SecretsRead.as_str())));
        return None;
    }
    let Some(runtime) = runtime else {
        problems.push(Error::of("there is no kubeconfig to be shown without the Runtime resource it belongs to"));
        return None;
    };
    match request.api.clusters.kubeconfig(runtime).await {
        Ok(Some(kubeconfig)) => Some(kubeconfig.expose_secret().to_owned()),
        Ok(None) => {
            problems.push(Error::of("there is no kubeconfig yet"));
            None
        }
        Err(unseen) => {
            problems.push(Error::of(unseen.to_string()));
            None
        }
    }
}

fn kyma(
    stored: StoreResult<Option<slipway_model::runtime_record::KymaConfig>>,
    may_see_secrets: bool,
) -> Result<Option<KymaConfig>, ApiError> {
    let Some(stored) = stored? else { return Ok(None) };
    let spec: KymaSpec = readable(stored.spec.to())?;
    let secrets = readable(KymaSecrets::open(stored.secrets.as_ref()))?;
    Ok(Some(view::kyma(&spec, may_see_secrets.then_some(&secrets))))
}

fn hibernation(runtime: Option<&Runtime>) -> Option<HibernationStatus> {
    let facts = &runtime?.status.as_ref()?.facts;
    if facts.hibernated.is_none() && facts.hibernation_possible.is_none() {
        return None;
    }
    Some(HibernationStatus { hibernated: facts.hibernated, hibernation_possible: facts.hibernation_possible })
}

/// The agent of a removed runtime went with it, whatever was last seen of it.
fn cut_off() -> RuntimeConnectionStatus {
    let errors = Some(vec![Error::of("the runtime has been deprovisioned".to_owned())]);
    RuntimeConnectionStatus { status: RuntimeAgentConnectionStatus::Disconnected, errors }
}

/// What was last seen of the agent. A connection that nobody has looked at for long is not believed.
fn connection(agent: Option<&AgentState>, settings: &Agent, now: Timestamp) -> RuntimeConnectionStatus {
    use RuntimeAgentConnectionStatus as Status;
    let Some(agent) = agent else { return RuntimeConnectionStatus { status: Status::Pending, errors: None } };
    let age = now.since(agent.observed_at);
    let is_stale = age.as_secs() >= settings.stale_after_seconds;
    let mut errors: Vec<Error> = agent.errors.iter().map(Error::of).collect();
    let status = match agent.state {
        AgentConnection::Pending => Status::Pending,
        AgentConnection::Connected if is_stale => {
            let message = format!("the runtime was last reached at {}, {} ago", agent.observed_at, spell(age));
            errors.push(Error::of(message));
            Status::Disconnected
        }
        AgentConnection::Connected => Status::Connected,
        AgentConnection::Disconnected => Status::Disconnected,
    };
    RuntimeConnectionStatus { status, errors: (!errors.is_empty()).then_some(errors) }
}

#[cfg(test)]
mod tests {
    use slipway_model::time::mins;

    use super::*;

    #[test]
    fn a_connection_nobody_has_seen_for_long_is_not_believed() {
        let at = Timestamp::from_micros(1_800_000_000_000_000);
        let agent = |state| AgentState::observed(state, [], at);
        let seen = |state, now| connection(Some(&agent(state)), &Agent::default(), now).status;
        assert_eq!(seen(AgentConnection::Connected, at), RuntimeAgentConnectionStatus::Connected);
        assert_eq!(seen(AgentConnection::Connected, at + mins(16)), RuntimeAgentConnectionStatus::Disconnected);
        assert_eq!(seen(AgentConnection::Pending, at + mins(16)), RuntimeAgentConnectionStatus::Pending);
        assert_eq!(connection(None, &Agent::default(), at).status, RuntimeAgentConnectionStatus::Pending);
    }

    #[test]
    fn errors_of_synchronization_stand_beside_a_connection() {
        let at = Timestamp::from_micros(1_800_000_000_000_000);
        let agent = AgentState::observed(AgentConnection::Connected, ["cannot sync".to_owned()], at);
        let shown = connection(Some(&agent), &Agent::default(), at);
        assert_eq!(shown.status, RuntimeAgentConnectionStatus::Connected);
        assert_eq!(shown.errors.expect("errors")[0].message.as_deref(), Some("cannot sync"));
    }
}
