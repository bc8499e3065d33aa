//! The failure matrix finds what is wrong with a step, and nothing in a step that is right.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Request, Response};
use serde::{Deserialize, Serialize};
use slipway_engine::{
    Domain, Process, ProcessTable, Registry, Row, Step, StepCtx, StepError, StepResult,
    matrix::{Kind, Report, World, matrix},
    row,
};
use slipway_model::{
    Bugs, JsonText, NewOperation, Operation, OperationId, OperationState, OperationType, ProcessKey, Reason,
    ports::{BoxFuture, Clock, Storage, Transport, TransportError},
    time::{hours, mins, secs},
};
use slipway_store::{MemoryStore, testing::FlawedProgram};

/// An outside system that keeps things: `POST /things` makes one, `GET /things` counts them. It
/// makes as many as it is asked to.
#[derive(Clone, Default)]
struct Shelf(Arc<Mutex<u32>>);

impl Shelf {
    fn things(&self) -> std::sync::MutexGuard<'_, u32> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport for Shelf {
    fn send<'a>(
        &'a self,
        _system: &'static str,
        request: Request<Bytes>,
        _timeout: Duration,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            if request.method() == Method::POST {
                *self.things() += 1;
            }
            Ok(Response::new(self.things().to_string().into()))
        })
    }
}

struct Keeper;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Data {
    runs: u32,
}

impl Domain for Keeper {
    type Data = Data;
    type Systems = Arc<dyn Transport>;
}

/// One call: how many things there are now.
async fn call(shelf: &dyn Transport, method: Method) -> Result<u32, String> {
    let request = Request::builder().method(method).uri("/things").body(Bytes::new()).expect("request");
    let answer = shelf.send("shelf", request, secs(10)).await.map_err(|error| error.to_string())?;
    match answer.status().as_u16() {
        200 => String::from_utf8_lossy(answer.body()).parse().map_err(|_| "garbled".to_owned()),
        400 => Err("refused".to_owned()),
        status => Err(format!("status {status}")),
    }
}

fn give_up(ctx: &StepCtx<Keeper>, problem: String) -> StepResult {
    let error = StepError::new(Reason::HttpStatusCode, "the shelf does not work", problem);
    if error.message == "refused" { ctx.fail(error) } else { ctx.retry(error, secs(10), mins(5)) }
}

/// What a step does, right or wrong.
#[derive(Clone, Copy)]
enum Manner {
    LooksFirst,
    MakesWithoutLooking,
    SwallowsErrors,
    RetriesForEver,
    CountsItsRuns,
    Panics,
}

impl Step<Keeper> for Manner {
    fn name(&self) -> &'static str {
        "Make"
    }

    async fn run(&self, ctx: &mut StepCtx<Keeper>) -> StepResult {
        let shelf = ctx.systems();
        if !matches!(self, Self::MakesWithoutLooking) {
            match call(&**shelf, Method::GET).await {
                Ok(0) => {}
                Ok(_) if matches!(self, Self::CountsItsRuns) => return ctx.done_with(|data| data.runs += 1),
                Ok(_) => return ctx.done(),
                Err(_) if matches!(self, Self::SwallowsErrors) => return ctx.done(),
                Err(problem) if matches!(self, Self::RetriesForEver) => {
                    return StepResult::Retry { after: secs(30), reason: problem };
                }
                Err(problem) if matches!(self, Self::Panics) => panic!("{problem}"),
                Err(problem) => return give_up(ctx, problem),
            }
        }
        match call(&**shelf, Method::POST).await {
            Ok(_) if matches!(self, Self::CountsItsRuns) => ctx.done_with(|data| data.runs += 1),
            Ok(_) => ctx.done(),
            Err(problem) => give_up(ctx, problem),
        }
    }
}

/// Makes nothing and calls nobody.
struct Quiet;

impl Step<Keeper> for Quiet {
    fn name(&self) -> &'static str {
        "Quiet"
    }

    async fn run(&self, ctx: &mut StepCtx<Keeper>) -> StepResult {
        ctx.done()
    }
}

