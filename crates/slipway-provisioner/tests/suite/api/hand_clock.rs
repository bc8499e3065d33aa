//! A clock for tests of deadlines over real connections: their own time does not decide.

use std::time::Duration;

use slipway_engine::SystemClock;
use slipway_model::{
    Timestamp,
    ports::{BoxFuture, Clock},
};
use tokio::sync::watch;

/// Time that moves when a test says so.
pub(crate) struct HandClock {
    began: Timestamp,
    passed: watch::Sender<Duration>,
    sleepers: watch::Sender<Vec<Duration>>,
}

impl Default for HandClock {
    fn default() -> Self {
        let began = SystemClock::default().wall();
        Self { began, passed: watch::Sender::new(Duration::ZERO), sleepers: watch::Sender::new(Vec::new()) }
    }
}

impl HandClock {
    pub(crate) fn pass(&self, time: Duration) {
        self.passed.send_modify(|passed| *passed += time);
    }

    /// Ends when somebody has gone to sleep for about so long; until then it would be too early to let it pass.
    pub(crate) async fn until_somebody_sleeps(&self, time: Duration) {
        let about = |slept: &Duration| slept.abs_diff(time) < Duration::from_secs(2);
        self.sleepers.subscribe().wait_for(|all| all.iter().any(about)).await.expect("there");
    }
}

impl Clock for HandClock {
    fn wall(&self) -> Timestamp {
        self.began + self.monotonic()
    }

    fn monotonic(&self) -> Duration {
        *self.passed.borrow()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let (until, mut passed) = (self.monotonic() + duration, self.passed.subscribe());
        self.sleepers.send_modify(|all| all.push(duration));
        Box::pin(async move {
            if passed.wait_for(|passed| *passed >= until).await.is_err() {
                std::future::pending().await
            }
        })
    }
}
