//! Who issues tokens.

use super::keys::Keys;

/// The claim with the tenants of a token, unless an issuer has another one.
pub const TENANT_CLAIM: &str = "tenants";

/// An issuer we know.
#[derive(Clone)]
pub struct Issuer {
    /// What its tokens have as `iss`.
    pub name: String,
    /// What its tokens must have among `aud`.
    pub audience: String,
    /// What stands before the subject in an identity, so that two issuers cannot vouch for the same one.
    pub prefix: String,
    /// The claim that says for which tenants a token is good: a text or a list.
    pub tenant_claim: String,
    /// Its keys.
    pub keys: Keys,
}

impl Issuer {
    /// The identity of a subject of this issuer.
    pub fn identity(&self, subject: &str) -> String {
        format!("{}{subject}", self.prefix)
    }
}
