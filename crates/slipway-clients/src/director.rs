//! The Director: the registry of runtimes. GraphQL over HTTP with a bearer token, one tenant per call.
//!
//! Its errors come with status 200 and a code; the table at the end says what each means. Values go into
//! variables only, so no name can change a query. An update replaces name, description and labels as a
//! whole, so whoever updates reads first and sends everything back.

mod queries;
#[cfg(test)]
mod tests;

use slipway_model::Reason;
use std::{sync::Arc, time::Duration};

use http::{HeaderName, HeaderValue, Method};
use secrecy::SecretString;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use crate::{
    call::{self, Class, Connection},
    connections::SystemClient,
    graphql::{self, Problem, Said},
};

/// Why a call brought no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It does not have what was asked for.
    #[error("the Director has no such runtime")]
    NotFound,
    /// It does not know the tenant, or was told none.
    #[error("the Director does not know the tenant ({0})")]
    Tenant(String),
    /// A runtime of this name is there already.
    #[error("the Director has a runtime of this name already ({0})")]
    NotUnique(String),
    /// It will not do this, however often it is asked.
    #[error("the Director refused the request ({0})")]
    Refused(String),
    /// Our credentials or their scopes are wrong.
    #[error("the Director does not accept our credentials ({0})")]
    Denied(String),
    /// It cannot do this now; its own word for why. For creating calls the effect is unknown.
    #[error("the Director cannot do this now ({0})")]
    Troubled(String),
    /// It answered about another runtime.
    #[error("the Director answered about another runtime")]
    OtherRuntime,
    /// It answered nothing of its own.
    #[error(transparent)]
    Call(#[from] call::Error),
}

impl Error {
    /// Trying again later may help.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Troubled(_) => true,
            Self::Call(error) => error.is_temporary(),
            Self::NotFound
            | Self::Tenant(_)
            | Self::NotUnique(_)
            | Self::Refused(_)
            | Self::Denied(_)
            | Self::OtherRuntime => false,
        }
    }

    /// A creating call may have had its effect although it brought no result.
    pub fn is_effect_unknown(&self) -> bool {
        match self {
            Self::Troubled(_) => true,
            Self::Call(error) => error.is_effect_unknown(),
            Self::NotFound
            | Self::Tenant(_)
            | Self::NotUnique(_)
            | Self::Refused(_)
            | Self::Denied(_)
            | Self::OtherRuntime => false,
        }
    }

    /// How long to stay away: what was asked for, or else `usual`.
    pub fn pause_or(&self, usual: Duration) -> Duration {
        match self {
            Self::Call(error) => error.pause_or(usual),
            _ => usual,
        }
    }

    /// The Director's own name for the error, or ours: what goes into `error_reason`.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Tenant(name)
            | Self::NotUnique(name)
            | Self::Refused(name)
            | Self::Denied(name)
            | Self::Troubled(name) => Reason::foreign(name.as_str()),
            Self::NotFound => Reason::foreign("NotFound"),
            Self::OtherRuntime => Reason::DirectorRuntimeIdMismatch,
            Self::Call(error) if matches!(error.class(), Class::Garbled(_)) => Reason::DirectorNilResponse,
            Self::Call(_) => Reason::HttpStatusCode,
        }
    }
}

/// How a runtime stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Condition {
    /// Registered.
    Initial,
    /// Its cluster is being made.
    Provisioning,
    /// Its agent is connected.
    Connected,
    /// Making it failed.
    Failed,
}

/// What a runtime is registered with, and what an update sends back as a whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeInput {
    /// At most 36 lower-case letters, digits, dashes and dots, not beginning with a digit.
    pub name: String,
    /// Free text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Any JSON under letters, digits and underscores.
    pub labels: Map<String, Value>,
    /// How it stands; unchanged if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_condition: Option<Condition>,
}

/// A registered runtime.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Runtime {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What was said about it.
    #[serde(default)]
    pub description: Option<String>,
    /// Its labels.
    #[serde(default)]
    pub labels: Option<Map<String, Value>>,
    /// How it stands.
    pub status: Status,
}

/// How a runtime stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Status {
    /// In one word.
    pub condition: Condition,
}

/// What an agent connects with, once and soon.
#[derive(Debug, Clone, Deserialize)]
pub struct OneTimeToken {
    /// The token.
    pub token: SecretString,
    /// Where to take it.
    #[serde(rename = "connectorURL")]
    pub connector_url: String,
}

#[derive(Deserialize)]
struct Identified {
    id: String,
}

#[derive(Deserialize)]
struct Page {
    data: Vec<Identified>,
}

/// Is told of every call: its name, and `succeeded`, `refused` or `temporary`.
pub type Observer = Arc<dyn Fn(&'static str, &'static str) + Send + Sync>;

/// The client.
pub struct Client {
    connection: Connection,
    observer: Option<Observer>,
}

impl SystemClient for Client {
    const NAME: &'static str = "director";

    fn over(connection: Connection) -> Self {
        Self { connection, observer: None }
    }
}

