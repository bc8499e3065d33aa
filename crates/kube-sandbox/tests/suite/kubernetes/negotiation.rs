//! Which form of an answer a client gets: clients name protobuf first and JSON behind it.

use http::Method;
use kube_sandbox::contract::{Case, Cx, cases};

use crate::kubernetes::crd::Crd;

pub(super) static CASES: &[Case] = cases![
    custom_resources_come_as_json_where_protobuf_was_hoped_for,
    custom_resources_never_come_as_protobuf,
    anything_may_be_asked_for,
    nothing_is_asked_for_and_json_comes,
];

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

#[track_caller]
fn is_json(answer: &kube_sandbox::contract::Answer) {
    assert_eq!(answer.code, 200, "{}", answer.text);
    assert_eq!(answer.headers["content-type"], "application/json");
}

async fn custom_resources_come_as_json_where_protobuf_was_hoped_for(cx: Cx) {
    let widgets = Crd::simple(&cx).create().await;
    cx.post(&widgets.path(""), &widgets.widget("a", serde_json::json!({}))).await.created();
    for accept in [
        format!("{PROTOBUF}, application/json"),
        format!("{PROTOBUF},*/*"),
        format!("{PROTOBUF}; q=1, application/json; q=0.5"),
    ] {
        for rest in ["", "/a", "?watch=true&timeoutSeconds=1"] {
            is_json(&cx.get_as(&widgets.path(rest), &accept).await);
        }
    }
}

async fn custom_resources_never_come_as_protobuf(cx: Cx) {
    let widgets = Crd::simple(&cx).create().await;
    cx.post(&widgets.path(""), &widgets.widget("a", serde_json::json!({}))).await.created();
    for rest in ["", "/a", "?watch=true&timeoutSeconds=1"] {
        // Nothing is said of the body: the real server refuses in protobuf.
        assert_eq!(cx.get_as(&widgets.path(rest), PROTOBUF).await.code, 406, "{rest}");
    }
}

async fn anything_may_be_asked_for(cx: Cx) {
    let widgets = Crd::simple(&cx).create().await;
    is_json(&cx.get_as(&widgets.path(""), "application/*").await);
    for accept in ["*/*", "text/html, */*"] {
        is_json(&cx.get_as(&widgets.path(""), accept).await);
        is_json(&cx.get_as(&cx.core("configmaps"), accept).await);
    }
    assert_eq!(cx.get_as(&cx.core("configmaps"), "text/html").await.code, 406);
}

async fn nothing_is_asked_for_and_json_comes(cx: Cx) {
    is_json(&cx.ask(Method::GET, &cx.core("configmaps"), &[], Vec::new()).await);
}
