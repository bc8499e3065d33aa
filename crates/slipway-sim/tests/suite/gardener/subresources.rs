//! Binding, and the kubeconfigs a Shoot hands out.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use kube_sandbox::contract::{Answer, Case, Cx, Json as _, Patch, cases};
use serde_json::{Value, json};
use slipway_sim::garden::certificates::Pair;

use super::shoots::{bind, create, me, name, path, refused, running, set, shoot, write_status};

pub(super) static CASES: &[Case] = cases![
    binding_to_the_same_seed_is_refused,
    binding_to_a_tainted_seed_is_refused,
    a_binding_takes_the_pending_operation_away,
    a_binding_takes_the_rest_of_the_spec_too,
    a_kubeconfig_of_an_unknown_shoot_is_not_found,
    a_kubeconfig_before_there_is_an_address_is_refused,
    a_kubeconfig_for_less_than_ten_minutes_is_refused,
    a_kubeconfig_is_signed_by_the_shoots_own_authority,
    a_viewer_is_another_person,
    a_kubeconfig_lasts_a_day_at_most,
    a_kubeconfig_needs_a_right,
    a_kubeconfig_lists_every_address,
];

async fn request(cx: &Cx, shoot: &str, what: &str, spec: Value) -> Answer {
    let kind = if what == "adminkubeconfig" { "AdminKubeconfigRequest" } else { "ViewerKubeconfigRequest" };
    let body = json!({ "apiVersion": "authentication.gardener.cloud/v1alpha1", "kind": kind, "spec": spec });
    cx.post(&path(cx, &format!("/{shoot}/{what}")), &body).await
}

/// A running Shoot with addresses and the authorities a gardenlet would have made.
async fn with_addresses(cx: &Cx, case: &str) -> String {
    let running = running(cx, case).await;
    let name = running.text("/metadata/name").to_owned();
    // RSA, and in its oldest form: Gardener reads no other key.
    let authority = Pair::rsa_authority("ca-client", 0).expect("an authority");
    let certificate = authority.certificate;
    let secret = json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "InternalSecret",
        "metadata": { "name": format!("{name}.ca-client"), "namespace": cx.ns },
        "data": { "ca.crt": BASE64.encode(&certificate), "ca.key": BASE64.encode(&authority.key) },
    });
    cx.post(&cx.group("core.gardener.cloud/v1beta1", "internalsecrets"), &secret).await.created();
    let bundle = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": format!("{name}.ca-cluster") },
        "data": { "ca.crt": certificate },
    });
    cx.post(&cx.core("configmaps"), &bundle).await.created();
    let addresses = json!([
        { "name": "external", "url": format!("https://api.{name}.dev.shoots.example") },
        { "name": "internal", "url": format!("https://api.{name}.dev.internal.example") },
        { "name": "service-account-issuer", "url": "https://issuer.example" },
    ]);
    write_status(cx, &name, json!({ "advertisedAddresses": addresses })).await;
    name
}

