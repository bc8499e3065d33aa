//! From a certificate or a token to a user.

use x509_parser::prelude::{FromDer, X509Certificate};

use super::tokens::ISSUER;
use crate::{cluster::Cluster, kind::User, object::Name};

/// Who a client certificate names: its common name, and its organizations as groups. The certificate has been
/// verified by TLS; here it is only read.
pub fn certificate(der: &[u8]) -> Option<User> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().next()?.as_str().ok()?;
    let groups: Vec<&str> = subject.iter_organization().filter_map(|group| group.as_str().ok()).collect();
    Some(User::named(name, &groups))
}

/// Whose service account token this is, if it is a good one.
pub fn token(cluster: &Cluster, token: &str) -> Option<User> {
    let claims = cluster.tokens().verify(token)?;
    // A token for somebody else's ears opens nothing here.
    let ours = |audience: &serde_json::Value| audience == ISSUER;
    if !claims["aud"].as_array().is_some_and(|audiences| audiences.iter().any(ours)) {
        return None;
    }
    let account = &claims["kubernetes.io"];
    let (namespace, name) = (account["namespace"].as_str()?, account["serviceaccount"]["name"].as_str()?);
    let uid = account["serviceaccount"]["uid"].as_str()?;
    let found = cluster.store().get(cluster.name(), "serviceaccounts", &Name::new(namespace, name))?;
    if *found.facts().uid != *uid {
        return None;
    }
    let all = "system:serviceaccounts";
    let mut user =
        User::named(&format!("system:serviceaccount:{namespace}:{name}"), &[all, &format!("{all}:{namespace}")]);
    user.uid = uid.to_owned();
    if let Some(id) = claims["jti"].as_str() {
        let key = "authentication.kubernetes.io/credential-id".to_owned();
        user.extra.push((key, vec![format!("JTI={id}")]));
    }
    Some(user)
}
