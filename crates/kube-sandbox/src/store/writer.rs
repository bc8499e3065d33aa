//! The one task that writes.
//!
//! It takes whatever has been asked for since it last looked, decides each in turn against the
//! newest state (its own undelivered decisions included), puts all of them on disk with one sync,
//! and only then makes them visible and answers. A busy server so pays for one sync per group, an
//! idle one waits for nobody.

use std::{collections::HashMap, sync::Arc};

use tokio::sync::{mpsc, oneshot};

use super::{
    Expect, News, Shared, State, WriteError,
    disk::{Disk, Row},
    table::{Event, Table},
};
use crate::object::{Draft, Name, Stored};

/// As many writes as may share a sync. More would not be faster, and the first would wait longer.
const GROUP: usize = 512;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) cluster: Arc<str>,
    pub(super) resource: Arc<str>,
    pub(super) name: Name,
}

type Answer<T> = oneshot::Sender<Result<T, WriteError>>;

#[derive(Debug)]
pub(super) struct Job {
    pub(super) work: Work,
}

#[derive(Debug)]
pub(super) enum Work {
    Object { key: Key, expect: Expect, draft: Option<Draft>, answer: Answer<Arc<Stored>> },
    AddCluster { cluster: Arc<str>, answer: Answer<()> },
    DropCluster { cluster: Arc<str>, answer: Answer<()> },
    Note { cluster: Box<str>, key: Box<str>, note: Arc<[u8]>, answer: Answer<()> },
}

/// What was decided and is not visible yet.
#[derive(Default)]
struct Group {
    version: u64,
    /// In order: what is done, and who waits for it.
    done: Vec<(Done, Waiting)>,
    /// The newest undelivered state of an object.
    ahead: HashMap<Key, Option<Arc<Stored>>>,
    /// Clusters that come or go with this group.
    clusters: HashMap<Arc<str>, bool>,
}

enum Done {
    Object { key: Key, event: Arc<Event> },
    AddCluster(Arc<str>),
    DropCluster(Arc<str>),
    Note { cluster: Box<str>, key: Box<str>, note: Arc<[u8]> },
}

enum Waiting {
    Object(Answer<Arc<Stored>>),
    Meta(Answer<()>),
}

pub(super) async fn run(shared: Arc<Shared>, mut disk: Option<Disk>, mut queue: mpsc::Receiver<Job>) {
    let mut jobs = Vec::with_capacity(GROUP);
    while queue.recv_many(&mut jobs, GROUP).await > 0 {
        let mut group = Group { version: shared.read().version, ..Group::default() };
        for job in jobs.drain(..) {
            decide(&shared.read(), &mut group, job.work);
        }
        if group.done.is_empty() {
            continue;
        }
        let kept = match &mut disk {
            Some(disk) => disk.write(group.version, group.done.iter().map(|(done, _)| done.row())).await,
            None => Ok(()),
        };
        match kept {
            Ok(()) => publish(&shared, group),
            Err(error) => {
                let error = Arc::new(error);
                tracing::error!(%error, "the embedded Kubernetes API cannot write to its data folder");
                group.done.into_iter().for_each(|(_, waiting)| waiting.refuse(&error));
            }
        }
    }
    if let Some(disk) = disk {
        disk.close().await;
    }
}

