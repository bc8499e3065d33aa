//! Leader election by Lease, one Lease per shard, and one more that says into how many shards everything is divided.
//!
//! Replicas of different counts divide differently, so a shard of one is no shard of the other. All replicas of one count
//! renew the Lease of the count together; whoever counts otherwise waits until nobody has for as long as a record must
//! stand still, and works only as long as it counts as its own. So a rolling update with another count has no moment
//! with two masters.
//!
//! No clocks are compared: who waits for a Lease measures, with its own monotonic clock, how long the record
//! stood still. The holder counts from the moment *before* its last successful renewal was sent, and gives
//! up `renew_deadline` after it; a candidate starts at `lease` after it saw that renewal, so later. Between
//! the two lies the time in which nobody works, and no time in which two do.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use serde_json::{Value, json};
use slipway_model::{
    ports::Random,
    time::{Timestamp, secs},
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Access, Ask, Error, resource::LEASES};

/// How to take part.
#[derive(Clone)]
pub struct Election {
    /// Where the Leases are.
    pub access: Access,
    /// In which namespace.
    pub namespace: String,
    /// What the Leases are called; behind it stands the number of the shard if there is more than one.
    pub lease: String,
    /// Who we are: different for every start of every replica.
    pub identity: String,
    /// For which shards, out of how many.
    pub shards: BTreeSet<u32>,
    /// How many there are.
    pub count: u32,
    /// How it is timed.
    pub timing: Timing,
    /// Chance.
    pub random: Arc<dyn Random>,
}

/// How an election is timed.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// How long a record must stand still until others take it.
    pub lease: Duration,
    /// How long after the last renewal the holder goes on.
    pub deadline: Duration,
    /// How often it is renewed, or asked for.
    pub retry: Duration,
}

impl Default for Timing {
    /// A dead leader is replaced after at most 17 s; the specification asks for 20.
    fn default() -> Self {
        Self { lease: secs(15), deadline: secs(10), retry: secs(2) }
    }
}

/// What we know of one Lease.
#[derive(Default)]
struct Known {
    /// The record as last seen, and when we saw it change, by our monotonic clock.
    record: Option<(Value, Duration)>,
    /// Ours, until this moment.
    ours_until: Option<Duration>,
}

impl Election {
    /// Takes part until told to stop; then gives everything back, so that the next need not wait. Each shard
    /// by itself: a call about one that hangs must not keep another from being given up in time.
    pub async fn run(self, held: watch::Sender<BTreeSet<u32>>, stop: CancellationToken) {
        let counted = watch::Sender::new(Duration::ZERO);
        let shards = self.shards.iter().map(|shard| self.stand_for(*shard, &counted, &held, &stop));
        let leave = CancellationToken::new();
        let all = async {
            futures::future::join_all(shards).await;
            leave.cancel();
        };
        futures::join!(all, self.keep_count(&counted, &leave));
    }

    /// Keeps the number of shards: `counted` is until when it is ours.
    async fn keep_count(&self, counted: &watch::Sender<Duration>, leave: &CancellationToken) {
        let mut known = Known::default();
        loop {
            let began = self.now();
            let tried = tokio::select! {
                biased;
                () = leave.cancelled() => return,
                tried = self.renew_count(&mut known) => tried,
                () = self.access.clock().sleep(self.timing.deadline) => Err(Error::timeout(self.timing.deadline)),
            };
            match tried {
                Ok(true) => _ = counted.send_replace(began + self.timing.deadline),
                Ok(false) => {
                    counted.send_replace(Duration::ZERO);
                    tracing::info!(shards = self.count, "replicas with another number of shards are waited for");
                }
                Err(error) => tracing::warn!(%error, "the number of shards could not be agreed on"),
            }
            tokio::select! {
                biased;
                () = leave.cancelled() => return,
                () = self.access.clock().sleep(self.random.jitter(self.timing.retry)) => {}
            }
        }
    }

    /// Whether the number of shards is ours. Several renew it at once: whoever was faster renewed it for all.
    async fn renew_count(&self, known: &mut Known) -> Result<bool, Error> {
        let (name, ours) = (format!("{}-shards", self.lease), format!("shards={}", self.count.max(1)));
        let look = || Ask::get(&LEASES, &self.namespace, &name);
        self.look(known, self.access.find(look()).await?);
        let is_ours = |known: &Known| known.record.as_ref().is_none_or(|(it, _)| it["spec"]["holderIdentity"] == ours);
        let is_over =
            known.record.as_ref().is_some_and(|(_, seen)| self.now().saturating_sub(*seen) >= self.timing.lease);
        if !is_ours(known) && !is_over {
            return Ok(false);
        }
        match self.write(&name, known.record.as_ref().map(|(record, _)| record), &ours).await {
            Ok(written) => {
                known.record = Some((written, self.now()));
                Ok(true)
            }
            Err(error) if error.is_conflict() => {
                self.look(known, self.access.find(look()).await?);
                Ok(known.record.is_some() && is_ours(known))
            }
            Err(error) => Err(error),
        }
    }

