//! What we know of a cluster without asking: a list in pages, then a watch, projected to what is needed.
//!
//! An object is parsed straight into its projection, so what nobody needs is never in memory, not even for
//! a moment; and kept as the text of that. Whoever is told of a change gets the state before and the one
//! after, because most changes of a Shoot are of no interest and only the difference shows it. A watch that
//! ends is resumed where it was; one that is too old lists again and reports only what differs, deletions
//! included.

mod kept;

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::Duration,
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use slipway_model::{
    ports::Random,
    time::{millis, secs},
};
use tokio::sync::watch;

use self::kept::Objects;
use super::{
    Access, Ask, Class, Error, Resource,
    pages::{Paced, parsed},
};

/// A watch is begun anew after about this long; the server's own default is similar.
const WATCH_SECONDS: u64 = 290;
/// A watch that lived for this long was a good one, even if nothing happened.
const HEALTHY: Duration = secs(10);
/// The longest pause before a server that does not know the kind is asked again: somebody has to install it first. Where
/// all is installed at once, that is a matter of seconds.
const NO_KIND_PAUSE_MAX: Duration = secs(60);

/// A projection that can be cached. Written and read again it is the same.
pub trait Projection: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Whether metadata are all that is asked for.
    const HEADS_ONLY: bool = false;

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
    /// Its name; `namespace/name` where all namespaces are kept together.
    pub name: String,
    /// Before; none if it is new.
    pub old: Option<Arc<T>>,
    /// After; none if it is gone.
    pub new: Option<Arc<T>>,
}

/// Told of every change, in order.
pub type OnChange<T> = Box<dyn Fn(&Change<T>) + Send + Sync>;

struct Inner<T> {
    objects: RwLock<Objects<T>>,
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
    namespace: String,
    #[serde(default)]
    resource_version: String,
}

/// The heart of an object; its name is made whole where objects of all namespaces are kept together.
fn head_of(source: &Source, object: &RawValue) -> Result<HeadMeta, Error> {
    let mut head = parsed::<Head>(object)?.metadata;
    if source.namespace.is_empty() && source.resource.namespaced {
        head.name = format!("{}/{}", head.namespace, head.name);
    }
    Ok(head)
}

impl<T: Projection> Cache<T> {
    fn objects(&self) -> RwLockReadGuard<'_, Objects<T>> {
        self.0.objects.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn objects_mut(&self) -> RwLockWriteGuard<'_, Objects<T>> {
        self.0.objects.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// One object.
    pub fn get(&self, name: &str) -> Option<Arc<T>> {
        self.objects().get(name)
    }

    /// The names of all.
    pub fn names(&self) -> Vec<String> {
        self.objects().names().map(str::to_owned).collect()
    }

