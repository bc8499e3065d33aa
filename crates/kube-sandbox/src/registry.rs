//! The kinds a cluster serves.
//!
//! Built-in kinds are there from the start, custom ones come and go with their definitions, and whoever
//! embeds the server may register more. Discovery, routing and OpenAPI all read this one table.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use super::kind::Kind;

/// Group, version and plural: what a path names.
type Path = (String, String, String);

/// The kinds of one cluster.
#[derive(Debug, Default)]
pub struct Registry {
    kinds: RwLock<BTreeMap<Path, Arc<Kind>>>,
}

impl Registry {
    /// Serves a kind, in place of an earlier one at the same path.
    pub fn add(&self, kind: impl Into<Arc<Kind>>) {
        let kind = kind.into();
        let path = (kind.group.clone(), kind.version.clone(), kind.plural.clone());
        self.kinds.write().unwrap_or_else(PoisonError::into_inner).insert(path, kind);
    }

    /// Serves no version of this resource but the named ones.
    pub fn keep_only(&self, group: &str, plural: &str, versions: &[&str]) {
        let mut kinds = self.kinds.write().unwrap_or_else(PoisonError::into_inner);
        kinds.retain(|(g, version, p), _| g != group || p != plural || versions.contains(&version.as_str()));
    }

    /// The kind at a path.
    pub fn get(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Kind>> {
        let kinds = self.kinds.read().unwrap_or_else(PoisonError::into_inner);
        kinds.get(&(group.to_owned(), version.to_owned(), plural.to_owned())).cloned()
    }

    /// Any version of a resource, the preferred one first.
    pub fn any(&self, group: &str, plural: &str) -> Option<Arc<Kind>> {
        self.first(|kind| kind.group == group && kind.plural == plural)
    }

    /// The kind of this name, as objects and owner references name it.
    pub fn by_kind(&self, api_version: &str, name: &str) -> Option<Arc<Kind>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.first(|kind| kind.kind == name && kind.group == group && kind.version == version)
    }

    /// The kind whose objects are in this table.
    pub fn stored_as(&self, table: &str) -> Option<Arc<Kind>> {
        self.first(|kind| kind.stored_as == table && kind.convert.is_none())
    }

    /// The preferred one of those that fit.
    fn first(&self, fits: impl Fn(&Kind) -> bool) -> Option<Arc<Kind>> {
        let kinds = self.kinds.read().unwrap_or_else(PoisonError::into_inner);
        kinds.values().filter(|kind| fits(kind)).min_by_key(|kind| rank(kind)).cloned()
    }

    /// All kinds, by group, the preferred version first.
    pub fn all(&self) -> Vec<Arc<Kind>> {
        let kinds = self.kinds.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<Arc<Kind>> = kinds.values().cloned().collect();
        all.sort_by(|a, b| a.group.cmp(&b.group).then_with(|| rank(a).cmp(&rank(b))).then(a.plural.cmp(&b.plural)));
        all
    }
}

/// The order of versions as clients prefer them: stable before beta before alpha, newer first, other names last.
pub(crate) fn version_rank(version: &str) -> (u8, i64, i64, String) {
    let other = || (3, 0, 0, version.to_owned());
    let Some(rest) = version.strip_prefix('v') else { return other() };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let Ok(major) = rest[..digits].parse::<i64>() else { return other() };
    let (class, minor) = match &rest[digits..] {
        "" => (0, Some(0)),
        tail if tail.starts_with("beta") => (1, tail[4..].parse::<i64>().ok()),
        tail if tail.starts_with("alpha") => (2, tail[5..].parse::<i64>().ok()),
        _ => (3, None),
    };
    minor.map_or_else(other, |minor| (class, -major, -minor, String::new()))
}

fn rank(kind: &Arc<Kind>) -> (u8, i64, i64, String) {
    version_rank(&kind.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_first_and_newer_before_older() {
        let mut versions = ["foo1", "v1alpha1", "v2beta1", "v1", "v11", "v2", "v1beta2", "v2beta2", "v1beta"];
        versions.sort_by_key(|version| version_rank(version));
        assert_eq!(versions, ["v11", "v2", "v1", "v2beta2", "v2beta1", "v1beta2", "v1alpha1", "foo1", "v1beta"]);
    }
}
