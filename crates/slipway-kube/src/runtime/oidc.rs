//! Logins by OpenID Connect.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One issuer and how its tokens are read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OidcConfig {
    /// Who a token must be for.
    #[serde(default, rename = "clientID", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Who issues tokens.
    #[serde(default, rename = "issuerURL", skip_serializing_if = "Option::is_none")]
    pub issuer_url: Option<String>,
    /// Which claim is the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username_claim: Option<String>,
    /// What stands before the user. `-` is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username_prefix: Option<String>,
    /// Which claim has the groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups_claim: Option<String>,
    /// What stands before each group. `-` is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups_prefix: Option<String>,
    /// Which signatures are trusted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signing_algs: Vec<String>,
    /// Claims a token must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub required_claims: BTreeMap<String, String>,
    /// The certificate authorities of the issuer.
    #[serde(default, rename = "caBundle", skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,
    /// Settings for clients; no longer used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_authentication: Option<ClientAuthentication>,
}

/// Settings for clients; no longer used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientAuthentication {
    /// The client's secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// More of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_config: BTreeMap<String, String>,
}

/// A login of the customer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AdditionalOidcConfig {
    /// The issuer.
    #[serde(flatten)]
    pub oidc: OidcConfig,
    /// Keys for an issuer that cannot be asked, base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks: Option<String>,
}