/// Never applies.
struct Never;

impl Step<Keeper> for Never {
    fn name(&self) -> &'static str {
        "Never"
    }

    fn applies(&self, _: &slipway_engine::Op<Keeper>) -> bool {
        false
    }

    async fn run(&self, ctx: &mut StepCtx<Keeper>) -> StepResult {
        ctx.done()
    }
}

struct Landscape {
    rows: &'static [Row<Keeper>],
    finalizers: &'static [Row<Keeper>],
    shelf: Shelf,
    clock: Arc<dyn Clock>,
    bugs: Bugs,
}

impl World for Landscape {
    type Domain = Keeper;

    fn store(&self) -> Arc<dyn Storage> {
        Arc::new(FlawedProgram::new(Arc::new(MemoryStore::new(self.clock.clone())), self.bugs))
    }

    fn registry(&self) -> Registry<Keeper> {
        let (name, version, kind, budget) = ("keep", 1, OperationType::Update, hours(1));
        let table = ProcessTable { name, version, kind, budget, rows: self.rows, finalizers: self.finalizers };
        Registry::default().with(&table).expect("a right table")
    }

    fn wire(&self) -> Arc<dyn Transport> {
        Arc::new(self.shelf.clone())
    }

    fn systems(&self, wire: Arc<dyn Transport>) -> Arc<dyn Transport> {
        wire
    }

    fn operation(&self, process: &Process<Keeper>, id: OperationId) -> NewOperation {
        NewOperation {
            id,
            instance_id: "shop".parse().expect("instance"),
            kind: process.kind,
            temporary: false,
            plan: "sample".to_owned(),
            process: process.key.clone(),
            budget: process.budget,
            data: JsonText::empty(),
            secrets: None,
            by: "the failure matrix".to_owned(),
        }
    }

    fn check(&self, operation: &Operation) -> Result<(), String> {
        match (*self.shelf.things(), operation.state) {
            (0, OperationState::Succeeded) if operation.fields.skipped_steps.is_empty() => {
                Err("nothing was made".to_owned())
            }
            (0 | 1, _) => Ok(()),
            (many, _) => Err(format!("{many} things instead of one")),
        }
    }
}

async fn report(rows: &[Row<Keeper>]) -> Report {
    report_with(rows, &[], Bugs::NONE).await
}

async fn report_with(rows: &[Row<Keeper>], finalizers: &[Row<Keeper>], bugs: Bugs) -> Report {
    let leak = |rows: &[Row<Keeper>]| -> &'static [Row<Keeper>] { Box::leak(rows.to_vec().into_boxed_slice()) };
    let (rows, finalizers) = (leak(rows), leak(finalizers));
    let key = ProcessKey { name: "keep".to_owned(), version: 1 };
    matrix(|clock| Landscape { rows, finalizers, shelf: Shelf::default(), clock, bugs }, &key).await
}

/// The faults that found something, and what.
async fn findings(manner: &'static Manner) -> Vec<(Option<Kind>, String)> {
    let report = report(&[row("a", 1, manner), row("a", 1, &Quiet)]).await;
    let cells = report.cells.into_iter();
    cells.filter_map(|cell| Some((cell.fault.map(|fault| fault.kind), cell.seen.err()?))).collect()
}

#[tokio::test(start_paused = true)]
async fn a_step_that_looks_first_passes_and_rows_without_calls_are_repeated_too() {
    let report = report(&[row("a", 1, &Manner::LooksFirst), row("a", 1, &Quiet), row("b", 1, &Quiet)]).await;
    report.assert_sound();
    // Undisturbed, three rows around their commits, two calls with eleven faults each.
    assert_eq!(report.cells.len(), 1 + 3 * 2 + 2 * 11, "{report}");
}