    async fn stand_for(
        &self,
        shard: u32,
        counted: &watch::Sender<Duration>,
        held: &watch::Sender<BTreeSet<u32>>,
        stop: &CancellationToken,
    ) {
        let mut known = Known::default();
        loop {
            let mut until = *counted.borrow();
            if until <= self.now() {
                self.lose(shard, &mut known, held);
                let agreed = async {
                    // The sender outlives us.
                    let _ = counted.subscribe().wait_for(|until| *until > self.now()).await;
                };
                tokio::select! {
                    biased;
                    () = stop.cancelled() => break,
                    () = agreed => {}
                }
                until = *counted.borrow();
            }
            self.turn(shard, until, &mut known, held).await;
            let pause = self.random.jitter(self.timing.retry);
            let left = known.ours_until.map_or(pause, |until| until.saturating_sub(self.now()).min(pause));
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = self.access.clock().sleep(left) => {}
            }
            self.give_up_if_late(shard, &mut known, held);
        }
        held.send_if_modified(|held| held.remove(&shard));
        if known.ours_until.is_some() {
            // Best effort: the Lease ends by itself.
            let _ = self.write(&self.name(shard), known.record.as_ref().map(|(record, _)| record), "").await;
        }
    }

    fn now(&self) -> Duration {
        self.access.clock().monotonic()
    }

    fn name(&self, shard: u32) -> String {
        if self.count <= 1 { self.lease.clone() } else { format!("{}-{shard}", self.lease) }
    }

    /// Renews what is ours, takes what is free.
    async fn turn(&self, shard: u32, counted: Duration, known: &mut Known, held: &watch::Sender<BTreeSet<u32>>) {
        let (began, ours) = (self.now(), held.borrow().len());
        // No try may outlast what is left to us: whoever hangs in a call must still stop in time.
        let patience = known.ours_until.map_or(self.timing.deadline, |until| until.saturating_sub(began));
        let tried = async {
            let found: Option<Value> = self.access.find(Ask::get(&LEASES, &self.namespace, &self.name(shard))).await?;
            self.look(known, found);
            let record = known.record.as_ref().map(|(record, _)| record);
            if !self.may_take(known, ours) {
                return Ok(false);
            }
            let written = self.write(&self.name(shard), record, &self.identity).await?;
            known.record = Some((written, began));
            Ok::<_, Error>(true)
        };
        let tried = tokio::select! {
            biased;
            tried = tried => tried,
            () = self.access.clock().sleep(patience) => Err(Error::timeout(patience)),
        };
        match tried {
            Ok(true) => {
                known.ours_until = Some((began + self.timing.deadline).min(counted));
                let news = held.send_if_modified(|held| held.insert(shard));
                if news {
                    tracing::info!(shard, identity = self.identity, "this replica leads");
                }
            }
            // Seen in the hands of another: not ours, whatever we believed.
            Ok(false) => self.lose(shard, known, held),
            Err(error) => tracing::warn!(shard, %error, "the lease could not be renewed"),
        }
        self.give_up_if_late(shard, known, held);
    }

    fn give_up_if_late(&self, shard: u32, known: &mut Known, held: &watch::Sender<BTreeSet<u32>>) {
        if known.ours_until.is_some_and(|until| until <= self.now()) {
            self.lose(shard, known, held);
        }
    }

    fn lose(&self, shard: u32, known: &mut Known, held: &watch::Sender<BTreeSet<u32>>) {
        known.ours_until = None;
        if held.send_if_modified(|held| held.remove(&shard)) {
            tracing::warn!(shard, identity = self.identity, "this replica no longer leads");
        }
    }

    fn look(&self, known: &mut Known, found: Option<Value>) {
        let same = match (&known.record, &found) {
            (Some((before, _)), Some(now)) => before["spec"] == now["spec"],
            _ => false,
        };
        if same {
            if let (Some((before, _)), Some(now)) = (&mut known.record, found) {
                *before = now;
            }
        } else {
            known.record = found.map(|record| (record, self.now()));
        }
    }

    fn may_take(&self, known: &Known, ours: usize) -> bool {
        let Some((record, seen)) = &known.record else { return true };
        let holder = record["spec"]["holderIdentity"].as_str().unwrap_or_default();
        if holder == self.identity {
            return true;
        }
        let still = self.now().saturating_sub(*seen);
        // Who has some already leaves others a moment to take theirs.
        let patience = self.timing.retry * u32::try_from(ours).unwrap_or(u32::MAX).min(5);
        if holder.is_empty() { still >= patience } else { still >= self.timing.lease + patience }
    }

    async fn write(&self, name: &str, before: Option<&Value>, holder: &str) -> Result<Value, Error> {
        let now = micros(self.access.clock().wall());
        let mut spec = json!({
            "holderIdentity": holder, "renewTime": now, "leaseDurationSeconds": self.timing.lease.as_secs().max(1),
        });
        let Some(before) = before else {
            spec["acquireTime"] = json!(now);
            let lease = json!({"apiVersion": LEASES.api_version(), "kind": LEASES.kind,
                "metadata": {"name": name, "namespace": self.namespace}, "spec": spec});
            return self.access.send(Ask::create(&LEASES, &self.namespace, lease)).await;
        };
        let mut lease = before.clone();
        let changes = lease["spec"]["holderIdentity"] != json!(holder);
        let moves = lease["spec"]["leaseTransitions"].as_u64().unwrap_or(0) + u64::from(changes);
        spec["acquireTime"] = if changes { json!(now) } else { lease["spec"]["acquireTime"].clone() };
        spec["leaseTransitions"] = json!(moves);
        lease["spec"] = spec;
        // With the version we read: two candidates cannot both succeed.
        self.access.send(Ask::update(&LEASES, &self.namespace, name, lease)).await
    }
}

/// As Kubernetes writes times of Leases.
fn micros(time: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(time.as_micros())
        .map_or_else(|_| String::new(), |time| time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string())
}
