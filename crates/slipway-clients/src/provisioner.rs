//! The client of our own provisioner, for the broker and whoever else stands outside.
//!
//! GraphQL over HTTP with a bearer token and the tenant in a header. Errors come with status 200 and a
//! machine reason; the table at the end says what each means. Every root field is aliased to `result`.
//! A repeat after an unknown effect is answered by the server: the same provisioning is replayed, a
//! deprovisioning under way is named, and any other operation in progress comes as [`Error::InProgress`].

mod queries;
#[cfg(test)]
mod tests;
pub mod wire;

use std::{sync::Arc, time::Duration};

use http::{HeaderName, HeaderValue, Method};
use secrecy::SecretString;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use slipway_model::{Reason, ports::Transport, time::secs};

use crate::{
    base_url::BaseUrl,
    call::{self, Class, Connection},
    graphql::{self, Problem, Said},
    system::{Breaker, Login, OutsideSystem},
};
use wire::{OperationStatus, RuntimeStatus};

/// Not in the table until somebody is configured with it.
static PROVISIONER: OutsideSystem = OutsideSystem {
    name: "provisioner",
    title: "the provisioner",
    about: "the provisioner's GraphQL",
    used_by: &[],
    login: Login::Token,
    timeout: secs(120), // mutations are answered within 30 s at worst; four times that is what known clients wait
    in_flight: 64,
    breaker: Breaker::USUAL,
};

/// Why a call brought no result. The messages are the server's own sentences.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no such runtime or operation.
    #[error("the provisioner has no such thing: {0}")]
    NotFound(String),
    /// Another operation of the runtime has not ended.
    #[error("another operation of the runtime is in progress: {message}")]
    InProgress {
        /// Which, if the server said so.
        operation: Option<String>,
        /// In a sentence.
        message: String,
    },
    /// It will not do this, however often it is asked.
    #[error("the provisioner refused the request: {message} ({reason})")]
    Refused {
        /// The machine's word for it.
        reason: Reason,
        /// In a sentence.
        message: String,
    },
    /// The token or its scopes are wrong, or the runtime is another tenant's.
    #[error("the provisioner does not let us do this: {0}")]
    Denied(String),
    /// It cannot do this now.
    #[error("the provisioner cannot do this now: {message} ({reason})")]
    Troubled {
        /// The machine's word for it.
        reason: Reason,
        /// In a sentence.
        message: String,
    },
    /// It answered nothing of its own.
    #[error(transparent)]
    Call(#[from] call::Error),
}

impl Error {
    /// Trying again later may help.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::InProgress { .. } | Self::Troubled { .. } => true,
            Self::Call(error) => error.is_temporary(),
            Self::NotFound(_) | Self::Refused { .. } | Self::Denied(_) => false,
        }
    }

    /// How long to stay away: what was asked for, or else `usual`.
    pub fn pause_or(&self, usual: Duration) -> Duration {
        match self {
            Self::Call(error) => error.pause_or(usual),
            _ => usual,
        }
    }
}

/// For whom a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner<'a> {
    /// The global account.
    pub tenant: &'a str,
    /// The subaccount; read by provisionings only.
    pub sub_account: Option<&'a str>,
}

/// The client.
#[derive(Clone)]
pub struct Client(Connection);

impl Client {
    /// A client of the provisioner whose GraphQL is at this address.
    pub fn new(transport: Arc<dyn Transport>, base: BaseUrl, token: Option<SecretString>) -> Self {
        Self(Connection::to_ours(&PROVISIONER, transport, base, token.as_ref()))
    }

    /// `provisionRuntime`. Send the same name and settings again after an unknown effect.
    pub async fn provision(&self, owner: Owner<'_>, config: &impl Serialize) -> Result<OperationStatus, Error> {
        self.call(owner, queries::PROVISION, json!({ "config": config }), "an operation").await
    }

    /// `upgradeRuntime`.
    pub async fn upgrade(&self, owner: Owner<'_>, id: &str, config: &impl Serialize) -> Result<OperationStatus, Error> {
        self.call(owner, queries::UPGRADE, json!({ "id": id, "config": config }), "an operation").await
    }

