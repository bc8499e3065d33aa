//! Discovery: what this cluster serves, in the plain form (one document per group) and in the
//! aggregated one (all in one answer), both from the registry.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use crate::{
    kind::{Kind, Subresource},
    registry::version_rank,
};

/// `GET /api`.
pub fn core_versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": address }],
    })
}

/// The versions of a group with their kinds.
type Versions<'a> = Vec<(String, Vec<&'a Kind>)>;

/// Kinds by group and version, groups in order, the preferred version first.
fn grouped(kinds: &[Arc<Kind>]) -> Vec<(String, Versions<'_>)> {
    let mut groups: BTreeMap<String, BTreeMap<String, Vec<&Kind>>> = BTreeMap::new();
    for kind in kinds {
        groups.entry(kind.group.clone()).or_default().entry(kind.version.clone()).or_default().push(kind);
    }
    groups
        .into_iter()
        .map(|(group, versions)| {
            let mut versions: Vec<_> = versions.into_iter().collect();
            versions.sort_by_key(|(version, _)| version_rank(version));
            (group, versions)
        })
        .collect()
}

fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

fn group_json(group: &str, versions: &Versions<'_>) -> Value {
    let all: Vec<Value> = versions
        .iter()
        .map(|(version, _)| json!({ "groupVersion": group_version(group, version), "version": version }))
        .collect();
    json!({ "name": group, "versions": all, "preferredVersion": all.first() })
}

/// `GET /apis`.
pub fn groups(kinds: &[Arc<Kind>]) -> Value {
    let groups = grouped(kinds);
    let named = groups.iter().filter(|(group, _)| !group.is_empty());
    let all: Vec<Value> = named.map(|(group, versions)| group_json(group, versions)).collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": all })
}

/// `GET /apis/{group}`.
pub fn group(kinds: &[Arc<Kind>], name: &str) -> Option<Value> {
    let groups = grouped(kinds);
    let (group, versions) = groups.iter().find(|(group, _)| group == name && !group.is_empty())?;
    let mut answer = group_json(group, versions);
    answer["kind"] = json!("APIGroup");
    answer["apiVersion"] = json!("v1");
    Some(answer)
}

/// `GET /api/v1` and `GET /apis/{group}/{version}`.
pub fn resources(kinds: &[Arc<Kind>], group: &str, version: &str) -> Option<Value> {
    let served = kinds.iter().filter(|kind| kind.group == group && kind.version == version);
    let all: Vec<Value> = served.flat_map(|kind| plain(kind)).collect();
    if all.is_empty() {
        return None;
    }
    Some(json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version(group, version), "resources": all,
    }))
}

fn plain(kind: &Kind) -> Vec<Value> {
    let mut own = json!({
        "name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced, "kind": kind.kind,
        "verbs": kind.verbs,
    });
    for (key, names) in [("shortNames", &kind.short_names), ("categories", &kind.categories)] {
        if !names.is_empty() {
            own[key] = json!(names);
        }
    }
    let below = kind.subresources.iter().map(|one| {
        let (group, version, name) = answer_kind(kind, one);
        let mut below = json!({
            "name": format!("{}/{}", kind.plural, one.name()), "singularName": "", "namespaced": kind.namespaced,
            "kind": name, "verbs": verbs(one),
        });
        if (group, version) != (kind.group.as_str(), kind.version.as_str()) {
            below["group"] = json!(group);
            below["version"] = json!(version);
        }
        below
    });
    std::iter::once(own).chain(below).collect()
}

fn verbs(below: &Subresource) -> &'static [&'static str] {
    match below {
        Subresource::Status | Subresource::Scale { .. } => &["get", "patch", "update"],
        Subresource::View { .. } => &["update"],
        Subresource::Call { .. } => &["create"],
    }
}

fn answer_kind<'a>(kind: &'a Kind, below: &'a Subresource) -> (&'a str, &'a str, &'a str) {
    match below {
        Subresource::Status | Subresource::View { .. } => (&kind.group, &kind.version, &kind.kind),
        Subresource::Scale { .. } => ("autoscaling", "v1", "Scale"),
        Subresource::Call { group, version, kind, .. } => (group, version, kind),
    }
}

/// Aggregated discovery of the core group or of all others.
pub fn aggregated(kinds: &[Arc<Kind>], core: bool, version: &str) -> Value {
    let items: Vec<Value> = grouped(kinds)
        .iter()
        .filter(|(group, _)| group.is_empty() == core)
        .map(|(group, versions)| {
            let versions: Vec<Value> = versions
                .iter()
                .map(|(version, kinds)| {
                    let resources: Vec<Value> = kinds.iter().map(|kind| item(kind)).collect();
                    json!({ "version": version, "resources": resources, "freshness": "Current" })
                })
                .collect();
            let metadata = if core {
                json!({ "creationTimestamp": null })
            } else {
                json!({ "name": group, "creationTimestamp": null })
            };
            json!({ "metadata": metadata, "versions": versions })
        })
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {}, "items": items,
    })
}

fn item(kind: &Kind) -> Value {
    let response = |group: &str, version: &str, kind: &str| json!({ "group": group, "version": version, "kind": kind });
    let scope = if kind.namespaced { "Namespaced" } else { "Cluster" };
    let mut item = json!({
        "resource": kind.plural, "singularResource": kind.singular, "scope": scope, "verbs": kind.verbs,
        "responseKind": response(&kind.group, &kind.version, &kind.kind),
    });
    for (key, names) in [("shortNames", &kind.short_names), ("categories", &kind.categories)] {
        if !names.is_empty() {
            item[key] = json!(names);
        }
    }
    if !kind.subresources.is_empty() {
        let below = kind.subresources.iter().map(|one| {
            let (group, version, name) = answer_kind(kind, one);
            json!({ "subresource": one.name(), "responseKind": response(group, version, name), "verbs": verbs(one) })
        });
        item["subresources"] = below.collect();
    }
    item
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_tell_the_same() {
        let kinds: Vec<Arc<Kind>> = crate::kinds::builtin().to_vec();
        let core = aggregated(&kinds, true, "v2");
        let names = |value: &Value, key: &str| -> Vec<String> {
            value.as_array().into_iter().flatten().filter_map(|one| one[key].as_str()).map(ToOwned::to_owned).collect()
        };
        let plain = resources(&kinds, "", "v1").expect("core");
        let plain: Vec<String> =
            names(&plain["resources"], "name").into_iter().filter(|name| !name.contains('/')).collect();
        assert_eq!(names(&core["items"][0]["versions"][0]["resources"], "resource"), plain);
        assert_eq!(group(&kinds, "apps").expect("apps")["preferredVersion"]["groupVersion"], "apps/v1");
        assert!(resources(&kinds, "apps", "v9").is_none() && group(&kinds, "x").is_none());
    }
}