fn decide(state: &State, group: &mut Group, work: Work) {
    match work {
        Work::Object { key, expect, draft, answer } => {
            let exists =
                group.clusters.get(&key.cluster).copied().unwrap_or_else(|| state.clusters.contains_key(&key.cluster));
            if !exists {
                let _ = answer.send(Err(WriteError::NoCluster));
                return;
            }
            let before = match group.ahead.get(&key) {
                Some(ahead) => ahead.clone(),
                None => {
                    state.table(&key.cluster, &key.resource).and_then(|table| table.objects.get(&key.name)).cloned()
                }
            };
            let found = before.as_ref().map(|object| object.version);
            let fits = match expect {
                Expect::Absent => found.is_none(),
                Expect::Version(version) => found == Some(version),
            };
            if !fits {
                let _ = answer.send(Err(WriteError::Conflict(found)));
                return;
            }
            group.version += 1;
            let after = draft.map(|draft| Arc::new(draft.at(group.version)));
            group.ahead.insert(key.clone(), after.clone());
            let event = Arc::new(Event::new(key.name.clone(), before, after, group.version));
            group.done.push((Done::Object { key, event }, Waiting::Object(answer)));
        }
        Work::AddCluster { cluster, answer } => {
            group.clusters.insert(cluster.clone(), true);
            group.done.push((Done::AddCluster(cluster), Waiting::Meta(answer)));
        }
        Work::DropCluster { cluster, answer } => {
            group.ahead.retain(|key, _| key.cluster != cluster);
            group.clusters.insert(cluster.clone(), false);
            group.done.push((Done::DropCluster(cluster), Waiting::Meta(answer)));
        }
        Work::Note { cluster, key, note, answer } => {
            group.done.push((Done::Note { cluster, key, note }, Waiting::Meta(answer)));
        }
    }
}

fn publish(shared: &Shared, group: Group) {
    let mut news = Vec::new();
    let mut waiting = Vec::with_capacity(group.done.len());
    {
        let mut state = shared.write();
        let before = state.version;
        state.version = group.version;
        for (done, who) in group.done {
            let mut seen = None;
            match done {
                Done::Object { key: Key { cluster, resource, name }, event } => {
                    seen = Some(event.object.clone());
                    let Some(kept) = state.clusters.get_mut(&cluster) else { continue };
                    let after = (event.change != super::Change::Deleted).then_some(&*event.object);
                    kept.index(&resource, &name, event.before.as_deref(), after);
                    let table = kept.tables.entry(resource.clone()).or_insert_with(|| Table::new(before));
                    table.apply(event.clone(), shared.history);
                    news.push(News { cluster, resource, event });
                }
                Done::AddCluster(cluster) => drop(state.clusters.entry(cluster).or_default()),
                Done::DropCluster(cluster) => {
                    state.clusters.remove(&cluster);
                    state.notes.retain(|(owner, _), _| **owner != *cluster);
                }
                Done::Note { cluster, key, note } => drop(state.notes.insert((cluster, key), note)),
            }
            waiting.push((who, seen));
        }
        for one in &news {
            if let Some(table) = state.table(&one.cluster, &one.resource) {
                table.bell.send_replace(one.event.version());
            }
        }
    }
    for (who, seen) in waiting {
        // Whoever has gone away does not need the answer.
        match (who, seen) {
            (Waiting::Object(answer), Some(object)) => drop(answer.send(Ok(object))),
            (Waiting::Object(answer), None) => drop(answer.send(Err(WriteError::NoCluster))),
            (Waiting::Meta(answer), _) => drop(answer.send(Ok(()))),
        }
    }
    for one in news {
        // Nobody listening is fine.
        let _ = shared.news.send(one);
    }
}

impl Done {
    fn row(&self) -> Row<'_> {
        match self {
            Self::Object { key, event } if event.change == super::Change::Deleted => Row::Remove(key),
            Self::Object { key, event } => Row::Put(key, &event.object),
            Self::AddCluster(cluster) => Row::AddCluster(cluster),
            Self::DropCluster(cluster) => Row::DropCluster(cluster),
            Self::Note { cluster, key, note } => Row::Note(cluster, key, note),
        }
    }
}

impl Waiting {
    fn refuse(self, error: &Arc<super::DiskError>) {
        let error = WriteError::Broken(error.clone());
        match self {
            Self::Object(answer) => drop(answer.send(Err(error))),
            Self::Meta(answer) => drop(answer.send(Err(error))),
        }
    }
}
