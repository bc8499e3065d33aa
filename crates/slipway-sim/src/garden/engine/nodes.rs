//! The nodes of a Shoot: how many, of which make, and how long a change of them takes.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    clock::seconds,
    garden::{
        names::percent,
        value::{annotation, at, entries, label, list, number, same, text},
        version::Version,
    },
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

/// Of which make a node is; whatever differs is replaced.
const MAKE: &str = "sim.slipway/make";
const POOL: &str = "worker.gardener.cloud/pool";
const ZONE: &str = "topology.kubernetes.io/zone";

/// What becomes of the Node objects in the Shoot's own API.
#[derive(Debug, Default, PartialEq)]
pub struct Fleet {
    /// Nodes that go, by name.
    pub go: Vec<String>,
    /// Nodes that come.
    pub come: Vec<Value>,
    /// Nodes that stay and whose status changes: a patch level is raised in place.
    pub change: Vec<Value>,
}

/// From the nodes there are to those the pools ask for. `rolls` names pools whose nodes are replaced whatever
/// changed; `called` gives a new node its name.
pub fn fleet(
    shoot: &Value,
    present: &[Value],
    rolls: &[String],
    now: Timestamp,
    mut called: impl FnMut(&str) -> String,
) -> Fleet {
    let mut fleet = Fleet::default();
    let mut kept: Vec<&str> = Vec::new();
    for worker in list(shoot, "spec.provider.workers") {
        let pool = text(worker, "name");
        let forced = rolls.iter().any(|roll| roll == "*" || roll == pool);
        let made = make(shoot, worker).to_string();
        let zones = match list(worker, "zones") {
            [] => vec![""],
            zones => zones.iter().filter_map(Value::as_str).collect(),
        };
        let mut old: Vec<&Value> = present
            .iter()
            .filter(|node| !forced && label(node, POOL) == pool && annotation(node, MAKE) == made)
            .collect();
        let wanted = usize::try_from(number(worker, "minimum")).unwrap_or_default();
        for index in 0..wanted {
            // Spread over the zones, the first zones first.
            let zone = zones[index % zones.len()];
            let staying = old.iter().position(|node| label(node, ZONE) == zone).map(|found| old.remove(found));
            match staying {
                Some(node) => {
                    kept.push(text(node, "metadata.name"));
                    let fresh = node_of(shoot, worker, zone, text(node, "metadata.name"), &made, now);
                    if text(node, "status.nodeInfo.kubeletVersion") != text(&fresh, "status.nodeInfo.kubeletVersion") {
                        fleet.change.push(fresh);
                    }
                }
                None => fleet.come.push(node_of(shoot, worker, zone, &called(pool), &made, now)),
            }
        }
    }
    let all = present.iter().map(|node| text(node, "metadata.name"));
    fleet.go = all.filter(|node| !kept.contains(node)).map(str::to_owned).collect();
    fleet
}

