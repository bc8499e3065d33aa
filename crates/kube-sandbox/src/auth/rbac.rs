//! Role-based access control, evaluated as the real server does.
//!
//! Rights only ever add up: a request is allowed if one rule of one role bound to the user or one of
//! their groups covers it. The rules are read once and kept until a role or binding changes.

use serde_json::Value;

use crate::{
    kind::{Access, User},
    object::Name,
    store::Store,
};

const GROUP: &str = "rbac.authorization.k8s.io";
const TABLES: [&str; 4] = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"];

/// All rights of a cluster at one moment.
#[derive(Debug)]
pub struct Policy {
    /// Newest change of each table when it was read.
    versions: [u64; 4],
    grants: Vec<Grant>,
}

/// Rules somebody has, somewhere.
#[derive(Debug)]
struct Grant {
    /// Everywhere if empty.
    namespace: String,
    subjects: Vec<Subject>,
    rules: Vec<Rule>,
    /// Which binding to which role, as reasons say it.
    words: String,
}

/// Who has them.
#[derive(Debug, PartialEq, Eq)]
struct Subject {
    is_group: bool,
    name: String,
    /// As reasons say it.
    words: String,
}

/// One rule of a role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rule {
    /// Verbs.
    pub verbs: Vec<String>,
    /// API groups.
    pub groups: Vec<String>,
    /// Resources, `pods/log` for one below.
    pub resources: Vec<String>,
    /// Only these objects, or all if empty.
    pub names: Vec<String>,
    /// Paths that are no resources.
    pub paths: Vec<String>,
}

impl Rule {
    /// Reads a rule.
    pub fn parse(rule: &Value) -> Self {
        let list = |key: &str| -> Vec<String> {
            rule[key].as_array().into_iter().flatten().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
        };
        Self {
            verbs: list("verbs"),
            groups: list("apiGroups"),
            resources: list("resources"),
            names: list("resourceNames"),
            paths: list("nonResourceURLs"),
        }
    }

    /// Reads the rules of a role.
    pub fn all(role: &Value) -> Vec<Self> {
        role["rules"].as_array().into_iter().flatten().map(Self::parse).collect()
    }

    /// Whether it covers this.
    pub fn covers(&self, access: &Access<'_>) -> bool {
        let has = |list: &[String], wanted: &str| list.iter().any(|one| one == "*" || one == wanted);
        if !has(&self.verbs, access.verb) {
            return false;
        }
        if !access.path.is_empty() {
            return self.paths.iter().any(|path| match path.strip_suffix('*') {
                Some(start) => access.path.starts_with(start),
                None => path == access.path,
            });
        }
        let whole = if access.subresource.is_empty() {
            access.resource.to_owned()
        } else {
            format!("{}/{}", access.resource, access.subresource)
        };
        let resource = has(&self.resources, &whole)
            || (!access.subresource.is_empty() && self.resources.contains(&format!("*/{}", access.subresource)));
        let name = self.names.is_empty() || self.names.iter().any(|one| one == access.name);
        has(&self.groups, access.group) && resource && name
    }
}

impl Policy {
    /// Reads all roles and bindings of a cluster.
    pub fn read(store: &Store, cluster: &str) -> Self {
        let versions = versions(store, cluster);
        let mut grants = Vec::new();
        for table in ["clusterrolebindings", "rolebindings"] {
            let listed = store.list(cluster, &format!("{table}.{GROUP}"), "", None, 0);
            for (name, binding) in listed.map(|listed| listed.objects).unwrap_or_default() {
                let binding = binding.value();
                let role = &binding["roleRef"];
                let is_cluster_role = role["kind"] == "ClusterRole";
                let (table, namespace) = if is_cluster_role { (TABLES[0], "") } else { (TABLES[2], &*name.namespace) };
                let role_name = Name::new(namespace, role["name"].as_str().unwrap_or_default());
                let Some(role) = store.get(cluster, &format!("{table}.{GROUP}"), &role_name) else { continue };
                let subjects = binding["subjects"].as_array().into_iter().flatten();
                let kind = if name.namespace.is_empty() { "ClusterRoleBinding" } else { "RoleBinding" };
                let home = if name.namespace.is_empty() { String::new() } else { format!("/{}", name.namespace) };
                let words = format!(
                    "RBAC: allowed by {kind} \"{}{home}\" of {} {:?}",
                    name.name,
                    binding["roleRef"]["kind"].as_str().unwrap_or_default(),
                    &*role_name.name
                );
                grants.push(Grant {
                    words,
                    subjects: subjects.filter_map(|one| subject(one, &name.namespace)).collect(),
                    rules: rules(store, cluster, &role.value()),
                    namespace: name.namespace.into(),
                });
            }
        }
        Self { versions, grants }
    }

