//! The nodes of a Shoot: how many, of which make, and how long a change of them takes.

use serde_json::{Value, json};

use crate::garden::{
    names::percent,
    value::{at, list, number, same, text},
    version::Version,
};

/// A node takes this long to be replaced, in seconds.
const ROLL: u64 = 4 * 60;

/// What the nodes are made of, as far as a change replaces them.
fn make(shoot: &Value, worker: &Value) -> Value {
    let own = text(worker, "kubernetes.version");
    let version = if own.is_empty() { text(shoot, "spec.kubernetes.version") } else { own };
    let minor = version.parse::<Version>().map(|version| format!("{}.{}", version.major, version.minor));
    json!({
        "machine": at(worker, "machine"), "volume": at(worker, "volume"), "dataVolumes": at(worker, "dataVolumes"),
        "providerConfig": at(worker, "providerConfig"), "minor": minor.unwrap_or_default(),
    })
}

/// What stands after an operation has succeeded, to be compared with the next spec.
pub fn applied(shoot: &Value) -> Value {
    let pools: serde_json::Map<String, Value> = list(shoot, "spec.provider.workers")
        .iter()
        .map(|worker| {
            let pool = json!({"make": make(shoot, worker), "nodes": number(worker, "minimum").max(0)});
            (text(worker, "name").to_owned(), pool)
        })
        .collect();
    json!({
        "version": at(shoot, "spec.kubernetes.version"),
        "infrastructure": at(shoot, "spec.provider.infrastructureConfig"),
        "pools": pools,
    })
}

/// Seconds that a change adds to the step that waits for nodes. `rolls` names pools that are to be
/// replaced whatever changed; `*` means all.
pub fn extra(shoot: &Value, applied: &Value, rolls: &[String]) -> u64 {
    if applied.is_null() {
        // Pools come up side by side; each further one costs a little.
        return 20 * (list(shoot, "spec.provider.workers").len() as u64).saturating_sub(1);
    }
    let pools = at(applied, "pools");
    let mut seconds = 0;
    for worker in list(shoot, "spec.provider.workers") {
        let called = text(worker, "name");
        let Some(before) = pools.get(called) else {
            seconds += 3 * 60;
            continue;
        };
        let forced = rolls.iter().any(|pool| pool == "*" || pool == called);
        if forced || !same(&make(shoot, worker), at(before, "make")) {
            seconds += roll(worker, u64::try_from(number(before, "nodes")).unwrap_or_default());
        }
    }
    let names: Vec<&str> = list(shoot, "spec.provider.workers").iter().map(|worker| text(worker, "name")).collect();
    let gone = pools.as_object().map_or(0, |pools| pools.keys().filter(|pool| !names.contains(&pool.as_str())).count());
    seconds += 2 * 60 * gone as u64;
    if text(shoot, "spec.kubernetes.version") != text(applied, "version") {
        seconds += 60;
    }
    if !same(at(shoot, "spec.provider.infrastructureConfig"), at(applied, "infrastructure")) {
        seconds += 60;
    }
    seconds
}

/// As many at a time as may be too many plus may be missing.
fn roll(worker: &Value, nodes: u64) -> u64 {
    let amount = |field: &str, round_up: bool| match at(worker, field) {
        Value::String(text) => {
            let share = percent(text).unwrap_or_default() * nodes;
            if round_up { share.div_ceil(100) } else { share / 100 }
        }
        value => value.as_u64().unwrap_or_default(),
    };
    let at_once = (amount("maxSurge", true) + amount("maxUnavailable", false)).max(1);
    nodes.div_ceil(at_once) * ROLL
}

/// Node objects for the Shoot's own API.
pub fn objects(shoot: &Value) -> Vec<Value> {
    let mut nodes = Vec::new();
    for worker in list(shoot, "spec.provider.workers") {
        let zones = list(worker, "zones");
        for index in 0..number(worker, "minimum").max(0) {
            let called = format!("{}-{}-{index}", text(shoot, "status.technicalID"), text(worker, "name"));
            let zone =
                zones.get(usize::try_from(index).unwrap_or_default() % zones.len().max(1)).cloned().unwrap_or_default();
            let own = text(worker, "kubernetes.version");
            let version = if own.is_empty() { text(shoot, "spec.kubernetes.version") } else { own };
            let machine = at(worker, "machine");
            nodes.push(json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": called, "labels": {
                    "kubernetes.io/hostname": called, "kubernetes.io/os": "linux",
                    "kubernetes.io/arch": text(machine, "architecture"),
                    "node.kubernetes.io/instance-type": text(machine, "type"),
                    "topology.kubernetes.io/region": text(shoot, "spec.region"),
                    "topology.kubernetes.io/zone": zone.as_str().unwrap_or_default(),
                    "worker.gardener.cloud/pool": text(worker, "name"),
                }},
                "spec": {"providerID": format!("sim:///{called}")},
                "status": {
                    "nodeInfo": {"kubeletVersion": format!("v{version}"), "osImage": format!("{} {}", text(machine, "image.name"), text(machine, "image.version")), "architecture": text(machine, "architecture"), "operatingSystem": "linux", "containerRuntimeVersion": "containerd://2.1.0"},
                    "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}],
                },
            }));
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shoot(edit: impl FnOnce(&mut Value)) -> Value {
        let mut shoot = json!({"spec": {"kubernetes": {"version": "1.34.4"}, "provider": {"workers": [
            {"name": "a", "minimum": 6, "maxSurge": 2, "maxUnavailable": 1, "machine": {"type": "m", "image": {"version": "1.0.0"}}}]}}});
        edit(&mut shoot);
        shoot
    }

    #[test]
    fn a_change_takes_as_long_as_its_nodes_need() {
        let before = applied(&shoot(|_| {}));
        let extra = |edit: fn(&mut Value)| super::extra(&shoot(edit), &before, &[]);
        assert_eq!(extra(|_| {}), 0);
        assert_eq!(extra(|s| s["spec"]["provider"]["workers"][0]["maximum"] = json!(20)), 0, "bounds roll nothing");
        assert_eq!(extra(|s| s["spec"]["kubernetes"]["version"] = json!("1.34.5")), 60, "a patch restarts in place");
        assert_eq!(extra(|s| s["spec"]["kubernetes"]["version"] = json!("1.35.2")), 60 + 2 * ROLL, "a minor rolls");
        assert_eq!(
            extra(|s| s["spec"]["provider"]["workers"][0]["machine"]["image"]["version"] = json!("2.0.0")),
            2 * ROLL
        );
        assert_eq!(extra(|s| s["spec"]["provider"]["workers"][0]["name"] = json!("b")), 3 * 60 + 2 * 60);
        assert_eq!(super::extra(&shoot(|_| {}), &before, &["a".into()]), 2 * ROLL);
        assert_eq!(
            super::extra(
                &shoot(|s| s["spec"]["provider"]["workers"][0]["maxSurge"] = json!("50%")),
                &before,
                &["*".into()]
            ),
            2 * ROLL
        );
        assert_eq!(objects(&shoot(|_| {})).len(), 6);
    }
}
