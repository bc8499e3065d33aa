//! News of the caches that clusters ask for. Only clusters with the module are listened to: they are few, and
//! nobody else's connection is kept open for it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use slipway_kube::access::{
    Access,
    cache::{Cache, Change, Projection, Source},
    resource::REGISTRY_CACHE_CONFIGS,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{observe::hash, shared::Shared};

/// At most this many; the others are looked at when their time comes.
const MOST: usize = 500;

/// What matters of a wish here.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct WishView {
    #[serde(default)]
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Fingerprint,
}

/// As much of a spec as is needed to see that it is another one; it may be large.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Value", into = "Value")]
struct Fingerprint(String);

impl From<Value> for Fingerprint {
    fn from(spec: Value) -> Self {
        match spec {
            // Made before, and read back from the cache: a spec is an object.
            Value::String(made) => Self(made),
            spec => Self(hash(spec.to_string().as_bytes())),
        }
    }
}

impl From<Fingerprint> for Value {
    fn from(Fingerprint(made): Fingerprint) -> Self {
        Self::String(made)
    }
}

impl Projection for WishView {
    fn slim(&mut self) {
        let ObjectMeta { name, namespace, uid, deletion_timestamp, .. } = std::mem::take(&mut self.metadata);
        self.metadata = ObjectMeta { name, namespace, uid, deletion_timestamp, ..ObjectMeta::default() };
    }
}

struct Watch {
    /// The kubeconfig it was begun with.
    hash: String,
    /// Ends it.
    _end: DropGuard,
}

/// The clusters that are listened to.
#[derive(Default)]
pub(super) struct Watches(Mutex<HashMap<String, Watch>>);

impl Watches {
    /// Listens to a cluster, with the kubeconfig of this hash.
    pub(super) fn begin(&self, shared: &Arc<Shared>, name: &str, hash: &str, skr: Access) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.get(name).is_some_and(|watch| watch.hash == hash) || (all.len() >= MOST && !all.contains_key(name)) {
            return;
        }
        let source = Source {
            access: skr,
            resource: &REGISTRY_CACHE_CONFIGS,
            namespace: String::new(),
            selector: String::new(),
            random: shared.random.clone(),
        };
        // Weak: what is listened to must not keep alive who listens.
        let (to, of) = (Arc::downgrade(shared), name.to_owned());
        let wake = Arc::new(move || {
            if let Some(shared) = to.upgrade() {
                super::look_soon(&shared, &of);
            }
        });
        let cache = Cache::<WishView>::default();
        let (listed, changed) = (cache.clone(), wake.clone());
        let on_change = Box::new(move |change: &Change<WishView>| {
            if listed.is_synced() && change.old != change.new {
                changed();
            }
        });
        let end = CancellationToken::new();
        let ended = end.clone();
        shared.tasks.listen(async move {
            // Once when the list is there: what changed between the last look and the list is told by nobody.
            let begun = async {
                cache.until_synced().await;
                wake();
            };
            let both = futures::future::join(cache.clone().run(source, on_change), begun);
            ended.run_until_cancelled(both).await;
        });
        all.insert(name.to_owned(), Watch { hash: hash.to_owned(), _end: end.drop_guard() });
    }

    /// Stops listening to one.
    pub(super) fn end(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    /// Stops listening to all but these. Whoever says which may ask here meanwhile.
    pub(super) fn keep(&self, these: impl Fn(&str) -> bool) {
        let names: Vec<String> = self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect();
        names.iter().filter(|name| !these(name)).for_each(|name| self.end(name));
    }

    /// Whether a cluster is listened to with another kubeconfig than this one.
    pub(super) fn is_outdated(&self, name: &str, hash: Option<&str>) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(name).is_some_and(|watch| Some(watch.hash.as_str()) != hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_says_which_are_kept_may_ask_meanwhile() {
        let watches = Watches::default();
        for (name, hash) in [("one", "old"), ("two", "new")] {
            let watch = Watch { hash: hash.to_owned(), _end: CancellationToken::new().drop_guard() };
            watches.0.lock().expect("lock").insert(name.to_owned(), watch);
        }
        watches.keep(|name| !watches.is_outdated(name, Some("new")));
        assert!(!watches.is_outdated("one", None) && watches.is_outdated("two", None), "only the second is left");
    }
}
