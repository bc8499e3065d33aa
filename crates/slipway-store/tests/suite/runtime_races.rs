//! Requests for one runtime at once, on real databases: in PostgreSQL through three stores with
//! connections of their own, as three replicas of the provisioner have them. What must not happen is
//! asserted after each round, when all calls have answered; no clock decides anything.

use std::{collections::BTreeSet, sync::Arc};

use slipway_model::{
    OperationId, OperationState, OperationType, RuntimeId,
    ports::{Acceptance, Accepted},
    runtime_record::IntentState,
};
use slipway_store::testing::Postgres;
use tokio::task::JoinSet;

use crate::{
    bed::{Bed, Run, open_postgres, t},
    opening::Place,
    runtime_bed::tenant,
};

/// The stores of one database. Ids are drawn by the first.
struct Replicas(Vec<Arc<Bed>>);

impl Replicas {
    async fn postgres() -> Self {
        let url = Postgres::shared().fresh_database().await.expect("a database");
        let mut beds = Vec::new();
        for _ in 0..3 {
            beds.push(Arc::new(Bed::on(Arc::new(open_postgres(&url).await))));
        }
        Self(beds)
    }

    /// SQLite has one process, so one store.
    async fn sqlite() -> Self {
        Self(vec![Arc::new(Bed::sqlite().await)])
    }

    fn first(&self) -> &Bed {
        &self.0[0]
    }

    /// Sends all requests at once, through one store after the other.
    async fn at_once(&self, requests: Vec<Acceptance>, round: i64) -> Vec<(OperationId, Accepted)> {
        let mut tasks = JoinSet::new();
        for (n, request) in requests.into_iter().enumerate() {
            let bed = Arc::clone(&self.0[n % self.0.len()]);
            tasks.spawn(async move {
                let answer = bed.runtimes.accept(&request, t(round)).await.expect("answers");
                (request.operation.id, answer)
            });
        }
        tasks.join_all().await
    }

    /// Asserts that one was accepted and all others were told which; answers it.
    async fn one_of(&self, requests: Vec<Acceptance>, round: i64) -> OperationId {
        let count = requests.len();
        let (mut new, mut told) = (Vec::new(), BTreeSet::new());
        for (asked, answer) in self.at_once(requests, round).await {
            match answer {
                Accepted::New(op) => {
                    assert_eq!(op.id, asked);
                    new.push(op.id);
                }
                Accepted::Busy(op) => drop(told.insert(op.id)),
                other => panic!("round {round}: {other:?}"),
            }
        }
        assert_eq!(new.len(), 1, "round {round}: {new:?} of {count}");
        assert_eq!(told, BTreeSet::from([new[0]]), "round {round}: the others are told the one");
        new[0]
    }
}

/// Declares each race for both databases.
macro_rules! races {
    ($($race:ident,)+) => {
        mod sqlite { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $race() { super::$race(super::Replicas::sqlite().await).await }
        )+ }
        mod postgres { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $race() { super::$race(super::Replicas::postgres().await).await }
        )+ }
    };
}

races! {
    of_two_new_runtimes_of_one_id_one_is_accepted_a_thousand_times,
    of_many_changes_of_a_runtime_one_is_accepted_and_the_others_are_told_which,
    of_many_new_runtimes_of_one_name_one_is_accepted,
    the_same_request_many_times_at_once_is_one,
    an_end_and_a_request_at_once_leave_at_most_one_operation,
    of_a_request_and_a_sweeper_one_has_the_registration,
    many_runtimes_at_once_do_not_hold_each_other_up,
}

async fn of_two_new_runtimes_of_one_id_one_is_accepted_a_thousand_times(replicas: Replicas) {
    let bed = replicas.first();
    for round in 0..1000 {
        let id = bed.runtime_id();
        let name = format!("shop-{round}");
        let requests = vec![bed.provisioning(id, &name), bed.provisioning(id, &name)];
        let winner = replicas.one_of(requests, round).await;
        let stored = bed.runtimes.config(id, None).await.expect("reads").expect("is there");
        assert_eq!((stored.revision, stored.created_by), (1, winner), "what is stored is the winner's");
    }
}

