//! What we know of a cluster without asking: a list in pages, then a watch, projected to what is needed.
//!
//! An object is parsed straight into its projection, so what nobody needs is never in memory, not even for
//! a moment. Whoever is told of a change gets the state before and the one after, because most changes of a
//! Shoot are of no interest and only the difference shows it. A watch that ends is resumed where it was; one
//! that is too old lists again and reports only what differs, deletions included.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use slipway_model::{
    ports::Random,
    time::{millis, secs},
};
use tokio::sync::watch;

use super::{Access, Ask, Error, Resource};

/// Objects on one page of a list.
const PAGE: usize = 500;
/// A watch is begun anew after about this long; the server's own default is similar.
const WATCH_SECONDS: u64 = 290;

/// A projection that can be cached.
pub trait Projection: DeserializeOwned + Send + Sync + 'static {
    /// Forgets what was read but is of no use, such as who wrote which field.
    fn slim(&mut self) {}
}

impl Projection for crate::Shoot {
    fn slim(&mut self) {
        crate::Shoot::slim(self);
    }
}

impl Projection for crate::Runtime {
    fn slim(&mut self) {
        self.metadata.managed_fields = None;
    }
}

impl Projection for crate::GardenerCluster {
    fn slim(&mut self) {
        self.metadata.managed_fields = None;
    }
}

/// A change of one object: before and after.
#[derive(Debug)]
pub struct Change<T> {
    /// Its name.
    pub name: String,
    /// Before; none if it is new.
    pub old: Option<Arc<T>>,
    /// After; none if it is gone.
    pub new: Option<Arc<T>>,
}

/// Told of every change, in order.
pub type OnChange<T> = Box<dyn Fn(&Change<T>) + Send + Sync>;

struct Inner<T> {
    objects: RwLock<HashMap<String, Arc<T>>>,
    /// Resource versions, to see what a new list changed.
    versions: RwLock<HashMap<String, String>>,
    synced: watch::Sender<bool>,
    /// Monotonic moment of the last sign of life.
    heard: RwLock<Duration>,
}

/// The cache of one kind in one namespace. Clones are the same cache.
pub struct Cache<T>(Arc<Inner<T>>);

impl<T> Clone for Cache<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self(Arc::new(Inner {
            objects: RwLock::default(),
            versions: RwLock::default(),
            synced: watch::Sender::new(false),
            heard: RwLock::default(),
        }))
    }
}

/// What is cached.
#[derive(Clone)]
pub struct Source {
    /// Where.
    pub access: Access,
    /// Which kind.
    pub resource: &'static Resource,
    /// In which namespace; empty for all.
    pub namespace: String,
    /// Only those with these labels; empty for all.
    pub selector: String,
    /// Chance, so that many replicas do not list at the same moment.
    pub random: Arc<dyn Random>,
}

#[derive(Deserialize)]
struct Page {
    metadata: PageMeta,
    #[serde(default = "Vec::new")]
    items: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMeta {
    #[serde(default)]
    resource_version: String,
    #[serde(default, rename = "continue")]
    more: Option<String>,
}

#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    metadata: HeadMeta,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct HeadMeta {
    #[serde(default)]
    name: String,
    #[serde(default)]
    resource_version: String,
}

