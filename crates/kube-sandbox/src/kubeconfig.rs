//! Kubeconfigs: what `kubectl` and `kube::Client` both read.

use base64::{Engine as _, prelude::BASE64_STANDARD as BASE64};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};

use super::pki::Pair;

/// What a client shows.
#[derive(Debug, Clone)]
pub enum Credentials<'a> {
    /// A client certificate.
    Certificate(&'a Pair),
    /// A bearer token; an empty one is no credentials at all.
    Token(&'a str),
}

/// A kubeconfig for one cluster and one user, as a value.
pub fn value(name: &str, server: &str, ca: &str, credentials: &Credentials<'_>) -> Value {
    let user = match credentials {
        Credentials::Certificate(pair) => json!({
            "client-certificate-data": BASE64.encode(&pair.certificate), "client-key-data": BASE64.encode(&pair.key),
        }),
        Credentials::Token("") => json!({}),
        Credentials::Token(token) => json!({ "token": token }),
    };
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": name, "preferences": {},
        "clusters": [{ "name": name, "cluster": { "server": server, "certificate-authority-data": BASE64.encode(ca) } }],
        "contexts": [{ "name": name, "context": { "cluster": name, "user": name } }],
        "users": [{ "name": name, "user": user }],
    })
}

/// The same as YAML.
pub fn render(name: &str, server: &str, ca: &str, credentials: &Credentials<'_>) -> String {
    let value = value(name, server, ca, credentials);
    // JSON is YAML too, should the writer ever fail.
    serde_saphyr::to_string(&value).unwrap_or_else(|_| value.to_string())
}

/// A client for the text of a kubeconfig, of this server or of any other.
pub async fn client(text: &str) -> Result<Client, kube::Error> {
    // One provider in the whole process; the second caller finds it installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let kubeconfig = Kubeconfig::from_yaml(text)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Client::try_from(config)
}