    /// `upgradeShoot`. What is absent stays as it is.
    pub async fn upgrade_shoot(
        &self,
        owner: Owner<'_>,
        id: &str,
        config: &impl Serialize,
    ) -> Result<OperationStatus, Error> {
        self.call(owner, queries::UPGRADE_SHOOT, json!({ "id": id, "config": config }), "an operation").await
    }

    /// `deprovisionRuntime`; answers the operation's id.
    pub async fn deprovision(&self, owner: Owner<'_>, id: &str) -> Result<String, Error> {
        self.call(owner, queries::DEPROVISION, json!({ "id": id }), "the id of an operation").await
    }

    /// `reconnectRuntimeAgent`; answers the operation's id.
    pub async fn reconnect_agent(&self, owner: Owner<'_>, id: &str) -> Result<String, Error> {
        self.call(owner, queries::RECONNECT, json!({ "id": id }), "the id of an operation").await
    }

    /// `hibernateRuntime`.
    pub async fn hibernate(&self, owner: Owner<'_>, id: &str) -> Result<OperationStatus, Error> {
        self.call(owner, queries::HIBERNATE, json!({ "id": id }), "an operation").await
    }

    /// `wakeUpRuntime`.
    pub async fn wake_up(&self, owner: Owner<'_>, id: &str) -> Result<OperationStatus, Error> {
        self.call(owner, queries::WAKE_UP, json!({ "id": id }), "an operation").await
    }

    /// `runtimeOperationStatus`. Changes nothing.
    pub async fn operation(&self, owner: Owner<'_>, id: &str) -> Result<OperationStatus, Error> {
        self.call(owner, queries::OPERATION, json!({ "id": id }), "an operation").await
    }

    /// `runtimeStatus`. Changes nothing.
    pub async fn runtime(&self, owner: Owner<'_>, id: &str) -> Result<RuntimeStatus, Error> {
        self.call(owner, queries::RUNTIME, json!({ "id": id }), "a runtime").await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        owner: Owner<'_>,
        query: &'static str,
        variables: Value,
        what: &'static str,
    ) -> Result<T, Error> {
        let header_of = |text: &str, name: &str| {
            HeaderValue::try_from(text).map_err(|_| Error::Refused {
                reason: Reason::Validation,
                message: format!("the {name} cannot stand in a header"),
            })
        };
        let tenant = header_of(owner.tenant, "tenant")?;
        let mut call = self.0.call(Method::POST, &[]).header(HeaderName::from_static("tenant"), tenant);
        if let Some(sub_account) = owner.sub_account {
            call = call.header(HeaderName::from_static("sub-account"), header_of(sub_account, "sub-account")?);
        }
        let answer = call.json(&json!({ "query": query, "variables": variables })).exchange().await?;
        let said = graphql::read(&answer);
        // A document that is refused comes with 4xx and says why in its body; what may pass says nothing there.
        match (self.0.succeed(answer), said) {
            (Err(error), _) if error.is_temporary() => Err(error.into()),
            (_, Said::Error(problem)) => Err(classify(problem)),
            (Err(error), _) => Err(error.into()),
            (Ok(_), Said::Result(result)) => Ok(result),
            (Ok(_), Said::Nothing) => Err(self.0.error(Class::Garbled(what)).into()),
        }
    }
}

#[derive(Default, Deserialize)]
struct Extensions {
    #[serde(default)]
    error_code: u16,
    #[serde(default)]
    error_reason: String,
    #[serde(default)]
    operation_id: Option<String>,
}

/// The table, in the order in which the reasons are looked at.
fn classify(problem: Problem<Extensions>) -> Error {
    let Problem { message, extensions: Extensions { error_code, error_reason: reason, operation_id: operation } } =
        problem;
    match (Reason::foreign(reason), error_code) {
        (Reason::DbNotFound, _) => Error::NotFound(message),
        (Reason::OperationInProgress, _) => Error::InProgress { operation, message },
        (_, 401 | 403) => Error::Denied(message),
        (reason, 400..=499) => Error::Refused { reason, message },
        (reason, _) => Error::Troubled { reason, message },
    }
}
