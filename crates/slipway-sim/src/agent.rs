//! The agent that Kyma brings into a cluster, as a stand-in: it connects its cluster to the Director.
//!
//! It is level-triggered, as the real one is: it looks at the Secret `compass-agent-configuration`, takes
//! the one-time token in it to the Director, and writes what came of it into the cluster-wide resource
//! `compass-connection`. The Secret is looked at only while there is no such resource or the last try
//! failed; a new token beside a living connection is ignored. A connection whose registration is gone is
//! found out at the next look, so "disconnected" is something that happens and not a constant.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use kube_sandbox::{Cluster, Place, Server, Status};
use serde_json::{Value, json};

use crate::{
    clock,
    systems::director::{CONNECTOR_URL, Director, Redeemed},
};

/// API group of its resource.
pub const GROUP: &str = "compass.kyma-project.io";
/// Plural of its resource.
pub const PLURAL: &str = "compassconnections";
/// The one object it keeps.
pub const CONNECTION: &str = "compass-connection";
/// The Secret it reads, in either namespace.
pub const CONFIGURATION: &str = "compass-agent-configuration";

/// Where the Secret may be; the second is of older releases.
const NAMESPACES: [&str; 2] = ["kyma-system", "compass-system"];

/// How often it looks when nothing is heard.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Wakes it when a Secret, a connection or a whole cluster changes.
const INTERESTING: [&str; 2] = ["secrets", "compassconnections.compass.kyma-project.io"];

/// The agents of all clusters of one server. Clones are the same.
#[derive(Clone)]
pub struct Agents {
    director: Director,
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl std::fmt::Debug for Agents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("agents of simulated clusters")
    }
}

impl Agents {
    /// Agents that connect to this Director and write times by this clock.
    pub fn new(director: Director, now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { director, now: Arc::new(now) }
    }

    /// Looks after every cluster of a server, one after the other, for as long as this runs.
    pub async fn attend_all(self, server: Server, is_runtime: impl Fn(&str) -> bool + Send) {
        loop {
            let names = server.cluster_names();
            let mut news = None;
            for name in names.iter().filter(|name| is_runtime(name)) {
                let Some(cluster) = server.cluster(name) else { continue };
                news.get_or_insert_with(|| cluster.store().news());
                if let Err(problem) = self.attend(&cluster).await {
                    tracing::debug!(%problem, cluster = %name, "the agent of a cluster could not write");
                }
            }
            let heard = async {
                let Some(mut news) = news else { return std::future::pending().await };
                while news.recv().await.is_ok_and(|news| !INTERESTING.contains(&&*news.resource)) {}
            };
            // Without news a look now and then: a registration goes without a sign in the cluster.
            clock::within(LOOK_EVERY, heard).await;
        }
    }

    /// One look at one cluster.
    pub async fn attend(&self, cluster: &Cluster) -> Result<(), Status> {
        let configuration =
            NAMESPACES.iter().find_map(|namespace| cluster.get("", "secrets", namespace, CONFIGURATION));
        let connection = cluster.get(GROUP, PLURAL, "", CONNECTION);
        match (configuration, connection) {
            (None, None) => Ok(()),
            (Some(configuration), None) => {
                self.install(cluster).await?;
                self.connect(cluster, &configuration, None).await
            }
            (configuration, Some(connection)) => {
                let state = connection["status"]["connectionState"].as_str().unwrap_or_default();
                match configuration {
                    Some(configuration) if state == "ConnectionFailed" || state.is_empty() => {
                        self.connect(cluster, &configuration, Some(&connection)).await
                    }
                    _ => self.maintain(cluster, &connection, state).await,
                }
            }
        }
    }

