//! Kubeconfigs out of Secrets and answers: what others wrote must not make us run programs, read our files, or take
//! anybody for the cluster. So only data that stand in them are taken; every other field is refused by its name.

use std::collections::BTreeMap;

use kube::config::{AuthInfo, Cluster, Kubeconfig};

/// Reads one. No text of it is in what is said, because it holds a key.
pub(super) fn parse(text: &str) -> Result<Kubeconfig, String> {
    let config = Kubeconfig::from_yaml(text).map_err(|_| "it cannot be read".to_owned())?;
    let clusters = config.clusters.iter().filter_map(|named| named.cluster.as_ref());
    let users = config.auth_infos.iter().filter_map(|named| named.auth_info.as_ref());
    let refused = clusters.filter_map(refused_of_cluster).chain(users.filter_map(refused_of_user)).next();
    match refused {
        Some(field) => Err(format!("it has {field}, which is not taken from a Secret")),
        None => Ok(config),
    }
}

/// The first field that is not taken. Every field stands here, so that a new one has to be decided on.
fn refused_of_cluster(cluster: &Cluster) -> Option<&'static str> {
    let Cluster {
        server,
        insecure_skip_tls_verify,
        certificate_authority,
        certificate_authority_data: _,
        proxy_url,
        disable_compression: _,
        tls_server_name: _,
        extensions: _,
        other,
    } = cluster;
    let is_plain = server.as_ref().is_some_and(|server| !server.to_ascii_lowercase().starts_with("https://"));
    first([
        (is_plain, "a server without https"),
        (insecure_skip_tls_verify == &Some(true), "insecure-skip-tls-verify"),
        (certificate_authority.is_some(), "certificate-authority"),
        (proxy_url.is_some(), "proxy-url"),
        (has_more(other), "an unknown field of a cluster"),
    ])
}

fn refused_of_user(user: &AuthInfo) -> Option<&'static str> {
    let AuthInfo {
        username: _,
        password: _,
        token: _,
        token_file,
        client_certificate,
        client_certificate_data: _,
        client_key,
        client_key_data: _,
        impersonate,
        impersonate_uid,
        impersonate_groups,
        impersonate_user_extra,
        extensions: _,
        auth_provider,
        exec,
        other,
    } = user;
    first([
        (exec.is_some(), "exec"),
        (auth_provider.is_some(), "auth-provider"),
        (token_file.is_some(), "tokenFile"),
        (client_certificate.is_some(), "client-certificate"),
        (client_key.is_some(), "client-key"),
        (impersonate.is_some(), "as"),
        (impersonate_uid.is_some(), "as-uid"),
        (impersonate_groups.is_some(), "as-groups"),
        (impersonate_user_extra.is_some(), "as-user-extra"),
        (has_more(other), "an unknown field of a user"),
    ])
}

fn first<const N: usize>(fields: [(bool, &'static str); N]) -> Option<&'static str> {
    fields.into_iter().find(|(is_there, _)| *is_there).map(|(_, field)| field)
}

/// Its names are not repeated: they may be anything.
fn has_more(other: &BTreeMap<String, serde_json::Value>) -> bool {
    !other.is_empty()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::access::from_secret_text;

    fn config(cluster: Value, user: Value) -> String {
        json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": cluster}], "users": [{"name": "u", "user": user}]})
        .to_string()
    }

    /// The cluster with one field more, or another value of one.
    fn cluster(field: &str, value: Value) -> Value {
        let mut cluster = json!({"server": "https://api.shop.example", "certificate-authority-data": "QQ=="});
        if !field.is_empty() {
            cluster[field] = value;
        }
        cluster
    }

    #[test]
    fn data_that_stand_in_it_are_taken() {
        for user in [
            json!({"token": "hunter2"}),
            json!({"username": "ann", "password": "hunter2"}),
            json!({"client-certificate-data": "QQ==", "client-key-data": "QQ=="}),
        ] {
            parse(&config(cluster("", Value::Null), user)).expect("taken");
        }
        parse(&config(cluster("insecure-skip-tls-verify", json!(false)), json!({"token": "t"}))).expect("taken");
    }

    #[test]
    fn programs_files_and_strangers_are_refused_by_the_name_of_the_field_and_nothing_is_quoted() {
        let exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/hunter2"});
        for (field, value) in [
            ("exec", exec),
            ("auth-provider", json!({"name": "hunter2", "config": {"cmd-path": "/bin/hunter2"}})),
            ("tokenFile", json!("/hunter2")),
            ("client-certificate", json!("/hunter2")),
            ("client-key", json!("/hunter2")),
            ("as", json!("hunter2")),
            ("as-groups", json!(["hunter2"])),
        ] {
            let said = parse(&config(cluster("", Value::Null), json!({ field: value }))).expect_err(field);
            assert!(said.contains(field) && !said.contains("hunter2"), "{field}: {said}");
        }
        for (field, value, named) in [
            ("certificate-authority", json!("/hunter2"), "certificate-authority"),
            ("insecure-skip-tls-verify", json!(true), "insecure-skip-tls-verify"),
            ("proxy-url", json!("http://hunter2"), "proxy-url"),
            ("server", json!("http://hunter2"), "https"),
            ("server", json!("unix:///hunter2"), "https"),
            ("hunter2", json!(1), "unknown field"),
        ] {
            let said = parse(&config(cluster(field, value), json!({"token": "t"}))).expect_err(field);
            assert!(said.contains(named) && !said.contains("hunter2"), "{field}: {said}");
        }
        assert_eq!(parse("{hunter2").expect_err("no YAML"), "it cannot be read");
    }

    /// What stands beside the context in use is refused too: nobody has to follow which one that is.
    #[tokio::test]
    async fn no_program_of_a_secret_is_run() {
        let ran = std::env::temp_dir().join(format!("slipway-kubeconfig-{}", std::process::id()));
        let exec = json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch",
            "args": [ran], "interactiveMode": "Never"}});
        let said = from_secret_text(&config(cluster("", Value::Null), exec)).await.err().expect("refused");
        assert_eq!(said.to_string(), "the kubeconfig is of no use: it has exec, which is not taken from a Secret");
        assert!(!ran.exists());
    }
}
