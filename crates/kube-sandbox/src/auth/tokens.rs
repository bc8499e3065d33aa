//! Tokens of service accounts: signed, with an end, and void when their account is gone.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use ring::hmac;
use serde_json::{Value, json};

use crate::clock;

/// Who signs tokens, and whom they are for unless the request says otherwise.
pub const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// The key tokens are signed with; one for each cluster.
#[derive(Debug, Clone)]
pub struct TokenKey(hmac::Key);

impl TokenKey {
    /// From 32 secret bytes.
    pub fn new(secret: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// A token that makes these claims.
    pub fn sign(&self, claims: &Value) -> String {
        let header = BASE64.encode(json!({ "alg": "HS256", "typ": "JWT" }).to_string());
        let signed = format!("{header}.{}", BASE64.encode(claims.to_string()));
        let signature = hmac::sign(&self.0, signed.as_bytes());
        format!("{signed}.{}", BASE64.encode(signature))
    }

    /// The claims of a token that we signed and that has not ended.
    pub fn verify(&self, token: &str) -> Option<Value> {
        let (signed, signature) = token.rsplit_once('.')?;
        hmac::verify(&self.0, signed.as_bytes(), &BASE64.decode(signature).ok()?).ok()?;
        let (_, claims) = signed.split_once('.')?;
        let claims: Value = serde_json::from_slice(&BASE64.decode(claims).ok()?).ok()?;
        let now = clock::now().as_second();
        (claims["exp"].as_i64()? > now && claims["nbf"].as_i64().unwrap_or(0) <= now).then_some(claims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_until_its_end_and_only_with_its_key() {
        let (key, other) = (TokenKey::new(b"one"), TokenKey::new(b"two"));
        let now = clock::now().as_second();
        let token = key.sign(&json!({ "sub": "a", "exp": now + 60 }));
        assert_eq!(key.verify(&token).expect("good")["sub"], "a");
        assert!(other.verify(&token).is_none());
        assert!(key.verify(&token[..token.len() - 2]).is_none());
        assert!(key.verify(&key.sign(&json!({ "sub": "a", "exp": now - 1 }))).is_none());
        assert!(key.verify("x.y").is_none());
    }
}
