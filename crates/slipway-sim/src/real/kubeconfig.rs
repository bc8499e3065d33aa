//! Kubeconfig files, as text: what `kubectl` and `kube::Client` both read.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};

use super::{Error, certificates::Pair};

/// How a user proves who they are.
pub(super) enum Proof<'a> {
    Certificate(&'a Pair),
    Token(&'a str),
    Nothing,
}

/// The text of a kubeconfig. JSON, which is YAML too.
pub(super) fn text(server: &str, ca: &str, proof: &Proof<'_>) -> String {
    let user: Value = match proof {
        Proof::Certificate(pair) => json!({
            "client-certificate-data": BASE64.encode(&pair.certificate),
            "client-key-data": BASE64.encode(&pair.key),
        }),
        Proof::Token(token) => json!({ "token": token }),
        Proof::Nothing => json!({}),
    };
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "real",
        "clusters": [{ "name": "real", "cluster": { "server": server, "certificate-authority-data": BASE64.encode(ca) } }],
        "users": [{ "name": "user", "user": user }],
        "contexts": [{ "name": "real", "context": { "cluster": "real", "user": "user" } }],
    });
    kubeconfig.to_string()
}

/// A client for a kubeconfig, of a real server or of any other.
pub async fn client(text: &str) -> Result<Client, Error> {
    // One provider in the whole process; the second caller finds it installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let kubeconfig = Kubeconfig::from_yaml(text)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}
