//! The world as it is, without what differs between two runs that went the same way.
//!
//! Taken away are identities, versions, times, the content of kubeconfigs, who wrote a field last, and words that
//! tell how something came (created or rotated, first or later operation): a world that is maintained goes on
//! changing in these without anybody's fault.

use serde_json::{Map, Value, json};
use slipway_kube::annotations;

use crate::world::{NAMESPACE, PROJECT, RUNTIMES, SHOOTS, World};

/// Keys whose value differs although the world is the same.
const GONE: [&str; 21] = [
    "alignedShootGeneration",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "observedGeneration",
    "time",
    "lastTransitionTime",
    "lastUpdateTime",
    "lastHeartbeatTime",
    "lastInitiationTime",
    "lastCompletionTime",
    "lastInitiationFinishedTime",
    "lastCompletionTriggeredTime",
    "advertisedAddresses",
    "progress",
    "description",
    "encodedClusterIdentity",
    "lastMaintenance",
    "ca.crt",
    "shoot.gardener.cloud/status",
];

/// Annotations whose value differs; that they are there counts.
const THERE: [&str; 6] = [
    annotations::LAST_SYNC,
    annotations::EXPIRES_AT,
    annotations::ISSUED_FOR,
    annotations::PREPARED_HASH,
    annotations::RUNTIME_GENERATION,
    annotations::RUNTIME_UID,
];

/// Words that tell how it came, not what there is.
const SAME: [(&str, &str); 8] = [
    ("KubeconfigSecretRotated", "a fresh Secret"),
    ("KubeconfigSecretCreated", "a fresh Secret"),
    ("Secret kubeconfig has been rotated", "a fresh kubeconfig"),
    ("Secret kubeconfig has been created", "a fresh kubeconfig"),
    ("ShootCreationCompleted", "completed"),
    ("ConfigurationCompleted", "completed"),
    ("Shoot creation completed", "completed"),
    ("Shoot update completed", "completed"),
];

/// What there is.
pub(crate) fn of(world: &World) -> Value {
    let mut all = Map::new();
    let kcp = [(RUNTIMES, "runtimes"), (RUNTIMES, "gardenerclusters"), ("", "secrets")];
    for (group, plural) in kcp {
        let list: Vec<Value> = world.kcp.list(group, plural, NAMESPACE).into_iter().map(without_ownership).collect();
        all.insert(format!("kcp {plural}"), clean(json!(list)));
    }
    let garden = [(SHOOTS, "shoots"), ("", "configmaps")];
    for (group, plural) in garden {
        let list: Vec<Value> =
            world.garden.cluster().list(group, plural, PROJECT).into_iter().map(without_gardener).collect();
        all.insert(format!("garden {plural}"), clean(json!(list)));
    }
    // The garden's own Secrets hold keys that are different each time.
    let secrets = world.garden.cluster().list("", "secrets", PROJECT);
    let names: Vec<&Value> = secrets.iter().map(|secret| &secret["metadata"]["name"]).collect();
    all.insert("garden secrets".to_owned(), json!(names));
    for shoot in world.garden.shoots() {
        let Some(id) = shoot["status"]["technicalID"].as_str() else { continue };
        let Some(skr) = world.server.cluster(id) else { continue };
        let ours = |objects: Vec<Value>| -> Vec<Value> {
            let is_ours = |object: &Value| object.to_string().contains("infrastructure-manager");
            objects.into_iter().filter(is_ours).collect()
        };
        for (group, plural) in [
            ("", "namespaces"),
            ("", "configmaps"),
            ("rbac.authorization.k8s.io", "clusterrolebindings"),
            ("authentication.gardener.cloud", "openidconnects"),
        ] {
            all.insert(
                format!("skr {plural}"),
                clean(json!(ours(skr.list(group, plural, "")).into_iter().map(without_ownership).collect::<Vec<_>>())),
            );
        }
    }
    Value::Object(all)
}

/// Who wrote a label last depends on how it came, and nobody else writes here.
fn without_ownership(mut object: Value) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    object
}

/// What Gardener notes for itself goes on changing by itself.
fn without_gardener(mut object: Value) -> Value {
    let status = &object["status"];
    let operation = &status["lastOperation"];
    let kept = json!({"technicalID": status["technicalID"], "lastErrors": status["lastErrors"],
        "lastOperation": {"state": operation["state"]}});
    if object["kind"] == "Shoot" {
        object["status"] = kept;
    }
    without_ownership(object)
}

fn clean(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(map.into_iter().filter_map(|(key, value)| member(key, value)).collect()),
        Value::Array(items) => Value::Array(items.into_iter().map(clean).collect()),
        other => other,
    }
}

fn member(key: String, value: Value) -> Option<(String, Value)> {
    if GONE.contains(&key.as_str()) {
        return None;
    }
    let mut value = value;
    if key == "shootLastOperation"
        && let Some(operation) = value.as_object_mut()
    {
        operation.remove("type");
    }
    let value = if THERE.contains(&key.as_str()) {
        json!("there")
    } else if key == "config" && value.is_string() {
        json!("a kubeconfig")
    } else if key == "details"
        && let Some(text) = value.as_str()
    {
        json!(text.lines().filter(|line| !line.starts_with("lastReconcileTime")).collect::<Vec<_>>())
    } else if let Some((_, word)) = SAME.iter().find(|(text, _)| value == *text) {
        json!(word)
    } else {
        clean(value)
    };
    Some((key, value))
}

/// Where two worlds differ, in words.
pub(crate) fn difference(wanted: &Value, found: &Value) -> Vec<String> {
    let mut told = Vec::new();
    compare("", wanted, found, &mut told);
    told.truncate(12);
    told
}

fn compare(path: &str, wanted: &Value, found: &Value, told: &mut Vec<String>) {
    match (wanted, found) {
        (Value::Object(one), Value::Object(other)) => {
            let keys: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for key in keys {
                let nothing = Value::Null;
                let (one, other) = (one.get(key).unwrap_or(&nothing), other.get(key).unwrap_or(&nothing));
                compare(&format!("{path}/{key}"), one, other, told);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (place, (one, other)) in one.iter().zip(other).enumerate() {
                compare(&format!("{path}/{place}"), one, other, told);
            }
        }
        (one, other) if one != other => {
            let short = |value: &Value| value.to_string().chars().take(200).collect::<String>();
            told.push(format!("{path}: wanted {}, found {}", short(one), short(other)));
        }
        _ => {}
    }
}
