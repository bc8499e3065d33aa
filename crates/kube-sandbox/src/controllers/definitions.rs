//! The status of definitions, and the end of their objects.

use futures::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::AT_ONCE;
use crate::{
    clock,
    cluster::{Cluster, Place},
    delete::{Options, Propagation},
    kinds::{self, cleanup_finalizer},
    metadata,
    object::{Name, Stored},
};

const GROUP: &str = "apiextensions.k8s.io";
const PLURAL: &str = "customresourcedefinitions";

/// Serves what a stored definition says. Called by whoever stored it, so that its objects can be made at once.
pub(crate) fn serve(cluster: &Cluster, definition: &Value) {
    let spec = &definition["spec"];
    let (group, plural) =
        (spec["group"].as_str().unwrap_or_default(), spec["names"]["plural"].as_str().unwrap_or_default());
    if kinds::conflicts(definition, &cluster.list(GROUP, PLURAL, "")).is_some() {
        return;
    }
    let served = kinds::served(definition);
    let versions: Vec<&str> = served.iter().map(|kind| kind.version.as_str()).collect();
    cluster.registry().keep_only(group, plural, &versions);
    served.into_iter().for_each(|kind| cluster.register(kind));
}

/// Serves nothing of a definition that is gone.
pub(crate) fn forget(cluster: &Cluster, definition: &Value) {
    let spec = &definition["spec"];
    if let (Some(group), Some(plural)) = (spec["group"].as_str(), spec["names"]["plural"].as_str()) {
        cluster.registry().keep_only(group, plural, &[]);
    }
}

impl Cluster {
    /// Serves all stored definitions: what a restart begins with, and whoever wrote to the store directly.
    pub fn serve_definitions(&self) {
        self.list(GROUP, PLURAL, "").iter().for_each(|definition| serve(self, definition));
    }

    /// Serves none of its stored definitions any more: before they are taken out of the store directly.
    pub fn forget_definitions(&self) {
        self.list(GROUP, PLURAL, "").iter().for_each(|definition| forget(self, definition));
    }
}

pub(super) async fn settle(cluster: &Cluster, name: &str) {
    let Some(stored) = cluster.store().get(cluster.name(), kinds::DEFINITIONS, &Name::new("", name)) else { return };
    if stored.facts().deleting {
        remove_objects(cluster, name, &stored).await;
        return;
    }
    let others = cluster.list(GROUP, PLURAL, "");
    let now = clock::seconds(clock::now());
    let place = Place { group: GROUP, plural: PLURAL, name, subresource: "status", ..Place::default() };
    let written = cluster
        .update(&place, |definition| {
            let conflict = kinds::conflicts(definition, &others);
            let mut names = definition["spec"]["names"].clone();
            if conflict.is_some() {
                names = definition["status"]["acceptedNames"].clone();
            }
            definition["status"]["acceptedNames"] = names;
            let (accepted, established) = match &conflict {
                None => (
                    ("True", "NoConflicts", "no conflicts found".to_owned()),
                    ("True", "InitialNamesAccepted", "the initial names have been accepted".to_owned()),
                ),
                Some((reason, sentence)) => (
                    ("False", *reason, sentence.clone()),
                    ("False", "NotAccepted", "not all names are accepted".to_owned()),
                ),
            };
            condition(definition, "NamesAccepted", accepted, &now);
            condition(definition, "Established", established, &now);
        })
        .await;
    match written {
        Ok(definition) => serve(cluster, &definition),
        Err(error) if error.code == 404 => {}
        Err(error) => tracing::warn!(%error, name, "the status of a definition could not be written"),
    }
}

fn condition(object: &mut Value, kind: &str, (status, reason, message): (&str, &str, String), now: &str) {
    let new = json!({
        "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": now,
    });
    if !object["status"]["conditions"].is_array() {
        object["status"]["conditions"] = json!([]);
    }
    let Some(conditions) = object["status"]["conditions"].as_array_mut() else { return };
    match conditions.iter_mut().find(|condition| condition["type"] == kind) {
        Some(old) if old["status"] == new["status"] && old["reason"] == new["reason"] => {}
        Some(old) => *old = new,
        None => conditions.push(new),
    }
}

async fn remove_objects(cluster: &Cluster, name: &str, stored: &Stored) {
    let definition = stored.value();
    let spec = &definition["spec"];
    let (group, plural) =
        (spec["group"].as_str().unwrap_or_default(), spec["names"]["plural"].as_str().unwrap_or_default());
    let options = Options { propagation: Some(Propagation::Background), ..Options::default() };
    let delete = async |object: Value| {
        let (namespace, name) = (metadata::text(&object, "namespace"), metadata::text(&object, "name"));
        let place = Place { group, plural, namespace, name, subresource: "" };
        let _ = cluster.delete(&place, &options).await;
    };
    stream::iter(cluster.list(group, plural, "")).for_each_concurrent(AT_ONCE, delete).await;
    if cluster.store().count(cluster.name(), &format!("{plural}.{group}")) > 0 {
        return; // the last one to go brings us back
    }
    let place = Place { group: GROUP, plural: PLURAL, name, ..Place::default() };
    let _ = cluster
        .update(&place, |object| {
            let rest: Vec<String> = metadata::finalizers(object)
                .into_iter()
                .filter(|one| *one != cleanup_finalizer())
                .map(ToOwned::to_owned)
                .collect();
            object["metadata"]["finalizers"] = json!(rest);
        })
        .await;
}
