//! An issuer of our own, for a landscape that has none: `slipway up`, and tests. Its key is kept where
//! the rest of the landscape's data are, so that tokens outlive a restart.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _},
};
use serde_json::{Value, json};
use slipway_model::Timestamp;

use super::{
    issuer::{Issuer, TENANT_CLAIM},
    keys::{KeySet, Keys},
};

/// The system gave no randomness, or the kept key is not one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the issuer's key cannot be made or read")]
pub struct NoKey;

/// An issuer that signs with a key of its own.
pub struct LocalIssuer {
    key: EcdsaKeyPair,
    name: String,
    random: SystemRandom,
}

impl LocalIssuer {
    /// A new key, as bytes to be kept secret.
    pub fn new_key() -> Result<Vec<u8>, NoKey> {
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        key.map(|document| document.as_ref().to_vec()).map_err(|_| NoKey)
    }

    /// The issuer with this key.
    pub fn with_key(name: impl Into<String>, key: &[u8]) -> Result<Self, NoKey> {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key, &random).map_err(|_| NoKey)?;
        Ok(Self { key, name: name.into(), random })
    }

    /// Its public key, as it would publish it.
    pub fn jwks(&self) -> Value {
        let point = self.key.public_key().as_ref();
        let coordinate = |bytes: Option<&[u8]>| URL_SAFE_NO_PAD.encode(bytes.unwrap_or_default());
        json!({ "keys": [{
            "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "local",
            "x": coordinate(point.get(1..33)), "y": coordinate(point.get(33..65)),
        }] })
    }

    /// What the gate must know of it.
    pub fn issuer(&self, audience: impl Into<String>) -> Issuer {
        let keys = KeySet::parse(self.jwks().to_string().as_bytes()).unwrap_or_default();
        Issuer {
            name: self.name.clone(),
            audience: audience.into(),
            prefix: String::new(),
            tenant_claim: TENANT_CLAIM.to_owned(),
            keys: Keys::Known(Arc::new(keys)),
        }
    }

    /// A token for somebody, good for these tenants.
    pub fn token(
        &self,
        subject: &str,
        audience: &str,
        scopes: &[&str],
        tenants: &[&str],
        now: Timestamp,
        valid_for: Duration,
    ) -> Result<String, NoKey> {
        let seconds = |at: Timestamp| at.as_micros() / 1_000_000;
        self.sign(&json!({
            "iss": self.name, "sub": subject, "aud": [audience], "scope": scopes.join(" "), TENANT_CLAIM: tenants,
            "iat": seconds(now), "exp": seconds(now + valid_for),
        }))
    }

    /// A token with these claims.
    pub fn sign(&self, claims: &Value) -> Result<String, NoKey> {
        let encode = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let signed = format!("{}.{}", encode(&json!({ "alg": "ES256", "typ": "JWT", "kid": "local" })), encode(claims));
        let signature = self.key.sign(&self.random, signed.as_bytes()).map_err(|_| NoKey)?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}
