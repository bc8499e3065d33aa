//! What a Kubernetes API promises, on our embedded one and on the real kube-apiserver.

mod apply;
mod bad_requests;
mod cel;
mod changes;
mod clients;
mod crd;
mod crds;
mod credentials;
mod deletion;
mod discovery;
mod dry_run;
mod lists;
mod negotiation;
mod objects;
mod operators;
mod owned;
mod patches;
mod rules;
mod schemas;
mod sessions;
mod strictness;
mod tables;
mod watches;

use kube_sandbox::contract::{self, Exception, Target, Theme};

static THEMES: &[Theme] = &[
    Theme { name: "objects", cases: objects::CASES },
    Theme { name: "deletion", cases: deletion::CASES },
    Theme { name: "lists", cases: lists::CASES },
    Theme { name: "watches", cases: watches::CASES },
    Theme { name: "patches", cases: patches::CASES },
    Theme { name: "apply", cases: apply::CASES },
    Theme { name: "dry-run", cases: dry_run::CASES },
    Theme { name: "strictness", cases: strictness::CASES },
    Theme { name: "crds", cases: crds::CASES },
    Theme { name: "schemas", cases: schemas::CASES },
    Theme { name: "tables", cases: tables::CASES },
    Theme { name: "rules", cases: rules::CASES },
    Theme { name: "credentials", cases: credentials::CASES },
    Theme { name: "discovery", cases: discovery::CASES },
    Theme { name: "bad-requests", cases: bad_requests::CASES },
    Theme { name: "negotiation", cases: negotiation::CASES },
    Theme { name: "owned", cases: owned::CASES },
    Theme { name: "cel", cases: cel::CASES },
    Theme { name: "operators", cases: operators::CASES },
    Theme { name: "clients", cases: clients::CASES },
    Theme { name: "sessions", cases: sessions::CASES },
    Theme { name: "changes", cases: changes::CASES },
];

static EXCEPTIONS: &[Exception] = &[];

#[tokio::test(flavor = "multi_thread")]
async fn the_kubernetes_contract_holds_on_the_embedded_api() {
    contract::run("kubernetes", THEMES, EXCEPTIONS, Target::embedded().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kubernetes_contract_holds_on_a_real_kube_apiserver() {
    if let Some(target) = Target::kube_apiserver().await {
        contract::run("kubernetes", THEMES, EXCEPTIONS, target).await;
    }
}

#[test]
fn every_case_has_a_name_of_its_own_and_there_are_enough() {
    contract::check_table(THEMES, EXCEPTIONS, 120);
}