async fn of_many_changes_of_a_runtime_one_is_accepted_and_the_others_are_told_which(replicas: Replicas) {
    const KINDS: [OperationType; 6] = [
        OperationType::Update,
        OperationType::UpgradeKyma,
        OperationType::Deprovision,
        OperationType::Update,
        OperationType::Deprovision,
        OperationType::UpgradeCluster,
    ];
    let bed = replicas.first();
    let id = bed.provisioned("shop").await;
    for round in 1..=60 {
        let requests = KINDS.iter().map(|kind| {
            let mut request = bed.change(id, *kind);
            request.config = Some(crate::runtime_bed::config("{}"));
            request
        });
        let winner = replicas.one_of(requests.collect(), round).await;
        bed.finish(winner, OperationState::Succeeded, t(round)).await;
        let latest = bed.runtimes.runtime_operations(id, None, 1).await.expect("reads");
        assert_eq!(latest[0].id, winner);
        let config = bed.runtimes.config(id, None).await.expect("reads").expect("is there");
        assert_eq!((i64::from(config.revision), config.created_by), (round + 1, winner));
    }
    assert_eq!(bed.runtimes.audit_entries(id, None, 1000).await.expect("reads").len(), 61);
}

async fn of_many_new_runtimes_of_one_name_one_is_accepted(replicas: Replicas) {
    let bed = replicas.first();
    for round in 0..60 {
        let name = format!("shop-{round}");
        let ids: Vec<RuntimeId> = (0..4).map(|_| bed.runtime_id()).collect();
        let requests = ids.iter().map(|id| bed.provisioning(*id, &name)).collect();
        let (mut new, mut told) = (Vec::new(), BTreeSet::new());
        for (_, answer) in replicas.at_once(requests, round).await {
            match answer {
                Accepted::New(op) => new.push(op.instance_id),
                Accepted::NameTaken(runtime) => drop(told.insert(runtime.id.instance())),
                other => panic!("round {round}: {other:?}"),
            }
        }
        assert_eq!(new.len(), 1, "round {round}");
        assert_eq!(told, BTreeSet::from([new[0].clone()]));
        let mut stored = 0;
        for id in ids {
            stored += usize::from(bed.runtimes.runtime(id).await.expect("reads").is_some());
        }
        assert_eq!(stored, 1, "round {round}: the losers left nothing");
    }
}

async fn the_same_request_many_times_at_once_is_one(replicas: Replicas) {
    let bed = replicas.first();
    for round in 0..60 {
        let id = bed.runtime_id();
        let request = bed.provisioning(id, &format!("shop-{round}"));
        for (asked, answer) in replicas.at_once(vec![request; 4], round).await {
            assert!(matches!(&answer, Accepted::New(op) if op.id == asked), "round {round}: {answer:?}");
        }
        assert_eq!(bed.runtimes.runtime_operations(id, None, 9).await.expect("reads").len(), 1);
        assert_eq!(bed.runtimes.audit_entries(id, None, 9).await.expect("reads").len(), 1);
        assert_eq!(bed.runtimes.config(id, None).await.expect("reads").expect("is there").revision, 1);
    }
}

async fn an_end_and_a_request_at_once_leave_at_most_one_operation(replicas: Replicas) {
    let bed = replicas.first();
    let me = bed.replica("a").await;
    let id = bed.runtime_id();
    let mut running = bed.takes(&bed.provisioning(id, "shop"), t(0)).await.id;
    for round in 1..=60 {
        let claim = bed.claim_one(&me, t(round)).await;
        assert_eq!(claim.operation.id, running);
        let end = Run::of(&claim).end(t(round));
        let requests = vec![bed.change(id, OperationType::Update), bed.change(id, OperationType::Update)];
        let (answers, _) = tokio::join!(replicas.at_once(requests, round), bed.must(end));
        let mut new: Vec<OperationId> = Vec::new();
        for (_, answer) in answers {
            match answer {
                Accepted::New(op) => new.push(op.id),
                Accepted::Busy(op) => assert!(op.id == running || !op.state.is_finished()),
                other => panic!("round {round}: {other:?}"),
            }
        }
        assert!(new.len() <= 1, "round {round}: {new:?}");
        running = match new.pop() {
            Some(id) => id,
            None => bed.takes(&bed.change(id, OperationType::Update), t(round)).await.id,
        };
        let all = bed.runtimes.runtime_operations(id, None, 1000).await.expect("reads");
        assert_eq!(all.iter().filter(|op| !op.state.is_finished()).count(), 1, "round {round}");
    }
}

