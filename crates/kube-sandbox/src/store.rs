//! Everything the server keeps: objects of all clusters in memory, and the same on disk.
//!
//! Reads come from memory and never wait for a disk. Writes go through one task
//! ([`writer`]), which orders them, puts a whole group of them on disk in one transaction, and only
//! then lets anybody see them: what a client was told, or could have seen, survives a `kill -9`.
//! There is one resource version for the whole server, so versions of any two objects can be
//! compared, as with the real server's etcd.

mod disk;
mod table;
#[cfg(test)]
mod tests;
mod writer;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use tokio::sync::{broadcast, mpsc, oneshot, watch};

pub use self::{
    disk::DiskError,
    table::{Change, Event, TooOld, frame},
};
use self::{
    table::Table,
    writer::{Job, Work},
};
use super::object::{Draft, Name, Stored};

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where to keep it; in memory only if nowhere.
    pub folder: Option<PathBuf>,
    /// How many changes of each kind a watch can be resumed over.
    pub history: usize,
}

impl Default for Settings {
    fn default() -> Self {
        // A watch that was cut off comes back within seconds; 4096 changes of one kind are many of
        // those, and at 9 kB each still only 36 MB.
        Self { folder: None, history: 4096 }
    }
}

/// What a write assumes about the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// It does not exist.
    Absent,
    /// It exists, in exactly this version.
    Version(u64),
}

/// Why a write was not done.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The object is not what the write assumed; this is its version now, if it exists.
    #[error("the object is in another state")]
    Conflict(Option<u64>),
    /// There is no such cluster.
    #[error("there is no such cluster")]
    NoCluster,
    /// It could not be kept; nobody has seen it.
    #[error("the store cannot write: {0}")]
    Broken(Arc<DiskError>),
    /// The server is going down; the effect is unknown.
    #[error("the store is closed")]
    Closed,
}

/// A change anywhere, for those who look after the whole server.
#[derive(Debug, Clone)]
pub struct News {
    /// Where.
    pub cluster: Arc<str>,
    /// The kind, as [`qualified`](super::status::qualified) writes it.
    pub resource: Arc<str>,
    /// What happened.
    pub event: Arc<Event>,
}

/// The store. Clones are the same store; it closes when the last one is dropped.
#[derive(Debug, Clone)]
pub struct Store {
    shared: Arc<Shared>,
    jobs: mpsc::Sender<Job>,
}

#[derive(Debug)]
struct Shared {
    state: RwLock<State>,
    news: broadcast::Sender<News>,
    history: usize,
}

/// By cluster and key.
type Notes = BTreeMap<(Box<str>, Box<str>), Arc<[u8]>>;

#[derive(Debug, Default)]
struct State {
    /// The newest version anybody can see.
    version: u64,
    clusters: HashMap<Arc<str>, Cluster>,
    notes: Notes,
}

#[derive(Debug, Default)]
struct Cluster {
    tables: HashMap<Arc<str>, Table>,
    /// Objects by the uid of their owners: what garbage collection follows.
    dependents: HashMap<Box<str>, BTreeSet<(Arc<str>, Name)>>,
    uids: HashMap<Box<str>, (Arc<str>, Name)>,
}

/// A part of a kind's objects, as of one version.
#[derive(Debug)]
pub struct Listed {
    /// The version.
    pub version: u64,
    /// In order.
    pub objects: Vec<(Name, Arc<Stored>)>,
}

impl Store {
    /// Opens a store and starts its writer.
    pub async fn open(settings: Settings) -> Result<Self, DiskError> {
        let (mut state, disk) = match &settings.folder {
            None => (State::default(), None),
            Some(folder) => {
                let (state, disk) = disk::open(folder).await?;
                (state, Some(disk))
            }
        };
        // Version 0 means "any" to clients, so the first one is 1, as with etcd.
        state.version = state.version.max(1);
        let shared = Arc::new(Shared {
            state: RwLock::new(state),
            news: broadcast::Sender::new(65_536),
            history: settings.history,
        });
        let (jobs, queue) = mpsc::channel(1024);
        tokio::spawn(writer::run(shared.clone(), disk, queue));
        Ok(Self { shared, jobs })
    }

