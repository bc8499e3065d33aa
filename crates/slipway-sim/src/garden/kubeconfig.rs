//! Kubeconfigs of Shoots: the subresources `adminkubeconfig` and `viewerkubeconfig`.
//!
//! Nothing is kept: every call signs a new client certificate with the Shoot's client CA, which stands
//! where a real Gardener API server looks for it (InternalSecret `<shoot>.ca-client`, ConfigMap
//! `<shoot>.ca-cluster`), put there by the engine.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::SignedDuration;
use kube_sandbox::{
    kind::{Access, Ctx},
    status::{Cause, Status},
};
use serde_json::{Value, json};

use super::{
    certificates::{BACKDATED, Pair},
    engine::faults::Kubeconfig,
    problems::CORE,
    value::{at, list, name, namespace, text},
};

/// What the holder may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Everything.
    Admin,
    /// Read everything but secrets.
    Viewer,
}

impl Role {
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Admin => ("AdminKubeconfigRequest", "admin", "admins"),
            Self::Viewer => ("ViewerKubeconfigRequest", "viewer", "viewers"),
        }
    }
}

/// Issues kubeconfigs.
#[derive(Debug, Clone)]
pub struct Issuer {
    /// The longest anybody gets; longer wishes are shortened without a word.
    pub longest: SignedDuration,
}

impl Default for Issuer {
    fn default() -> Self {
        Self { longest: SignedDuration::from_hours(24) }
    }
}

/// Addresses behind which an API server answers; dashboards and issuers are none.
const API_ADDRESSES: [&str; 4] = ["external", "internal", "wildcard-tls-seed-bound", "unmanaged"];

impl Issuer {
    /// The answer to a request.
    pub fn answer(
        &self,
        role: Role,
        shoot: &Value,
        mut body: Value,
        wrong: Option<Kubeconfig>,
        ctx: &Ctx<'_>,
    ) -> Result<Value, Status> {
        const GROUP: &str = "authentication.gardener.cloud";
        let (kind, word, groups) = role.words();
        let asked = at(&body, "spec.expirationSeconds").as_i64().filter(|seconds| *seconds != 0).unwrap_or(3600);
        if asked < 600 {
            let detail = "may not specify a duration less than 10 minutes";
            return Err(Status::invalid(
                GROUP,
                kind,
                "",
                vec![Cause::invalid("spec.expirationSeconds", &asked.into(), detail)],
            ));
        }
        if asked > i64::from(u32::MAX) {
            let cause = Cause::too_long("spec.expirationSeconds", u32::MAX as usize);
            return Err(Status::invalid(GROUP, kind, "", vec![cause]));
        }
        let addresses: Vec<&Value> = list(shoot, "status.advertisedAddresses")
            .iter()
            .filter(|address| API_ADDRESSES.contains(&text(address, "name")))
            .collect();
        if addresses.is_empty() {
            let detail = "no suitable advertised address for kube-apiserver found in .status.advertisedAddresses";
            let mut cause = Cause::invalid("status.status", at(shoot, "status.advertisedAddresses"), detail);
            // A list that is not there is the bare word, a value that is not there would be quoted.
            cause.message = cause.message.replacen("\"null\"", "null", 1);
            return Err(Status::invalid(GROUP, kind, name(shoot), vec![cause]));
        }
        let (client_ca, cluster_ca) = authorities(shoot, ctx)?;
        let lasts = SignedDuration::from_secs(asked).min(self.longest);
        let expires = ctx.now.checked_add(lasts).map_err(Status::internal)?;
        let everywhere = ctx.may(&Access { verb: "list", resource: "secrets", ..Access::default() });
        let scope = if everywhere { "system" } else { "project" };
        let user = format!("gardener.cloud:{word}:{}", ctx.user.name);
        let organisation = format!("gardener.cloud:{scope}:{groups}");
        // What is told is always right; it is the content that is of no use.
        let (from, to) = match wrong {
            Some(Kubeconfig::Expired) => (ctx.now - lasts - BACKDATED, ctx.now - BACKDATED),
            Some(Kubeconfig::NotYetValid) => (expires, expires + lasts),
            Some(Kubeconfig::MissingAuthority | Kubeconfig::WrongAuthority) | None => (ctx.now - BACKDATED, expires),
        };
        let internal = |error: super::certificates::Error| Status::internal(error.to_string());
        let pair = client_ca.client(&user, &organisation, from, to).map_err(internal)?;
        let cluster_ca = match wrong {
            Some(Kubeconfig::MissingAuthority) => String::new(),
            Some(Kubeconfig::WrongAuthority) => Pair::authority("ca").map_err(internal)?.certificate,
            _ => cluster_ca,
        };
        let config = kubeconfig(shoot, &addresses, &cluster_ca, &pair);
        if !body.is_object() {
            body = json!({});
        }
        body["apiVersion"] = json!(format!("{GROUP}/v1alpha1"));
        body["kind"] = json!(kind);
        body["spec"]["expirationSeconds"] = json!(lasts.as_secs());
        body["status"] = json!({
            "kubeconfig": STANDARD.encode(config),
            "expirationTimestamp": crate::clock::seconds(expires),
        });
        if !body["metadata"].is_object() {
            body["metadata"] = json!({});
        }
        Ok(body)
    }
}

