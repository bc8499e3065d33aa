//! Secrets in the garden with the credentials of registry caches, and which of them are in use.
//!
//! Their content comes from customers' clusters and goes to the garden; here only hashes of it are known. A Secret
//! is never changed: other credentials are another Secret, and the old one goes when no Shoot refers to it.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError},
};

use serde_json::{Value, json};
use slipway_kube::{access::Exactly, annotations, labels, runtime::ImageRegistryCache};

use crate::{
    observe::{SecretView, hash},
    registry_caches::decide::Credentials,
    render::{REGISTRY_CACHE, RegistrySecret},
};

/// One Secret in the garden, without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GardenSecret {
    /// This one, and no other of its name.
    pub(super) this: Exactly,
    /// The cache it is for.
    pub(super) cache_uid: String,
    /// Whether others have replaced it.
    pub(super) is_dirty: bool,
    /// Whether it is being deleted, and stays only as long as a Shoot refers to it.
    pub(super) is_going: bool,
    /// Since when it is there, in seconds.
    created: i64,
    hashes: BTreeMap<String, String>,
}

impl GardenSecret {
    fn read(secret: &SecretView) -> Option<Self> {
        Some(Self {
            this: Exactly::this(&secret.metadata),
            cache_uid: secret.label(labels::REGISTRY_CACHE_ID)?.to_owned(),
            is_dirty: secret.label(labels::DIRTY) == Some("true"),
            is_going: secret.metadata.deletion_timestamp.is_some(),
            created: secret.metadata.creation_timestamp.as_ref().map_or(i64::MAX, |time| time.0.as_second()),
            hashes: secret.hashes.iter().map(|(key, hashed)| (key.clone(), hashed.0.clone())).collect(),
        })
    }

    /// Whether it has these credentials.
    pub(super) fn has(&self, credentials: &Credentials) -> bool {
        let wanted = credentials.0.iter().map(|(key, value)| (key, hash(value.as_bytes())));
        self.hashes.iter().map(|(key, hash)| (key, hash.clone())).eq(wanted)
    }
}

/// The Secrets of one Runtime, by name.
pub(crate) type GardenSecrets = BTreeMap<String, GardenSecret>;

/// The Secrets of all Runtimes.
#[derive(Debug, Default)]
pub(super) struct SecretIndex(Mutex<HashMap<String, GardenSecrets>>);

impl SecretIndex {
    /// Those of one Runtime.
    pub(super) fn of_runtime(&self, runtime: &str) -> GardenSecrets {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(runtime).cloned().unwrap_or_default()
    }

    /// One is there, or was changed.
    pub(super) fn note(&self, name: &str, secret: &SecretView) {
        let (Some(runtime), Some(known)) = (secret.label(labels::RUNTIME_ID), GardenSecret::read(secret)) else {
            return;
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(runtime.to_owned()).or_default().insert(name.to_owned(), known);
    }

    /// One is gone; answers whether that is news.
    pub(super) fn forget(&self, runtime: &str, name: &str) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(of) = all.get_mut(runtime) else { return false };
        let was_known = of.remove(name).is_some();
        if of.is_empty() {
            all.remove(runtime);
        }
        was_known
    }
}

/// The Secret of each cache that has one: the youngest that was not replaced. One that is being deleted is better
/// than none: it is there as long as the Shoot names it.
pub(super) fn choose(known: &GardenSecrets, caches: &[ImageRegistryCache]) -> Vec<RegistrySecret> {
    let secret_of = |cache: &ImageRegistryCache| {
        cache.config.secret_reference_name.as_ref()?;
        let fit = known.iter().filter(|(_, known)| known.cache_uid == cache.uid && !known.is_dirty);
        let (name, _) = fit.max_by_key(|(name, known)| (!known.is_going, known.created, *name))?;
        Some(RegistrySecret { cache_uid: cache.uid.clone(), secret_name: name.clone() })
    };
    caches.iter().filter_map(secret_of).collect()
}

