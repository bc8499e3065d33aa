//! Who is asking: certificates, tokens, and those that are not good.

use kube_sandbox::contract::{Case, Cx, Json as _, cases};
use serde_json::{Value, json};

pub(super) static CASES: &[Case] = cases![
    nobody_is_unauthorized,
    a_certificate_of_an_unknown_authority_is_unauthorized,
    a_made_up_token_is_unauthorized,
    an_expired_token_is_unauthorized,
    a_token_that_was_tampered_with_is_unauthorized,
    a_requested_token_is_the_service_account,
    a_requested_token_ends_when_asked,
    a_token_for_ten_minutes_at_least,
    a_token_for_others_does_not_open_this_door,
    a_token_of_a_missing_account_is_not_found,
    a_token_ends_with_its_account,
    a_token_is_reviewed,
    a_service_account_gets_rights_by_binding,
];

async fn account(cx: &Cx, name: &str) -> Value {
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name } });
    cx.post(&cx.core("serviceaccounts"), &account).await.created()
}

async fn request(cx: &Cx, name: &str, spec: Value) -> kube_sandbox::contract::Answer {
    let request = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec });
    cx.post(&cx.core(&format!("serviceaccounts/{name}/token")), &request).await
}

async fn who(cx: &Cx) -> kube_sandbox::contract::Answer {
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    cx.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &review).await
}

async fn is_unauthorized(cx: &Cx, kubeconfig: &str) {
    let somebody = cx.with(kubeconfig).await;
    somebody.get("/api/v1/namespaces").await.refused(401, "Unauthorized", "Unauthorized");
    who(&somebody).await.refused(401, "Unauthorized", "Unauthorized");
}

/// What a token says.
fn claims(token: &str) -> Value {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
    let middle = token.split('.').nth(1).expect("three parts");
    serde_json::from_slice(&BASE64.decode(middle).expect("base64")).expect("JSON")
}

async fn nobody_is_unauthorized(cx: Cx) {
    is_unauthorized(&cx, &cx.target.logins.token("")).await;
}

async fn a_certificate_of_an_unknown_authority_is_unauthorized(cx: Cx) {
    is_unauthorized(&cx, &cx.target.logins.stranger()).await;
}

async fn a_made_up_token_is_unauthorized(cx: Cx) {
    is_unauthorized(&cx, &cx.target.logins.token("made-up")).await;
}

async fn an_expired_token_is_unauthorized(cx: Cx) {
    account(&cx, "robot").await;
    let token = request(&cx, "robot", json!({})).await.created().text("/status/token").to_owned();
    let mut claims = claims(&token);
    // The same claims signed again are good; an hour earlier they are not.
    let same = cx.with(&cx.target.logins.token(&cx.target.logins.sign_token(&claims))).await;
    who(&same).await.created();
    let issued = claims["iat"].as_i64().expect("a time");
    for (claim, time) in [("iat", issued - 7200), ("nbf", issued - 7200), ("exp", issued - 3600)] {
        claims[claim] = json!(time);
    }
    is_unauthorized(&cx, &cx.target.logins.token(&cx.target.logins.sign_token(&claims))).await;
}

async fn a_token_that_was_tampered_with_is_unauthorized(cx: Cx) {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
    account(&cx, "robot").await;
    let token = request(&cx, "robot", json!({})).await.created().text("/status/token").to_owned();
    let mut claims = claims(&token);
    claims["sub"] = json!("system:admin");
    let parts: Vec<&str> = token.split('.').collect();
    let forged = format!("{}.{}.{}", parts[0], BASE64.encode(claims.to_string()), parts[2]);
    is_unauthorized(&cx, &cx.target.logins.token(&forged)).await;
}

async fn a_requested_token_is_the_service_account(cx: Cx) {
    account(&cx, "robot").await;
    let token = request(&cx, "robot", json!({})).await.created().text("/status/token").to_owned();
    let robot = cx.with(&cx.target.logins.token(&token)).await;
    let user = who(&robot).await.created();
    assert_eq!(user["status"]["userInfo"]["username"], format!("system:serviceaccount:{}:robot", cx.ns));
    let groups =
        json!(["system:serviceaccounts", format!("system:serviceaccounts:{}", cx.ns), "system:authenticated",]);
    assert_eq!(user["status"]["userInfo"]["groups"], groups);
}

