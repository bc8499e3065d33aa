//! Everything the manager runs: started here, ended here, and waited for here.
//!
//! There are two ends. A crash drops all of it where it is. A goodbye lets no further call begin, lets a write that
//! is under way come to its answer, and waits until everybody has ended: a write whose answer nobody heard is the
//! one thing that whoever comes next cannot know. A read that nobody hears does no harm, nor does a wait.

use std::{
    future::{Future, pending},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use slipway_kube::access::{Ask, Calls, Error, Verdict};
use slipway_model::ports::BoxFuture;
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

tokio::task_local! {
    /// The writes of the work that is running. The hook at a call is not told whose call it is.
    static WRITES: Writes;
}

/// How many writes of one piece of work are under way. Clones are the same.
#[derive(Clone, Default)]
struct Writes(Arc<watch::Sender<usize>>);

impl Writes {
    fn begin() {
        let _ = WRITES.try_with(|writes| writes.0.send_modify(|count| *count += 1));
    }

    fn end() {
        let _ = WRITES.try_with(|writes| writes.0.send_modify(|count| *count = count.saturating_sub(1)));
    }

    async fn until_none(&self) {
        // The sender is in `self`.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

/// The calls of the running work were cut off by a time limit: none of them is under way any more.
pub(crate) fn forget_writes() {
    let _ = WRITES.try_with(|writes| writes.0.send_replace(0));
}

/// The tasks of one manager.
pub(crate) struct Tasks {
    /// None once they have ended: nothing is started any more.
    set: Mutex<Option<JoinSet<()>>>,
    goodbye: CancellationToken,
}

impl Default for Tasks {
    fn default() -> Self {
        Self { set: Mutex::new(Some(JoinSet::new())), goodbye: CancellationToken::new() }
    }
}

impl Tasks {
    fn set(&self) -> MutexGuard<'_, Option<JoinSet<()>>> {
        self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut set = self.set();
        let Some(set) = set.as_mut() else { return };
        while set.try_join_next().is_some() {}
        set.spawn(task);
    }

    /// Starts what listens and waits: a goodbye ends it wherever it is.
    pub(crate) fn listen(&self, task: impl Future<Output = ()> + Send + 'static) {
        let goodbye = self.goodbye.clone();
        self.start(async move {
            goodbye.run_until_cancelled(task).await;
        });
    }

    /// Starts what writes: a goodbye ends it as soon as none of its writes is under way.
    pub(crate) fn work(&self, task: impl Future<Output = ()> + Send + 'static) {
        let (goodbye, writes) = (self.goodbye.clone(), Writes::default());
        self.start(async move {
            let between_writes = async {
                goodbye.cancelled().await;
                writes.until_none().await;
            };
            tokio::select! {
                biased;
                () = between_writes => {}
                () = WRITES.scope(writes.clone(), task) => {}
            }
        });
    }

    /// Stands at every call: after a goodbye none begins. `inner` stands there too.
    pub(crate) fn guard_calls(&self, inner: Option<Arc<dyn Calls>>) -> Arc<dyn Calls> {
        Arc::new(Gate { goodbye: self.goodbye.clone(), inner })
    }

    /// Says goodbye, and waits until all have ended. Whoever stops waiting makes a crash of it.
    pub(crate) async fn end(&self) {
        self.goodbye.cancel();
        let set = self.set().take();
        if let Some(mut set) = set {
            while set.join_next().await.is_some() {}
        }
    }

    /// Drops all of them where they are.
    pub(crate) fn crash(&self) {
        self.goodbye.cancel();
        let set = self.set().take();
        drop(set);
    }
}

struct Gate {
    goodbye: CancellationToken,
    inner: Option<Arc<dyn Calls>>,
}

impl Calls for Gate {
    fn before<'a>(&'a self, cluster: &'static str, ask: &'a Ask) -> BoxFuture<'a, Verdict> {
        Box::pin(async move {
            if self.goodbye.is_cancelled() {
                return pending().await;
            }
            if ask.verb.is_write() {
                Writes::begin();
            }
            let verdict = match &self.inner {
                Some(inner) => inner.before(cluster, ask).await,
                None => Verdict::Pass,
            };
            // Nobody is told of the end of a call that did not leave.
            if ask.verb.is_write() && matches!(verdict, Verdict::Fail(_)) {
                Writes::end();
            }
            verdict
        })
    }

    fn after<'a>(&'a self, cluster: &'static str, ask: &'a Ask, error: Option<&'a Error>) -> BoxFuture<'a, Verdict> {
        Box::pin(async move {
            let verdict = match &self.inner {
                Some(inner) => inner.after(cluster, ask, error).await,
                None => Verdict::Pass,
            };
            if ask.verb.is_write() {
                Writes::end();
            }
            verdict
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use serde_json::json;
    use slipway_kube::access::resource::SECRETS;
    use tokio::sync::oneshot;

    use super::*;

    fn write() -> Ask {
        Ask::create(&SECRETS, "kcp-system", json!({}))
    }

    /// Work in the middle of one write, with another one to follow; who holds the sender is the server.
    fn two_writes(tasks: &Tasks) -> (oneshot::Sender<()>, Arc<AtomicBool>, oneshot::Receiver<()>) {
        let (answer, answered) = oneshot::channel::<()>();
        let (begun, is_begun) = oneshot::channel::<()>();
        let (gate, second) = (tasks.guard_calls(None), Arc::new(AtomicBool::new(false)));
        let went_on = second.clone();
        tasks.work(async move {
            let _ = gate.before("garden", &write()).await;
            let _ = begun.send(());
            let _ = answered.await;
            let _ = gate.after("garden", &write(), None).await;
            let _ = gate.before("garden", &write()).await;
            went_on.store(true, Ordering::SeqCst);
        });
        (answer, second, is_begun)
    }

    #[tokio::test]
    async fn a_goodbye_waits_for_the_write_that_is_under_way_and_lets_no_other_begin() {
        let tasks = Tasks::default();
        tasks.listen(pending());
        let (answer, second, is_begun) = two_writes(&tasks);
        is_begun.await.expect("begun");
        let mut end = Box::pin(tasks.end());
        assert!(futures::poll!(&mut end).is_pending(), "a write is under way");
        answer.send(()).expect("somebody waits");
        end.await;
        assert!(!second.load(Ordering::SeqCst), "it was ended between two calls");
        tasks.work(async { panic!("nothing is started any more") });
    }

    #[tokio::test]
    async fn who_only_waits_is_not_waited_for() {
        let tasks = Tasks::default();
        let gate = tasks.guard_calls(None);
        tasks.work(async move {
            let _ = gate.before("garden", &write()).await;
            let _ = gate.after("garden", &write(), None).await;
            let _ = gate.before("garden", &write()).await;
            // A time limit cut it off.
            forget_writes();
            pending::<()>().await;
        });
        tokio::task::yield_now().await;
        tasks.end().await;
    }

    #[tokio::test]
    async fn a_crash_waits_for_nobody() {
        let tasks = Tasks::default();
        let (answer, _, is_begun) = two_writes(&tasks);
        is_begun.await.expect("begun");
        tasks.crash();
        while !answer.is_closed() {
            tokio::task::yield_now().await;
        }
        tasks.end().await;
    }
}
