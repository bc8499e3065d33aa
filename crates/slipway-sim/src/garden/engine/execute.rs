//! Doing what was decided, one write after the other.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use kube_sandbox::{cluster::Place, delete::Options, status::Status};
use serde_json::{Value, json};

use super::{
    extensions,
    life::{Authority, PersistedLife, Write},
    nodes,
    port::{self, CONFIG_MAPS, EVENTS, INTERNAL_SECRETS, Port, Resource, SHOOTS, STATES},
    protection,
    runtime::Shared,
};
use crate::{
    clock::seconds,
    garden::{
        certificates::Pair,
        problems::CORE,
        shoot::{CONFIRM_DELETION, FINALIZER},
        value::{at, is_deleting, list, name, namespace, text, texts},
    },
};

/// What outlives the engine about a Shoot; nothing if it was never kept.
pub(super) async fn load<P: Port>(port: &P, place: &str, called: &str) -> Result<PersistedLife, Status> {
    let state = port.get(STATES, place, called).await?.unwrap_or_default();
    let data = list(&state, "spec.gardener").first().map(|one| at(one, "data").clone()).unwrap_or_default();
    Ok(serde_json::from_value(data).unwrap_or_default())
}

async fn save<P: Port>(port: &P, shoot: &Value, kept: &PersistedLife) -> Result<(), Status> {
    let (place, called) = (namespace(shoot), name(shoot));
    let spec = json!({"gardener": [{"name": "slipway-sim", "type": "slipway-sim", "data": kept}]});
    // Even this wants its deletion confirmed; we know already that we will.
    let metadata = json!({"annotations": { CONFIRM_DELETION: "true" }});
    put(port, STATES, place, called, json!({ "metadata": metadata, "spec": spec })).await
}

/// Makes an object or changes what is there.
async fn put<P: Port>(port: &P, what: Resource, place: &str, called: &str, content: Value) -> Result<(), Status> {
    match port.patch(what, place, called, "", content.clone()).await {
        Err(status) if status.code == 404 => {
            let version = if what.0.is_empty() { what.1.to_owned() } else { format!("{}/{}", what.0, what.1) };
            let mut object =
                json!({"apiVersion": version, "kind": what.2, "metadata": {"name": called, "namespace": place}});
            json_patch::merge(&mut object, &content);
            port.create(what, object).await.map(drop)
        }
        done => done.map(drop),
    }
}

/// Does one write.
pub(super) async fn execute<P: Port>(
    shared: &Shared<P>,
    shoot: &Value,
    kept: &mut PersistedLife,
    write: &Write,
) -> Result<(), Status> {
    let (port, place, called) = (&shared.port, namespace(shoot), name(shoot));
    let id = text(shoot, "status.technicalID").to_owned();
    let about = format!("{place}/{called}");
    match write {
        Write::Bind(seed) => drop(port.bind(place, called, seed).await?),
        Write::Status(patch) => drop(port.patch(SHOOTS, place, called, "status", json!({ "status": patch })).await?),
        Write::Object(patch) => drop(port.patch(SHOOTS, place, called, "", patch.clone()).await?),
        Write::Authorities { add, drop_old } => authorities(shared, shoot, kept, *add, *drop_old).await?,
        Write::Event { reason, message } => event(shared, shoot, reason, message).await,
        // Whoever is deleted before its first CA was made never had an API server, and needs none to go.
        Write::Api(_) if is_deleting(shoot) && kept.authorities.is_empty() => {}
        Write::Api(up) => {
            if *up {
                shared.endpoints.up(&id, kept).await.map_err(Status::internal)?;
                allow_viewers(shared, &id).await;
            } else {
                shared.endpoints.down(&id);
            }
            kept.api_up = *up;
            save(port, shoot, kept).await?;
        }
        Write::Nodes { rolls } => {
            show_nodes(shared, Some(shoot), &id, rolls, kept).await?;
            if let Some(cluster) = shared.endpoints.server().cluster(&id) {
                extensions::bring(&cluster, shoot).await?;
            }
            save(port, shoot, kept).await?;
        }
        Write::NoNodes => show_nodes(shared, None, &id, &[], kept).await?,
        Write::Applied(applied) => {
            kept.applied = applied.clone();
            save(port, shoot, kept).await?;
        }
        Write::Protect(protect) => protection::protect(shared, shoot, *protect).await?,
        Write::Forget => forget(shared, shoot, &id).await?,
    }
    let what = if matches!(write, Write::Status(_)) { "status" } else { "write" };
    shared.journal.record(shared.clock.now(), what, &about, describe_write(write));
    Ok(())
}