    /// All of them, by name.
    pub fn all(&self) -> BTreeMap<String, Arc<T>> {
        let objects = self.objects();
        objects.names().filter_map(|name| Some((name.to_owned(), objects.get(name)?))).collect()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.objects().names().count()
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

    /// Keeps the cache; never ends. Failures are waited out with growing pauses, and so are watches that end at once:
    /// a server that opens and closes them must not be asked hundreds of times a second.
    pub async fn run(self, source: Source, on_change: OnChange<T>) {
        let (mut from, mut failures) = (None, 0_u32);
        let now = || source.access.clock().monotonic();
        loop {
            let (began, mut has_news) = (now(), false);
            let outcome = self.follow(&source, &mut from, &mut has_news, &on_change).await;
            if has_news || now().saturating_sub(began) >= HEALTHY {
                failures = 0;
            }
            let pause = match outcome {
                Ok(()) if has_news => continue,
                Ok(()) => (millis(100) * 2_u32.pow(failures)).min(secs(30)),
                Err(error) => {
                    // What cannot be read is listed anew, as what is forgotten.
                    if error.is_expired() || error.is_unreadable() {
                        from = None;
                    }
                    report(&source, &error);
                    match error.class {
                        Class::NoKind => (secs(1) * 2_u32.pow(failures)).min(NO_KIND_PAUSE_MAX),
                        _ => error.retry_after.unwrap_or((millis(500) * 2_u32.pow(failures)).min(secs(30))),
                    }
                }
            };
            failures = (failures + 1).min(9);
            wait_out(&source, source.random.jitter(pause)).await;
        }
    }

    /// Lists if there is nothing to go on from, then watches until the server ends it.
    async fn follow(
        &self,
        source: &Source,
        from: &mut Option<String>,
        has_news: &mut bool,
        on_change: &OnChange<T>,
    ) -> Result<(), Error> {
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
        let mut watching = source.access.watch(&selected::<T>(ask, source)).await?;
        while let Some(change) = watching.next().await {
            let change = change?;
            self.heard(source);
            if change.what == "ERROR" {
                let status =
                    http::Response::builder().status(code_of(&change.object)).body(()).map(http::Response::into_parts);
                let (head, ()) = status.map_err(|error| Error::garbage(&error.to_string()))?;
                return Err(Error::answer(&head, change.object.get().as_bytes()));
            }
            let head = head_of(source, &change.object)?;
            let version = head.resource_version.clone();
            if change.what != "BOOKMARK" {
                self.note(head, change.what == "DELETED", &change.object, on_change);
            }
            (*from, *has_news) = (Some(version), true);
        }
        Ok(())
    }

    async fn list(&self, source: &Source, on_change: &OnChange<T>) -> Result<String, Error> {
        let mut seen = HashSet::new();
        let ask = selected::<T>(Ask::list(source.resource, &source.namespace), source);
        let listed = source.access.pages(&ask, Paced::No, |item| {
            let head = head_of(source, item)?;
            let is_known = self.objects().version(&head.name) == Some(&head.resource_version);
            seen.insert(head.name.clone());
            if !is_known {
                self.note(head, false, item, on_change);
            }
            Ok(())
        });
        let version = listed.await?;
        self.forget_others(&seen, on_change);
        self.heard(source);
        self.0.synced.send_replace(true);
        Ok(version)
    }

    fn forget_others(&self, seen: &HashSet<String>, on_change: &OnChange<T>) {
        let gone: Vec<String> =
            self.objects().known().filter(|name| !seen.contains(*name)).map(str::to_owned).collect();
        for name in gone {
            self.forget(name, on_change);
        }
    }

    fn forget(&self, name: String, on_change: &OnChange<T>) {
        let old = self.objects_mut().remove(&name);
        if old.is_some() {
            on_change(&Change { name, old, new: None });
        }
    }

    fn note(&self, head: HeadMeta, gone: bool, object: &RawValue, on_change: &OnChange<T>) {
        if gone {
            return self.forget(head.name, on_change);
        }
        match parsed_lean::<T>(object) {
            Ok(mut object) => {
                object.slim();
                let old = self.objects_mut().put(&head.name, &head.resource_version, &object);
                on_change(&Change { name: head.name, old, new: Some(Arc::new(object)) });
            }
            // One object that nobody can read must not hide the others.
            Err(error) => {
                tracing::warn!(name = head.name, %error, "an object cannot be read and is passed over");
                self.objects_mut().pass_over(&head.name, &head.resource_version);
            }
        }
    }

    fn heard(&self, source: &Source) {
        *self.0.heard.write().unwrap_or_else(PoisonError::into_inner) = source.access.clock().monotonic();
    }
}

/// Waits out a failure. While all calls are held one probe asks for everybody, so nobody else does, and its answer
/// is the end of the pause for all.
async fn wait_out(source: &Source, pause: Duration) {
    let pause = source.access.clock().sleep(pause);
    let Some(breaker) = &source.access.options().breaker else { return pause.await };
    let mut changes = breaker.changes();
    let opened = async {
        // The sender is in the breaker we hold.
        let _ = changes.wait_for(|open| *open).await;
    };
    tokio::select! {
        biased;
        () = opened => {
            let _ = breaker.changes().wait_for(|open| !open).await;
        }
        () = pause => {}
    }
}

fn selected<T: Projection>(ask: Ask, source: &Source) -> Ask {
    let ask = ask.heads_only(T::HEADS_ONLY);
    if source.selector.is_empty() { ask } else { ask.with("labelSelector", source.selector.clone()) }
}

fn report(source: &Source, error: &Error) {
    let (kind, cluster) = (source.resource.kind, source.access.options().cluster);
    if error.is_expired() {
        tracing::debug!(cluster, kind, "the watch is too old; listing again");
    } else {
        tracing::warn!(cluster, kind, %error, "the watch broke; it is tried again");
    }
}

/// Who wrote which field is half of an object, and read by nobody: it is cut out before anything is made of it.
fn parsed_lean<T: DeserializeOwned>(raw: &RawValue) -> Result<T, Error> {
    match lean(raw) {
        Some(text) => serde_json::from_str(&text).map_err(|error| Error::garbage(&error.to_string())),
        None => parsed(raw),
    }
}

/// The text without `metadata.managedFields`; none if there is nothing to cut out.
fn lean(raw: &RawValue) -> Option<String> {
    type Parts<'a> = BTreeMap<&'a str, &'a RawValue>;
    let mut object: Parts<'_> = serde_json::from_str(raw.get()).ok()?;
    let mut metadata: Parts<'_> = serde_json::from_str(object.get("metadata")?.get()).ok()?;
    metadata.remove("managedFields")?;
    let metadata = serde_json::value::to_raw_value(&metadata).ok()?;
    object.insert("metadata", &metadata);
    serde_json::to_string(&object).ok()
}

fn code_of(status: &RawValue) -> u16 {
    #[derive(Deserialize)]
    struct Code {
        code: Option<u16>,
    }
    parsed::<Code>(status).ok().and_then(|status| status.code).filter(|code| (400..600).contains(code)).unwrap_or(500)
}
