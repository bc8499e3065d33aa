//! A role in a runtime of its own, so that it can die alone, as a process does: everything it was doing ends where
//! it stands, whoever holds a connection to it, and only what it has written is left.

use std::{
    io,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::runtime::{Builder, Runtime};

/// Longer than any task needs to come to its next stop.
const LONG_ENOUGH: Duration = Duration::from_secs(30);

/// A role that runs or does not.
pub(super) struct Alone<R>(Mutex<Option<(R, OwnRuntime)>>);

/// Ends in the background: where others work, nobody may wait for it.
struct OwnRuntime(Option<Runtime>);

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl OwnRuntime {
    async fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> io::Result<T> {
        let runtime = self.0.as_ref().ok_or_else(|| io::Error::other("it has ended"))?;
        runtime.spawn(work).await.map_err(io::Error::other)
    }

    /// Ends it, and waits until all that ran in it is gone.
    async fn end(mut self) {
        if let Some(runtime) = self.0.take() {
            // It waits for threads, so it needs one.
            let _ = tokio::task::spawn_blocking(move || runtime.shutdown_timeout(LONG_ENOUGH)).await;
        }
    }
}

impl<R: Send + 'static> Alone<R> {
    /// Starts it; everything it makes on the way belongs to it.
    pub(super) async fn start<E>(start: impl Future<Output = Result<R, E>> + Send + 'static) -> Result<Self, E>
    where
        E: From<io::Error> + Send + 'static,
    {
        let runtime = OwnRuntime(Some(Builder::new_multi_thread().enable_all().build()?));
        let role = runtime.run(start).await??;
        Ok(Self(Mutex::new(Some((role, runtime)))))
    }

    /// Goes on with another life of the same role.
    pub(super) fn replace(&self, next: Self) {
        *self.lock() = next.lock().take();
    }

    /// Looks at it, if it runs.
    pub(super) fn look<T>(&self, at: impl FnOnce(&R) -> T) -> Option<T> {
        self.lock().as_ref().map(|(role, _)| at(role))
    }

    /// Ends it in good order.
    pub(super) async fn stop<F>(&self, stop: impl FnOnce(R) -> F + Send)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let Some((role, runtime)) = self.take() else { return };
        // One that breaks while it stops is dead, too.
        let _ = runtime.run(stop(role)).await;
        runtime.end().await;
    }

    /// Ends it as `kill -9` does, and waits until it is gone.
    pub(super) async fn kill(&self) {
        let Some((role, runtime)) = self.take() else { return };
        runtime.end().await;
        drop(role);
    }

    fn take(&self) -> Option<(R, OwnRuntime)> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<(R, OwnRuntime)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
