//! What the Director keeps: runtimes by tenant, one-time tokens, connections of agents.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{CONNECTOR_URL, graphql::Field, schema::RootCall};
use crate::clock;

/// How long a one-time token is good.
const TOKEN_LIFE: Duration = Duration::from_secs(300);

/// The longest name.
const NAME_MAX: usize = 36;

/// A registered runtime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Runtime {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub tenant: String,
    /// Its name, unique in the tenant.
    pub name: String,
    /// What was said about it.
    pub description: Option<String>,
    /// Labels as they were given.
    pub labels: Map<String, Value>,
    /// `INITIAL`, `PROVISIONING`, `CONNECTED` or `FAILED`.
    pub condition: String,
}

/// A connection of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// Its id, known to the agent only.
    pub id: String,
    /// The runtime it is for.
    pub runtime_id: String,
}

/// What becomes of a one-time token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redeemed {
    /// The agent is connected.
    Connected(Connection),
    /// There is no such token, it was used before, it has ended, or it is for another runtime.
    Refused(&'static str),
}

/// Errors of the registry, by their code and name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    NotFound,
    NotUniqueName,
    InvalidData,
    InsufficientScopes,
    TenantRequired,
    TenantNotFound,
}

impl Problem {
    fn code_and_name(self) -> (u16, &'static str) {
        match self {
            Self::NotFound => (20, "NotFound"),
            Self::NotUniqueName => (31, "NotUniqueName"),
            Self::InvalidData => (22, "InvalidData"),
            Self::InsufficientScopes => (23, "InsufficientScopes"),
            Self::TenantRequired => (24, "TenantRequired"),
            Self::TenantNotFound => (25, "TenantNotFound"),
        }
    }

