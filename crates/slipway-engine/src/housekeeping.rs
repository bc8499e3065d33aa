//! Forgets old entries of the flight recorder and replaces old keys, a little at a time, and tells of operations
//! that nobody can run.

use slipway_model::time::{millis, secs};

use crate::{life::Shared, step::Domain};

/// Rows touched by one call, so that no lock is held for long.
const BATCH: usize = 500;

/// Works now and then, for ever. Any number of replicas may do it at once: each takes other rows.
pub(crate) async fn keep_house<D: Domain>(shared: &Shared<D>) {
    shared.clock.sleep(secs(10)).await;
    loop {
        let before = shared.time.now() - shared.config.retention;
        until_nothing_is_left(shared, "forget old records", || shared.store.purge(before, BATCH)).await;
        until_nothing_is_left(shared, "encrypt secrets under the active key", || shared.store.reencrypt(BATCH)).await;
        for (process, count) in shared.store.stranded().await.unwrap_or_default() {
            tracing::warn!(%process, operations = count, "no running program has this version; its operations wait");
        }
        shared.clock.sleep(shared.config.housekeeping).await;
    }
}

async fn until_nothing_is_left<'a, D: Domain>(
    shared: &'a Shared<D>,
    what: &str,
    work: impl Fn() -> slipway_model::ports::BoxFuture<'a, slipway_model::ports::StoreResult<usize>>,
) {
    loop {
        match work().await {
            Ok(count) if count < BATCH => return,
            Ok(_) => shared.clock.sleep(millis(100)).await,
            // The next round tries again.
            Err(error) => return tracing::warn!(%error, "could not {what}"),
        }
    }
}
