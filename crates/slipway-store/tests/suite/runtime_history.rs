//! Stories about what becomes of a runtime: upgrades and the way back, the agent, its history, its end.

use secrecy::ExposeSecret;
use slipway_model::{
    OperationId, OperationState, OperationType,
    ports::{OperationCount, Reassignment, RolledBack, StoreError, WhyNotRolledBack},
    runtime_record::{AgentConnection, AgentState, KymaUpgrade, KymaUpgradeState},
};
use sqlx::types::Uuid;

use crate::{
    bed::{Bed, t},
    runtime_bed::{audit, config, object, tenant},
};

pub(crate) async fn an_upgrade_remembers_both_configurations_and_can_be_rolled_back(bed: Bed) {
    let id = bed.provisioned("shop").await;
    let before = bed.runtimes.kyma(id).await.expect("reads").expect("is there");
    let mut request = bed.change(id, OperationType::UpgradeKyma);
    request.kyma = Some(bed.kyma(r#"{"version":"2.1"}"#, true));
    let op = bed.takes(&request, t(1)).await;
    let after = bed.runtimes.kyma(id).await.expect("reads").expect("is there");
    assert_eq!((after.spec, after.is_active), (object(r#"{"version":"2.1"}"#), true));
    let upgrade = |state| Some(KymaUpgrade { operation: op.id, pre: before.id, post: after.id, state });
    let stored = async || bed.runtimes.kyma_upgrade(op.id).await.expect("reads");
    assert_eq!(stored().await, upgrade(KymaUpgradeState::InProgress));

    bed.runtimes.kyma_upgrade_ended(op.id, KymaUpgradeState::Failed).await.expect("stored");
    bed.runtimes.kyma_upgrade_ended(op.id, KymaUpgradeState::Succeeded).await.expect("void");
    assert_eq!(stored().await, upgrade(KymaUpgradeState::Failed), "it ends once");
    bed.finish(op.id, OperationState::Failed, t(2)).await;

    for at in [t(3), t(4)] {
        match bed.runtimes.roll_back_kyma(id, &audit("rollBackUpgradeOperation"), at).await.expect("answers") {
            RolledBack::Done(kyma) => {
                assert_eq!((kyma.id, kyma.is_active), (before.id, true));
                assert_eq!(kyma.secrets.expect("kept").expose_secret(), r#"{"override":"hush"}"#);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(stored().await, upgrade(KymaUpgradeState::RolledBack));
    bed.runtimes.kyma_upgrade_ended(op.id, KymaUpgradeState::Succeeded).await.expect("void");
    assert_eq!(stored().await, upgrade(KymaUpgradeState::RolledBack), "a late word changes nothing");
    assert_eq!(bed.get(op.id).await.state, OperationState::Failed, "the operation keeps its end");
    let log = bed.runtimes.audit_entries(id, None, 10).await.expect("reads");
    let actions: Vec<&str> = log.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["rollBackUpgradeOperation", "change", "provisionRuntime"], "a repeat is not a second one");
}

pub(crate) async fn only_an_upgrade_that_ended_and_is_the_latest_can_be_rolled_back(bed: Bed) {
    let id = bed.provisioned("shop").await;
    let why_not = async || match bed.runtimes.roll_back_kyma(id, &audit("x"), t(9)).await.expect("answers") {
        RolledBack::NotAllowed(why) => why,
        other @ RolledBack::Done(_) => panic!("{other:?}"),
    };
    assert!(matches!(why_not().await, WhyNotRolledBack::NotAnUpgrade(_)));
    let mut upgrade = bed.change(id, OperationType::UpgradeKyma);
    upgrade.kyma = Some(bed.kyma("{}", true));
    let upgraded = bed.takes(&upgrade, t(1)).await.id;
    assert_eq!(why_not().await, WhyNotRolledBack::InProgress(upgraded));
    assert_eq!(why_not().await.to_string(), format!("operation {upgraded} is in progress"));
    bed.finish(upgraded, OperationState::Succeeded, t(2)).await;
    let later = bed.takes(&bed.change(id, OperationType::Update), t(3)).await.id;
    assert_eq!(why_not().await, WhyNotRolledBack::InProgress(later));
    bed.finish(later, OperationState::Succeeded, t(4)).await;
    assert_eq!(why_not().await, WhyNotRolledBack::NotAnUpgrade(later));

    for state in [KymaUpgradeState::InProgress, KymaUpgradeState::RolledBack] {
        let error = bed.runtimes.kyma_upgrade_ended(upgraded, state).await.expect_err("no end");
        assert!(error.to_string().contains("say SUCCEEDED or FAILED"), "{error}");
    }
    let error = bed.runtimes.kyma_upgrade_ended(later, KymaUpgradeState::Failed).await.expect_err("no upgrade");
    assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
}

pub(crate) async fn an_upgrade_without_kyma_is_refused_and_stores_nothing(bed: Bed) {
    let id = bed.runtime_id();
    let mut bare = bed.provisioning(id, "shop");
    bare.kyma = None;
    let op = bed.takes(&bare, t(0)).await;
    bed.finish(op.id, OperationState::Succeeded, t(0)).await;
    let mut request = bed.change(id, OperationType::UpgradeKyma);
    request.tenant = Some(Reassignment { old: tenant("acme"), new: tenant("other") });
    request.config = Some(config("{}"));
    request.kyma = Some(bed.kyma("{}", true));
    let error = bed.runtimes.accept(&request, t(1)).await.expect_err("nothing to upgrade");
    assert_eq!(error.to_string(), format!("runtime {id} has no Kyma configuration to upgrade from"));
    assert!(bed.runtimes.kyma(id).await.expect("reads").is_none());
    assert_eq!(bed.runtimes.config(id, None).await.expect("reads").expect("is there").revision, 1);
    assert_eq!(bed.runtimes.runtime(id).await.expect("reads").expect("is there").tenant, tenant("acme"));
    assert_eq!(bed.runtimes.audit_entries(id, None, 10).await.expect("reads").len(), 1);
    assert!(bed.get_or_none(request.operation.id).await.is_none());
}

pub(crate) async fn a_tombstone_erases_the_secrets_and_keeps_the_history(bed: Bed) {
    let id = bed.provisioned("shop").await;
    let neighbour = bed.provisioned("cellar").await;
    let removal = bed.takes(&bed.change(id, OperationType::Deprovision), t(1)).await;
    for at in [t(2), t(3)] {
        bed.runtimes.tombstone(id, at).await.expect("buried");
    }
    let runtime = bed.runtimes.runtime(id).await.expect("reads").expect("is there");
    assert_eq!((runtime.deleted_at, runtime.version), (Some(t(2)), 2), "a repeat changes nothing");
    let config = bed.runtimes.config(id, None).await.expect("reads").expect("is there");
    assert!(config.secrets.is_none());
    assert_eq!(config.spec, object(r#"{"region":"eu"}"#));
    assert!(bed.runtimes.kyma(id).await.expect("reads").expect("is there").secrets.is_none());
    for op in bed.runtimes.runtime_operations(id, None, 10).await.expect("reads") {
        assert!(op.secrets.is_none(), "{op:?}");
    }
    // Its removal still runs to its end.
    bed.finish(removal.id, OperationState::Succeeded, t(4)).await;
    assert_eq!(bed.runtimes.audit_entries(id, None, 10).await.expect("reads").len(), 2);
    assert!(bed.runtimes.config(neighbour, None).await.expect("reads").expect("is there").secrets.is_some());
    let other = bed.runtimes.runtime_operations(neighbour, None, 1).await.expect("reads");
    assert!(other[0].secrets.is_some());
}

pub(crate) async fn old_tombstones_are_forgotten_in_batches(bed: Bed) {
    let live = bed.provisioned("live").await;
    let mut gone = Vec::new();
    for n in 0..3 {
        let id = bed.provisioned(&format!("gone-{n}")).await;
        let mut upgrade = bed.change(id, OperationType::UpgradeKyma);
        upgrade.kyma = Some(bed.kyma("{}", true));
        let op = bed.takes(&upgrade, t(n)).await;
        bed.runtimes.tombstone(id, t(n)).await.expect("buried");
        bed.finish(op.id, OperationState::Succeeded, t(n)).await;
        gone.push((id, op.id));
    }
    assert_eq!(bed.runtimes.forget_tombstones(t(2), 1).await.expect("forgets"), 1);
    assert_eq!(bed.runtimes.runtime(gone[0].0).await.expect("reads"), None, "the oldest first");
    assert!(bed.runtimes.runtime(gone[1].0).await.expect("reads").is_some());
    assert_eq!(bed.runtimes.forget_tombstones(t(2), 9).await.expect("forgets"), 1);
    assert_eq!(bed.runtimes.forget_tombstones(t(2), 9).await.expect("forgets"), 0);
    for (id, upgrade) in &gone[..2] {
        assert!(bed.runtimes.config(*id, None).await.expect("reads").is_none());
        assert!(bed.runtimes.kyma(*id).await.expect("reads").is_none());
        assert_eq!(bed.runtimes.kyma_upgrade(*upgrade).await.expect("reads"), None);
        assert_eq!(bed.runtimes.audit_entries(*id, None, 10).await.expect("reads").len(), 2, "this stays");
        assert_eq!(bed.runtimes.runtime_operations(*id, None, 10).await.expect("reads").len(), 2);
    }
    assert!(bed.runtimes.runtime(gone[2].0).await.expect("reads").is_some(), "not old enough");
    assert!(bed.runtimes.runtime(live).await.expect("reads").is_some());
}

pub(crate) async fn an_older_look_at_an_agent_never_replaces_a_newer_one(bed: Bed) {
    let id = bed.provisioned("shop").await;
    let agent = async || bed.runtimes.runtime(id).await.expect("reads").expect("is there").agent;
    let first = AgentState::observed(AgentConnection::Connected, ["sync failed".to_owned()], t(5));
    bed.runtimes.set_agent(id, &first).await.expect("stored");
    assert_eq!(agent().await, Some(first.clone()));
    let older = AgentState::observed(AgentConnection::Disconnected, [], t(4));
    bed.runtimes.set_agent(id, &older).await.expect("void");
    assert_eq!(agent().await, Some(first));
    let newer = AgentState::observed(AgentConnection::Disconnected, ["a\0b".to_owned()], t(6));
    for _ in 0..2 {
        bed.runtimes.set_agent(id, &newer).await.expect("stored");
    }
    assert_eq!(agent().await.expect("is there").errors, ["a b"]);
    assert_eq!(bed.runtimes.runtime(id).await.expect("reads").expect("is there").version, 3);
}

pub(crate) async fn live_runtimes_are_walked_page_by_page(bed: Bed) {
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(bed.provisioned(&format!("shop-{n}")).await);
    }
    ids.sort_unstable();
    bed.runtimes.tombstone(ids[2], t(1)).await.expect("buried");
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = bed.runtimes.live_runtimes(after, 2).await.expect("reads");
        assert!(page.len() <= 2);
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        seen.extend(page.into_iter().map(|runtime| runtime.id));
    }
    ids.remove(2);
    assert_eq!(seen, ids);
}

pub(crate) async fn the_audit_log_is_read_page_by_page(bed: Bed) {
    let id = bed.provisioned("shop").await;
    bed.provisioned("other").await;
    for n in 1..=4 {
        let mut request = bed.change(id, OperationType::Update);
        request.audit = audit(&format!("change-{n}"));
        let op = bed.takes(&request, t(n)).await;
        bed.finish(op.id, OperationState::Succeeded, t(n)).await;
    }
    let first = bed.runtimes.audit_entries(id, None, 3).await.expect("reads");
    let rest = bed.runtimes.audit_entries(id, Some(first[2].id), 3).await.expect("reads");
    let actions: Vec<&str> = first.iter().chain(&rest).map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["change-4", "change-3", "change-2", "change-1", "provisionRuntime"]);
}

pub(crate) async fn operations_are_counted_by_process_and_state(bed: Bed) {
    assert_eq!(bed.runtimes.operation_counts().await.expect("counts"), []);
    let (one, two) = (bed.provisioned("one").await, bed.provisioned("two").await);
    bed.takes(&bed.change(one, OperationType::Update), t(1)).await;
    let mut next_version = bed.change(two, OperationType::Update);
    next_version.operation.process.version = 2;
    bed.takes(&next_version, t(1)).await;
    // Operations of the broker do not count.
    bed.accept(OperationType::Provision, "broker", t(0)).await;
    let count = |process: &str, state, count| OperationCount { process: process.to_owned(), state, count };
    assert_eq!(
        bed.runtimes.operation_counts().await.expect("counts"),
        [count("provision", OperationState::Succeeded, 2), count("update", OperationState::Pending, 2)]
    );
}

pub(crate) async fn the_latest_operation_is_the_one_accepted_last_whatever_the_clocks_said(bed: Bed) {
    let id = bed.provisioned("shop").await;
    let mut ids = vec![bed.runtimes.runtime_operations(id, None, 1).await.expect("reads")[0].id];
    // Ids and times that go backwards, as after a jump of a clock.
    for n in [9_u128, 5, 1] {
        let mut request = bed.change(id, OperationType::Update);
        request.operation.id = OperationId::from(Uuid::from_u128(n));
        let at = t(i64::try_from(n).expect("small"));
        bed.takes(&request, at).await;
        bed.finish(request.operation.id, OperationState::Succeeded, at).await;
        ids.push(request.operation.id);
    }
    ids.reverse();
    let list = async |before, limit| -> Vec<OperationId> {
        let found = bed.runtimes.runtime_operations(id, before, limit).await.expect("reads");
        found.into_iter().map(|op| op.id).collect()
    };
    assert_eq!(list(None, 10).await, ids);
    assert_eq!(list(None, 2).await, ids[..2]);
    assert_eq!(list(Some(ids[1]), 2).await, ids[2..]);
    assert_eq!(list(Some(ids[3]), 2).await, []);
    // An operation of somebody else is no place to go on from.
    let other = bed.provisioned("other").await;
    let foreign = bed.runtimes.runtime_operations(other, None, 1).await.expect("reads")[0].id;
    let error = bed.runtimes.runtime_operations(id, Some(foreign), 1).await.expect_err("foreign");
    assert!(matches!(error, StoreError::NotFound { what: "operation", .. }), "{error}");
}