impl Client {
    /// The same client, with somebody who counts.
    #[must_use]
    pub fn observed(self, observer: Observer) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// Registers a runtime; answers its id. Not to be repeated blindly: after an unknown effect look with
    /// [`Client::find`] first.
    pub async fn register(&self, tenant: &str, input: &RuntimeInput) -> Result<String, Error> {
        let made: Identified = self.call(tenant, queries::REGISTER, json!({ "in": input }), "a new runtime").await?;
        if made.id.is_empty() { Err(self.garbled("a new runtime")) } else { Ok(made.id) }
    }

    /// One runtime. Changes nothing.
    pub async fn runtime(&self, tenant: &str, id: &str) -> Result<Runtime, Error> {
        let found: Runtime = self.call(tenant, queries::GET, json!({ "id": id }), "a runtime").await?;
        if found.id == id { Ok(found) } else { Err(Error::OtherRuntime) }
    }

    /// Ids of the runtimes whose label has exactly this text. Changes nothing.
    pub async fn find(&self, tenant: &str, label: &str, text: &str) -> Result<Vec<String>, Error> {
        let query = Value::from(text).to_string();
        let filter = json!({ "f": [{ "key": label, "query": query }] });
        let page: Page = self.call(tenant, queries::FIND, filter, "a list of runtimes").await?;
        Ok(page.data.into_iter().map(|found| found.id).collect())
    }

    /// Replaces name, description and labels, and sets the condition if one is given. Repeating does no harm.
    pub async fn update(&self, tenant: &str, id: &str, input: &RuntimeInput) -> Result<(), Error> {
        let done: Identified =
            self.call(tenant, queries::UPDATE, json!({ "id": id, "in": input }), "the runtime").await?;
        if done.id == id { Ok(()) } else { Err(Error::OtherRuntime) }
    }

    /// Reads a runtime, changes what it is told and writes it back; nothing is written where nothing changes.
    pub async fn amend(
        &self,
        tenant: &str,
        id: &str,
        condition: Option<Condition>,
        labels: &[(&str, &str)],
    ) -> Result<(), Error> {
        let runtime = self.runtime(tenant, id).await?;
        let before = runtime.labels.unwrap_or_default();
        let mut after = before.clone();
        after.extend(labels.iter().map(|(key, value)| ((*key).to_owned(), Value::from(*value))));
        let status_condition = condition.filter(|wanted| *wanted != runtime.status.condition);
        if after == before && status_condition.is_none() {
            return Ok(());
        }
        let input =
            RuntimeInput { name: runtime.name, description: runtime.description, labels: after, status_condition };
        self.update(tenant, id, &input).await
    }

    /// Takes a registration back. One that is not there is [`Error::NotFound`], or [`Error::Tenant`] when
    /// the tenant is gone as a whole: for a removal both are good news.
    pub async fn unregister(&self, tenant: &str, id: &str) -> Result<(), Error> {
        let gone: Identified = self.call(tenant, queries::UNREGISTER, json!({ "id": id }), "the runtime").await?;
        if gone.id == id { Ok(()) } else { Err(Error::OtherRuntime) }
    }

    /// A token for the agent of a runtime. Every call draws another one; those before stay good for their time.
    pub async fn one_time_token(&self, tenant: &str, id: &str) -> Result<OneTimeToken, Error> {
        self.call(tenant, queries::ONE_TIME_TOKEN, json!({ "id": id }), "a one-time token").await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        tenant: &str,
        query: &'static str,
        variables: Value,
        what: &'static str,
    ) -> Result<T, Error> {
        let answer = self.ask(tenant, query, variables, what).await;
        if let Some(observer) = &self.observer {
            let result = match &answer {
                Ok(_) => "succeeded",
                Err(error) if error.is_temporary() => "temporary",
                Err(_) => "refused",
            };
            observer(queries::name(query), result);
        }
        answer
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        tenant: &str,
        query: &'static str,
        variables: Value,
        what: &'static str,
    ) -> Result<T, Error> {
        let tenant = HeaderValue::try_from(tenant).map_err(|_| Error::Tenant("TenantRequired".to_owned()))?;
        let call = self.connection.call(Method::POST, &[]).header(HeaderName::from_static("tenant"), tenant);
        let answer = call.json(&json!({ "query": query, "variables": variables })).send().await?;
        match graphql::read(&answer) {
            Said::Result(result) => Ok(result),
            Said::Error(problem) => Err(classify(problem)),
            Said::Nothing => Err(self.garbled(what)),
        }
    }

    /// The error of a caller who waits no longer: the effect is unknown then, as after any lost answer.
    pub fn late(&self) -> Error {
        self.garbled("an answer in time")
    }

    fn garbled(&self, what: &'static str) -> Error {
        self.connection.error(Class::Garbled(what)).into()
    }
}

#[derive(Default, Deserialize)]
struct Extensions {
    #[serde(default)]
    error_code: u16,
    #[serde(default)]
    error: String,
}

/// The table: what each code means. A code we do not know may pass.
fn classify(problem: Problem<Extensions>) -> Error {
    let Extensions { error_code, error } = problem.extensions;
    let name = if error.is_empty() { format!("error {error_code}") } else { error };
    match error_code {
        20 => Error::NotFound,
        21 | 31 => Error::NotUnique(name),
        22 | 27 | 29 | 30 | 33 => Error::Refused(name),
        23 | 26 => Error::Denied(name),
        24 | 25 => Error::Tenant(name),
        _ => Error::Troubled(name),
    }
}
