//! Stories about requests for runtimes: what is accepted together, and what stands against it.
//!
//! Above 300 lines because all that can stand against a request is one subject; one story a function.

use secrecy::ExposeSecret;
use slipway_model::{
    Action, OperationState, OperationType, RecordKind,
    ports::{Acceptance, Accepted, Enqueued, Reassigned, Reassignment, StoreError},
    runtime_record::{AgentConnection, AgentState},
};

use crate::{
    bed::{Bed, Run, t},
    runtime_bed::{audit, config, object, record, tenant},
};

pub(crate) async fn an_accepted_provisioning_reads_back_as_it_was_given(bed: Bed) {
    let id = bed.runtime_id();
    let request = bed.provisioning(id, "shop");
    let op = bed.takes(&request, t(1)).await;
    assert_eq!((op.id, op.state), (request.operation.id, OperationState::Pending));

    let runtime = bed.runtimes.runtime(id).await.expect("reads").expect("is there");
    assert_eq!(runtime, record(id, "shop"));
    let by_name = bed.runtimes.runtime_by_name(&runtime.project, &runtime.shoot_name).await.expect("reads");
    assert_eq!(by_name, Some(runtime));

    let config = bed.runtimes.config(id, None).await.expect("reads").expect("is there");
    assert_eq!((config.runtime, config.revision, config.schema_version), (id, 1, 1));
    assert_eq!((config.spec, config.created_by), (object(r#"{"region":"eu"}"#), op.id));
    assert_eq!(config.secrets.expect("kept").expose_secret(), r#"{"administrators":["ada"]}"#);

    let kyma = bed.runtimes.kyma(id).await.expect("reads").expect("is there");
    assert_eq!((kyma.runtime, kyma.spec, kyma.is_active), (id, object(r#"{"version":"2.0"}"#), true));
    assert_eq!(kyma.secrets.expect("kept").expose_secret(), r#"{"override":"hush"}"#);
    assert_eq!(bed.runtimes.kyma_upgrade(op.id).await.expect("reads"), None);

    let stored = bed.get(op.id).await;
    assert_eq!(stored.instance_id, id.instance());
    assert_eq!(stored.secrets.expect("kept").expose_secret(), r#"{"password":"hunter2"}"#);
    assert_eq!(bed.kinds(op.id).await, [RecordKind::Accepted { by: "the shop".to_owned() }]);

    let log = bed.runtimes.audit_entries(id, None, 10).await.expect("reads");
    assert_eq!(log.len(), 1);
    assert_eq!((log[0].at, log[0].who.as_str(), log[0].action.as_str()), (t(1), "broker", "provisionRuntime"));
    assert_eq!((&log[0].tenant, &log[0].previous_tenant, log[0].operation), (&tenant("acme"), &None, Some(op.id)));
    assert_eq!((log[0].runtime, &log[0].changed_paths), (id, &vec!["a.b".to_owned()]));
}

pub(crate) async fn a_repeat_after_a_lost_answer_is_answered_the_same_and_stored_once(bed: Bed) {
    let id = bed.runtime_id();
    let request = bed.provisioning(id, "shop");
    let first = bed.takes(&request, t(0)).await;
    let again = bed.takes(&request, t(1)).await;
    assert_eq!((again.id, again.created_at), (first.id, first.created_at));
    bed.finish(first.id, OperationState::Succeeded, t(2)).await;
    assert_eq!(bed.takes(&request, t(3)).await.state, OperationState::Succeeded, "also when it has ended");

    assert_eq!(bed.runtimes.runtime_operations(id, None, 10).await.expect("reads").len(), 1);
    assert_eq!(bed.runtimes.config(id, None).await.expect("reads").expect("is there").revision, 1);
    assert_eq!(bed.runtimes.audit_entries(id, None, 10).await.expect("reads").len(), 1);
    assert_eq!(bed.runtimes.runtime(id).await.expect("reads").expect("is there").version, 1);
}

pub(crate) async fn an_operation_id_of_another_runtime_is_refused(bed: Bed) {
    let (one, two) = (bed.runtime_id(), bed.runtime_id());
    let first = bed.takes(&bed.provisioning(one, "one"), t(0)).await;
    let mut request = bed.provisioning(two, "two");
    request.operation.id = first.id;
    let error = bed.runtimes.accept(&request, t(0)).await.expect_err("not its own");
    assert!(matches!(&error, StoreError::Refused(why) if why.contains("draw another id")), "{error}");
    assert_eq!(bed.runtimes.runtime(two).await.expect("reads"), None);

    // Nor may the two halves of a request speak of different runtimes, or of an instance of the broker.
    let mut request = bed.provisioning(two, "two");
    request.operation.instance_id = bed.runtime_id().instance();
    let error = bed.runtimes.accept(&request, t(0)).await.expect_err("two runtimes");
    assert!(error.to_string().contains(&format!("runtime {two} is given")), "{error}");
    request.operation.instance_id = "shop".parse().expect("an instance");
    let error = bed.runtimes.accept(&request, t(0)).await.expect_err("no runtime");
    assert!(error.to_string().contains("is not about a runtime: shop"), "{error}");
}

pub(crate) async fn a_second_request_is_told_the_operation_in_progress(bed: Bed) {
    let id = bed.provisioned("shop").await;
    let running = bed.takes(&bed.change(id, OperationType::Update), t(1)).await;
    let mut second = bed.change(id, OperationType::UpgradeKyma);
    second.config = Some(config(r#"{"region":"us"}"#));
    second.tenant = Some(Reassignment { old: tenant("acme"), new: tenant("roadrunner") });
    let is_busy = async |why: &str| match bed.runtimes.accept(&second, t(2)).await.expect("answers") {
        Accepted::Busy(op) => assert_eq!(op.id, running.id, "{why}"),
        other => panic!("{why}: {other:?}"),
    };
    is_busy("pending").await;
    let me = bed.replica("a").await;
    let claim = bed.claim_one(&me, t(2)).await;
    is_busy("in progress").await;
    bed.act(running.id, Action::Cancel, t(2)).await.expect("taken");
    is_busy("asked to cancel").await;
    // A removal has to wait too: it cancels nothing.
    let removal = bed.change(id, OperationType::Deprovision);
    assert!(matches!(bed.runtimes.accept(&removal, t(2)).await, Ok(Accepted::Busy(op)) if op.id == running.id));

    assert_eq!(bed.runtimes.config(id, None).await.expect("reads").expect("is there").revision, 1, "nothing stored");
    assert_eq!(bed.runtimes.runtime(id).await.expect("reads").expect("is there").tenant, tenant("acme"));
    assert_eq!(bed.runtimes.audit_entries(id, None, 10).await.expect("reads").len(), 2);

    bed.must(Run::of(&claim).end(t(3))).await;
    assert_eq!(bed.takes(&second, t(4)).await.id, second.operation.id);
}

pub(crate) async fn a_name_is_taken_by_a_live_runtime_of_the_project_only(bed: Bed) {
    let first = bed.provisioned("shop").await;
    let second = bed.runtime_id();
    let mut request = bed.provisioning(second, "shop");
    match bed.runtimes.accept(&request, t(1)).await.expect("answers") {
        Accepted::NameTaken(other) => assert_eq!(other.id, first),
        other => panic!("{other:?}"),
    }
    assert_eq!(bed.runtimes.runtime(second).await.expect("reads"), None);
    assert!(bed.get_or_none(request.operation.id).await.is_none());
    // Another tenant's name counts as well: it is one project. Another project is another place.
    request.runtime.as_mut().expect("given").tenant = tenant("other");
    assert!(matches!(bed.runtimes.accept(&request, t(1)).await, Ok(Accepted::NameTaken(_))));
    let elsewhere = bed.runtime_id();
    let mut other_project = bed.provisioning(elsewhere, "shop");
    other_project.runtime.as_mut().expect("given").project = "toad".parse().expect("a project");
    bed.takes(&other_project, t(1)).await;

    bed.runtimes.tombstone(first, t(2)).await.expect("buried");
    let shop = record(first, "shop");
    assert_eq!(bed.runtimes.runtime_by_name(&shop.project, &shop.shoot_name).await.expect("reads"), None);
    bed.takes(&request, t(3)).await;
    let found = bed.runtimes.runtime_by_name(&shop.project, &shop.shoot_name).await.expect("reads");
    assert_eq!(found.expect("is there").id, second);
}

pub(crate) async fn an_id_is_taken_by_a_live_runtime_and_free_after_its_tombstone(bed: Bed) {
    let id = bed.provisioned("shop").await;
    match bed.runtimes.accept(&bed.provisioning(id, "cellar"), t(1)).await.expect("answers") {
        Accepted::IdTaken(runtime) => assert_eq!(runtime.shoot_name.as_str(), "shop"),
        other => panic!("{other:?}"),
    }
    let agent = AgentState::observed(AgentConnection::Connected, [], t(1));
    bed.runtimes.set_agent(id, &agent).await.expect("stored");
    bed.runtimes.tombstone(id, t(2)).await.expect("buried");
    let mut request = bed.provisioning(id, "cellar");
    request.kyma = None;
    bed.takes(&request, t(3)).await;
    let runtime = bed.runtimes.runtime(id).await.expect("reads").expect("is there");
    assert_eq!((runtime.shoot_name.as_str(), runtime.deleted_at, runtime.agent), ("cellar", None, None));
    assert_eq!(runtime.version, 4, "provisioned, looked at, buried, provisioned");
    assert!(bed.runtimes.kyma(id).await.expect("reads").is_none(), "what was in force went with the tombstone");
    let config = bed.runtimes.config(id, None).await.expect("reads").expect("is there");
    assert_eq!(config.revision, 2, "the history stays");
    assert_eq!(config.secrets.expect("readable again").expose_secret(), r#"{"administrators":["ada"]}"#);
    assert!(bed.runtimes.config(id, Some(1)).await.expect("reads").expect("is there").secrets.is_none());
    assert_eq!(bed.runtimes.runtime_operations(id, None, 10).await.expect("reads").len(), 2);
}

pub(crate) async fn an_unknown_or_deleted_runtime_takes_no_request(bed: Bed) {
    let unknown = bed.runtime_id();
    let not_found = |error: StoreError| match error {
        StoreError::NotFound { what, id } => assert_eq!((what, id), ("runtime", unknown.to_string())),
        other => panic!("{other}"),
    };
    not_found(bed.runtimes.accept(&bed.change(unknown, OperationType::Update), t(0)).await.expect_err("unknown"));
    not_found(bed.runtimes.tombstone(unknown, t(0)).await.expect_err("unknown"));
    not_found(bed.runtimes.roll_back_kyma(unknown, &audit("x"), t(0)).await.expect_err("unknown"));
    let agent = AgentState::observed(AgentConnection::Pending, [], t(0));
    not_found(bed.runtimes.set_agent(unknown, &agent).await.expect_err("unknown"));
    let change = Reassignment { old: tenant("a"), new: tenant("b") };
    not_found(bed.runtimes.reassign(unknown, &change, &audit("x"), t(0)).await.expect_err("unknown"));
    assert_eq!(bed.runtimes.runtime(unknown).await.expect("reads"), None);
    assert!(bed.runtimes.config(unknown, None).await.expect("reads").is_none());
    assert!(bed.runtimes.runtime_operations(unknown, None, 9).await.expect("reads").is_empty());

    let gone = bed.deprovisioned("shop", t(1)).await;
    match bed.runtimes.accept(&bed.change(gone, OperationType::Update), t(2)).await.expect("answers") {
        Accepted::Gone(runtime) => assert_eq!(runtime.deleted_at, Some(t(1))),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn revisions_are_only_added(bed: Bed) {
    let id = bed.provisioned("shop").await;
    let mut operations = Vec::new();
    for n in 2..=3 {
        let mut request = bed.change(id, OperationType::Update);
        request.config = Some(config(&format!(r#"{{"n":{n}}}"#)));
        let op = bed.takes(&request, t(n)).await;
        bed.finish(op.id, OperationState::Failed, t(n)).await;
        operations.push(op.id);
    }
    for (revision, spec) in [(1, r#"{"region":"eu"}"#), (2, r#"{"n":2}"#), (3, r#"{"n":3}"#)] {
        let config = bed.runtimes.config(id, Some(revision)).await.expect("reads").expect("is there");
        assert_eq!((config.revision, config.spec), (revision, object(spec)));
        assert!(config.secrets.is_some());
    }
    let latest = bed.runtimes.config(id, None).await.expect("reads").expect("is there");
    assert_eq!((latest.revision, latest.created_by), (3, operations[1]));
    for none in [0, 4, u32::MAX] {
        assert!(bed.runtimes.config(id, Some(none)).await.expect("reads").is_none(), "{none}");
    }
}

pub(crate) async fn a_tenant_moves_with_a_request_or_by_itself_and_is_on_record(bed: Bed) {
    let id = bed.provisioned("shop").await;
    let mut request = bed.change(id, OperationType::Update);
    request.tenant = Some(Reassignment { old: tenant("acme"), new: tenant("two") });
    let op = bed.takes(&request, t(1)).await;
    let change = Reassignment { old: tenant("two"), new: tenant("three") };
    for at in [t(2), t(3)] {
        let done = bed.runtimes.reassign(id, &change, &audit("x"), at).await.expect("answers");
        assert_eq!(done, Reassigned::Done, "also when it has been since an earlier try");
    }
    assert_eq!(bed.runtimes.runtime(id).await.expect("reads").expect("is there").tenant, tenant("three"));

    let log = bed.runtimes.audit_entries(id, None, 10).await.expect("reads");
    let told: Vec<_> = log
        .iter()
        .map(|e| (e.action.as_str(), e.previous_tenant.as_ref().map(|t| t.as_str()), e.tenant.as_str(), e.operation))
        .collect();
    assert_eq!(
        told[..3],
        [
            ("tenantReassigned", Some("two"), "three", None),
            ("change", None, "two", Some(op.id)),
            ("tenantReassigned", Some("acme"), "two", Some(op.id)),
        ]
    );
    assert_eq!((log.len(), log[0].who.as_str()), (4, "broker"));
}

pub(crate) async fn a_tenant_that_moved_elsewhere_is_a_conflict_and_stores_nothing(bed: Bed) {
    let id = bed.provisioned("shop").await;
    let stale = Reassignment { old: tenant("long-ago"), new: tenant("two") };
    assert_eq!(bed.runtimes.reassign(id, &stale, &audit("x"), t(1)).await.expect("answers"), Reassigned::Conflict);
    let mut request = bed.change(id, OperationType::Update);
    request.tenant = Some(stale);
    let error = bed.runtimes.accept(&request, t(1)).await.expect_err("moved");
    assert!(error.to_string().contains("has changed its tenant meanwhile; read it again"), "{error}");
    assert!(!error.to_string().contains("acme"), "another tenant is nobody's business");
    assert!(bed.get_or_none(request.operation.id).await.is_none());
    assert_eq!(bed.runtimes.runtime(id).await.expect("reads").expect("is there").tenant, tenant("acme"));
    // Who finds it there already is not in conflict, and nothing is put on record twice.
    request.tenant = Some(Reassignment { old: tenant("long-ago"), new: tenant("acme") });
    bed.takes(&request, t(2)).await;
    assert_eq!(bed.runtimes.audit_entries(id, None, 10).await.expect("reads").len(), 2);
}

pub(crate) async fn texts_that_no_database_takes_are_refused_by_their_name(bed: Bed) {
    let id = bed.runtime_id();
    let long = "x".repeat(256);
    let huge = format!(r#"{{"a":"{}"}}"#, "x".repeat(1 << 20));
    let good = bed.provisioning(id, "shop");
    let cases: [(&str, &str, Spoil<'_>); 15] = [
        ("audit.who", "control character at position 2", &|r| r.audit.who = "a\0".to_owned()),
        ("audit.who", "is empty", &|r| r.audit.who = String::new()),
        ("audit.action", "has 256 characters; give at most 255", &|r| r.audit.action.clone_from(&long)),
        ("audit.changed_paths", "control character", &|r| r.audit.changed_paths = vec!["a\u{1}".to_owned()]),
        ("audit.changed_paths", "has 1001 entries", &|r| r.audit.changed_paths = vec!["a".to_owned(); 1001]),
        ("runtime.director_id", "control character", &|r| {
            r.runtime.as_mut().expect("given").director_id = Some("\0".to_owned());
        }),
        ("intent", "control character", &|r| r.intent = Some("i\0".to_owned())),
        ("config.spec", "bytes; give at most 1048576", &|r| r.config.as_mut().expect("given").spec = object(&huge)),
        ("config.secrets", "bytes; give at most", &|r| {
            r.config.as_mut().expect("given").secrets = Some(huge.clone().into());
        }),
        ("kyma.spec", "bytes; give at most", &|r| r.kyma.as_mut().expect("given").spec = object(&huge)),
        ("kyma.secrets", "bytes; give at most", &|r| {
            r.kyma.as_mut().expect("given").secrets = Some(huge.clone().into());
        }),
        ("operation.by", "control character", &|r| r.operation.by = "a\0".to_owned()),
        ("operation.plan", "control character", &|r| r.operation.plan = "a\0".to_owned()),
        ("operation.data", "bytes; give at most", &|r| r.operation.data = object(&huge)),
        ("operation.secrets", "bytes; give at most", &|r| r.operation.secrets = Some(huge.clone().into())),
    ];
    for (field, problem, spoil) in cases {
        let mut request = good.clone();
        spoil(&mut request);
        let error = bed.runtimes.accept(&request, t(0)).await.expect_err(field);
        let StoreError::Refused(sentence) = &error else { panic!("{field}: {error}") };
        assert!(sentence.starts_with(field) && sentence.contains(problem), "{field}: {sentence}");
        assert!(sentence.len() < 200, "the text itself is not repeated");
    }
    assert_eq!(bed.runtimes.runtime(id).await.expect("reads"), None, "nothing was stored");
    // What JSON spells with an escape is only text, and every other character is welcome.
    let mut request = good;
    request.config.as_mut().expect("given").spec = object(r#"{"a":"\u0000 ''; DROP TABLE runtimes; -- ü 🚢"}"#);
    request.audit.who = "Zoë 🚢'; --".to_owned();
    bed.takes(&request, t(0)).await;
    let config = bed.runtimes.config(id, None).await.expect("reads").expect("is there");
    assert_eq!(config.spec, request.config.expect("given").spec);
    assert_eq!(bed.runtimes.audit_entries(id, None, 1).await.expect("reads")[0].who, request.audit.who);

    for error in [
        bed.runtimes.plan_intent("a\0", &tenant("acme"), "Shop", t(0)).await.map(drop),
        bed.runtimes.plan_intent("a", &tenant("acme"), &long, t(0)).await.map(drop),
        bed.runtimes.registered("a", "\0").await.map(drop),
        bed.runtimes.roll_back_kyma(id, &audit("\0"), t(0)).await.map(drop),
        bed.runtimes
            .reassign(id, &Reassignment { old: tenant("acme"), new: tenant("b") }, &audit("\0"), t(0))
            .await
            .map(drop),
        bed.runtimes
            .set_agent(
                id,
                &AgentState { state: AgentConnection::Connected, errors: vec!["raw\0".to_owned()], observed_at: t(0) },
            )
            .await,
    ] {
        assert!(matches!(error, Err(StoreError::Refused(_))), "{error:?}");
    }
}

type Spoil<'a> = &'a dyn Fn(&mut Acceptance);

pub(crate) async fn operations_of_the_broker_keep_their_own_rules(bed: Bed) {
    // They queue up behind each other, also where the instance looks like a runtime.
    let id = bed.provisioned("shop").await;
    let instance = id.instance();
    bed.accept(OperationType::Update, instance.as_str(), t(1)).await;
    let second = bed.accept(OperationType::Update, instance.as_str(), t(2)).await;
    assert_eq!(bed.get(second).await.state, OperationState::Pending);
    // And as long as one of them is there, no request is accepted.
    let change = bed.change(id, OperationType::Update);
    assert!(matches!(bed.runtimes.accept(&change, t(3)).await, Ok(Accepted::Busy(_))));
    assert_eq!(bed.runtimes.runtime_operations(id, None, 10).await.expect("reads").len(), 1);
    let removal = bed.asked(OperationType::Deprovision, instance.as_str());
    assert!(matches!(bed.store.enqueue(removal, t(4)).await, Ok(Enqueued::New(_))));
}

pub(crate) async fn an_accepted_operation_is_claimed_like_any_other(bed: Bed) {
    let mut listener = bed.store.listen();
    let id = bed.runtime_id();
    let op = bed.takes(&bed.provisioning(id, "shop"), t(1)).await;
    listener.hint().await;
    let me = bed.replica("a").await;
    let claim = bed.claim_one(&me, t(1)).await;
    assert_eq!((claim.operation.id, claim.started), (op.id, true));
    assert_eq!(claim.operation.secrets.expect("given").expose_secret(), r#"{"password":"hunter2"}"#);
}
