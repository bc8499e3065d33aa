//! Stories about registrations in the Director: whatever dies in between, somebody knows of them.

use slipway_model::{ports::StoreError, runtime_record::IntentState};

use crate::{
    bed::{Bed, t},
    runtime_bed::tenant,
};

pub(crate) async fn an_intent_is_committed_with_its_runtime(bed: Bed) {
    let id = bed.runtime_id();
    let mut request = bed.provisioning(id, "shop");
    request.intent = Some("i1".to_owned());
    let error = bed.runtimes.accept(&request, t(0)).await.expect_err("never planned");
    assert!(matches!(&error, StoreError::NotFound { what: "director intent", .. }), "{error}");

    let planned = bed.runtimes.plan_intent("i1", &tenant("acme"), "Shop 1", t(0)).await.expect("planned");
    assert_eq!((planned.state, planned.director_id, planned.created_at), (IntentState::Planned, None, t(0)));
    let error = bed.runtimes.accept(&request, t(0)).await.expect_err("not registered");
    assert_eq!(error.to_string(), "director intent i1 is PLANNED, not REGISTERED");
    assert_eq!(bed.runtimes.runtime(id).await.expect("reads"), None, "nothing stored");

    for _ in 0..2 {
        let registered = bed.runtimes.registered("i1", "d-1").await.expect("registered");
        assert_eq!((registered.state, registered.director_id.as_deref()), (IntentState::Registered, Some("d-1")));
    }
    let error = bed.runtimes.registered("i1", "d-2").await.expect_err("a second one");
    assert!(error.to_string().contains("take the second registration back"), "{error}");
    bed.takes(&request, t(1)).await;
    bed.takes(&request, t(1)).await;
    let again = bed.runtimes.plan_intent("i1", &tenant("acme"), "Shop 1", t(9)).await.expect("answers");
    assert_eq!((again.state, again.created_at), (IntentState::Committed, t(0)), "a repeat answers what is stored");
    assert_eq!(bed.runtimes.registered("i1", "d-1").await.expect("void").state, IntentState::Committed);
    assert_eq!(bed.runtimes.abandon_intent("i1").await.expect("answers"), None, "it belongs to a runtime");
    let error = bed.runtimes.unregistered("i1").await.expect_err("it belongs to a runtime");
    assert_eq!(error.to_string(), "director intent i1 is COMMITTED, not ABANDONED");
}

pub(crate) async fn an_intent_that_was_given_up_can_no_longer_be_committed(bed: Bed) {
    let id = bed.runtime_id();
    bed.runtimes.plan_intent("i1", &tenant("acme"), "Shop", t(0)).await.expect("planned");
    bed.runtimes.registered("i1", "d-1").await.expect("registered");
    for _ in 0..2 {
        let given_up = bed.runtimes.abandon_intent("i1").await.expect("answers").expect("is open");
        assert_eq!((given_up.state, given_up.director_id.as_deref()), (IntentState::Abandoned, Some("d-1")));
    }
    let mut request = bed.provisioning(id, "shop");
    request.intent = Some("i1".to_owned());
    let error = bed.runtimes.accept(&request, t(1)).await.expect_err("given up");
    assert_eq!(error.to_string(), "director intent i1 is ABANDONED, not REGISTERED");
    assert_eq!(bed.runtimes.runtime(id).await.expect("reads"), None);
    assert!(bed.get_or_none(request.operation.id).await.is_none());
    for _ in 0..2 {
        bed.runtimes.unregistered("i1").await.expect("taken back");
    }
    assert_eq!(bed.runtimes.abandon_intent("i1").await.expect("answers"), None, "nothing left to take back");
    for unknown in [
        bed.runtimes.registered("i9", "d").await.map(drop),
        bed.runtimes.abandon_intent("i9").await.map(drop),
        bed.runtimes.unregistered("i9").await,
    ] {
        assert!(matches!(unknown, Err(StoreError::NotFound { what: "director intent", .. })), "{unknown:?}");
    }
}

pub(crate) async fn a_director_that_answers_late_leaves_something_to_take_back(bed: Bed) {
    for (key, taken_back) in [("i1", false), ("i2", true)] {
        bed.runtimes.plan_intent(key, &tenant("acme"), "Shop", t(0)).await.expect("planned");
        bed.runtimes.abandon_intent(key).await.expect("answers").expect("is open");
        if taken_back {
            bed.runtimes.unregistered(key).await.expect("nothing was found there");
        }
        let late = bed.runtimes.registered(key, "d-1").await.expect("answers");
        assert_eq!((late.state, late.director_id.as_deref()), (IntentState::Abandoned, Some("d-1")));
    }
    let open = bed.runtimes.open_intents(t(1), 10).await.expect("reads");
    assert_eq!(open.iter().map(|intent| intent.key.as_str()).collect::<Vec<_>>(), ["i1", "i2"]);
}

pub(crate) async fn open_intents_are_listed_oldest_first(bed: Bed) {
    for (key, at) in [("b", 3), ("a", 3), ("z", 1), ("settled", 0), ("young", 9)] {
        bed.runtimes.plan_intent(key, &tenant("acme"), "Shop", t(at)).await.expect("planned");
    }
    bed.runtimes.abandon_intent("settled").await.expect("answers");
    bed.runtimes.unregistered("settled").await.expect("taken back");
    bed.runtimes.registered("a", "d").await.expect("registered");
    let open = async |before, limit| -> Vec<String> {
        bed.runtimes.open_intents(before, limit).await.expect("reads").into_iter().map(|intent| intent.key).collect()
    };
    assert_eq!(open(t(9), 10).await, ["z", "a", "b"], "those planned before");
    assert_eq!(open(t(9), 2).await, ["z", "a"]);
    assert_eq!(open(t(1), 10).await, Vec::<String>::new());
}