impl<T: Projection> Cache<T> {
    /// One object.
    pub fn get(&self, name: &str) -> Option<Arc<T>> {
        self.0.objects.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// All of them, by name.
    pub fn all(&self) -> BTreeMap<String, Arc<T>> {
        let objects = self.0.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects.iter().map(|(name, object)| (name.clone(), object.clone())).collect()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.objects.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the first list is complete.
    pub fn is_synced(&self) -> bool {
        *self.0.synced.borrow()
    }

    /// Ends when it is.
    pub async fn until_synced(&self) {
        // The sender is in the cache we hold.
        let _ = self.0.synced.subscribe().wait_for(|synced| *synced).await;
    }

    /// How long ago the server was heard of.
    pub fn silence(&self, now: Duration) -> Duration {
        now.saturating_sub(*self.0.heard.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps the cache; never ends. Failures are waited out with growing pauses.
    pub async fn run(self, source: Source, on_change: OnChange<T>) {
        let (mut from, mut failures) = (None, 0_u32);
        loop {
            let outcome = self.follow(&source, &mut from, &on_change).await;
            let Err(error) = outcome else {
                failures = 0;
                continue;
            };
            if error.is_expired() || error.reason == "Garbage" {
                from = None;
            }
            failures = (failures + 1).min(8);
            let (kind, cluster) = (source.resource.kind, source.access.options().cluster);
            if error.is_expired() {
                tracing::debug!(cluster, kind, "the watch is too old; listing again");
            } else {
                tracing::warn!(cluster, kind, %error, "the watch broke; it is tried again");
            }
            let pause = error.retry_after.unwrap_or((millis(250) * 2_u32.pow(failures)).min(secs(30)));
            source.access.clock().sleep(source.random.jitter(pause)).await;
        }
    }

    /// Lists if there is nothing to go on from, then watches until the server ends it.
    async fn follow(&self, source: &Source, from: &mut Option<String>, on_change: &OnChange<T>) -> Result<(), Error> {
        let began = match from.take() {
            Some(version) => version,
            None => self.list(source, on_change).await?,
        };
        // Kept through every way out but one that says it is too old.
        *from = Some(began.clone());
        let ask = Ask::watch(source.resource, &source.namespace)
            .with("watch", "true")
            .with("allowWatchBookmarks", "true")
            .with("timeoutSeconds", WATCH_SECONDS.to_string())
            .with("resourceVersion", began);
        let mut watching = source.access.watch(&selected(ask, source)).await?;
        while let Some(change) = watching.next().await {
            let change = change?;
            self.heard(source);
            if change.what == "ERROR" {
                let status =
                    http::Response::builder().status(code_of(&change.object)).body(()).map(http::Response::into_parts);
                let (head, ()) = status.map_err(|error| Error::garbage(&error.to_string()))?;
                return Err(Error::answer(&head, change.object.get().as_bytes()));
            }
            let head: Head = parsed(&change.object)?;
            if change.what != "BOOKMARK" {
                self.note(&head.metadata, change.what == "DELETED", &change.object, on_change);
            }
            *from = Some(head.metadata.resource_version);
        }
        Ok(())
    }

    async fn list(&self, source: &Source, on_change: &OnChange<T>) -> Result<String, Error> {
        let mut more = None;
        let mut seen = HashMap::new();
        loop {
            let mut ask =
                selected(Ask::list(source.resource, &source.namespace), source).with("limit", PAGE.to_string());
            if let Some(more) = more.take() {
                ask = ask.with("continue", more);
            }
            let bytes = source.access.unbudgeted(&ask).await?;
            let page: Page = serde_json::from_slice(&bytes).map_err(|error| Error::garbage(&error.to_string()))?;
            for item in &page.items {
                let head: Head = parsed(item)?;
                let known = self.0.versions.read().unwrap_or_else(PoisonError::into_inner);
                let same = known.get(&head.metadata.name) == Some(&head.metadata.resource_version);
                drop(known);
                seen.insert(head.metadata.name.clone(), ());
                if !same {
                    self.note(&head.metadata, false, item, on_change);
                }
            }
            match page.metadata.more.filter(|more| !more.is_empty()) {
                Some(next) => more = Some(next),
                None => {
                    self.forget_others(&seen, on_change);
                    self.heard(source);
                    self.0.synced.send_replace(true);
                    return Ok(page.metadata.resource_version);
                }
            }
        }
    }

    fn forget_others(&self, seen: &HashMap<String, ()>, on_change: &OnChange<T>) {
        let known: Vec<String> =
            self.0.objects.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect();
        for name in known.into_iter().filter(|name| !seen.contains_key(name)) {
            self.set(name, None, on_change);
        }
    }

    fn note(&self, head: &HeadMeta, gone: bool, object: &RawValue, on_change: &OnChange<T>) {
        let mut versions = self.0.versions.write().unwrap_or_else(PoisonError::into_inner);
        if gone {
            versions.remove(&head.name);
        } else {
            versions.insert(head.name.clone(), head.resource_version.clone());
        }
        drop(versions);
        if gone {
            return self.set(head.name.clone(), None, on_change);
        }
        match parsed::<T>(object) {
            Ok(mut object) => {
                object.slim();
                self.set(head.name.clone(), Some(Arc::new(object)), on_change);
            }
            // One object that nobody can read must not hide the others.
            Err(error) => tracing::warn!(name = head.name, %error, "an object cannot be read and is passed over"),
        }
    }

    fn set(&self, name: String, new: Option<Arc<T>>, on_change: &OnChange<T>) {
        let mut objects = self.0.objects.write().unwrap_or_else(PoisonError::into_inner);
        let old = match &new {
            Some(object) => objects.insert(name.clone(), object.clone()),
            None => objects.remove(&name),
        };
        drop(objects);
        if old.is_some() || new.is_some() {
            on_change(&Change { name, old, new });
        }
    }

    fn heard(&self, source: &Source) {
        *self.0.heard.write().unwrap_or_else(PoisonError::into_inner) = source.access.clock().monotonic();
    }
}

fn selected(ask: Ask, source: &Source) -> Ask {
    if source.selector.is_empty() { ask } else { ask.with("labelSelector", source.selector.clone()) }
}

fn parsed<T: DeserializeOwned>(raw: &RawValue) -> Result<T, Error> {
    serde_json::from_str(raw.get()).map_err(|error| Error::garbage(&error.to_string()))
}

fn code_of(status: &RawValue) -> u16 {
    #[derive(Deserialize)]
    struct Code {
        code: Option<u16>,
    }
    parsed::<Code>(status).ok().and_then(|status| status.code).filter(|code| (400..600).contains(code)).unwrap_or(500)
}