/// The Secrets that a living Shoot names for these caches, for whoever sees nothing of the garden but the Shoot.
pub fn secrets_named_by(shoot: &Value, caches: &[ImageRegistryCache]) -> Vec<RegistrySecret> {
    let extensions = shoot["spec"]["extensions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let extension = extensions.iter().find(|it| it["type"] == REGISTRY_CACHE).unwrap_or(&Value::Null);
    let built = extension["providerConfig"]["caches"].as_array().map(Vec::as_slice).unwrap_or_default();
    let secret_of = |cache: &ImageRegistryCache| {
        cache.config.secret_reference_name.as_ref()?;
        let built = built.iter().find(|it| it["upstream"] == cache.config.upstream.as_str())?;
        let secret_name = built["secretReferenceName"].as_str()?.to_owned();
        Some(RegistrySecret { cache_uid: cache.uid.clone(), secret_name })
    };
    caches.iter().filter_map(secret_of).collect()
}

/// Those that no cache uses, and that are still to be deleted.
pub(super) fn find_surplus(known: &GardenSecrets, caches: &[ImageRegistryCache]) -> Vec<String> {
    let chosen = choose(known, caches);
    let is_surplus =
        |name: &str, known: &GardenSecret| !known.is_going && !chosen.iter().any(|one| one.secret_name == name);
    known.iter().filter(|(name, known)| is_surplus(name, known)).map(|(name, _)| name.clone()).collect()
}

/// The Secret with these credentials. Its name is made from its content, so a repeat makes the same one; and from those
/// that are on their way out, because a name is taken until its bearer is gone.
pub(super) fn build(
    runtime: &str,
    cache: &ImageRegistryCache,
    credentials: &Credentials,
    known: &GardenSecrets,
    namespace: &str,
) -> (String, Value) {
    let going: Vec<&String> = known.iter().filter(|(_, known)| known.is_going).map(|(name, _)| name).collect();
    let content = json!([runtime, cache.uid, credentials.0, going]).to_string();
    let digits = hash(content.as_bytes());
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..32]];
    let name = format!("reg-cache-{}", parts.join("-"));
    let document = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": true,
        "metadata": {
            "name": name, "namespace": namespace,
            "labels": {
                labels::RUNTIME_ID: runtime, labels::REGISTRY_CACHE_ID: cache.uid,
                labels::APP_MANAGED_BY: labels::MANAGED_BY_US,
            },
            "annotations": {
                annotations::REGISTRY_CACHE_NAME: cache.name, annotations::REGISTRY_CACHE_NAMESPACE: cache.namespace,
            },
        },
        "data": credentials.0,
    });
    (name, document)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Credentials of a registry cache that nobody uses.
    pub(crate) fn credentials(runtime: &str) -> GardenSecrets {
        let labels = json!({labels::RUNTIME_ID: runtime, labels::REGISTRY_CACHE_ID: "u1"});
        let secrets = SecretIndex::default();
        secrets.note("s", &serde_json::from_value(json!({"metadata": {"labels": labels}})).expect("a Secret"));
        secrets.of_runtime(runtime)
    }

    fn cache(uid: &str, secret: Option<&str>) -> ImageRegistryCache {
        let config = json!({"upstream": "x.io", "secretReferenceName": secret});
        serde_json::from_value(json!({"name": uid, "namespace": "n", "uid": uid, "config": config})).expect("a cache")
    }

    fn known(cache_uid: &str, created: i64, is_dirty: bool) -> GardenSecret {
        GardenSecret {
            this: Exactly::default(),
            cache_uid: cache_uid.to_owned(),
            is_dirty,
            is_going: created > 5,
            created,
            hashes: BTreeMap::new(),
        }
    }

    #[test]
    fn the_youngest_that_was_not_replaced_is_used_and_the_rest_is_surplus() {
        let all = GardenSecrets::from([
            ("old".to_owned(), known("u1", 1, false)),
            ("new".to_owned(), known("u1", 2, false)),
            ("replaced".to_owned(), known("u1", 3, true)),
            ("going".to_owned(), known("u1", 9, false)),
            ("other".to_owned(), known("u2", 1, false)),
            ("orphan".to_owned(), known("u9", 1, false)),
        ]);
        let caches = [cache("u1", Some("s")), cache("u2", None), cache("u3", Some("s"))];
        let names: Vec<String> = choose(&all, &caches).into_iter().map(|one| one.secret_name).collect();
        assert_eq!(names, ["new"]);
        assert_eq!(find_surplus(&all, &caches), ["old", "orphan", "other", "replaced"]);
        let last = GardenSecrets::from([("going".to_owned(), known("u1", 9, false))]);
        assert_eq!(choose(&last, &caches).len(), 1, "better than none");
    }

    #[test]
    fn a_secret_is_known_by_its_content_and_named_after_it() {
        let credentials = |password: &str| {
            Credentials(BTreeMap::from(
                [("username", "eA=="), ("password", password)].map(|(k, v)| (k.to_owned(), v.to_owned())),
            ))
        };
        let made = |password: &str, known: &GardenSecrets| {
            build("shop", &cache("u1", Some("s")), &credentials(password), known, "garden-dev")
        };
        let (name, document) = made("eQ==", &GardenSecrets::new());
        let view: SecretView = serde_json::from_value(document).expect("a Secret");
        let secrets = SecretIndex::default();
        secrets.note(&name, &view);
        let known = secrets.of_runtime("shop");
        assert!(known[&name].has(&credentials("eQ==")) && !known[&name].has(&credentials("eg==")));
        assert_eq!(made("eQ==", &known).0, name);
        assert_ne!(made("eg==", &known).0, name);
        let going = GardenSecrets::from([(name.clone(), GardenSecret { is_going: true, ..known[&name].clone() })]);
        assert_ne!(made("eQ==", &going).0, name, "its name is still taken");
        assert!(
            secrets.forget("shop", &name) && !secrets.forget("shop", &name) && secrets.of_runtime("shop").is_empty()
        );
    }
}
