//! What a Gardener API server promises, on the garden simulator and on the real gardener-apiserver.
//!
//! Rules are tried with `dryRun=All`, so all cases can share the project namespace of the landscape.
//! Shoots that are stored carry the annotation that makes a gardenlet leave them alone: the case plays
//! the gardenlet itself, and nothing moves but what it moves. How Shoots live has a theme of its own.

mod creation;
mod defaults;
mod deletion;
mod lives;
mod operations;
mod operators;
mod others;
mod ownership;
mod shoots;
mod subresources;
mod targets;
mod types;
mod updates;

use kube_sandbox::contract::{self, Exception, Theme};

static THEMES: &[Theme] = &[
    Theme { name: "creation", cases: creation::CASES },
    Theme { name: "defaults", cases: defaults::CASES },
    Theme { name: "updates", cases: updates::CASES },
    Theme { name: "operations", cases: operations::CASES },
    Theme { name: "deletion", cases: deletion::CASES },
    Theme { name: "subresources", cases: subresources::CASES },
    Theme { name: "ownership", cases: ownership::CASES },
    Theme { name: "others", cases: others::CASES },
    Theme { name: "types", cases: types::CASES },
    Theme { name: "operators", cases: operators::CASES },
    Theme { name: "lives", cases: lives::CASES },
];

static EXCEPTIONS: &[Exception] = &[];

#[tokio::test(flavor = "multi_thread")]
async fn the_gardener_contract_holds_on_a_real_gardener_apiserver() {
    if let Some(target) = targets::gardener_apiserver().await {
        contract::run("gardener", THEMES, EXCEPTIONS, target).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gardener_contract_holds_on_the_simulator() {
    contract::run("gardener", THEMES, EXCEPTIONS, targets::simulator().await).await;
}

#[test]
fn every_case_has_a_name_of_its_own_and_there_are_enough() {
    contract::check_table(THEMES, EXCEPTIONS, 60);
}