async fn a_requested_token_ends_when_asked(cx: Cx) {
    let made = account(&cx, "robot").await;
    let answer = request(&cx, "robot", json!({ "expirationSeconds": 1200 })).await.created();
    assert_eq!(answer["kind"], "TokenRequest");
    assert_eq!(answer["spec"]["expirationSeconds"], 1200);
    assert!(answer.text("/status/expirationTimestamp").ends_with('Z'));
    let claims = claims(answer.text("/status/token"));
    let number = |claim: &str| claims[claim].as_i64().unwrap_or_default();
    assert_eq!(number("exp") - number("iat"), 1200);
    assert_eq!(claims["sub"], format!("system:serviceaccount:{}:robot", cx.ns));
    assert_eq!(claims["kubernetes.io"]["serviceaccount"], json!({ "name": "robot", "uid": made["metadata"]["uid"] }));
    assert_eq!(claims["kubernetes.io"]["namespace"], cx.ns);
    let usual = request(&cx, "robot", json!({})).await.created();
    assert_eq!(usual["spec"]["expirationSeconds"], 3600);
}

async fn a_token_for_ten_minutes_at_least(cx: Cx) {
    account(&cx, "robot").await;
    let answer = request(&cx, "robot", json!({ "expirationSeconds": 60 })).await;
    answer.refused_with(
        422,
        "Invalid",
        "spec.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes",
    );
}

async fn a_token_for_others_does_not_open_this_door(cx: Cx) {
    account(&cx, "robot").await;
    let answer = request(&cx, "robot", json!({ "audiences": ["somebody-else"] })).await.created();
    assert_eq!(answer["spec"]["audiences"], json!(["somebody-else"]));
    is_unauthorized(&cx, &cx.target.logins.token(answer.text("/status/token"))).await;
}

async fn a_token_of_a_missing_account_is_not_found(cx: Cx) {
    request(&cx, "nobody", json!({})).await.refused(404, "NotFound", "serviceaccounts \"nobody\" not found");
}

async fn a_token_ends_with_its_account(cx: Cx) {
    account(&cx, "robot").await;
    let token = request(&cx, "robot", json!({})).await.created().text("/status/token").to_owned();
    let robot = cx.with(&cx.target.logins.token(&token)).await;
    who(&robot).await.created();
    cx.delete(&cx.core("serviceaccounts/robot")).await.ok();
    // A good answer is remembered for some seconds.
    robot.until("/api", |answer| answer.code == 401).await;
}

async fn a_token_is_reviewed(cx: Cx) {
    account(&cx, "robot").await;
    let token = request(&cx, "robot", json!({})).await.created().text("/status/token").to_owned();
    let review = |token: &str| json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": { "token": token } });
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let good = cx.post(path, &review(&token)).await.created();
    assert_eq!(good["status"]["authenticated"], true);
    assert_eq!(good["status"]["user"]["username"], format!("system:serviceaccount:{}:robot", cx.ns));
    let bad = cx.post(path, &review("made-up")).await.created();
    assert_ne!(bad["status"]["authenticated"], true);
}

async fn a_service_account_gets_rights_by_binding(cx: Cx) {
    account(&cx, "robot").await;
    let token = request(&cx, "robot", json!({})).await.created().text("/status/token").to_owned();
    let robot = cx.with(&cx.target.logins.token(&token)).await;
    let message = format!(
        "configmaps is forbidden: User \"system:serviceaccount:{0}:robot\" cannot list resource \"configmaps\" in API \
         group \"\" in the namespace \"{0}\"",
        cx.ns
    );
    robot.get(&cx.core("configmaps")).await.refused(403, "Forbidden", &message);
    let rbac = "rbac.authorization.k8s.io";
    let role = json!({
        "apiVersion": format!("{rbac}/v1"), "kind": "Role", "metadata": { "name": "reader" },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"] }],
    });
    cx.post(&cx.group(&format!("{rbac}/v1"), "roles"), &role).await.created();
    let binding = json!({
        "apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding", "metadata": { "name": "robot" },
        "roleRef": { "apiGroup": rbac, "kind": "Role", "name": "reader" },
        "subjects": [{ "kind": "ServiceAccount", "name": "robot", "namespace": cx.ns }],
    });
    cx.post(&cx.group(&format!("{rbac}/v1"), "rolebindings"), &binding).await.created();
    robot.until(&cx.core("configmaps"), |answer| answer.code == 200).await;
}
