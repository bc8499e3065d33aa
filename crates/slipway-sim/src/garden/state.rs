//! Everything a garden is at one moment, as one document: taken out of one garden and put into another, or into
//! the same one later.
//!
//! Objects keep their uids, generations, statuses and managed fields. Resource versions are those of whoever
//! keeps the objects, so they are new. What is put in replaces all that was there: Shoots that were there before
//! are gone, with their clusters. **It has every Secret of the garden and of its Shoots in it.**

use std::{collections::BTreeMap, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use kube_sandbox::{
    kinds::DEFINITIONS,
    object::{Draft, Name},
    store::{Expect, Store, WriteError},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Garden,
    clock::Pace,
    engine::faults::Aimed,
    run::CLUSTER,
    value::{name, text},
};

/// The key a Shoot's cluster signs tokens with.
const TOKEN_KEY: &str = "token.key";

/// A garden at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct State {
    /// The simulated moment.
    pub now: Timestamp,
    /// The faults that are on.
    pub faults: Vec<Aimed>,
    /// The objects of the garden.
    pub garden: Objects,
    /// The clusters of Shoots, by technical id.
    pub shoots: BTreeMap<String, ShootCluster>,
}

/// By kind, as `shoots.core.gardener.cloud`.
pub type Objects = BTreeMap<String, Vec<Value>>;

/// What is in the cluster of a Shoot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShootCluster {
    /// What its tokens are signed with, in base64.
    pub token_key: String,
    /// Its objects.
    pub objects: Objects,
}

impl Garden {
    /// Everything it is now. For a state in which nothing is under way, stop the clock and let it settle before.
    pub fn export(&self) -> State {
        let store = self.cluster().store();
        let mut shoots = BTreeMap::new();
        for id in store.clusters().into_iter().filter(|id| is_of_a_shoot(id)) {
            let token_key = STANDARD.encode(store.note(&id, TOKEN_KEY).unwrap_or_default());
            shoots.insert(id.to_string(), ShootCluster { token_key, objects: taken_out(store, &id) });
        }
        State { now: self.clock().now(), faults: self.faults(), garden: taken_out(store, CLUSTER), shoots }
    }

    /// Becomes what a garden was, one state after the other. Nothing is changed by a state that cannot be read; one
    /// that fails on its way, or with the process, leaves a part of itself: give it again.
    pub async fn import(&self, state: &State) -> Result<(), String> {
        let _alone = self.importing.lock().await;
        let all = state.shoots.values().map(|cluster| &cluster.objects).chain([&state.garden]);
        if let Some((kind, _)) = all.flatten().find(|(_, objects)| objects.iter().any(is_nameless)) {
            return Err(format!("an object of {kind} has no metadata.name or no metadata.uid"));
        }
        let is_defined = |kind: &str| {
            let definitions = state.garden.get(DEFINITIONS).into_iter().flatten();
            self.cluster().registry().stored_as(kind).is_some() || definitions.map(name).any(|one| one == kind)
        };
        if let Some(kind) = state.garden.keys().find(|kind| !is_defined(kind)) {
            return Err(format!(
                "garden.{kind}: a garden has no such kind, and none of its definitions says otherwise"
            ));
        }
        let mut keys = BTreeMap::new();
        for (id, cluster) in &state.shoots {
            match STANDARD.decode(&cluster.token_key) {
                Ok(key) => drop(keys.insert(id.as_str(), key)),
                Err(error) => return Err(format!("shoots.{id}.tokenKey is not base64: {error}")),
            }
        }
        let pace = self.clock().pace();
        // Nothing falls due while things are half there.
        self.clock().set_pace(Pace::Manual);
        let done = self.become_it(state, &keys).await;
        self.clock().set_pace(pace);
        self.journal().record(self.clock().now(), "imported", "", Value::Null);
        done
    }

    async fn become_it(&self, state: &State, keys: &BTreeMap<&str, Vec<u8>>) -> Result<(), String> {
        let store = self.cluster().store();
        let broken = |error: WriteError| error.to_string();
        self.cluster().forget_definitions();
        clear(store, CLUSTER).await.map_err(broken)?;
        // The engine sees that its Shoots are gone before it sees others of the same names.
        self.settled().await;
        for id in store.clusters().iter().filter(|id| is_of_a_shoot(id)) {
            self.endpoints().forget(id).await;
        }
        self.clear_faults("");
        self.clock().set(state.now);
        for (id, cluster) in &state.shoots {
            store.add_cluster(id).await.map_err(broken)?;
            store.set_note(id, TOKEN_KEY, &keys[id.as_str()]).await.map_err(broken)?;
            put_in(store, id, &cluster.objects).await.map_err(broken)?;
            // Opened as after a restart: with its own kinds served.
            self.endpoints().add_cluster(id).await?;
        }
        for fault in &state.faults {
            self.inject(fault.clone());
        }
        put_in(store, CLUSTER, &state.garden).await.map_err(broken)?;
        self.cluster().serve_definitions();
        Ok(())
    }
}

/// Others than those of Shoots may be on the same server.
fn is_of_a_shoot(id: &str) -> bool {
    id.starts_with("shoot--")
}

fn is_nameless(object: &Value) -> bool {
    text(object, "metadata.name").is_empty() || text(object, "metadata.uid").is_empty()
}

fn taken_out(store: &Store, cluster: &str) -> Objects {
    let mut objects = Objects::new();
    for (kind, stored) in all_of(store, cluster) {
        let mut object = stored.value();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("resourceVersion");
        }
        objects.entry(kind.to_string()).or_default().push(object);
    }
    objects
}

type NamedObject = (Arc<str>, Arc<kube_sandbox::object::Stored>);

fn all_of(store: &Store, cluster: &str) -> Vec<NamedObject> {
    let names = store.content(cluster, "");
    names.into_iter().filter_map(|(kind, name)| Some((kind.clone(), store.get(cluster, &kind, &name)?))).collect()
}

/// Without asking finalizers: this is no deletion, it was never there.
async fn clear(store: &Store, cluster: &str) -> Result<(), WriteError> {
    for (kind, name) in store.content(cluster, "") {
        while let Some(stored) = store.get(cluster, &kind, &name) {
            match store.remove(cluster, &kind, name.clone(), stored.version).await {
                // Somebody was faster, perhaps to the same end.
                Ok(_) | Err(WriteError::Conflict(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Owners before what they own, or it would be taken for garbage; Shoots last, when all they need is there.
async fn put_in(store: &Store, cluster: &str, objects: &Objects) -> Result<(), WriteError> {
    let mut all: Vec<(&str, &Value)> =
        objects.iter().flat_map(|(kind, objects)| objects.iter().map(move |object| (kind.as_str(), object))).collect();
    let owned =
        |object: &Value| object["metadata"]["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty());
    all.sort_by_key(|(kind, object)| (owned(object), kind.starts_with("shoots.")));
    for (kind, object) in all {
        let name = Name::new(text(object, "metadata.namespace"), text(object, "metadata.name"));
        // A controller that fills in what is missing may have been faster with one of its own.
        while let Err(error) =
            store.put(cluster, kind, name.clone(), expected(store, cluster, kind, &name), Draft::of(object)).await
        {
            if !matches!(error, WriteError::Conflict(_)) {
                return Err(error);
            }
        }
    }
    Ok(())
}

fn expected(store: &Store, cluster: &str, kind: &str, name: &Name) -> Expect {
    store.get(cluster, kind, name).map_or(Expect::Absent, |stored| Expect::Version(stored.version))
}
