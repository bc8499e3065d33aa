//! The agent inside a cluster: how it is configured, and what its resource says about its connection.
//!
//! The agent reads its Secret only while its connection resource is absent or says `ConnectionFailed`;
//! so whoever wants it to connect anew writes the Secret and deletes the resource.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use slipway_model::{
    Timestamp,
    runtime_record::{AgentConnection, RuntimeRecord},
};

use crate::domain::AgentToken;

/// The one connection resource.
pub const CONNECTION: &str = "compass-connection";
/// The Secret.
pub const CONFIGURATION: &str = "compass-agent-configuration";
/// Where the Secret goes: the second is for agents of older releases.
pub const NAMESPACES: [&str; 2] = ["kyma-system", "compass-system"];

/// The Secret of a namespace.
pub fn configuration(namespace: &str, record: &RuntimeRecord, token: &AgentToken) -> Value {
    let id = record.director_id.clone().unwrap_or_else(|| record.id.to_string());
    let data = json!({
        "CONNECTOR_URL": STANDARD.encode(&token.connector_url),
        "RUNTIME_ID": STANDARD.encode(id),
        "TENANT": STANDARD.encode(record.tenant.as_str()),
        "TOKEN": STANDARD.encode(token.token.expose_secret()),
    });
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": { "name": CONFIGURATION, "namespace": namespace }, "data": data,
    })
}

/// A namespace.
pub fn namespace(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })
}

/// What a connection resource says; none if there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// In one word.
    pub state: AgentConnection,
    /// Why not, or what else is wrong.
    pub errors: Vec<String>,
    /// The last try to connect failed: it needs another token.
    pub needs_token: bool,
    /// Since when it is connected.
    pub established: Option<Timestamp>,
}

/// The table of what is seen and what it means.
pub fn seen(connection: Option<&Value>) -> Seen {
    let pending = Seen { state: AgentConnection::Pending, errors: Vec::new(), needs_token: false, established: None };
    let Some(connection) = connection else { return pending };
    let status = &connection["status"];
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(ToOwned::to_owned);
    let established = status["connectionStatus"]["established"].as_str().and_then(|time| time.parse().ok());
    let of_connection = || text(&status["connectionStatus"]["error"]).into_iter().collect();
    let of_synchronization = || text(&status["synchronizationStatus"]["error"]).into_iter().collect();
    use AgentConnection::{Connected, Disconnected};
    let (state, errors, needs_token) = match status["connectionState"].as_str().unwrap_or_default() {
        "Connected" | "Synchronized" => (Connected, Vec::new(), false),
        "SynchronizationFailed" | "ResourceApplicationFailed" | "MetadataUpdateFailed" => {
            (Connected, of_synchronization(), false)
        }
        "ConnectionMaintenanceFailed" => (Disconnected, of_connection(), false),
        "ConnectionFailed" => (Disconnected, of_connection(), true),
        _ => return pending,
    };
    Seen { state, errors, needs_token, established }
}

impl Seen {
    /// Connected, and not before `since`. Kubernetes writes whole seconds.
    pub fn is_connected_since(&self, since: Timestamp) -> bool {
        let second = |time: Timestamp| time.as_micros().div_euclid(1_000_000);
        self.state == AgentConnection::Connected
            && self.established.is_some_and(|established| second(established) >= second(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(state: &str) -> Seen {
        seen(Some(&json!({ "status": {
            "connectionState": state,
            "connectionStatus": { "established": "2026-01-01T00:00:10Z", "error": "no way" },
            "synchronizationStatus": { "error": "half of it" },
        } })))
    }

    #[test]
    fn every_word_of_the_agent_has_its_meaning() {
        use AgentConnection::{Connected, Disconnected, Pending};
        for (word, state, errors, needs_token) in [
            ("Connected", Connected, vec![], false),
            ("Synchronized", Connected, vec![], false),
            ("SynchronizationFailed", Connected, vec!["half of it"], false),
            ("ResourceApplicationFailed", Connected, vec!["half of it"], false),
            ("MetadataUpdateFailed", Connected, vec!["half of it"], false),
            ("ConnectionMaintenanceFailed", Disconnected, vec!["no way"], false),
            ("ConnectionFailed", Disconnected, vec!["no way"], true),
            ("", Pending, vec![], false),
            ("NewWord", Pending, vec![], false),
        ] {
            let seen = with(word);
            assert_eq!((seen.state, seen.needs_token), (state, needs_token), "{word}");
            assert_eq!(seen.errors, errors, "{word}");
        }
        assert_eq!(seen(None).state, Pending);
    }

    #[test]
    fn an_older_connection_does_not_count() {
        let at = |text: &str| text.parse::<Timestamp>().expect("a time");
        assert!(with("Synchronized").is_connected_since(at("2026-01-01T00:00:10.900Z")), "whole seconds");
        assert!(!with("Synchronized").is_connected_since(at("2026-01-01T00:00:11Z")));
        assert!(!with("ConnectionFailed").is_connected_since(at("2026-01-01T00:00:00Z")));
    }
}
