//! Garbage collection along owner references.
//!
//! An object whose owners are all gone goes too. An owner deleted in the foreground waits for those
//! dependents that say it must; one deleted with `orphan` first makes its dependents independent.

use std::sync::Arc;

use futures::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::AT_ONCE;
use crate::{
    cluster::{Cluster, Place},
    delete::{FOREGROUND, ORPHAN, Options, Propagation},
    kind::Kind,
    metadata,
    object::Name,
};

/// Looks after the dependents of an object that is gone, or at the owner if it is still there and waits.
pub(super) async fn orphans(cluster: &Cluster, uid: &str) {
    if let Some((table, name)) = cluster.store().by_uid(cluster.name(), uid) {
        owned(cluster, &table, &name).await;
        return;
    }
    let dependents = cluster.store().dependents(cluster.name(), uid);
    let look = async |(table, name): (Arc<str>, Name)| owned(cluster, &table, &name).await;
    stream::iter(dependents).for_each_concurrent(AT_ONCE, look).await;
}

/// Looks at one object: are its owners there, and do its dependents let it go?
pub(super) async fn owned(cluster: &Cluster, table: &str, name: &Name) {
    let Some(kind) = cluster.registry().stored_as(table) else { return };
    let Some(stored) = cluster.store().get(cluster.name(), table, name) else { return };
    let object = kind.from_stored(stored.value());
    let place = Place {
        group: &kind.group,
        plural: &kind.plural,
        namespace: &name.namespace,
        name: &name.name,
        subresource: "",
    };
    if stored.facts().deleting {
        let finalizers = metadata::finalizers(&object);
        if finalizers.contains(&ORPHAN) {
            set_free(cluster, &stored.facts().uid).await;
            drop_finalizer(cluster, &place, ORPHAN).await;
        } else if finalizers.contains(&FOREGROUND) && take_along(cluster, &stored.facts().uid).await {
            drop_finalizer(cluster, &place, FOREGROUND).await;
        }
        return;
    }
    let references = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    let (there, gone): (Vec<&Value>, Vec<&Value>) =
        references.iter().partition(|owner| exists(cluster, &kind, name, owner));
    if gone.is_empty() {
        return;
    }
    if there.is_empty() {
        let uid = Some(stored.facts().uid.to_string());
        let propagation = Some(match metadata::finalizers(&object) {
            held if held.contains(&FOREGROUND) => Propagation::Foreground,
            held if held.contains(&ORPHAN) => Propagation::Orphan,
            _ => Propagation::Background,
        });
        let _ = cluster.delete(&place, &Options { uid, version: None, propagation }).await;
        return;
    }
    let keep = json!(there);
    let _ = cluster.update(&place, |object| object["metadata"]["ownerReferences"] = keep.clone()).await;
}

/// Whether an owner is there: this very object, not another one of the same name. An owner of a kind we do not
/// serve is left alone, as one we cannot see.
fn exists(cluster: &Cluster, dependent: &Kind, name: &Name, owner: &Value) -> bool {
    let text = |key: &str| owner[key].as_str().unwrap_or_default();
    if cluster.store().by_uid(cluster.name(), text("uid")).is_some() {
        return true;
    }
    match cluster.registry().by_kind(text("apiVersion"), text("kind")) {
        None => true,
        // A cluster-wide object cannot belong to one in a namespace: the reference leads nowhere we may judge.
        Some(kind) if kind.namespaced && !dependent.namespaced => true,
        Some(kind) => {
            let place = Name::new(if kind.namespaced { &name.namespace } else { "" }, text("name"));
            let found = cluster.store().get(cluster.name(), &kind.stored_as, &place);
            found.is_some_and(|found| *found.facts().uid == *text("uid"))
        }
    }
}

async fn set_free(cluster: &Cluster, uid: &str) {
    for (table, name) in cluster.store().dependents(cluster.name(), uid) {
        let Some(kind) = cluster.registry().stored_as(&table) else { continue };
        let place = Place {
            group: &kind.group,
            plural: &kind.plural,
            namespace: &name.namespace,
            name: &name.name,
            subresource: "",
        };
        let _ = cluster
            .update(&place, |object| {
                let owners = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
                let rest: Vec<Value> = owners.into_iter().filter(|owner| owner["uid"] != uid).collect();
                object["metadata"]["ownerReferences"] = json!(rest);
            })
            .await;
    }
}

/// Deletes dependents; true when none is left that the owner must wait for.
async fn take_along(cluster: &Cluster, uid: &str) -> bool {
    for (table, name) in cluster.store().dependents(cluster.name(), uid) {
        let Some(kind) = cluster.registry().stored_as(&table) else { continue };
        let Some(stored) = cluster.store().get(cluster.name(), &table, &name) else { continue };
        if stored.facts().deleting {
            continue;
        }
        let object = stored.value();
        let others = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        let place = Place {
            group: &kind.group,
            plural: &kind.plural,
            namespace: &name.namespace,
            name: &name.name,
            subresource: "",
        };
        if others.iter().any(|owner| owner["uid"] != uid && exists(cluster, &kind, &name, owner)) {
            let _ = cluster
                .update(&place, |object| {
                    let owners = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
                    let rest: Vec<Value> = owners.into_iter().filter(|owner| owner["uid"] != uid).collect();
                    object["metadata"]["ownerReferences"] = json!(rest);
                })
                .await;
            continue;
        }
        let propagation = Some(Propagation::Foreground);
        let options = Options { uid: Some(stored.facts().uid.to_string()), version: None, propagation };
        let _ = cluster.delete(&place, &options).await;
    }
    let blocks = |(table, name): &(Arc<str>, Name)| {
        let Some(stored) = cluster.store().get(cluster.name(), table, name) else { return false };
        let object = stored.value();
        let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        owners.into_iter().any(|owner| owner["uid"] == uid && owner["blockOwnerDeletion"] == json!(true))
    };
    !cluster.store().dependents(cluster.name(), uid).iter().any(blocks)
}

async fn drop_finalizer(cluster: &Cluster, place: &Place<'_>, finalizer: &str) {
    let _ = cluster
        .update(place, |object| {
            let rest: Vec<String> = metadata::finalizers(object)
                .into_iter()
                .filter(|one| *one != finalizer)
                .map(ToOwned::to_owned)
                .collect();
            object["metadata"]["finalizers"] = json!(rest);
        })
        .await;
}
