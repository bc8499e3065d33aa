//! The GraphQL schema: one file per mutation and query, one entry each in the roots below.
//!
//! A resolver decides and stores; it writes no Kubernetes object and waits for nothing that takes
//! longer than a call. Every one of them begins with the caller's rights and the tenant.

mod cleanup_runtime_data;
pub mod clouds;
mod deprovision_runtime;
mod hibernate_runtime;
pub mod operation_status;
pub mod outputs;
pub mod ports;
mod provision_runtime;
mod reconnect_runtime_agent;
pub mod request;
mod roll_back_upgrade_operation;
mod runtime_operations;
mod subscription;
mod upgrade_runtime;
mod upgrade_shoot;

use juniper::{RootNode, graphql_object};

pub use self::{
    operation_status::OperationStatus,
    request::{Names, Request},
    runtime_operations::OperationPage,
    subscription::Subscription,
};
use crate::{
    errors::ApiError,
    input::wire::{ProvisionRuntimeInput, UpgradeRuntimeInput, UpgradeShootInput},
    settings::Settings,
    status::{self, RuntimeStatus},
};
use outputs::CleanUpRuntimeDataResult;

/// The whole schema.
pub type Schema = RootNode<Query, Mutation, Subscription>;

/// The schema with the limits an operator has set.
pub fn schema(settings: &Settings) -> Schema {
    let limits = &settings.limits;
    let schema = Schema::new(Query, Mutation, Subscription)
        .limit_depth(limits.depth)
        .limit_tokens(limits.tokens)
        .limit_fields(limits.fields);
    if settings.introspection { schema } else { schema.disable_introspection() }
}

/// The root of queries.
#[derive(Debug, Clone, Copy)]
pub struct Query;

/// What clients may see.
#[graphql_object(context = Request)]
impl Query {
    /// The state of a runtime, by the runtime's id.
    async fn runtime_status(
        id: String,
        #[graphql(context)] request: &Request,
    ) -> Result<Option<RuntimeStatus>, ApiError> {
        let resolve = async {
            let tenant = request.reads()?;
            let granted = request.runtime(&id, &tenant).await?;
            status::assemble(request, &granted.record).await.map(Some)
        };
        request.counted("runtimeStatus", resolve).await
    }

    /// An operation, by its own id.
    async fn runtime_operation_status(
        id: String,
        #[graphql(context)] request: &Request,
    ) -> Result<Option<OperationStatus>, ApiError> {
        let resolve = async {
            let tenant = request.reads()?;
            let (operation, kind) = request.operation(&id, &tenant).await?;
            Ok(Some(OperationStatus::new(operation, kind)))
        };
        request.counted("runtimeOperationStatus", resolve).await
    }

    /// The operations of a runtime, newest first.
    async fn runtime_operations(
        id: String,
        first: Option<i32>,
        after: Option<String>,
        #[graphql(context)] request: &Request,
    ) -> Result<OperationPage, ApiError> {
        request.counted("runtimeOperations", runtime_operations::resolve(request, id, first, after)).await
    }
}

/// The root of mutations.
#[derive(Debug, Clone, Copy)]
pub struct Mutation;

/// What clients may change. Every `id` is that of a runtime.
#[graphql_object(context = Request)]
impl Mutation {
    /// Makes a cluster, with Kyma if its settings are given. Repeating the same wish is answered with the
    /// first operation.
    async fn provision_runtime(
        config: ProvisionRuntimeInput,
        id: Option<String>,
        #[graphql(context)] request: &Request,
    ) -> Result<Option<OperationStatus>, ApiError> {
        request.counted("provisionRuntime", provision_runtime::resolve(request, config, id)).await.map(Some)
    }

    /// Upgrades Kyma, Kubernetes, or both.
    async fn upgrade_runtime(
        id: String,
        config: UpgradeRuntimeInput,
        #[graphql(context)] request: &Request,
    ) -> Result<Option<OperationStatus>, ApiError> {
        request.counted("upgradeRuntime", upgrade_runtime::resolve(request, id, config)).await.map(Some)
    }

    /// Changes the cluster. What is left out stays as it is.
    async fn upgrade_shoot(
        id: String,
        config: UpgradeShootInput,
        #[graphql(context)] request: &Request,
    ) -> Result<Option<OperationStatus>, ApiError> {
        request.counted("upgradeShoot", upgrade_shoot::resolve(request, id, config)).await.map(Some)
    }

    /// Removes the runtime; answers the operation's id.
    async fn deprovision_runtime(id: String, #[graphql(context)] request: &Request) -> Result<String, ApiError> {
        request.counted("deprovisionRuntime", deprovision_runtime::resolve(request, id)).await
    }

    /// Makes the agent connect anew; answers the operation's id.
    async fn reconnect_runtime_agent(id: String, #[graphql(context)] request: &Request) -> Result<String, ApiError> {
        request.counted("reconnectRuntimeAgent", reconnect_runtime_agent::resolve(request, id)).await
    }

    /// Puts the cluster to sleep.
    async fn hibernate_runtime(
        id: String,
        #[graphql(context)] request: &Request,
    ) -> Result<Option<OperationStatus>, ApiError> {
        request.counted("hibernateRuntime", hibernate_runtime::hibernate(request, id)).await.map(Some)
    }

    /// Wakes the cluster up.
    async fn wake_up_runtime(
        id: String,
        #[graphql(context)] request: &Request,
    ) -> Result<Option<OperationStatus>, ApiError> {
        request.counted("wakeUpRuntime", hibernate_runtime::wake_up(request, id)).await.map(Some)
    }

    /// Says that the cluster was restored from before the last upgrade of Kyma. The cluster is not touched.
    async fn roll_back_upgrade_operation(
        id: String,
        #[graphql(context)] request: &Request,
    ) -> Result<Option<RuntimeStatus>, ApiError> {
        request.counted("rollBackUpgradeOperation", roll_back_upgrade_operation::resolve(request, id)).await.map(Some)
    }

    /// Forgets a runtime without touching its infrastructure.
    async fn cleanup_runtime_data(
        id: String,
        #[graphql(context)] request: &Request,
    ) -> Result<CleanUpRuntimeDataResult, ApiError> {
        request.counted("cleanupRuntimeData", cleanup_runtime_data::resolve(request, id)).await
    }
}
