//! One test per class of answer, and the calls against the simulator.

use slipway_sim::{
    Systems,
    systems::reconciler::{Pace, Script},
};

use super::*;
use crate::testing::{Always, SimTransport, shared};

fn client(transport: Arc<dyn Transport>) -> Client {
    Client::new(transport, "http://reconciler".parse().expect("address"))
}

async fn after(status: u16, body: &'static str) -> Error {
    client(shared(Always::with_token(status, body))).latest("r").await.expect_err("no standing")
}

#[tokio::test]
async fn a_cluster_that_is_not_kept_is_not_found() {
    assert_eq!(after(404, "").await, Error::NotFound);
}

#[tokio::test]
async fn busy_and_broken_servers_are_temporary_and_name_their_pause() {
    for status in [408, 425, 429, 500, 502, 503] {
        let error = after(status, "").await;
        assert!(matches!(error, Error::Busy(_)) && error.is_temporary(), "{status}");
        assert!(error.pause_or(secs(1)) >= secs(7), "{status}");
    }
}

#[tokio::test]
async fn every_other_refusal_is_permanent() {
    for status in [301, 400, 401, 403, 409, 413, 422] {
        let error = after(status, "").await;
        assert!(matches!(error, Error::Refused(_)) && !error.is_temporary(), "{status}");
    }
}

#[tokio::test]
async fn something_else_than_a_standing_is_temporary() {
    for body in ["<html>", "{}", r#"{"configurationVersion":1,"status":"new word"}"#] {
        let error = after(200, body).await;
        assert!(matches!(error, Error::Garbled(_)) && error.is_temporary(), "{body}");
    }
}

#[tokio::test]
async fn silence_is_temporary() {
    let error = client(shared(Always::silent())).latest("r").await.expect_err("no standing");
    assert!(matches!(error, Error::Unreachable(_)) && error.is_temporary());
}

fn cluster() -> Cluster {
    let kubeconfig = "apiVersion: v1\nclusters:\n- name: c\n  cluster:\n    server: https://c.example.com\n";
    let entry = Entry { key: "manager.clientsecret".to_owned(), value: "s3cret".into(), secret: true };
    let component = |name: &str| Component {
        component: name.to_owned(),
        namespace: "kyma-system".to_owned(),
        url: String::new(),
        version: String::new(),
        configuration: vec![entry.clone()],
    };
    Cluster {
        runtime_id: "r/1".to_owned(),
        runtime_input: RuntimeInput { name: "shop".to_owned(), description: String::new() },
        kyma_config: KymaConfig {
            version: "2.10.1".to_owned(),
            profile: "Production".to_owned(),
            administrators: vec![],
            components: vec![component("istio")],
        },
        metadata: Metadata {
            global_account_id: "a".to_owned(),
            shoot_name: "c-1".to_owned(),
            region: "eu".to_owned(),
            ..Metadata::default()
        },
        kubeconfig: kubeconfig.into(),
    }
}

#[tokio::test]
async fn a_cluster_is_applied_followed_and_deleted() {
    let sim = Systems::default();
    sim.reconciler.set_pace(Pace::NONE);
    sim.reconciler.script("r/1", Script { stumbles: 1, fails: None });
    let reconciler = client(shared(SimTransport(sim.clone())));
    let first = reconciler.apply(&cluster()).await.expect("applied");
    assert_eq!((first.status, first.failures[0].component.as_str()), (Status::ReconcileErrorRetryable, "istio"));
    let version = first.configuration_version;
    assert_eq!(reconciler.standing("r/1", version).await.expect("known").status, Status::Ready);
    assert_eq!(reconciler.standing("r/1", version + 1).await, Err(Error::NotFound));
    reconciler.delete("r/1").await.expect("on its way");
    assert_eq!(reconciler.latest("r/1").await.expect("remembered").status, Status::Deleted);
    assert_eq!(reconciler.delete("r/2").await, Err(Error::NotFound));
    assert_eq!(sim.reconciler.complaints(), Vec::<String>::new());
    assert!(!format!("{:?}", cluster()).contains("s3cret"), "secrets do not show themselves");
}

#[tokio::test]
async fn a_configuration_that_is_too_long_is_told_before_it_is_sent() {
    let mut long = cluster();
    long.runtime_input.description = "x".repeat(BODY_MAX);
    let error = client(shared(Always::silent())).apply(&long).await.expect_err("too long");
    assert!(matches!(error, Error::TooLong(_)) && !error.is_temporary());
}
