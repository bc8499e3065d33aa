//! What a cluster does by itself: the few controllers without which objects would not behave.
//!
//! One task serves all clusters. It hears of every change, keeps a list of what to look at, and
//! looks at one thing after the other, each from the present state; so missing a change, or seeing
//! it twice, does no harm. A real cluster runs these in its controller manager.

pub(crate) mod definitions;
mod garbage;
mod namespaces;

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, RwLock, Weak},
};

use tokio::sync::broadcast::error::RecvError;

use super::{
    cluster::Cluster,
    kinds,
    object::Name,
    store::{Change, News, Store},
};

/// The clusters of a server, by name.
pub(crate) type Clusters = RwLock<BTreeMap<String, Cluster>>;

/// How many objects are deleted at the same time: they share the store's syncs.
const AT_ONCE: usize = 64;

/// Something to look at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Task {
    /// Dependents of an object that is gone.
    Orphans(Box<str>),
    /// An object that names owners, or waits for its dependents.
    Owned(Arc<str>, Name),
    /// A namespace that is going.
    Namespace(Box<str>),
    /// A definition whose status is to be written or whose objects are to go.
    Definition(Box<str>),
}

/// Runs until the server is gone.
pub(crate) async fn run(clusters: Weak<Clusters>, store: Store) {
    let mut news = store.news();
    drop(store); // or the store would wait for this task, and this task for the store
    let mut queue: VecDeque<(Arc<str>, Task)> = VecDeque::new();
    let mut waiting: HashMap<(Arc<str>, Task), ()> = HashMap::new();
    loop {
        let heard = if queue.is_empty() { Some(news.recv().await) } else { None };
        match heard {
            Some(Ok(one)) => enqueue(&mut queue, &mut waiting, &one),
            Some(Err(RecvError::Closed)) => return,
            // Too slow for everything that happened: what is going is looked at again.
            Some(Err(RecvError::Lagged(_))) => {
                let Some(clusters) = clusters.upgrade() else { return };
                sweep(&clusters, &mut queue);
            }
            None => {}
        }
        while let Ok(one) = news.try_recv() {
            enqueue(&mut queue, &mut waiting, &one);
        }
        if let Some((name, task)) = queue.pop_front() {
            waiting.remove(&(name.clone(), task.clone()));
            let Some(clusters) = clusters.upgrade() else { return };
            let cluster = clusters.read().unwrap_or_else(std::sync::PoisonError::into_inner).get(&*name).cloned();
            if let Some(cluster) = cluster {
                look_at(&cluster, &task).await;
            }
        }
    }
}

/// After a start: looks at everything that was on its way when the server went down.
pub(crate) fn resume(cluster: &Cluster) {
    for one in unfinished(cluster) {
        cluster.store().tell(one);
    }
}

fn unfinished(cluster: &Cluster) -> Vec<News> {
    let mut found = Vec::new();
    for kind in cluster.registry().all() {
        let listed = cluster.store().list(cluster.name(), &kind.stored_as, "", None, 0);
        for (name, object) in listed.map(|listed| listed.objects).unwrap_or_default() {
            if object.facts().deleting || kind.stored_as == kinds::DEFINITIONS {
                let event = Arc::new(super::store::Event::seen(name, object));
                found.push(News { cluster: cluster.name().into(), resource: kind.stored_as.as_str().into(), event });
            }
        }
    }
    found
}

fn sweep(clusters: &Clusters, queue: &mut VecDeque<(Arc<str>, Task)>) {
    let all: Vec<Cluster> =
        clusters.read().unwrap_or_else(std::sync::PoisonError::into_inner).values().cloned().collect();
    for cluster in all {
        for one in unfinished(&cluster) {
            enqueue(queue, &mut HashMap::new(), &one);
        }
    }
}

fn enqueue(queue: &mut VecDeque<(Arc<str>, Task)>, waiting: &mut HashMap<(Arc<str>, Task), ()>, news: &News) {
    let (event, resource) = (&news.event, &news.resource);
    let facts = event.object.facts();
    let mut add = |task: Task| {
        let entry = (news.cluster.clone(), task);
        if waiting.insert(entry.clone(), ()).is_none() {
            queue.push_back(entry);
        }
    };
    if event.change == Change::Deleted {
        add(Task::Orphans(facts.uid.clone()));
        // Somebody may wait for this one to be gone: its owners, its namespace, its definition.
        facts.owners.iter().for_each(|owner| add(Task::Orphans(owner.clone())));
        if !event.name.namespace.is_empty() {
            add(Task::Namespace(event.name.namespace.clone()));
        }
        add(Task::Definition((**resource).into()));
        return;
    }
    if !facts.owners.is_empty() || (facts.deleting && facts.finalizers) {
        add(Task::Owned(resource.clone(), event.name.clone()));
    }
    if **resource == *"namespaces" && facts.deleting {
        add(Task::Namespace(event.name.name.clone()));
    }
    if **resource == *kinds::DEFINITIONS {
        add(Task::Definition(event.name.name.clone()));
    }
}

async fn look_at(cluster: &Cluster, task: &Task) {
    match task {
        Task::Orphans(uid) => garbage::orphans(cluster, uid).await,
        Task::Owned(resource, name) => garbage::owned(cluster, resource, name).await,
        Task::Namespace(name) => namespaces::empty(cluster, name).await,
        Task::Definition(name) => definitions::settle(cluster, name).await,
    }
}
