//! Logins of the customer.
//!
//! Absent means the shared tenant of the landscape, an empty list means none. An entry that cannot work is
//! passed over and told, and the others are kept: one wrong line must not lock everybody out. Objects are
//! applied one by one and surplus ones deleted last, so there is no moment in which nobody can log in.

use serde_json::{Value, json};
use slipway_kube::{
    Runtime,
    access::{Access, Ask, Error, Exactly, resource::OPEN_ID_CONNECTS},
    labels,
    runtime::{AdditionalOidcConfig, OidcConfig},
};

use super::MANAGER;

/// What should be there.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Logins {
    pub(crate) objects: Vec<Value>,
    /// What is wrong with the rest.
    pub(crate) problems: Vec<String>,
}

/// What should be there.
pub(crate) fn plan_logins(runtime: &Runtime, tenant: &OidcConfig) -> Logins {
    let given = runtime.spec.shoot.kubernetes.kube_api_server.as_ref();
    let given = given.and_then(|server| server.additional_oidc_config.as_ref());
    let shared = [AdditionalOidcConfig { oidc: tenant.clone(), jwks: None }];
    let list = given.map_or(shared.as_slice(), Vec::as_slice);
    let mut wanted = Logins::default();
    for (index, entry) in list.iter().enumerate() {
        let empty = |text: &Option<String>| text.as_deref().unwrap_or_default().is_empty();
        let lacks = match (empty(&entry.oidc.client_id), empty(&entry.oidc.issuer_url)) {
            (false, false) => None,
            (true, false) => Some("clientID"),
            (false, true) => Some("issuerURL"),
            (true, true) => Some("clientID and issuerURL"),
        };
        match lacks {
            None => wanted.objects.push(build_object(index, entry)),
            Some(lacks) => {
                let path = format!("spec.shoot.kubernetes.kubeAPIServer.additionalOidcConfig[{index}]");
                wanted.problems.push(format!("{path} lacks {lacks}"));
            }
        }
    }
    // Nothing but wrong entries: the reference falls back to the shared tenant, and so do we, or nobody could log in.
    if wanted.objects.is_empty() && !list.is_empty() && given.is_some() {
        wanted.objects.push(build_object(0, &shared[0]));
    }
    wanted
}

fn build_object(index: usize, entry: &AdditionalOidcConfig) -> Value {
    let AdditionalOidcConfig { oidc, jwks } = entry;
    let mut spec = serde_json::Map::new();
    for (key, value) in [
        ("issuerURL", &oidc.issuer_url),
        ("clientID", &oidc.client_id),
        ("usernameClaim", &oidc.username_claim),
        ("usernamePrefix", &oidc.username_prefix),
        ("groupsClaim", &oidc.groups_claim),
        ("groupsPrefix", &oidc.groups_prefix),
    ] {
        if let Some(value) = value {
            spec.insert(key.to_owned(), json!(value));
        }
    }
    if !oidc.required_claims.is_empty() {
        spec.insert("requiredClaims".to_owned(), json!(oidc.required_claims));
    }
    if !oidc.signing_algs.is_empty() {
        spec.insert("supportedSigningAlgs".to_owned(), json!(oidc.signing_algs));
    }
    if let Some(keys) = jwks.as_deref().filter(|keys| !keys.is_empty()) {
        spec.insert("jwks".to_owned(), json!({"keys": keys}));
    }
    json!({
        "apiVersion": OPEN_ID_CONNECTS.api_version(), "kind": OPEN_ID_CONNECTS.kind,
        "metadata": {"name": format!("kyma-oidc-{index}"), "labels": {labels::MANAGED_BY: labels::MANAGED_BY_US}},
        "spec": spec,
    })
}

/// Makes it so; answers the first failure after trying all.
pub(crate) async fn align(skr: &Access, wanted: &[Value]) -> Result<(), Error> {
    let ours = format!("{}={}", labels::MANAGED_BY, labels::MANAGED_BY_US);
    let there: Vec<Value> = skr.list(Ask::list(&OPEN_ID_CONNECTS, "").with("labelSelector", ours)).await?;
    let mut failures = Vec::new();
    for object in wanted {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let same = there.iter().any(|other| other["metadata"]["name"] == name && other["spec"] == object["spec"]);
        if !same {
            failures.extend(skr.tell(Ask::apply(&OPEN_ID_CONNECTS, "", name, MANAGER, object.clone())).await.err());
        }
    }
    let is_wanted = |name: &str| wanted.iter().any(|object| object["metadata"]["name"] == name);
    for surplus in &there {
        if let Some(name) = surplus["metadata"]["name"].as_str().filter(|name| !is_wanted(name)) {
            let ask = Ask::delete(&OPEN_ID_CONNECTS, "", name, &Exactly::of(surplus));
            failures.extend(skr.tell(ask).await.err());
        }
    }
    let count = failures.len();
    match failures.into_iter().next() {
        None => Ok(()),
        Some(first) if count == 1 => Err(first),
        Some(first) => Err(Error { message: format!("{count} objects failed, the first: {}", first.message), ..first }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::tests::seen;

    fn tenant() -> OidcConfig {
        let text = |text: &str| Some(text.to_owned());
        OidcConfig {
            client_id: text("shared"),
            issuer_url: text("https://shared.example.com"),
            ..OidcConfig::default()
        }
    }

    fn with(list: Option<Value>) -> Logins {
        let mut runtime = serde_json::to_value(&*seen().runtime).expect("json");
        if let Some(list) = list {
            runtime["spec"]["shoot"]["kubernetes"]["kubeAPIServer"]["additionalOidcConfig"] = list;
        }
        plan_logins(&serde_json::from_value(runtime).expect("a Runtime"), &tenant())
    }

    fn clients(wanted: &Logins) -> Vec<&str> {
        wanted.objects.iter().filter_map(|object| object["spec"]["clientID"].as_str()).collect()
    }

    #[test]
    fn absent_empty_and_given_are_three_things() {
        assert_eq!(clients(&with(None)), ["shared"]);
        assert_eq!(clients(&with(Some(json!([])))), Vec::<&str>::new());
        let given = with(Some(json!([{"clientID": "a", "issuerURL": "https://a", "jwks": "e30="}])));
        assert_eq!(clients(&given), ["a"]);
        assert_eq!(given.objects[0]["spec"]["jwks"]["keys"], "e30=");
    }

    /// W13: one wrong entry replaces none of the right ones.
    #[test]
    fn a_wrong_entry_is_told_and_the_right_ones_stay() {
        let mixed = with(Some(json!([{"clientID": "a", "issuerURL": "https://a"}, {"clientID": "b"}])));
        assert_eq!(clients(&mixed), ["a"]);
        assert_eq!(mixed.problems.len(), 1);
        assert!(mixed.problems[0].contains("additionalOidcConfig[1] lacks issuerURL"), "{:?}", mixed.problems);
        assert_eq!(clients(&with(Some(json!([{"clientID": ""}])))), ["shared"], "nobody is locked out");
    }
}
