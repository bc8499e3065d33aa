//! Finds due operations and hands each to a runner, within the slots of its class.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use slipway_model::{
    Class, KnownBug,
    ports::{Claim, ClaimRequest, Claimed, StoreResult, Want},
    time::{millis, secs},
};
use tokio::{sync::Semaphore, task::JoinSet};

use crate::{life::Life, runner, step::Domain};

/// Claims due operations until the life ends or a stop is asked for; then lets running steps end.
pub(crate) async fn dispatch<D: Domain>(life: Arc<Life<D>>) {
    let config = life.shared.config.clone();
    let slots: BTreeMap<Class, Arc<Semaphore>> =
        Class::ALL.iter().map(|class| (*class, Arc::new(Semaphore::new(config.slots.of(*class))))).collect();
    let mut runners = JoinSet::new();
    let mut listener = life.shared.store.listen();
    let mut next_audit = life.shared.clock.monotonic() + config.audit;

    while !life.stopping.is_cancelled() {
        if life.shared.clock.monotonic() >= next_audit {
            audit(&life).await;
            next_audit = life.shared.clock.monotonic() + config.audit;
        }
        let wants = wants(&life);
        let pause = match claim(&life, wants.clone()).await {
            Ok(claimed) => {
                let pause = pause_until(&life, claimed.next_due, took_all(&wants, &claimed.claims));
                for claim in claimed.claims {
                    let class = claim.operation.kind.class();
                    let ticket = life.work().pick_up(claim.operation.id, claim.lease.fence, class);
                    let (life, slots) = (life.clone(), slots[&class].clone());
                    runners.spawn(async move {
                        let slot = tokio::select! {
                            biased;
                            () = life.over.cancelled() => return,
                            // The semaphore is never closed.
                            slot = slots.acquire_owned() => slot.ok(),
                        };
                        runner::run(life, claim, ticket, slot).await;
                    });
                }
                pause
            }
            Err(error) => {
                tracing::warn!(%error, "due operations could not be claimed; trying again");
                // The claim may have gone through: look soon for what nobody runs.
                next_audit = next_audit.min(life.shared.clock.monotonic() + secs(2));
                life.pause_after_error().await;
                continue;
            }
        };
        while runners.try_join_next().is_some() {}
        life.plan_look(life.shared.time.now() + pause.length);
        tokio::select! {
            biased;
            () = life.stopping.cancelled() => {}
            () = listener.hint() => {}
            () = life.sooner.notified() => {}
            () = life.freed.notified(), if !pause.is_idle => {}
            () = life.shared.clock.sleep(pause.length) => {}
        }
    }
    while runners.join_next().await.is_some() {}
}

struct Pause {
    length: Duration,
    /// Everything due was taken, so a freed slot is no reason to look again.
    is_idle: bool,
}

/// Whether every class got less than it had room for: then nothing more is due. A class that was
/// not asked for is full, and may have more.
fn took_all(wants: &[Want], claims: &[Claim]) -> bool {
    let taken = |class| claims.iter().filter(|claim| claim.operation.kind.class() == class).count();
    wants.len() == Class::ALL.len() && wants.iter().all(|want| taken(want.class) < want.limit)
}

/// How many more operations of each class to take. Half as many again as there are slots are
/// claimed ahead, so that a slot that falls free is filled from memory, and claims come in batches.
fn wants<D: Domain>(life: &Life<D>) -> Vec<Want> {
    let work = life.work();
    let wants = Class::ALL.iter().filter_map(|class| {
        let slots = life.shared.config.slots.of(*class);
        let taken = work.running.values().filter(|running| running.class == *class).count();
        let limit = (slots + slots.div_ceil(2)).saturating_sub(taken);
        (taken <= slots && limit > 0).then_some(Want { class: *class, limit })
    });
    wants.collect()
}

async fn claim<D: Domain>(life: &Life<D>, wants: Vec<Want>) -> StoreResult<Claimed> {
    if wants.is_empty() {
        return Ok(Claimed::default());
    }
    let request = ClaimRequest {
        replica: life.replica.clone(),
        now: life.shared.time.now(),
        known: life.shared.registry.keys(),
        wants,
    };
    life.shared.store.claim(&request).await
}

fn pause_until<D: Domain>(life: &Life<D>, next_due: Option<slipway_model::Timestamp>, is_idle: bool) -> Pause {
    let poll = life.shared.config.poll;
    let until_due = next_due.map_or(poll, |due| due.since(life.shared.time.now()));
    // A timer that is a hair early would find nothing and spin.
    Pause { length: until_due.max(millis(1)).min(poll), is_idle }
}

/// Compares what the database says this replica runs with what it runs, and gives back the rest:
/// operations whose claim was answered into the void. Claims are made by this same task, so none
/// is under way here.
async fn audit<D: Domain>(life: &Life<D>) {
    if life.shared.config.bugs.has(KnownBug::LostClaimNeverFound) {
        return;
    }
    let held = match life.shared.store.held(&life.replica).await {
        Ok(held) => held,
        Err(error) => return tracing::warn!(%error, "could not compare the operations in hand with the database"),
    };
    let lost: Vec<_> = {
        let work = life.work();
        let is_running = |lease: &(_, u64)| work.running.get(&lease.0).is_some_and(|running| running.fence == lease.1);
        held.into_iter().filter(|lease| !is_running(lease)).collect()
    };
    if lost.is_empty() {
        return;
    }
    // Their stage memory ends with the lease.
    life.work().parked.retain(|id, _| !lost.iter().any(|(lost, _)| lost == id));
    match life.shared.store.surrender(&life.replica, &lost, life.shared.time.now()).await {
        Ok(count) => tracing::warn!(operations = count, "gave back operations whose claim was answered into the void"),
        Err(error) => tracing::warn!(%error, "could not give back operations that nobody runs"),
    }
}
