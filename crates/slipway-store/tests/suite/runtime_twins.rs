//! Random calls of the port to runtimes on every store at once; the memory store's answers are the
//! right ones. A few runtimes, names, tenants and intents, so that calls get into each other's way.

use slipway_model::{
    OperationId, OperationState, OperationType, RuntimeId,
    ports::{Acceptance, Next, Random, Reassignment},
    runtime_record::{AgentConnection, AgentState, KymaUpgradeState, Tenant},
};
use slipway_store::testing::Chance;

use crate::{
    bed::{Bed, Run, t},
    runtime_bed::{audit, config, tenant},
};

const CALLS: i64 = 240;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_store_answers_about_runtimes_like_the_memory_store() {
    for seed in 0..3 {
        let beds = [Bed::memory().await, Bed::sqlite().await, Bed::postgres().await];
        let ids: Vec<RuntimeId> = (0..4).map(|_| beds[0].runtime_id()).collect();
        Twins { beds, dice: Chance::seeded(seed + 77), ids, asked: Vec::new() }.play(seed).await;
    }
}

struct Twins {
    beds: [Bed; 3],
    dice: Chance,
    ids: Vec<RuntimeId>,
    asked: Vec<Acceptance>,
}

/// Makes the same call on every store and compares what they answer, errors too.
macro_rules! same {
    ($twins:expr, $what:expr, $bed:ident => $call:expr) => {{
        let mut answers = Vec::new();
        for $bed in &$twins.beds {
            answers.push(format!("{:?}", $call.await));
        }
        assert_eq!(answers[1], answers[0], "SQLite: {}", $what);
        assert_eq!(answers[2], answers[0], "PostgreSQL: {}", $what);
        answers.swap_remove(0)
    }};
}

impl Twins {
    fn pick(&self, sides: u64) -> u64 {
        self.dice.next_u64() % sides
    }

    fn one<T: Copy>(&self, of: &[T]) -> T {
        of[usize::try_from(self.pick(of.len() as u64)).expect("few")]
    }

    fn tenant(&self) -> Tenant {
        tenant(self.one(&["acme", "two", "three"]))
    }

    fn request(&self) -> Acceptance {
        let (bed, id) = (&self.beds[0], self.one(&self.ids));
        let mut request = if self.pick(3) == 0 {
            bed.provisioning(id, self.one(&["shop", "cellar", "attic"]))
        } else {
            bed.change(id, self.one(OperationType::ALL))
        };
        if self.pick(4) == 0 {
            request.tenant = Some(Reassignment { old: self.tenant(), new: self.tenant() });
        }
        if self.pick(3) == 0 {
            request.config = Some(config("{}"));
        }
        if self.pick(3) == 0 {
            request.kyma = Some(bed.kyma("{}", self.pick(2) == 0));
        }
        if self.pick(4) == 0 {
            request.intent = Some(self.one(&["i0", "i1", "i2", "i3"]).to_owned());
        }
        request
    }

    /// Ends whatever is due, so that others can begin.
    async fn end_all(&self, n: i64) {
        let mut ended: Vec<Vec<OperationId>> = Vec::new();
        let state = self.one(&[OperationState::Succeeded, OperationState::Failed]);
        for bed in &self.beds {
            let me = bed.replica("a").await;
            let claims = bed.claim_all(&me, t(n)).await.claims;
            for claim in &claims {
                bed.must(Run::of(claim).next(t(n), Next::End { state })).await;
            }
            ended.push(claims.iter().map(|claim| claim.operation.id).collect());
        }
        assert!(ended[1] == ended[0] && ended[2] == ended[0], "{ended:?}");
    }

    async fn play(mut self, seed: u64) {
        let mut kinds = std::collections::BTreeSet::new();
        for n in 0..CALLS {
            let (id, at) = (self.one(&self.ids), t(n));
            let key = self.one(&["i0", "i1", "i2", "i3"]);
            let what = format!("seed {seed}, call {n}");
            match self.pick(12) {
                0..=3 => {
                    let again = self.asked.last().filter(|_| self.pick(6) == 0).cloned();
                    let request = again.unwrap_or_else(|| self.request());
                    let answer = same!(self, what, bed => bed.runtimes.accept(&request, at));
                    kinds.insert(answer.split('(').take(2).collect::<String>());
                    self.asked.push(request);
                }
                4 | 5 => self.end_all(n).await,
                6 => {
                    let change = Reassignment { old: self.tenant(), new: self.tenant() };
                    same!(self, what, bed => bed.runtimes.reassign(id, &change, &audit("x"), at));
                }
                7 => {
                    same!(self, what, bed => bed.runtimes.roll_back_kyma(id, &audit("x"), at));
                    if let Some(request) = self.asked.last() {
                        let state = self.one(KymaUpgradeState::ALL);
                        same!(self, what, bed => bed.runtimes.kyma_upgrade_ended(request.operation.id, state));
                    }
                }
                8 if self.pick(2) == 0 => drop(same!(self, what, bed => bed.runtimes.tombstone(id, at))),
                8 => drop(same!(self, what, bed => bed.runtimes.forget_tombstones(t(n - 30), 1))),
                9 => {
                    let look = t(n - i64::try_from(self.pick(9)).expect("few"));
                    let agent = AgentState::observed(self.one(AgentConnection::ALL), [what.clone()], look);
                    same!(self, what, bed => bed.runtimes.set_agent(id, &agent));
                }
                _ => self.move_intent(key, n, &what).await,
            }
            if n % 3 == 0 {
                self.look(id, n, &what).await;
            }
        }
        assert!(kinds.len() >= 5, "too tame: {kinds:?}");
    }

    async fn move_intent(&self, key: &str, n: i64, what: &str) {
        match self.pick(6) {
            0 | 1 => drop(same!(self, what, bed => bed.runtimes.plan_intent(key, &tenant("acme"), "Shop", t(n)))),
            2 | 3 => drop(same!(self, what, bed => bed.runtimes.registered(key, "d-1"))),
            4 => drop(same!(self, what, bed => bed.runtimes.abandon_intent(key))),
            _ => drop(same!(self, what, bed => bed.runtimes.unregistered(key))),
        }
    }

    /// Everything that can be read of one runtime, and of all.
    async fn look(&self, id: RuntimeId, n: i64, what: &str) {
        same!(self, what, bed => bed.runtimes.runtime(id));
        same!(self, what, bed => bed.runtimes.config(id, None));
        same!(self, what, bed => bed.runtimes.config(id, Some(1)));
        same!(self, what, bed => bed.runtimes.kyma(id));
        same!(self, what, bed => bed.runtimes.runtime_operations(id, None, 4));
        same!(self, what, bed => bed.runtimes.live_runtimes(None, 3));
        same!(self, what, bed => bed.runtimes.open_intents(t(n), 3));
        same!(self, what, bed => bed.runtimes.operation_counts());
        if let Some(request) = self.asked.last() {
            same!(self, what, bed => bed.runtimes.kyma_upgrade(request.operation.id));
        }
        // Their numbers may have gaps where a transaction was rolled back.
        let mut logs = Vec::new();
        for bed in &self.beds {
            let mut log = bed.runtimes.audit_entries(id, None, 4).await.expect("reads");
            log.iter_mut().for_each(|entry| entry.id = 0);
            logs.push(log);
        }
        assert!(logs[1] == logs[0] && logs[2] == logs[0], "{what}: {logs:?}");
    }
}
