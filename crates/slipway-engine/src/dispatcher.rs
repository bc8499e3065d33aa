//! Finds due operations and hands each to a runner, within the slots of its class.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use slipway_model::{
    Class,
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
    let mut outlook = Outlook::default();

    while !life.stopping.is_cancelled() {
        if life.shared.clock.monotonic() >= next_audit {
            audit(&life).await;
            next_audit = life.shared.clock.monotonic() + config.audit;
        }
        let wants = wants(&life, &outlook);
        match claim(&life, wants.clone()).await {
            Ok(claimed) => {
                let until = life.shared.clock.monotonic() + pause(&life, claimed.next_due);
                let is_of = |class| move |claim: &&Claim| claim.operation.kind.class() == class;
                outlook.learn(&wants, |class| claimed.claims.iter().filter(is_of(class)).count(), until);
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
            }
            Err(error) => {
                tracing::warn!(%error, "due operations could not be claimed; trying again");
                // The claim may have gone through: look soon for what nobody runs.
                next_audit = next_audit.min(life.shared.clock.monotonic() + secs(2));
                outlook = Outlook::default();
                life.pause_after_error().await;
                continue;
            }
        }
        while runners.try_join_next().is_some() {}
        let pause = outlook.until.saturating_sub(life.shared.clock.monotonic());
        life.plan_look(life.shared.time.now() + pause);
        outlook.anything_may_be_due = tokio::select! {
            biased;
            () = life.stopping.cancelled() => true,
            () = listener.hint() => true,
            () = life.sooner.notified() => true,
            () = life.shared.clock.sleep(pause) => true,
            () = life.freed.notified(), if !outlook.short.is_empty() => false,
        };
    }
    while runners.join_next().await.is_some() {}
}

/// What is known of work that is not in hand. A freed slot is a reason to ask for the classes that have
/// more due than there was room for, and for no others: that would be a claim per operation, for nothing.
struct Outlook {
    /// Something happened, or the time has come: ask for all classes.
    anything_may_be_due: bool,
    /// Classes with more due than there was room for, as far as we know.
    short: Vec<Class>,
    /// When the next one falls due, by our own clock.
    until: Duration,
}

impl Default for Outlook {
    fn default() -> Self {
        Self { anything_may_be_due: true, short: Class::ALL.to_vec(), until: Duration::MAX }
    }
}

impl Outlook {
    fn asks_for(&self, class: Class) -> bool {
        self.anything_may_be_due || self.short.contains(&class)
    }

    /// After a claim. A class that got as many as it asked for may have more; one that was not asked for
    /// although it should have been is full, and may have more too.
    fn learn(&mut self, wants: &[Want], taken: impl Fn(Class) -> usize, until: Duration) {
        let may_have_more = |class: &Class| match wants.iter().find(|want| want.class == *class) {
            Some(want) => taken(*class) >= want.limit,
            None => self.asks_for(*class),
        };
        let short = Class::ALL.iter().copied().filter(may_have_more).collect();
        self.short = short;
        // Of classes that were not asked for, the earlier word stands.
        self.until = if self.anything_may_be_due { until } else { self.until.min(until) };
    }
}

/// How many more operations of each class to take. Half as many again as there are slots are
/// claimed ahead, so that a slot that falls free is filled from memory, and claims come in batches.
fn wants<D: Domain>(life: &Life<D>, outlook: &Outlook) -> Vec<Want> {
    let work = life.work();
    let wants = Class::ALL.iter().filter(|class| outlook.asks_for(**class)).filter_map(|class| {
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

fn pause<D: Domain>(life: &Life<D>, next_due: Option<slipway_model::Timestamp>) -> Duration {
    let poll = life.shared.config.poll;
    let until_due = next_due.map_or(poll, |due| due.since(life.shared.time.now()));
    // A timer that is a hair early would find nothing and spin.
    until_due.max(millis(1)).min(poll)
}

/// Compares what the database says this replica runs with what it runs, and gives back the rest:
/// operations whose claim was answered into the void. Claims are made by this same task, so none
/// is under way here.
async fn audit<D: Domain>(life: &Life<D>) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_slot_asks_only_for_classes_with_more_due_than_there_was_room_for() {
        let [first, second, ..] = Class::ALL else { panic!("two classes") };
        let (first, second) = (*first, *second);
        let all: Vec<Want> = Class::ALL.iter().map(|class| Want { class: *class, limit: 10 }).collect();
        let mut outlook = Outlook::default();
        assert!(Class::ALL.iter().all(|class| outlook.asks_for(*class)), "nothing is known yet");

        outlook.learn(&all, |class| if class == first { 10 } else { 3 }, secs(60));
        outlook.anything_may_be_due = false;
        assert_eq!((outlook.asks_for(first), outlook.asks_for(second)), (true, false));

        // The first is full now and is not asked for: it still has more.
        outlook.learn(&[], |_| 0, secs(90));
        assert_eq!((outlook.asks_for(first), outlook.asks_for(second)), (true, false));
        assert_eq!(outlook.until, secs(60), "what was said of the second still stands");

        outlook.learn(&[Want { class: first, limit: 10 }], |_| 4, secs(5));
        assert_eq!((outlook.short.len(), outlook.until), (0, secs(5)), "everything due is taken");

        outlook.anything_may_be_due = true;
        assert!(outlook.asks_for(second), "a hint may be about any class");
        outlook.learn(&all[1..], |_| 0, secs(70));
        assert_eq!((outlook.short.as_slice(), outlook.until), (&[first][..], secs(70)), "a full class may have more");
    }
}