fn describe_write(write: &Write) -> Value {
    match write {
        Write::Status(patch) => patch.clone(),
        Write::Applied(_) => json!("applied"),
        write => json!(format!("{write:?}")),
    }
}

async fn authorities<P: Port>(
    shared: &Shared<P>,
    shoot: &Value,
    kept: &mut PersistedLife,
    add: bool,
    drop_old: bool,
) -> Result<(), Status> {
    let (port, place, called) = (&shared.port, namespace(shoot), name(shoot));
    let before = kept.authorities.len();
    // A second attempt of the same operation finds the second CA already there.
    if before == 0 || (add && before == 1) {
        let wrong = |error: crate::garden::certificates::Error| Status::internal(error.to_string());
        let id = text(shoot, "status.technicalID");
        let which = kept.authorities.last().map_or(0, |newest| newest.number + 1);
        let called = format!("ca-client-{id}-{which}");
        let client = if shared.rsa {
            let key = shared.chance.bits(id, "client CA", which);
            Pair::rsa_authority(&called, key).map_err(wrong)?
        } else {
            Pair::authority(&called).map_err(wrong)?
        };
        let cluster = Pair::authority("ca").map_err(wrong)?;
        kept.authorities.push(Authority { number: which, cluster: cluster.into(), client: client.into() });
    }
    if drop_old {
        kept.authorities.drain(..before.saturating_sub(1));
    }
    let Some(newest) = kept.authorities.last() else { return Ok(()) };
    let secret = json!({"type": "Opaque", "data": {
        "ca.crt": STANDARD.encode(&newest.client.certificate), "ca.key": STANDARD.encode(&newest.client.key)}});
    let bundle: String = kept.authorities.iter().rev().map(|one| one.cluster.certificate.as_str()).collect();
    put(port, INTERNAL_SECRETS, place, &format!("{called}.ca-client"), secret).await?;
    put(port, CONFIG_MAPS, place, &format!("{called}.ca-cluster"), json!({"data": {"ca.crt": bundle}})).await?;
    save(port, shoot, kept).await?;
    if kept.api_up && kept.authorities.len() != before {
        shared.endpoints.up(text(shoot, "status.technicalID"), kept).await.map_err(Status::internal)?;
    }
    Ok(())
}

/// Nobody depends on events; one that cannot be written is left out.
async fn event<P: Port>(shared: &Shared<P>, shoot: &Value, reason: &str, message: &str) {
    let now = shared.clock.now();
    let kind = if reason.ends_with("Error") || reason.ends_with("Failed") { "Warning" } else { "Normal" };
    let event = json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": format!("{}.{:x}", name(shoot), now.as_nanosecond()), "namespace": namespace(shoot)},
        "involvedObject": {"apiVersion": format!("{CORE}/v1beta1"), "kind": "Shoot", "name": name(shoot),
            "namespace": namespace(shoot), "uid": text(shoot, "metadata.uid")},
        "reason": reason, "message": message, "type": kind, "count": 1,
        "source": {"component": "gardenlet"},
        "firstTimestamp": seconds(now), "lastTimestamp": seconds(now),
    });
    if let Err(error) = shared.port.create(EVENTS, event).await {
        tracing::debug!(%error, "an event was not written");
    }
}

