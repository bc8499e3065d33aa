//! Service-account tokens signed by the harness itself.
//!
//! The API gives out no token that ends sooner than in ten minutes; a test of an expired one cannot
//! wait for that. It is signed here, with the cluster's own key, and differs in its times alone.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use rcgen::{KeyPair, PublicKeyData as _};
use ring::{digest, rand::SystemRandom, signature};
use serde_json::{Value, json};

/// A JSON web token (ES256) over the claims.
pub(super) fn sign(key: &KeyPair, claims: &Value) -> String {
    let header = json!({ "alg": "ES256", "kid": key_id(key) });
    let text = format!("{}.{}", BASE64.encode(header.to_string()), BASE64.encode(claims.to_string()));
    let random = SystemRandom::new();
    let algorithm = &signature::ECDSA_P256_SHA256_FIXED_SIGNING;
    let signer = signature::EcdsaKeyPair::from_pkcs8(algorithm, key.serialized_der(), &random);
    let signed = signer.expect("rcgen makes P-256 keys").sign(&random, text.as_bytes());
    format!("{text}.{}", BASE64.encode(signed.expect("the operating system gives random bytes")))
}

/// How Kubernetes names a key: the hash of the public key in its usual form.
fn key_id(key: &KeyPair) -> String {
    BASE64.encode(digest::digest(&digest::SHA256, &key.subject_public_key_info()))
}