/// The client CA with its key, and the bundle of cluster CAs.
fn authorities(shoot: &Value, ctx: &Ctx<'_>) -> Result<(Pair, String), Status> {
    let place = namespace(shoot);
    let client = format!("{}.ca-client", name(shoot));
    let missing = |what: &str, resource: &str, called: &str| {
        let why = if resource == "configmap" {
            Status::not_found("", resource, called).message
        } else {
            Status::not_found(CORE, resource, called).message
        };
        Status::internal(format!("could not get {what}: {why}"))
    };
    let secret = ctx
        .view
        .get(CORE, "internalsecrets", place, &client)
        .ok_or_else(|| missing("client CA secret", "internalsecret", &client))?;
    let decoded = |key: &str| {
        let value = at(&secret, "data").get(key).and_then(Value::as_str).unwrap_or_default();
        STANDARD.decode(value).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
    };
    let pair = Pair { certificate: decoded("ca.crt"), key: decoded("ca.key") };
    if pair.certificate.is_empty() || pair.key.is_empty() {
        return Err(Status::internal("could not load client CA certificate from secret"));
    }
    let cluster = format!("{}.ca-cluster", name(shoot));
    let map = ctx
        .view
        .get("", "configmaps", place, &cluster)
        .ok_or_else(|| missing("cluster CA config map", "configmap", &cluster))?;
    let bundle = at(&map, "data").get("ca.crt").and_then(Value::as_str).unwrap_or_default().to_owned();
    if bundle.is_empty() {
        return Err(Status::internal("could not load cluster CA bundle"));
    }
    Ok((pair, bundle))
}

/// One cluster and one context per address, the first of them current, and one user.
fn kubeconfig(shoot: &Value, addresses: &[&Value], cluster_ca: &str, pair: &Pair) -> String {
    let user = format!("{}--{}", namespace(shoot), name(shoot));
    let (mut clusters, mut contexts) = (String::new(), String::new());
    for address in addresses {
        let called = format!("{user}-{}", text(address, "name"));
        let host = text(address, "url").trim_start_matches("https://").trim_end_matches('/');
        clusters += "- cluster:\n";
        // The wildcard certificate of a Seed is signed by an authority everybody knows.
        if text(address, "name") != "wildcard-tls-seed-bound" && !cluster_ca.is_empty() {
            clusters += &format!("    certificate-authority-data: {}\n", STANDARD.encode(cluster_ca));
        }
        clusters += &format!("    server: https://{host}\n  name: {called}\n");
        contexts += &format!("- context:\n    cluster: {called}\n    user: {user}\n  name: {called}\n");
    }
    let current = addresses.first().map(|address| text(address, "name")).unwrap_or_default();
    let certificate = STANDARD.encode(&pair.certificate);
    let key = STANDARD.encode(&pair.key);
    format!(
        "apiVersion: v1\nclusters:\n{clusters}contexts:\n{contexts}current-context: {user}-{current}\nkind: Config\nusers:\n- name: {user}\n  user:\n    client-certificate-data: {certificate}\n    client-key-data: {key}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_has_a_context_per_api_address_and_the_first_is_current() {
        let shoot = json!({"metadata": {"name": "shop", "namespace": "garden-dev"}});
        let (external, wild) = (
            json!({"name": "external", "url": "https://127.0.0.1:7443"}),
            json!({"name": "wildcard-tls-seed-bound", "url": "https://seed"}),
        );
        let pair = Pair { certificate: "c".into(), key: "k".into() };
        let yaml = kubeconfig(&shoot, &[&external, &wild], "ca", &pair);
        let config: Value = serde_saphyr::from_str(&yaml).expect("yaml");
        assert_eq!(text(&config, "current-context"), "garden-dev--shop-external");
        assert_eq!(text(&config, "clusters.0.cluster.server"), "https://127.0.0.1:7443");
        assert_eq!(text(&config, "clusters.0.cluster.certificate-authority-data"), "Y2E=");
        assert!(at(&config, "clusters.1.cluster.certificate-authority-data").is_null());
        assert_eq!(text(&config, "users.0.name"), "garden-dev--shop");
    }
}