    /// The definition of its resource: what an installation brings along.
    pub async fn install(&self, cluster: &Cluster) -> Result<(), Status> {
        let name = format!("{PLURAL}.{GROUP}");
        if cluster.get("apiextensions.k8s.io", "customresourcedefinitions", "", &name).is_some() {
            return Ok(());
        }
        let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let schema = json!({ "type": "object", "properties": { "spec": open, "status": open } });
        let version = json!({
            "name": "v1alpha1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema },
        });
        let names = json!({
            "plural": PLURAL, "singular": "compassconnection", "kind": "CompassConnection", "listKind": "CompassConnectionList",
        });
        let spec = json!({ "group": GROUP, "scope": "Cluster", "names": names, "versions": [version] });
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": name }, "spec": spec,
        });
        cluster.create(definition).await.map(drop)
    }

    /// Takes the token to the Director.
    async fn connect(&self, cluster: &Cluster, configuration: &Value, old: Option<&Value>) -> Result<(), Status> {
        let text = |key: &str| {
            let bytes = STANDARD.decode(configuration["data"][key].as_str().unwrap_or_default()).unwrap_or_default();
            String::from_utf8(bytes).unwrap_or_default()
        };
        let token = text("TOKEN");
        // The token it failed with before: the real one waits for another, too.
        if old.is_some_and(|old| old["spec"]["triedToken"] == json!(token)) {
            return Ok(());
        }
        let missing = ["CONNECTOR_URL", "RUNTIME_ID", "TENANT", "TOKEN"].into_iter().find(|key| text(key).is_empty());
        let outcome = match missing {
            Some(key) => Err(format!("the configuration lacks {key}")),
            None if text("CONNECTOR_URL") != CONNECTOR_URL => Err("no connector answers there".to_owned()),
            None => match self.director.redeem(&token, &text("RUNTIME_ID")) {
                Redeemed::Connected(connection) => Ok(connection.id),
                Redeemed::Refused(why) => Err(why.to_owned()),
            },
        };
        let now = clock::seconds((self.now)());
        let (spec, status) = match outcome {
            Ok(id) => (
                json!({ "managementInfo": { "connectorUrl": CONNECTOR_URL }, "connectionId": id }),
                json!({
                    "connectionState": "Synchronized",
                    "connectionStatus": { "established": now, "lastSync": now, "lastSuccess": now },
                    "synchronizationStatus": { "lastAttempt": now },
                }),
            ),
            Err(why) => (
                json!({ "triedToken": token }),
                json!({ "connectionState": "ConnectionFailed", "connectionStatus": { "lastSync": now, "error": why } }),
            ),
        };
        let object = json!({
            "apiVersion": format!("{GROUP}/v1alpha1"), "kind": "CompassConnection",
            "metadata": { "name": CONNECTION }, "spec": spec, "status": status,
        });
        match old {
            None => cluster.create(object).await.map(drop),
            Some(_) => {
                self.write(cluster, |kept| {
                    kept["spec"] = object["spec"].clone();
                    kept["status"] = object["status"].clone();
                })
                .await
            }
        }
    }

    /// Finds out whether the connection is still good.
    async fn maintain(&self, cluster: &Cluster, connection: &Value, state: &str) -> Result<(), Status> {
        let id = connection["spec"]["connectionId"].as_str().unwrap_or_default();
        let good = self.director.is_connected(id);
        if state == "ConnectionFailed" || good == (state != "ConnectionMaintenanceFailed") {
            return Ok(());
        }
        let now = clock::seconds((self.now)());
        self.write(cluster, |kept| {
            let status = &mut kept["status"];
            status["connectionState"] = json!(if good { "Synchronized" } else { "ConnectionMaintenanceFailed" });
            status["connectionStatus"]["lastSync"] = json!(now);
            status["connectionStatus"]["error"] =
                json!(if good { "" } else { "the Director does not know this connection" });
        })
        .await
    }

    async fn write(&self, cluster: &Cluster, change: impl FnMut(&mut Value)) -> Result<(), Status> {
        let place = Place { group: GROUP, plural: PLURAL, name: CONNECTION, ..Place::default() };
        cluster.update(&place, change).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_sandbox::{Settings, server};

    async fn world() -> (server::Server, Cluster, Director, Agents) {
        let server = server::Server::start(Settings::default()).await.expect("a server");
        let cluster = server.add_cluster("shoot--a--b").await.expect("a cluster");
        let director = Director::default();
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "kyma-system" } });
        cluster.create(namespace).await.expect("made");
        let agents = Agents::new(director.clone(), clock::now);
        (server, cluster, director, agents)
    }

    async fn configure(cluster: &Cluster, runtime: &str, token: &str) {
        let data: serde_json::Map<String, Value> =
            [("CONNECTOR_URL", CONNECTOR_URL), ("RUNTIME_ID", runtime), ("TENANT", "acme"), ("TOKEN", token)]
                .into_iter()
                .map(|(key, value)| (key.to_owned(), json!(STANDARD.encode(value))))
                .collect();
        let place = Place { plural: "secrets", namespace: "kyma-system", name: CONFIGURATION, ..Place::default() };
        if cluster.get("", "secrets", "kyma-system", CONFIGURATION).is_some() {
            cluster.update(&place, |secret| secret["data"] = Value::Object(data.clone())).await.expect("changed");
            return;
        }
        let metadata = json!({ "name": CONFIGURATION, "namespace": "kyma-system" });
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data });
        cluster.create(secret).await.expect("made");
    }

    fn state(cluster: &Cluster) -> String {
        let connection = cluster.get(GROUP, PLURAL, "", CONNECTION).unwrap_or_default();
        connection["status"]["connectionState"].as_str().unwrap_or_default().to_owned()
    }

    #[tokio::test]
    async fn an_agent_connects_with_a_good_token_and_notices_when_its_registration_is_gone() {
        let (_server, cluster, director, agents) = world().await;
        agents.attend(&cluster).await.expect("nothing to do");
        assert_eq!(state(&cluster), "");
        let runtime = director.register("acme", "shop", json!({}));
        configure(&cluster, &runtime, &director.draw_token(&runtime)).await;
        agents.attend(&cluster).await.expect("connected");
        assert_eq!(state(&cluster), "Synchronized");
        configure(&cluster, &runtime, "another token").await;
        agents.attend(&cluster).await.expect("looked");
        assert_eq!(state(&cluster), "Synchronized", "a token beside a living connection is ignored");
        director.forget(&runtime);
        agents.attend(&cluster).await.expect("looked");
        assert_eq!(state(&cluster), "ConnectionMaintenanceFailed");
    }

    #[tokio::test]
    async fn a_used_token_fails_and_a_new_one_heals_it() {
        let (_server, cluster, director, agents) = world().await;
        let runtime = director.register("acme", "shop", json!({}));
        let used = director.draw_token(&runtime);
        director.redeem(&used, &runtime);
        configure(&cluster, &runtime, &used).await;
        agents.attend(&cluster).await.expect("tried");
        assert_eq!(state(&cluster), "ConnectionFailed");
        configure(&cluster, &runtime, &director.draw_token(&runtime)).await;
        agents.attend(&cluster).await.expect("tried again");
        assert_eq!(state(&cluster), "Synchronized");
        assert_eq!(director.connections().len(), 1);
    }
}