#[tokio::test(start_paused = true)]
async fn finalizers_are_crashed_and_failed_too_and_cannot_change_the_verdict() {
    let report =
        report_with(&[row("a", 1, &Quiet)], &[row("z", 1, &Manner::LooksFirst), row("z", 1, &Quiet)], Bugs::NONE).await;
    report.assert_sound();
    let skipped = report.cells.iter().filter_map(|cell| cell.seen.as_ref().ok());
    let skipped = skipped.filter(|seen| seen.contains("succeeded") && seen.contains("without Make")).count();
    assert_eq!((report.cells.len(), skipped), (1 + 3 * 2 + 2 * 11, 2 * 4), "{report}");
}

#[tokio::test(start_paused = true)]
async fn a_step_that_makes_without_looking_is_found_at_every_repeat() {
    let found = findings(&Manner::MakesWithoutLooking).await;
    for kind in
        [Kind::CrashBeforeCommit, Kind::CrashAfterCommit, Kind::AnswerLost, Kind::GarbledOnce, Kind::CrashAfterCall]
    {
        let finding = found.iter().find(|(at, _)| *at == Some(kind)).unwrap_or_else(|| panic!("{kind}: {found:?}"));
        assert!(finding.1.ends_with("things instead of one"), "{kind}: {}", finding.1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_that_swallows_errors_is_found_when_they_last() {
    let found = findings(&Manner::SwallowsErrors).await;
    for kind in [Kind::BrokenOnce, Kind::NotSentOnce] {
        assert!(found.iter().any(|(at, what)| *at == Some(kind) && what == "nothing was made"), "{found:?}");
    }
    for kind in [Kind::BrokenForGood, Kind::NotSentForGood, Kind::RefusedForGood] {
        let is_it = |what: &str| what.starts_with("it should have failed, not ended as succeeded");
        assert!(found.iter().any(|(at, what)| *at == Some(kind) && is_it(what)), "{found:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_without_a_budget_is_found() {
    let found = findings(&Manner::RetriesForEver).await;
    let all_of_it = |what: &str| what.contains("all of its budget");
    assert!(found.iter().any(|(at, what)| *at == Some(Kind::BrokenForGood) && all_of_it(what)), "{found:?}");
}

#[tokio::test(start_paused = true)]
async fn a_step_whose_result_depends_on_how_often_it_ran_is_found() {
    let found = findings(&Manner::CountsItsRuns).await;
    assert_eq!(found.len(), 2, "after its commit, and before that of the row behind it: {found:?}");
    assert!(found.iter().all(|(_, what)| what.starts_with("it healed with other data")), "{found:?}");
}

#[tokio::test(start_paused = true)]
async fn a_step_that_panics_on_errors_is_found() {
    let found = findings(&Manner::Panics).await;
    assert!(found.iter().any(|(at, _)| *at == Some(Kind::BrokenOnce)), "{found:?}");
    let tells_nothing = |what: &str| what.contains("recovered from panic") && what.contains("tells nothing");
    assert!(found.iter().any(|(at, what)| *at == Some(Kind::BrokenForGood) && tells_nothing(what)), "{found:?}");
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "a/Never never ran")]
async fn a_row_that_never_runs_is_no_good_news() {
    report(&[row("a", 1, &Manner::LooksFirst), row("a", 1, &Never)]).await.assert_sound();
}

/// The engine itself is under the matrix too: known bugs of its kind do not get through. They exist
/// in builds with debug assertions only.
#[cfg(debug_assertions)]
#[tokio::test(start_paused = true)]
async fn an_engine_that_repeats_finished_stages_or_swallows_errors_is_found() {
    use slipway_model::KnownBug;

    for (bug, kind) in [
        (KnownBug::FinishedStageRunsAgain, Kind::CrashAfterCommit),
        (KnownBug::ErrorOverwrittenBySave, Kind::RefusedForGood),
    ] {
        let rows = [row("a", 1, &Manner::LooksFirst), row("b", 1, &Quiet)];
        let report = report_with(&rows, &[], Bugs::with(bug)).await;
        let found =
            report.findings().into_iter().any(|cell| cell.fault.as_ref().is_some_and(|fault| fault.kind == kind));
        assert!(found, "{bug}: {report}");
    }
}