/// The kubeconfig that was handed out, once the server's caches have followed.
async fn kubeconfig(cx: &Cx, shoot: &str, what: &str, spec: Value) -> (Value, String) {
    for _ in 0..50 {
        let answer = request(cx, shoot, what, spec.clone()).await;
        if answer.code == 201 {
            let body = answer.created();
            let text = BASE64.decode(body.text("/status/kubeconfig")).expect("base64");
            return (body, String::from_utf8(text).expect("text"));
        }
        assert!([422, 500].contains(&answer.code), "{}", answer.text);
        kube_sandbox::clock::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("{}", request(cx, shoot, what, spec).await.text);
}

/// The subject of the client certificate in a kubeconfig.
fn subject(kubeconfig: &str) -> String {
    with_certificate(kubeconfig, |certificate| certificate.subject().to_string())
}

/// From when to when the client certificate in a kubeconfig is valid, in seconds.
fn validity(kubeconfig: &str) -> (i64, i64) {
    with_certificate(kubeconfig, |certificate| {
        let validity = certificate.validity();
        (validity.not_before.timestamp(), validity.not_after.timestamp())
    })
}

fn with_certificate<T>(kubeconfig: &str, look: impl FnOnce(&x509_parser::certificate::X509Certificate<'_>) -> T) -> T {
    let parsed = kube::config::Kubeconfig::from_yaml(kubeconfig).expect("a kubeconfig");
    let user = parsed.auth_infos[0].auth_info.clone().expect("a user");
    let data = user.client_certificate_data.expect("a certificate");
    let pem = BASE64.decode(data).expect("base64");
    let (_, pem) = x509_parser::pem::parse_x509_pem(&pem).expect("PEM");
    look(&pem.parse_x509().expect("a certificate"))
}

async fn binding_to_the_same_seed_is_refused(cx: Cx) {
    let made = create(&cx, &shoot(&name("binding_to_the_same"))).await;
    let bound = bind(&cx, &made, "aws-eu1").await;
    let answer = cx.put(&path(&cx, &format!("/{}/binding", bound.text("/metadata/name"))), &bound).await;
    refused(answer, 500, "update of binding rejected, shoot is already assigned to the same seed");
}

async fn binding_to_a_tainted_seed_is_refused(cx: Cx) {
    let mut made = create(&cx, &shoot(&name("binding_to_a_tainted"))).await;
    set(&mut made, "spec.seedName", "aws-protected");
    let answer = cx.put(&path(&cx, &format!("/{}/binding", made.text("/metadata/name"))), &made).await;
    refused(answer, 403, "forbidden to use a seed whose taints are not tolerated by the shoot");
}

async fn a_binding_takes_the_pending_operation_away(cx: Cx) {
    let made = create(&cx, &shoot(&name("a_binding_takes"))).await;
    let pending = json!({ "type": "Create", "state": "Pending", "progress": 0, "description": "no seed yet" });
    let waiting = write_status(&cx, made.text("/metadata/name"), json!({ "lastOperation": pending })).await;
    let bound = bind(&cx, &waiting, "aws-eu1").await;
    assert_eq!(bound["status"]["lastOperation"], json!(null));
}

async fn a_binding_takes_the_rest_of_the_spec_too(cx: Cx) {
    let mut made = create(&cx, &shoot(&name("a_binding_leaves"))).await;
    set(&mut made, "spec.purpose", "testing");
    let bound = bind(&cx, &made, "aws-eu1").await;
    assert_eq!(bound["spec"]["seedName"], "aws-eu1");
    assert_eq!(bound["spec"]["purpose"], "testing", "whoever binds must send what it read");
}

async fn a_kubeconfig_of_an_unknown_shoot_is_not_found(cx: Cx) {
    let answer = request(&cx, "unknown", "adminkubeconfig", json!({})).await;
    answer.refused_with(404, "NotFound", "\"unknown\" not found");
}

async fn a_kubeconfig_before_there_is_an_address_is_refused(cx: Cx) {
    let running = running(&cx, "a_kubeconfig_before").await;
    let answer = request(&cx, running.text("/metadata/name"), "adminkubeconfig", json!({})).await;
    refused(
        answer,
        422,
        "status.status: Invalid value: null: no suitable advertised address for kube-apiserver found in .status.advertisedAddresses",
    );
}

async fn a_kubeconfig_for_less_than_ten_minutes_is_refused(cx: Cx) {
    let running = running(&cx, "a_kubeconfig_for_less").await;
    let answer =
        request(&cx, running.text("/metadata/name"), "adminkubeconfig", json!({ "expirationSeconds": 599 })).await;
    refused(answer, 422, "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes");
}

async fn a_kubeconfig_is_signed_by_the_shoots_own_authority(cx: Cx) {
    let name = with_addresses(&cx, "a_kubeconfig_is_signed").await;
    let (body, text) = kubeconfig(&cx, &name, "adminkubeconfig", json!({})).await;
    assert_eq!(body["kind"], "AdminKubeconfigRequest");
    assert_eq!(body["spec"]["expirationSeconds"], 3600);
    assert!(body.text("/status/expirationTimestamp").ends_with('Z'));
    let subject = subject(&text);
    assert!(subject.contains(&format!("CN=gardener.cloud:admin:{}", me(&cx).await)), "{subject}");
    assert!(subject.contains("O=gardener.cloud:system:admins"), "{subject}");
}

async fn a_viewer_is_another_person(cx: Cx) {
    let name = with_addresses(&cx, "a_viewer_is").await;
    let (_, text) = kubeconfig(&cx, &name, "viewerkubeconfig", json!({})).await;
    let subject = subject(&text);
    assert!(subject.contains(&format!("CN=gardener.cloud:viewer:{}", me(&cx).await)), "{subject}");
    assert!(subject.contains("O=gardener.cloud:system:viewers"), "{subject}");
}

async fn a_kubeconfig_lasts_a_day_at_most(cx: Cx) {
    let name = with_addresses(&cx, "a_kubeconfig_lasts").await;
    let (body, text) = kubeconfig(&cx, &name, "adminkubeconfig", json!({ "expirationSeconds": 1_000_000 })).await;
    let end: jiff::Timestamp = body.text("/status/expirationTimestamp").parse().expect("a time");
    // Measured by the certificate alone: whose clock it was signed by is the server's matter, and it may run fast.
    let (from, to) = validity(&text);
    assert_eq!(end.as_second(), to, "it is told when it ends");
    assert!((24 * 3600..25 * 3600).contains(&(to - from)), "{} seconds", to - from);
}

async fn a_kubeconfig_needs_a_right(cx: Cx) {
    let running = running(&cx, "a_kubeconfig_needs").await;
    let ann = cx.with(&cx.target.logins.user("ann", &[])).await;
    let name = running.text("/metadata/name");
    let answer = request(&ann, name, "adminkubeconfig", json!({})).await;
    let part = format!(
        "shoots.core.gardener.cloud \"{name}\" is forbidden: User \"ann\" cannot create resource \"shoots/adminkubeconfig\""
    );
    answer.refused_with(403, "Forbidden", &part);
    // Nor may they see it.
    ann.get(&path(&cx, "")).await.refused_with(
        403,
        "Forbidden",
        "cannot list resource \"shoots\" in API group \"core.gardener.cloud\"",
    );
    ann.patch(&path(&cx, &format!("/{name}")), Patch::Merge, &json!({})).await.refused_with(
        403,
        "Forbidden",
        "cannot patch",
    );
}

async fn a_kubeconfig_lists_every_address(cx: Cx) {
    let name = with_addresses(&cx, "a_kubeconfig_lists").await;
    let (_, text) = kubeconfig(&cx, &name, "adminkubeconfig", json!({})).await;
    let parsed = kube::config::Kubeconfig::from_yaml(&text).expect("a kubeconfig");
    let clusters: Vec<&str> = parsed.clusters.iter().map(|cluster| cluster.name.as_str()).collect();
    assert_eq!(clusters, [format!("garden-dev--{name}-external"), format!("garden-dev--{name}-internal")]);
    assert_eq!(parsed.current_context, Some(format!("garden-dev--{name}-external")));
    let first = parsed.clusters[0].cluster.clone().expect("a cluster");
    assert_eq!(first.server, Some(format!("https://api.{name}.dev.shoots.example")));
}