    pub(super) fn to_json(self, alias: &str) -> Value {
        let (code, name) = self.code_and_name();
        let extensions = json!({ "error_code": code, "error": name });
        json!({ "errors": [{ "message": name, "path": [alias], "extensions": extensions }], "data": null })
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Registry {
    /// The tenants; none means every one.
    pub(super) known: Option<BTreeSet<String>>,
    pub(super) runtimes: Vec<Runtime>,
    pub(super) connections: Vec<Connection>,
    /// Not kept: one-time tokens do not outlive the program that gave them out.
    #[serde(skip)]
    tokens: BTreeMap<String, (String, Instant)>,
}

impl Registry {
    pub(super) fn answer(&mut self, tenant: &str, asked: &RootCall) -> Result<Value, Problem> {
        if tenant.is_empty() {
            return Err(Problem::TenantRequired);
        }
        if self.known.as_ref().is_some_and(|known| !known.contains(tenant)) {
            return Err(Problem::TenantNotFound);
        }
        let text = |key: &str| asked.arguments.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let id = text(if asked.root.name == "setRuntimeLabel" { "runtimeID" } else { "id" });
        let answer = match asked.root.name {
            "runtime" => self.find(tenant, &id)?.to_json(),
            "runtimes" => {
                let found = self.filtered(tenant, &asked.arguments["filter"])?;
                json!({ "data": found.iter().take(200).map(|runtime| runtime.to_json()).collect::<Vec<_>>() })
            }
            "registerRuntime" => {
                let id = self.register(tenant, &asked.arguments["in"])?;
                self.find(tenant, &id)?.to_json()
            }
            "updateRuntime" => {
                let input = asked.arguments["in"].clone();
                self.check_name(tenant, &input, Some(&id))?;
                let runtime = self.find(tenant, &id)?;
                runtime.take(&input);
                runtime.to_json()
            }
            "unregisterRuntime" => {
                let found = self.find(tenant, &id)?.to_json();
                self.unregister(&id);
                found
            }
            "setRuntimeLabel" => {
                let (key, value) = (text("key"), asked.arguments["value"].clone());
                if !is_label_key(&key) {
                    return Err(Problem::InvalidData);
                }
                self.find(tenant, &id)?.labels.insert(key.clone(), value.clone());
                json!({ "key": key, "value": value })
            }
            _ => {
                self.find(tenant, &id)?;
                json!({ "token": self.draw_token(&id), "connectorURL": CONNECTOR_URL })
            }
        };
        Ok(pick(&answer, &asked.selection))
    }

    fn find(&mut self, tenant: &str, id: &str) -> Result<&mut Runtime, Problem> {
        let found = self.runtimes.iter_mut().find(|runtime| runtime.id == id && runtime.tenant == tenant);
        found.ok_or(Problem::NotFound)
    }

    /// A filter's query is the JSON of the value that the label must have.
    fn filtered(&self, tenant: &str, filter: &Value) -> Result<Vec<&Runtime>, Problem> {
        let mut found: Vec<_> = self.runtimes.iter().filter(|runtime| runtime.tenant == tenant).collect();
        for one in filter.as_array().into_iter().flatten() {
            let key = one["key"].as_str().unwrap_or_default();
            let wanted = match one["query"].as_str() {
                Some(query) => Some(serde_json::from_str::<Value>(query).map_err(|_| Problem::InvalidData)?),
                None => None,
            };
            found.retain(|runtime| match (runtime.labels.get(key), &wanted) {
                (Some(value), Some(wanted)) => value == wanted,
                (found, None) => found.is_some(),
                (None, Some(_)) => false,
            });
        }
        Ok(found)
    }

    fn check_name(&self, tenant: &str, input: &Value, own: Option<&str>) -> Result<(), Problem> {
        let name = input["name"].as_str().unwrap_or_default();
        let good = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-' || char == '.';
        if name.is_empty()
            || name.len() > NAME_MAX
            || !name.chars().all(good)
            || name.starts_with(|c: char| c.is_ascii_digit())
        {
            return Err(Problem::InvalidData);
        }
        if input["labels"].as_object().is_some_and(|labels| !labels.keys().all(|key| is_label_key(key))) {
            return Err(Problem::InvalidData);
        }
        let mut others =
            self.runtimes.iter().filter(|runtime| runtime.tenant == tenant && Some(runtime.id.as_str()) != own);
        if others.any(|runtime| runtime.name == name) { Err(Problem::NotUniqueName) } else { Ok(()) }
    }

    pub(super) fn register(&mut self, tenant: &str, input: &Value) -> Result<String, Problem> {
        self.check_name(tenant, input, None)?;
        let mut runtime = Runtime {
            id: clock::uid(),
            tenant: tenant.to_owned(),
            name: String::new(),
            description: None,
            labels: Map::new(),
            condition: "INITIAL".to_owned(),
        };
        runtime.take(input);
        let id = runtime.id.clone();
        self.runtimes.push(runtime);
        Ok(id)
    }

    /// With the registration go its tokens and its connection.
    pub(super) fn unregister(&mut self, id: &str) -> bool {
        let before = self.runtimes.len();
        self.runtimes.retain(|runtime| runtime.id != id);
        self.tokens.retain(|_, (runtime, _)| runtime != id);
        self.connections.retain(|connection| connection.runtime_id != id);
        self.runtimes.len() < before
    }

    pub(super) fn draw_token(&mut self, id: &str) -> String {
        let token: String = clock::random::<16>().iter().map(|byte| format!("{byte:02x}")).collect();
        self.tokens.insert(token.clone(), (id.to_owned(), clock::steady() + TOKEN_LIFE));
        token
    }

    pub(super) fn redeem(&mut self, token: &str, runtime_id: &str) -> Redeemed {
        // Used up by the attempt, whatever comes of it.
        let Some((owner, until)) = self.tokens.remove(token) else {
            return Redeemed::Refused("the token is unknown or was used before");
        };
        if until <= clock::steady() {
            return Redeemed::Refused("the token has ended");
        }
        if owner != runtime_id {
            return Redeemed::Refused("the token is for another runtime");
        }
        // A new connection takes the place of the old one.
        self.connections.retain(|connection| connection.runtime_id != runtime_id);
        let connection = Connection { id: clock::uid(), runtime_id: runtime_id.to_owned() };
        self.connections.push(connection.clone());
        Redeemed::Connected(connection)
    }

    pub(super) fn open_tokens(&self) -> usize {
        self.tokens.values().filter(|(_, until)| *until > clock::steady()).count()
    }
}

impl Runtime {
    /// What is not sent is gone: who updates sends everything back.
    fn take(&mut self, input: &Value) {
        input["name"].as_str().unwrap_or_default().clone_into(&mut self.name);
        self.description = input["description"].as_str().map(ToOwned::to_owned);
        self.labels = input["labels"].as_object().cloned().unwrap_or_default();
        if let Some(condition) = input["statusCondition"].as_str() {
            condition.clone_into(&mut self.condition);
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "id": self.id, "name": self.name, "description": self.description, "labels": self.labels,
            "status": { "condition": self.condition },
        })
    }
}

fn is_label_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
}

/// Only what was asked for, under the names it was asked for.
fn pick(value: &Value, selection: &[Field]) -> Value {
    match value {
        Value::Array(all) => all.iter().map(|one| pick(one, selection)).collect(),
        Value::Object(_) if !selection.is_empty() => {
            let picked =
                selection.iter().map(|field| (field.alias.clone(), pick(&value[&field.name], &field.selection)));
            Value::Object(picked.collect())
        }
        other => other.clone(),
    }
}