async fn of_a_request_and_a_sweeper_one_has_the_registration(replicas: Replicas) {
    let bed = replicas.first();
    let (mut committed, mut swept) = (0, 0);
    for round in 0..60 {
        let (id, key) = (bed.runtime_id(), format!("i{round}"));
        bed.runtimes.plan_intent(&key, &tenant("acme"), "Shop", t(round)).await.expect("planned");
        bed.runtimes.registered(&key, &id.to_string()).await.expect("registered");
        let mut request = bed.provisioning(id, &format!("shop-{round}"));
        request.intent = Some(key.clone());
        let sweeper = &replicas.0[replicas.0.len() - 1];
        let (accepted, given_up) = match round % 2 {
            0 => tokio::join!(bed.runtimes.accept(&request, t(round)), sweeper.runtimes.abandon_intent(&key)),
            // The order in which they are first looked at decides on one connection.
            _ => {
                let (given_up, accepted) =
                    tokio::join!(sweeper.runtimes.abandon_intent(&key), bed.runtimes.accept(&request, t(round)));
                (accepted, given_up)
            }
        };
        let is_there = bed.runtimes.runtime(id).await.expect("reads").is_some();
        match (accepted, given_up.expect("answers")) {
            (Ok(Accepted::New(_)), None) if is_there => committed += 1,
            (Err(_), Some(intent)) if !is_there && intent.state == IntentState::Abandoned => swept += 1,
            other => panic!("round {round}, stored: {is_there}: {other:?}"),
        }
    }
    assert_eq!(committed + swept, 60);
}

async fn many_runtimes_at_once_do_not_hold_each_other_up(replicas: Replicas) {
    let bed = replicas.first();
    let ids: Vec<RuntimeId> = (0..50).map(|_| bed.runtime_id()).collect();
    let requests = ids.iter().enumerate().map(|(n, id)| bed.provisioning(*id, &format!("shop-{n}"))).collect();
    for (asked, answer) in replicas.at_once(requests, 0).await {
        assert!(matches!(&answer, Accepted::New(op) if op.id == asked), "{answer:?}");
    }
    assert_eq!(bed.runtimes.live_runtimes(None, 100).await.expect("reads").len(), 50);
}

/// A copy of the one operation, unfinished too, under the next turn.
const SECOND: &str = "INSERT INTO operations (id, instance_id, kind, class, temporary, plan, process, state, description, \
     finished_stages, skipped_steps, data, version, budget, created_at, updated_at, turn) \
     SELECT @id, instance_id, 'update', 'update', temporary, plan, process, 'retrying', description, finished_stages, \
     skipped_steps, data, version, budget, created_at, updated_at, turn + 1 FROM operations";

#[tokio::test]
async fn a_program_that_asks_nobody_is_refused_by_the_database_itself() {
    for place in Place::both().await {
        let bed = place.open(&[("k1", 'a')], "k1").await.expect("opens");
        let id = bed.runtime_id();
        let op = bed.takes(&bed.provisioning(id, "shop"), t(0)).await;
        let other = match &place {
            Place::Sqlite { .. } => "X'0198c0de000070008000000000000001'",
            Place::Postgres(_) => "'0198c0de-0000-7000-8000-000000000001'",
        };
        let error = place.try_run(&SECOND.replace("@id", other)).await.expect_err("two at once");
        assert!(error.contains("operations_one_of_a_runtime") || error.contains("operations.instance_id"), "{error}");
        bed.finish(op.id, OperationState::Succeeded, t(1)).await;
        place.try_run(&SECOND.replace("@id", other)).await.expect("one after the other is fine");
    }
}
