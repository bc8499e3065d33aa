//! The calls against the simulator.

use slipway_sim::{
    Systems,
    systems::reconciler::{Pace, Script},
};

use super::*;
use crate::{
    call::Class,
    testing::{Always, simulated, talking_to},
};

#[tokio::test]
async fn something_else_than_a_standing_is_temporary() {
    for body in ["<html>", "{}", r#"{"configurationVersion":1,"status":"new word"}"#] {
        let reconciler: Client = talking_to(Always::saying(200, body));
        let error = reconciler.latest("r").await.expect_err("no standing");
        assert!(matches!(error.class(), Class::Garbled(_)) && error.is_temporary(), "{body}");
    }
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
    let reconciler: Client = simulated(&sim);
    let first = reconciler.apply(&cluster()).await.expect("applied");
    assert_eq!((first.status, first.failures[0].component.as_str()), (Status::ReconcileErrorRetryable, "istio"));
    let version = first.configuration_version;
    assert_eq!(reconciler.standing("r/1", version).await.expect("known").status, Status::Ready);
    assert!(reconciler.standing("r/1", version + 1).await.expect_err("no such version").is_not_found());
    reconciler.delete("r/1").await.expect("on its way");
    assert_eq!(reconciler.latest("r/1").await.expect("remembered").status, Status::Deleted);
    assert!(reconciler.delete("r/2").await.expect_err("no such cluster").is_not_found());
    assert_eq!(sim.reconciler.complaints(), Vec::<String>::new());
    assert!(!format!("{:?}", cluster()).contains("s3cret"), "secrets do not show themselves");
}

#[tokio::test]
async fn a_configuration_that_is_too_long_is_told_before_it_is_sent() {
    let mut long = cluster();
    long.runtime_input.description = "x".repeat(BODY_MAX);
    let reconciler: Client = talking_to(Always::silent());
    let error = reconciler.apply(&long).await.expect_err("too long");
    assert!(matches!(error.class(), Class::TooLong { limit: BODY_MAX, .. }) && !error.is_temporary());
}
