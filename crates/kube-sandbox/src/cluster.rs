//! One logical cluster: its kinds, its objects, its rights.
//!
//! Clones are the same cluster. Code inside this process works with it directly (the server's own
//! controllers, other simulators, tests): through the same rules and the same store as everybody else, but
//! as a system user, and without a request.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use jiff::Timestamp;
use serde_json::Value;

use super::{
    auth::{rbac, tokens::TokenKey},
    delete::{Deleted, Options},
    kind::{Access, Kind, User, View},
    object::Name,
    registry::Registry,
    status::Status,
    store::{Event, Store, TooOld},
    write::{Call, FieldValidation, How},
};
use crate::clock;

/// A logical cluster.
#[derive(Clone)]
pub struct Cluster(Arc<Inner>);

struct Inner {
    name: Arc<str>,
    store: Store,
    registry: Registry,
    tokens: TokenKey,
    policy: Mutex<Option<Arc<rbac::Policy>>>,
    clock: Mutex<Option<Now>>,
    consulted: Mutex<Consulted>,
}

/// By kind: everything there is of it, and when it last changed.
type Consulted = HashMap<String, (u64, Arc<Vec<Value>>)>;

/// Tells the time.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cluster {}", self.0.name)
    }
}

impl Cluster {
    pub(crate) fn new(name: &str, store: Store, registry: Registry, tokens: TokenKey) -> Self {
        Self(Arc::new(Inner {
            name: name.into(),
            store,
            registry,
            tokens,
            policy: Mutex::new(None),
            clock: Mutex::new(None),
            consulted: Mutex::default(),
        }))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Times in its objects come from this clock instead of the real one. Tokens go by the real one still:
    /// whoever holds one renews it by a clock of their own.
    pub fn set_clock(&self, now: Now) {
        *self.0.clock.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }

    /// The time by its clock.
    pub fn now(&self) -> Timestamp {
        let clock = self.0.clock.lock().unwrap_or_else(PoisonError::into_inner).clone();
        clock.map_or_else(clock::now, |now| now())
    }

    /// Where its objects are.
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// The kinds it serves.
    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }

    /// What its service account tokens are signed with.
    pub fn tokens(&self) -> &TokenKey {
        &self.0.tokens
    }

    /// Serves one more kind.
    pub fn register(&self, kind: Kind) {
        self.keep_history(&kind);
        self.0.registry.add(kind);
    }

    /// From now on every change of this kind is remembered: a list and a watch that follows it miss nothing.
    pub(crate) fn keep_history(&self, kind: &Kind) {
        drop(self.0.store.bell(self.name(), &kind.stored_as));
    }

    /// One object, in the preferred version of its kind.
    pub fn get(&self, group: &str, plural: &str, namespace: &str, name: &str) -> Option<Value> {
        let kind = self.0.registry.any(group, plural)?;
        let namespace = if kind.namespaced { namespace } else { "" };
        let stored = self.0.store.get(self.name(), &kind.stored_as, &Name::new(namespace, name))?;
        Some(kind.from_stored(stored.value()))
    }

    /// All objects of a kind, of one namespace or (empty) of all.
    pub fn list(&self, group: &str, plural: &str, namespace: &str) -> Vec<Value> {
        let Some(kind) = self.0.registry.any(group, plural) else { return Vec::new() };
        let listed = self.0.store.list(self.name(), &kind.stored_as, namespace, None, 0);
        // The present is never too old.
        let objects = listed.map(|listed| listed.objects).unwrap_or_default();
        objects.iter().map(|(_, stored)| kind.from_stored(stored.value())).collect()
    }

    /// All objects of a kind that is read much more often than it is written: parsed once per change.
    pub fn consult(&self, group: &str, plural: &str) -> Arc<Vec<Value>> {
        let Some(kind) = self.0.registry.any(group, plural) else { return Arc::default() };
        let Some(touched) = self.0.store.touched(self.name(), &kind.stored_as) else { return Arc::default() };
        let consulted = || self.0.consulted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = consulted().get(&kind.stored_as).filter(|(when, _)| *when == touched) {
            return known.clone();
        }
        // Should something change meanwhile, this is newer than it says and is read again the next time.
        let read = Arc::new(self.list(group, plural, ""));
        consulted().insert(kind.stored_as.clone(), (touched, read.clone()));
        read
    }

    /// Makes an object; `apiVersion`, `kind` and `metadata` say what and where.
    pub async fn create(&self, object: Value) -> Result<Value, Status> {
        let kind = self.kind_of(&object)?;
        let namespace = super::metadata::text(&object, "namespace").to_owned();
        self.act(&kind, &namespace, "", async |call| Ok(call.create(object, How::Update).await?.object)).await
    }

    /// Changes an object: `change` gets the present one, and again when somebody else was faster. A change of
    /// `status` needs the subresource `status`, as anywhere.
    pub async fn update(&self, place: &Place<'_>, mut change: impl FnMut(&mut Value)) -> Result<Value, Status> {
        let kind = self.0.registry.any(place.group, place.plural).ok_or_else(Status::unknown_resource)?;
        self.act(&kind, place.namespace, place.subresource, async |call| {
            let changed = call.change(place.name, How::Update, |old| {
                let mut new = old.clone();
                change(&mut new);
                Ok(new)
            });
            Ok(changed.await?.object)
        })
        .await
    }