/// Viewers read everything but secrets. Gardener binds its organisations to such a role in every Shoot.
async fn allow_viewers<P: Port>(shared: &Shared<P>, id: &str) {
    const NAME: &str = "gardener.cloud:system:read-only";
    let Some(cluster) = shared.endpoints.server().cluster(id) else { return };
    if cluster.get("rbac.authorization.k8s.io", "clusterrolebindings", "", NAME).is_some() {
        return;
    }
    let group = |name: &str| json!({"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": name});
    let readable = ["namespaces", "nodes", "configmaps", "serviceaccounts", "events", "pods", "services"];
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": NAME}, "rules": [
        {"apiGroups": [""], "resources": readable, "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["apps", "rbac.authorization.k8s.io", "apiextensions.k8s.io", "coordination.k8s.io"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]});
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": NAME},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME},
        "subjects": [group("gardener.cloud:system:viewers"), group("gardener.cloud:project:viewers")]});
    for object in [role, binding] {
        if let Err(error) = cluster.create(object).await {
            tracing::warn!(%error, id, "viewers of a Shoot cannot read it");
        }
    }
}

/// Brings the Node objects of a Shoot in line with its pools; with no Shoot there are none. Where its API has no
/// store yet there is nothing to show.
async fn show_nodes<P: Port>(
    shared: &Shared<P>,
    shoot: Option<&Value>,
    id: &str,
    rolls: &[String],
    kept: &mut PersistedLife,
) -> Result<(), Status> {
    let Some(cluster) = shared.endpoints.server().cluster(id) else { return Ok(()) };
    let nobody = Value::Null;
    let present = cluster.list("", "nodes", "");
    let fleet = nodes::fleet(shoot.unwrap_or(&nobody), &present, rolls, shared.clock.now(), |pool| {
        kept.nodes += 1;
        let letters = shared.chance.bits(id, "node", kept.nodes);
        format!("{id}-{pool}-{:05x}-{}", letters & 0xf_ffff, kept.nodes)
    });
    for gone in &fleet.go {
        match cluster.delete(&node_place(gone, ""), &Options::default()).await {
            Err(status) if status.code != 404 => return Err(status),
            _ => {}
        }
    }
    for node in fleet.come {
        let status = node["status"].clone();
        let made = cluster.create(node).await?;
        // A create may leave the status out, as it does for most kinds.
        cluster.update(&node_place(name(&made), "status"), |node| node["status"] = status.clone()).await?;
    }
    for node in fleet.change {
        let labels = node["metadata"]["labels"].clone();
        cluster.update(&node_place(name(&node), ""), |old| old["metadata"]["labels"] = labels.clone()).await?;
        cluster.update(&node_place(name(&node), "status"), |old| old["status"] = node["status"].clone()).await?;
    }
    Ok(())
}

fn node_place<'a>(called: &'a str, subresource: &'a str) -> Place<'a> {
    Place { plural: "nodes", name: called, subresource, ..Place::default() }
}

async fn forget<P: Port>(shared: &Shared<P>, shoot: &Value, id: &str) -> Result<(), Status> {
    let (port, place, called) = (&shared.port, namespace(shoot), name(shoot));
    port.delete(INTERNAL_SECRETS, place, &format!("{called}.ca-client")).await?;
    port.delete(CONFIG_MAPS, place, &format!("{called}.ca-cluster")).await?;
    port.delete(STATES, place, called).await?;
    if !id.is_empty() {
        shared.endpoints.forget(id).await;
    }
    let Some(fresh) = port.get(port::SHOOTS, place, called).await? else { return Ok(()) };
    let left: Vec<&str> = texts(&fresh, "metadata.finalizers").into_iter().filter(|one| *one != FINALIZER).collect();
    port.patch(SHOOTS, place, called, "", json!({"metadata": {"finalizers": left}})).await.map(drop)
}