    /// The newest version.
    pub fn version(&self) -> u64 {
        self.shared.read().version
    }

    /// Names of all clusters.
    pub fn clusters(&self) -> Vec<Arc<str>> {
        self.shared.read().clusters.keys().cloned().collect()
    }

    /// Whether there is such a cluster.
    pub fn has_cluster(&self, cluster: &str) -> bool {
        self.shared.read().clusters.contains_key(cluster)
    }

    /// One object.
    pub fn get(&self, cluster: &str, resource: &str, name: &Name) -> Option<Arc<Stored>> {
        self.shared.read().table(cluster, resource)?.objects.get(name).cloned()
    }

    /// Objects of a kind, of one namespace or (empty) of all, behind a name, as of a version (0: now).
    pub fn list(
        &self,
        cluster: &str,
        resource: &str,
        namespace: &str,
        behind: Option<&Name>,
        version: u64,
    ) -> Result<Listed, TooOld> {
        let state = self.shared.read();
        let now = state.version;
        let Some(table) = state.table(cluster, resource) else {
            return Ok(Listed { version: if version == 0 { now } else { version }, objects: Vec::new() });
        };
        if version == 0 || version >= now {
            return Ok(Listed { version: now, objects: table.range(namespace, behind) });
        }
        Ok(Listed { version, objects: table.range_at(namespace, behind, version)? })
    }

    /// How many objects of a kind there are.
    pub fn count(&self, cluster: &str, resource: &str) -> usize {
        self.shared.read().table(cluster, resource).map_or(0, |table| table.objects.len())
    }

    /// Changes of a kind behind a version, oldest first, and the version all of them are known up to.
    pub fn changes(&self, cluster: &str, resource: &str, behind: u64) -> Result<(Vec<Arc<Event>>, u64), TooOld> {
        let state = self.shared.read();
        let Some(table) = state.table(cluster, resource) else { return Ok((Vec::new(), state.version)) };
        Ok((table.behind(behind)?, state.version.max(behind)))
    }

    /// Rings when something of this kind changes; closed when the cluster is gone. The history of a kind begins with
    /// the first bell: nobody can know what came before.
    pub fn bell(&self, cluster: &str, resource: &str) -> Option<watch::Receiver<u64>> {
        let mut state = self.shared.write();
        let now = state.version;
        let cluster = state.clusters.get_mut(cluster)?;
        Some(cluster.tables.entry(resource.into()).or_insert_with(|| Table::new(now)).bell.subscribe())
    }

    /// When something of this kind last changed: as long as it stays the same, so does everything of the kind.
    pub fn touched(&self, cluster: &str, resource: &str) -> Option<u64> {
        Some(*self.shared.read().table(cluster, resource)?.bell.borrow())
    }

    /// Every change of every cluster from now on. Somebody too slow is told so and looks again.
    pub fn news(&self) -> broadcast::Receiver<News> {
        self.shared.news.subscribe()
    }

    /// Tells everybody about something again.
    pub(crate) fn tell(&self, news: News) {
        // Nobody listening is fine.
        let _ = self.shared.news.send(news);
    }

    /// Objects that name this uid as an owner.
    pub fn dependents(&self, cluster: &str, uid: &str) -> Vec<(Arc<str>, Name)> {
        let state = self.shared.read();
        let found = state.clusters.get(cluster).and_then(|cluster| cluster.dependents.get(uid));
        found.into_iter().flatten().cloned().collect()
    }

    /// The object with this uid.
    pub fn by_uid(&self, cluster: &str, uid: &str) -> Option<(Arc<str>, Name)> {
        self.shared.read().clusters.get(cluster)?.uids.get(uid).cloned()
    }