    /// Deletes an object.
    pub async fn delete(&self, place: &Place<'_>, options: &Options) -> Result<Deleted, Status> {
        let kind = self.0.registry.any(place.group, place.plural).ok_or_else(Status::unknown_resource)?;
        self.act(&kind, place.namespace, "", async |call| call.delete(place.name, options).await).await
    }

    /// Changes of a kind, from now on or behind a version.
    pub fn watch(&self, group: &str, plural: &str, behind: Option<u64>) -> Result<Watch, Status> {
        let kind = self.0.registry.any(group, plural).ok_or_else(Status::unknown_resource)?;
        let bell = self.0.store.bell(self.name(), &kind.stored_as).ok_or_else(Status::unknown_resource)?;
        let cursor = behind.unwrap_or_else(|| self.0.store.version());
        Ok(Watch { cluster: self.clone(), table: kind.stored_as.clone(), bell, cursor, ready: Vec::new() })
    }

    /// The kind an object says it is.
    pub fn kind_of(&self, object: &Value) -> Result<Arc<Kind>, Status> {
        let (version, kind) = (object["apiVersion"].as_str(), object["kind"].as_str());
        let found = self.0.registry.by_kind(version.unwrap_or_default(), kind.unwrap_or_default());
        found.ok_or_else(Status::unknown_resource)
    }

    /// Does something as the server itself.
    async fn act<T>(
        &self,
        kind: &Arc<Kind>,
        namespace: &str,
        subresource: &str,
        work: impl AsyncFnOnce(&Call<'_>) -> Result<T, Status>,
    ) -> Result<T, Status> {
        let user = User::named("system:apiserver", &["system:masters"]);
        let warnings = Mutex::new(Vec::new());
        let call = Call {
            cluster: self,
            kind,
            namespace,
            subresource,
            user: &user,
            manager: "kube-sandbox",
            dry_run: false,
            validation: FieldValidation::Ignore,
            now: self.now(),
            warnings: &warnings,
        };
        work(&call).await
    }

    /// The rights as they are now.
    pub fn policy(&self) -> Arc<rbac::Policy> {
        let mut kept = self.0.policy.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(policy) = kept.as_ref().filter(|policy| policy.is_current(&self.0.store, self.name())) {
            return policy.clone();
        }
        let policy = Arc::new(rbac::Policy::read(&self.0.store, self.name()));
        *kept = Some(policy.clone());
        policy
    }
}

/// Where an object is, and which part of it is meant.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place<'a> {
    /// API group.
    pub group: &'a str,
    /// Resource.
    pub plural: &'a str,
    /// Namespace, or empty.
    pub namespace: &'a str,
    /// Name.
    pub name: &'a str,
    /// Part of the object, or empty.
    pub subresource: &'a str,
}

/// Changes of one kind, for code inside this process.
#[derive(Debug)]
pub struct Watch {
    cluster: Cluster,
    table: String,
    bell: tokio::sync::watch::Receiver<u64>,
    cursor: u64,
    ready: Vec<Arc<Event>>,
}

impl Watch {
    /// The next change. `Err` where this watch was too slow and must list again; `None` when the cluster is gone.
    pub async fn next(&mut self) -> Option<Result<Arc<Event>, TooOld>> {
        loop {
            if let Some(event) = self.ready.pop() {
                return Some(Ok(event));
            }
            self.bell.mark_unchanged();
            match self.cluster.store().changes(self.cluster.name(), &self.table, self.cursor) {
                Err(old) => {
                    self.cursor = self.cluster.store().version();
                    return Some(Err(old));
                }
                Ok((events, up_to)) => {
                    self.cursor = up_to;
                    self.ready = events;
                    self.ready.reverse();
                }
            }
            if self.ready.is_empty() && self.bell.changed().await.is_err() {
                return None;
            }
        }
    }
}

impl View for Cluster {
    fn get(&self, group: &str, plural: &str, namespace: &str, name: &str) -> Option<Value> {
        Self::get(self, group, plural, namespace, name)
    }

    fn list(&self, group: &str, plural: &str, namespace: &str) -> Vec<Value> {
        Self::list(self, group, plural, namespace)
    }

    fn consult(&self, group: &str, plural: &str) -> Arc<Vec<Value>> {
        Self::consult(self, group, plural)
    }

    fn kind(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Kind>> {
        self.0.registry.get(group, version, plural)
    }

    fn may(&self, user: &User, access: &Access<'_>) -> bool {
        self.policy().allows(user, access).is_some()
    }

    fn allowed(&self, user: &User, access: &Access<'_>) -> Option<String> {
        self.policy().allows(user, access)
    }

    fn rules(&self, user: &User, namespace: &str) -> Vec<rbac::Rule> {
        self.policy().rules(user, namespace)
    }

    fn sign(&self, claims: &Value) -> String {
        self.0.tokens.sign(claims)
    }

    fn authenticate(&self, token: &str) -> Option<User> {
        super::auth::authn::token(self, token)
    }
}
