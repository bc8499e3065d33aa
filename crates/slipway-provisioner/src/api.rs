//! What all requests share.

use std::{sync::Arc, time::Duration};

use slipway_clients::director;
use slipway_model::{
    JsonText, NewOperation, Operation, OperationId, Reason, Timestamp,
    ports::{Acceptance, Accepted, Clock, Random, Runtimes, Storage, StoreError},
    runtime_record::RuntimeId,
    time::millis,
};

use crate::{
    Metrics, OperationKind, Settings,
    auth::Gate,
    clusters::Clusters,
    errors::{ApiError, Class},
    graphql::ports::EnginePort,
};

/// What a provisioner is made of.
pub struct Api {
    /// Operations.
    pub store: Arc<dyn Storage>,
    /// Runtimes; the same database.
    pub runtimes: Arc<dyn Runtimes>,
    /// The engine.
    pub engine: Arc<dyn EnginePort>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub random: Arc<dyn Random>,
    /// The Director; none when there is no registry of runtimes.
    pub director: Option<Arc<director::Client>>,
    /// What became of the Runtimes.
    pub clusters: Clusters,
    /// Who may do what.
    pub gate: Gate,
    /// What an operator has set.
    pub settings: Settings,
    /// Figures.
    pub metrics: Arc<Metrics>,
}

/// What an operation begins with: the first fields of the data its steps work on, which keep them.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Begin {
    /// The cluster changes.
    pub changes_cluster: bool,
    /// Kyma changes, or is installed.
    pub changes_kyma: bool,
    /// What the client should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A lost answer of the database is asked for again this often, this far apart: an acceptance may be
/// repeated, and a client should not have to.
const TRIES: u32 = 3;
const PAUSE: Duration = millis(300);

impl Api {
    /// Engine time.
    pub fn now(&self) -> Timestamp {
        self.engine.now()
    }

    /// A new operation.
    pub(crate) fn operation(
        &self,
        id: OperationId,
        runtime: RuntimeId,
        kind: OperationKind,
        begin: &Begin,
        by: &str,
    ) -> Result<NewOperation, ApiError> {
        let (process, budget) = self.engine.process(kind).ok_or_else(|| {
            let message = format!("operations of type {} are switched off here", kind.as_str());
            ApiError::new(Class::Overloaded, Reason::ProvisionerInternal, message)
        })?;
        Ok(NewOperation {
            id,
            instance_id: runtime.instance(),
            kind: kind.engine_type(),
            temporary: false,
            plan: "provisioner".to_owned(),
            process,
            budget,
            data: JsonText::of(begin).map_err(|_| ApiError::internal())?,
            secrets: None,
            by: by.to_owned(),
        })
    }

    /// A new operation's id.
    pub(crate) fn draw_operation(&self) -> OperationId {
        OperationId::draw(&*self.clock, &*self.random)
    }

    /// Stores a request, once, however often the answer is lost.
    pub(crate) async fn accept(&self, request: &Acceptance) -> Result<Accepted, StoreError> {
        let mut tries = 1;
        loop {
            match self.runtimes.accept(request, self.now()).await {
                Err(StoreError::Unavailable(problem)) if tries < TRIES => {
                    tracing::warn!(%problem, tries, "an acceptance was not answered; trying again");
                    tries += 1;
                    self.clock.sleep(PAUSE).await;
                }
                answer => return answer,
            }
        }
    }

    /// The latest operation of a runtime.
    pub(crate) async fn last_operation(&self, id: RuntimeId) -> Result<Option<Operation>, ApiError> {
        Ok(self.runtimes.runtime_operations(id, None, 1).await?.into_iter().next())
    }
}
