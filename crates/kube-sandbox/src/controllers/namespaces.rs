//! A namespace that is going takes its content along, then lets go of its own finalizer.

use std::sync::Arc;

use futures::{StreamExt as _, stream};
use serde_json::json;

use super::AT_ONCE;
use crate::{
    cluster::{Cluster, Place},
    delete::{Options, Propagation},
    metadata,
    object::Name,
};

pub(super) async fn empty(cluster: &Cluster, namespace: &str) {
    let Some(stored) = cluster.store().get(cluster.name(), "namespaces", &Name::new("", namespace)) else { return };
    if !stored.facts().deleting {
        return;
    }
    let content = cluster.store().content(cluster.name(), namespace);
    let options = Options { propagation: Some(Propagation::Background), ..Options::default() };
    let delete = async |(table, name): &(Arc<str>, Name)| {
        let Some(kind) = cluster.registry().stored_as(table) else { return };
        let place = Place { group: &kind.group, plural: &kind.plural, namespace, name: &name.name, subresource: "" };
        // What has finalizers stays for now; its end brings us back here.
        let _ = cluster.delete(&place, &options).await;
    };
    stream::iter(&content).for_each_concurrent(AT_ONCE, delete).await;
    let rest = cluster.store().content(cluster.name(), namespace);
    let place = Place { plural: "namespaces", name: namespace, ..Place::default() };
    if rest.is_empty() {
        let place = Place { subresource: "finalize", ..place };
        let done = cluster.update(&place, |object| object["spec"]["finalizers"] = json!([])).await;
        if let Err(error) = done.map(drop).or_else(|error| if error.code == 404 { Ok(()) } else { Err(error) }) {
            tracing::warn!(%error, namespace, "a namespace could not be finished; its next change tries again");
        }
        return;
    }
    let now = crate::clock::seconds(crate::clock::now());
    let said = format!("Some resources are remaining: {} objects wait for their finalizers", rest.len());
    let place = Place { subresource: "status", ..place };
    let _ = cluster
        .update(&place, |object| {
            if metadata::is_deleting(object) && object["status"]["conditions"].is_null() {
                object["status"]["conditions"] = json!([{
                    "type": "NamespaceFinalizersRemaining", "status": "True", "reason": "SomeFinalizersRemain",
                    "message": said, "lastTransitionTime": now,
                }]);
            }
        })
        .await;
}
