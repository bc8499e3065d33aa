//! The operators' login: a ConfigMap in the garden, and the Shoot's reference to it.

use serde_json::{Value, json};
use slipway_kube::{Runtime, runtime::OidcConfig, shoot::structured_auth_config_name};

use super::{
    Context, RenderError,
    draft::{Draft, given},
};
use crate::config::{ConverterConfig, OidcProvider};

pub(super) fn write(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let name = structured_auth_config_name(&context.shoot.name);
    draft.set("spec.kubernetes.kubeAPIServer.structuredAuthentication.configMapName", name);
    Ok(())
}

/// The ConfigMap: its name, and what stands under its key `config.yaml`.
///
/// The login is the one of the Runtime if that names issuer and client, else the configured one.
pub fn structured_auth_config(runtime: &Runtime, config: &ConverterConfig) -> Result<(String, String), RenderError> {
    let kubernetes = &config.converter.kubernetes;
    let of_runtime = runtime.spec.shoot.kubernetes.kube_api_server.as_ref().and_then(|api| api.oidc_config.as_ref());
    let is_whole =
        |oidc: &&OidcConfig| given(oidc.issuer_url.as_ref()).is_some() && given(oidc.client_id.as_ref()).is_some();
    let login = match of_runtime.filter(is_whole) {
        Some(oidc) => Login::of_runtime(oidc),
        None => Login::of_config(&kubernetes.default_operator_oidc),
    };
    let document = login.document(kubernetes.dash_prefix_is_none);
    let text = serde_saphyr::to_string(&document).map_err(|error| {
        RenderError::new(
            "spec.shoot.kubernetes.kubeAPIServer.oidcConfig",
            format!("cannot be written as YAML: {error}"),
        )
    })?;
    Ok((structured_auth_config_name(&runtime.spec.shoot.name), text))
}

/// A login, wherever it comes from.
struct Login<'a> {
    issuer: &'a str,
    client: &'a str,
    username_claim: &'a str,
    username_prefix: &'a str,
    groups_claim: Option<&'a str>,
    groups_prefix: &'a str,
    authorities: Option<&'a str>,
    required: Vec<(&'a String, &'a String)>,
}

impl<'a> Login<'a> {
    fn of_runtime(oidc: &'a OidcConfig) -> Self {
        let text = |text: &'a Option<String>| given(text.as_ref()).unwrap_or_default();
        Self {
            issuer: text(&oidc.issuer_url),
            client: text(&oidc.client_id),
            // What the API server took where its flag was not set.
            username_claim: given(oidc.username_claim.as_ref()).unwrap_or("sub"),
            username_prefix: text(&oidc.username_prefix),
            groups_claim: given(oidc.groups_claim.as_ref()),
            groups_prefix: text(&oidc.groups_prefix),
            authorities: given(oidc.ca_bundle.as_ref()),
            required: oidc.required_claims.iter().collect(),
        }
    }

    fn of_config(oidc: &'a OidcProvider) -> Self {
        Self {
            issuer: &oidc.issuer_url,
            client: &oidc.client_id,
            username_claim: &oidc.username_claim,
            username_prefix: &oidc.username_prefix,
            groups_claim: Some(oidc.groups_claim.as_str()).filter(|claim| !claim.is_empty()),
            groups_prefix: "",
            authorities: None,
            required: Vec::new(),
        }
    }

    fn document(&self, dash_is_none: bool) -> Value {
        // Prefixes must be there, even if empty: the API server refuses a claim without one.
        let prefix = |text: &str| if dash_is_none && text == "-" { String::new() } else { text.to_owned() };
        let mut mappings =
            json!({ "username": { "claim": self.username_claim, "prefix": prefix(self.username_prefix) } });
        if let Some(claim) = self.groups_claim {
            mappings["groups"] = json!({ "claim": claim, "prefix": prefix(self.groups_prefix) });
        }
        let mut issuer = json!({ "url": self.issuer, "audiences": [self.client] });
        if let Some(authorities) = self.authorities {
            issuer["certificateAuthority"] = json!(authorities);
        }
        let mut jwt = json!({ "issuer": issuer, "claimMappings": mappings });
        if !self.required.is_empty() {
            let rule = |(claim, value): &(&String, &String)| json!({ "claim": claim, "requiredValue": value });
            jwt["claimValidationRules"] = self.required.iter().map(rule).collect();
        }
        json!({ "apiVersion": "apiserver.config.k8s.io/v1beta1", "kind": "AuthenticationConfiguration", "jwt": [jwt] })
    }
}
