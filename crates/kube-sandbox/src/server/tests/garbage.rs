//! What becomes of objects whose owners go.

use super::*;
use crate::delete::{Options, Propagation};

fn way(propagation: Propagation) -> Options {
    Options { propagation: Some(propagation), ..Options::default() }
}

#[tokio::test]
async fn dependents_follow_their_owner_in_the_background() {
    let (_server, cluster) = server().await;
    let owner = owned(&cluster, "owner", &Value::Null, false).await;
    let child = owned(&cluster, "child", &owner, false).await;
    owned(&cluster, "grandchild", &child, false).await;
    cluster.delete(&place("owner"), &way(Propagation::Background)).await.expect("gone");
    until("all are gone", || cluster.list("", "configmaps", "default").is_empty()).await;
}

#[tokio::test]
async fn an_owner_deleted_in_the_foreground_goes_last() {
    let (_server, cluster) = server().await;
    let owner = owned(&cluster, "owner", &Value::Null, false).await;
    owned(&cluster, "child", &owner, true).await;
    let hold = |finalizers: Value| move |object: &mut Value| object["metadata"]["finalizers"] = finalizers.clone();
    cluster.update(&place("child"), hold(json!(["example.com/wait"]))).await.expect("held");
    cluster.delete(&place("owner"), &way(Propagation::Foreground)).await.expect("going");
    let deleting = |name: &str| {
        let found = cluster.get("", "configmaps", "default", name);
        found.is_some_and(|object| object["metadata"]["deletionTimestamp"].is_string())
    };
    until("the child is going", || deleting("child")).await;
    assert!(deleting("owner"), "it waits for the child");
    cluster.update(&place("child"), hold(json!([]))).await.expect("let go");
    until("both are gone", || cluster.list("", "configmaps", "default").is_empty()).await;
}

#[tokio::test]
async fn orphans_stay_without_owner() {
    let (_server, cluster) = server().await;
    let owner = owned(&cluster, "owner", &Value::Null, false).await;
    owned(&cluster, "child", &owner, true).await;
    cluster.delete(&place("owner"), &way(Propagation::Orphan)).await.expect("going");
    until("the owner is gone", || cluster.get("", "configmaps", "default", "owner").is_none()).await;
    let child = cluster.get("", "configmaps", "default", "child").expect("it stays");
    assert!(child["metadata"].get("ownerReferences").is_none(), "{child}");
}

#[tokio::test]
async fn who_names_an_owner_that_never_was_goes_too() {
    let (_server, cluster) = server().await;
    let never = json!({ "metadata": { "name": "never", "uid": "made-up" } });
    owned(&cluster, "child", &never, false).await;
    until("it is gone", || cluster.get("", "configmaps", "default", "child").is_none()).await;
}

#[tokio::test]
async fn one_owner_of_two_is_enough() {
    let (_server, cluster) = server().await;
    let (one, two) =
        (owned(&cluster, "one", &Value::Null, false).await, owned(&cluster, "two", &Value::Null, false).await);
    owned(&cluster, "child", &one, false).await;
    cluster
        .update(&place("child"), |object| {
            let second = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "name": "two", "uid": two["metadata"]["uid"],
            });
            if let Some(owners) = object["metadata"]["ownerReferences"].as_array_mut() {
                owners.push(second);
            }
        })
        .await
        .expect("adopted");
    cluster.delete(&place("one"), &way(Propagation::Background)).await.expect("gone");
    let owners =
        || cluster.get("", "configmaps", "default", "child").expect("it stays")["metadata"]["ownerReferences"].clone();
    until("the dead owner is forgotten", || owners().as_array().map(Vec::len) == Some(1)).await;
    assert_eq!(owners()[0]["name"], "two");
}
