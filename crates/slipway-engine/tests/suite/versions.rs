//! A process that is changed: its old version ends what began on it, beside the new one.

use slipway_engine::{Registry, row};
use slipway_model::{NewOperation, OperationState, OperationType, ProcessKey, time::secs};

use crate::theatre::{Act, ONE, Play, THREE, TWO, Theatre};

static UNTIL_GO: Act =
    Act("Gate", |ctx| if ctx.systems().is("go") { ctx.done() } else { ctx.wait(None, secs(10), "waiting") });

fn version(version: u32) -> ProcessKey {
    ProcessKey { name: "update".to_owned(), version }
}

/// A house that plays two versions of `update`: the new one has a row less and a row more.
fn theatre() -> Theatre {
    let old = [row("a", 1, &UNTIL_GO), row("b", 1, &ONE), row("b", 1, &TWO)];
    let new = [row("a", 1, &UNTIL_GO), row("b", 1, &TWO), row("b", 1, &THREE)];
    Theatre::with(&old).plays_version(2, OperationType::Update, &new, &[])
}

/// The program of before the change, and that of after the old version was taken away.
fn only(theatre: &Theatre, version: u32) -> Registry<Play> {
    let table = theatre.tables.iter().find(|table| table.version == version).expect("a table");
    Registry::default().with(table).expect("a right table")
}

#[tokio::test(start_paused = true)]
async fn after_an_upgrade_the_old_ends_on_its_own_version_and_the_new_begins_on_the_newest() {
    let theatre = theatre();
    let before = theatre.engine_of(only(&theatre, 1));
    assert_eq!(before.offers()[0].process, version(1));
    let old = theatre.update().await;
    theatre.until_ran(old, "Gate").await;
    before.abort();

    let after = theatre.engine();
    let [offer] = after.offers() else { panic!("one process is offered: {:?}", after.offers()) };
    assert_eq!(offer.process, version(2));
    let wish = theatre.wish(OperationType::Update, "other-shop");
    let new = theatre.accept(NewOperation { process: offer.process.clone(), ..wish }).await;
    theatre.until_ran(new, "Gate").await;
    theatre.props.raise("go");
    for (id, key, steps) in [(old, version(1), ["Gate", "One", "Two"]), (new, version(2), ["Gate", "Two", "Three"])] {
        let operation = theatre.end(id).await;
        assert_eq!((operation.state, operation.process), (OperationState::Succeeded, key));
        let ledger = theatre.store.steps(id).await.expect("a ledger");
        assert_eq!(ledger.iter().map(|row| row.step.as_str()).collect::<Vec<_>>(), steps);
    }
    assert!(theatre.store.stranded().await.expect("counts").is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_operation_whose_version_nobody_has_is_told_as_stranded_until_its_version_is_back() {
    let theatre = theatre();
    let before = theatre.engine_of(only(&theatre, 1));
    let old = theatre.update().await;
    theatre.until_ran(old, "Gate").await;
    assert!(theatre.store.stranded().await.expect("counts").is_empty());
    before.stop().await;

    let too_early = theatre.engine_of(only(&theatre, 2));
    theatre.until("it registers", async || *too_early.status().borrow() == slipway_engine::Status::Ready).await;
    theatre.props.raise("go");
    theatre.pass(secs(60)).await;
    assert_eq!(theatre.operation(old).await.state, OperationState::InProgress, "nobody guesses how it would go on");
    assert_eq!(theatre.store.stranded().await.expect("counts"), [(version(1), 1)]);

    let _with_both = theatre.engine();
    assert_eq!(theatre.end(old).await.state, OperationState::Succeeded);
    assert!(theatre.store.stranded().await.expect("counts").is_empty());
}