    /// Nothing has changed since.
    pub fn is_current(&self, store: &Store, cluster: &str) -> bool {
        versions(store, cluster) == self.versions
    }

    /// Why this user may do that, if they may.
    pub fn allows(&self, user: &User, access: &Access<'_>) -> Option<String> {
        if user.is_in("system:masters") {
            return Some(String::new());
        }
        let mut grants = self.grants(user, access.namespace);
        let (grant, subject) = grants.find(|(grant, _)| grant.rules.iter().any(|rule| rule.covers(access)))?;
        Some(format!("{} to {}", grant.words, subject.words))
    }

    /// All rules this user has in a namespace.
    pub fn rules(&self, user: &User, namespace: &str) -> Vec<Rule> {
        self.grants(user, namespace).flat_map(|(grant, _)| grant.rules.clone()).collect()
    }

    fn grants<'a>(&'a self, user: &'a User, namespace: &'a str) -> impl Iterator<Item = (&'a Grant, &'a Subject)> {
        let here = move |grant: &&Grant| grant.namespace.is_empty() || grant.namespace == namespace;
        self.grants.iter().filter(here).filter_map(|grant| {
            let is_user = |one: &&Subject| if one.is_group { user.is_in(&one.name) } else { one.name == user.name };
            grant.subjects.iter().find(is_user).map(|subject| (grant, subject))
        })
    }
}

fn subject(subject: &Value, namespace: &str) -> Option<Subject> {
    let (kind, own) = (subject["kind"].as_str()?, subject["name"].as_str()?);
    let home = subject["namespace"].as_str().unwrap_or(namespace);
    let name = match kind {
        "User" | "Group" => own.to_owned(),
        "ServiceAccount" => format!("system:serviceaccount:{home}:{own}"),
        _ => return None,
    };
    let shown = if kind == "ServiceAccount" { format!("{own}/{home}") } else { own.to_owned() };
    Some(Subject { is_group: kind == "Group", name, words: format!("{kind} {shown:?}") })
}

/// The rules of a role, those of the roles it aggregates included.
fn rules(store: &Store, cluster: &str, role: &Value) -> Vec<Rule> {
    let mut rules = Rule::all(role);
    let selectors = role["aggregationRule"]["clusterRoleSelectors"].as_array().into_iter().flatten();
    for wanted in selectors.filter_map(|selector| selector["matchLabels"].as_object()) {
        let listed = store.list(cluster, &format!("{}.{GROUP}", TABLES[0]), "", None, 0);
        for (_, other) in listed.map(|listed| listed.objects).unwrap_or_default() {
            let labels = &other.facts().labels;
            let has = |(key, value): (&String, &Value)| {
                labels.iter().any(|(k, v)| **k == **key && Some(&**v) == value.as_str())
            };
            if wanted.iter().all(has) {
                rules.extend(Rule::all(&other.value()));
            }
        }
    }
    rules
}

fn versions(store: &Store, cluster: &str) -> [u64; 4] {
    TABLES.map(|table| store.bell(cluster, &format!("{table}.{GROUP}")).map_or(0, |bell| *bell.borrow()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn access(verb: &'static str, resource: &'static str, subresource: &'static str) -> Access<'static> {
        Access { verb, group: "apps", resource, subresource, name: "a", ..Access::default() }
    }

    #[test]
    fn a_rule_covers_what_it_names_and_nothing_else() {
        let rule = |resources: &[&str], names: &[&str]| {
            Rule::parse(
                &json!({ "verbs": ["get"], "apiGroups": ["apps"], "resources": resources, "resourceNames": names }),
            )
        };
        assert!(rule(&["deployments"], &[]).covers(&access("get", "deployments", "")));
        assert!(!rule(&["deployments"], &[]).covers(&access("list", "deployments", "")));
        assert!(!rule(&["deployments"], &[]).covers(&access("get", "deployments", "status")));
        assert!(rule(&["*/status"], &[]).covers(&access("get", "deployments", "status")));
        assert!(rule(&["*"], &["a"]).covers(&access("get", "x", "")));
        assert!(!rule(&["*"], &["b"]).covers(&access("get", "x", "")));
        let paths = Rule::parse(&json!({ "verbs": ["get"], "nonResourceURLs": ["/healthz", "/apis/*"] }));
        let path = |path: &'static str| Access { verb: "get", path, ..Access::default() };
        assert!(paths.covers(&path("/apis/x")) && paths.covers(&path("/healthz")) && !paths.covers(&path("/metrics")));
    }
}