    /// Kinds that have objects in a namespace, with the names of these.
    pub fn content(&self, cluster: &str, namespace: &str) -> Vec<(Arc<str>, Name)> {
        let state = self.shared.read();
        let tables = state.clusters.get(cluster).into_iter().flat_map(|cluster| &cluster.tables);
        tables
            .flat_map(|(resource, table)| {
                table.range(namespace, None).into_iter().map(|(name, _)| (resource.clone(), name))
            })
            .collect()
    }

    /// Writes an object, if it is as expected.
    pub async fn put(
        &self,
        cluster: &str,
        resource: &str,
        name: Name,
        expect: Expect,
        draft: Draft,
    ) -> Result<Arc<Stored>, WriteError> {
        self.write(cluster, resource, name, expect, Some(draft)).await
    }

    /// Removes an object, if it is as expected; answers its last state.
    pub async fn remove(
        &self,
        cluster: &str,
        resource: &str,
        name: Name,
        version: u64,
    ) -> Result<Arc<Stored>, WriteError> {
        self.write(cluster, resource, name, Expect::Version(version), None).await
    }

    async fn write(
        &self,
        cluster: &str,
        resource: &str,
        name: Name,
        expect: Expect,
        draft: Option<Draft>,
    ) -> Result<Arc<Stored>, WriteError> {
        let (answer, answered) = oneshot::channel();
        let key = writer::Key { cluster: cluster.into(), resource: resource.into(), name };
        self.send(Job { work: Work::Object { key, expect, draft, answer } }).await?;
        answered.await.map_err(|_| WriteError::Closed)?
    }

    /// Makes a cluster; nothing happens if it exists.
    pub async fn add_cluster(&self, cluster: &str) -> Result<(), WriteError> {
        self.meta(|answer| Work::AddCluster { cluster: cluster.into(), answer }).await
    }

    /// Removes a cluster with everything in it.
    pub async fn drop_cluster(&self, cluster: &str) -> Result<(), WriteError> {
        self.meta(|answer| Work::DropCluster { cluster: cluster.into(), answer }).await
    }

    /// Keeps a note that is no object: keys, certificates. It goes with its cluster.
    pub async fn set_note(&self, cluster: &str, key: &str, note: &[u8]) -> Result<(), WriteError> {
        self.meta(|answer| Work::Note { cluster: cluster.into(), key: key.into(), note: note.into(), answer }).await
    }

    /// Reads a note.
    pub fn note(&self, cluster: &str, key: &str) -> Option<Arc<[u8]>> {
        self.shared.read().notes.get(&(cluster.into(), key.into())).cloned()
    }

    async fn meta(&self, work: impl FnOnce(oneshot::Sender<Result<(), WriteError>>) -> Work) -> Result<(), WriteError> {
        let (answer, answered) = oneshot::channel();
        self.send(Job { work: work(answer) }).await?;
        answered.await.map_err(|_| WriteError::Closed)?
    }

    async fn send(&self, job: Job) -> Result<(), WriteError> {
        self.jobs.send(job).await.map_err(|_| WriteError::Closed)
    }
}

impl Shared {
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn table(&self, cluster: &str, resource: &str) -> Option<&Table> {
        self.clusters.get(cluster)?.tables.get(resource)
    }
}

impl Cluster {
    /// Keeps the two indexes in step with an object's change.
    fn index(&mut self, resource: &Arc<str>, name: &Name, before: Option<&Stored>, after: Option<&Stored>) {
        for owner in before.into_iter().flat_map(|old| &old.facts().owners) {
            if let Some(dependents) = self.dependents.get_mut(owner) {
                dependents.remove(&(resource.clone(), name.clone()));
                if dependents.is_empty() {
                    self.dependents.remove(owner);
                }
            }
        }
        for owner in after.into_iter().flat_map(|new| &new.facts().owners) {
            self.dependents.entry(owner.clone()).or_default().insert((resource.clone(), name.clone()));
        }
        match (before, after) {
            (Some(old), None) => drop(self.uids.remove(&old.facts().uid)),
            (None, Some(new)) => drop(self.uids.insert(new.facts().uid.clone(), (resource.clone(), name.clone()))),
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
}