fn node_of(shoot: &Value, worker: &Value, zone: &str, called: &str, made: &str, now: Timestamp) -> Value {
    let own = text(worker, "kubernetes.version");
    let version = if own.is_empty() { text(shoot, "spec.kubernetes.version") } else { own };
    let (machine, region) = (at(worker, "machine"), text(shoot, "spec.region"));
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({"type": kind, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": seconds(now), "lastTransitionTime": seconds(now)})
    };
    let mut node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": called, "annotations": { MAKE: made }, "labels": {
            "kubernetes.io/hostname": called, "kubernetes.io/os": "linux",
            "kubernetes.io/arch": text(machine, "architecture"),
            "node.kubernetes.io/instance-type": text(machine, "type"),
            "node.kubernetes.io/role": "node",
            "topology.kubernetes.io/region": region,
            ZONE: zone,
            POOL: text(worker, "name"),
            "worker.gardener.cloud/kubernetes-version": version,
        }},
        "spec": {"providerID": format!("sim:///{region}/{zone}/{called}")},
        "status": {
            "nodeInfo": {
                "kubeletVersion": format!("v{version}"), "operatingSystem": "linux", "architecture": text(machine, "architecture"),
                "osImage": format!("{} {}", text(machine, "image.name"), text(machine, "image.version")),
                "containerRuntimeVersion": "containerd://2.1.0", "kernelVersion": "6.12.0-sim", "machineID": "", "systemUUID": "", "bootID": "", "kubeProxyVersion": "",
            },
            "addresses": [{"type": "Hostname", "address": called}],
            "conditions": [
                condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
                condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
                condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
            ],
        },
    });
    for (key, value) in entries(worker, "labels") {
        node["metadata"]["labels"][key] = value.clone();
    }
    if !list(worker, "taints").is_empty() {
        node["spec"]["taints"] = at(worker, "taints").clone();
    }
    node
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
    }

    /// The nodes after a change, with what it did to them: (gone, come, changed in place).
    fn after(present: &mut Vec<Value>, count: &mut u32, shoot: &Value, rolls: &[&str]) -> (usize, usize, usize) {
        let rolls: Vec<String> = rolls.iter().map(|pool| (*pool).to_owned()).collect();
        let fleet = fleet(shoot, present, &rolls, Timestamp::UNIX_EPOCH, |pool| {
            *count += 1;
            format!("{pool}-{count}")
        });
        present.retain(|node| !fleet.go.iter().any(|gone| gone == text(node, "metadata.name")));
        for changed in &fleet.change {
            present.retain(|node| text(node, "metadata.name") != text(changed, "metadata.name"));
        }
        let told = (fleet.go.len(), fleet.come.len(), fleet.change.len());
        present.extend(fleet.come.into_iter().chain(fleet.change));
        told
    }

    #[test]
    fn nodes_come_and_go_with_the_pools() {
        let (mut nodes, mut count) = (Vec::new(), 0);
        let mut change = |edit: fn(&mut Value), rolls: &[&str]| after(&mut nodes, &mut count, &shoot(edit), rolls);
        let zones = |s: &mut Value| s["spec"]["provider"]["workers"][0]["zones"] = json!(["a", "b"]);
        assert_eq!(change(zones, &[]), (0, 6, 0));
        assert_eq!(change(zones, &[]), (0, 0, 0), "nothing changed");
        assert_eq!(change(zones, &["other"]), (0, 0, 0));
        assert_eq!(change(zones, &["*"]), (6, 6, 0), "all are rolled");
        let patch = |s: &mut Value| {
            s["spec"]["provider"]["workers"][0]["zones"] = json!(["a", "b"]);
            s["spec"]["kubernetes"]["version"] = json!("1.34.5");
        };
        assert_eq!(change(patch, &[]), (0, 0, 6), "kubelets restart where they are");
        let minor = |s: &mut Value| {
            s["spec"]["provider"]["workers"][0]["zones"] = json!(["a", "b"]);
            s["spec"]["kubernetes"]["version"] = json!("1.35.2");
        };
        assert_eq!(change(minor, &[]), (6, 6, 0));
        let fewer = |s: &mut Value| {
            s["spec"]["provider"]["workers"][0]["zones"] = json!(["a", "b"]);
            s["spec"]["kubernetes"]["version"] = json!("1.35.2");
            s["spec"]["provider"]["workers"][0]["minimum"] = json!(3);
        };
        assert_eq!(change(fewer, &[]), (3, 0, 0));
        assert_eq!(nodes.iter().filter(|node| label(node, ZONE) == "a").count(), 2);
        assert!(nodes.iter().all(|node| text(node, "status.nodeInfo.kubeletVersion") == "v1.35.2"));
        let none = json!({"spec": {"provider": {"workers": []}}});
        assert_eq!(after(&mut nodes, &mut count, &none, &[]), (3, 0, 0));
    }
}
