//! The public keys of an issuer: given, or fetched from where it publishes them.
//!
//! Fetched keys are kept; a token signed by a key that is not among them makes us fetch again, but not
//! more often than every half minute, so that bad tokens cannot make us a flood for the issuer.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::Uri;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;
use slipway_model::{
    ports::{Clock, Transport},
    time::{mins, secs},
};
use tokio::sync::Mutex;

use super::token::Token;

/// Keys are fetched anew after this time, so that a withdrawn one is not believed for ever.
const FRESH: Duration = mins(10);
/// And not more often than this.
const PAUSE: Duration = secs(30);
/// An issuer that needs longer is away.
const TIMEOUT: Duration = secs(5);

/// A key and what it checks.
#[derive(Clone, Debug)]
enum Key {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// The keys of an issuer at one time.
#[derive(Clone, Debug, Default)]
pub struct KeySet(Vec<(Option<String>, Key)>);

#[derive(Deserialize)]
struct Jwks {
    keys: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    crv: Option<String>,
    #[serde(default)]
    n: Option<String>,
    #[serde(default)]
    e: Option<String>,
    #[serde(default)]
    x: Option<String>,
    #[serde(default)]
    y: Option<String>,
}

impl KeySet {
    /// Reads a JSON web key set. Keys of kinds we do not use are left aside: issuers publish those too.
    pub fn parse(text: &[u8]) -> Result<Self, serde_json::Error> {
        let set: Jwks = serde_json::from_slice(text)?;
        Ok(Self(set.keys.into_iter().filter_map(|key| key_of(serde_json::from_value(key).ok()?)).collect()))
    }

    fn verify(&self, token: &Token) -> bool {
        self.candidates(token).any(|key| key.verify(token))
    }

    fn candidates<'a>(&'a self, token: &'a Token) -> impl Iterator<Item = &'a Key> {
        let wanted = token.header.kid.as_ref();
        let fits = move |kid: &Option<String>| wanted.is_none() || kid.is_none() || kid.as_ref() == wanted;
        self.0.iter().filter(move |(kid, _)| fits(kid)).map(|(_, key)| key)
    }
}

fn key_of(jwk: Jwk) -> Option<(Option<String>, Key)> {
    let decode = |text: Option<String>| URL_SAFE_NO_PAD.decode(text?.trim_end_matches('=')).ok();
    let key = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
        ("RSA", _) => Key::Rsa { n: decode(jwk.n)?, e: decode(jwk.e)? },
        ("EC", Some("P-256")) => {
            let (x, y) = (decode(jwk.x)?, decode(jwk.y)?);
            // A point as ring takes it: uncompressed, 32 bytes each.
            (x.len() == 32 && y.len() == 32).then(|| Key::P256([&[4], x.as_slice(), y.as_slice()].concat()))?
        }
        ("OKP", Some("Ed25519")) => Key::Ed25519(decode(jwk.x)?),
        _ => return None,
    };
    Some((jwk.kid, key))
}

impl Key {
    fn verify(&self, token: &Token) -> bool {
        let (signed, signature) = (&token.signed, &token.signature);
        match (self, token.header.alg.as_str()) {
            (Self::Rsa { n, e }, "RS256") => {
                let key = RsaPublicKeyComponents { n, e };
                key.verify(&signature::RSA_PKCS1_2048_8192_SHA256, signed, signature).is_ok()
            }
            (Self::P256(point), "ES256") => {
                UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point).verify(signed, signature).is_ok()
            }
            (Self::Ed25519(key), "EdDSA") => {
                UnparsedPublicKey::new(&signature::ED25519, key).verify(signed, signature).is_ok()
            }
            _ => false,
        }
    }
}

/// Where keys come from.
#[derive(Clone)]
pub enum Keys {
    /// They are known.
    Known(Arc<KeySet>),
    /// They are fetched.
    Fetched(Arc<Fetched>),
}

/// Keys that are fetched.
pub struct Fetched {
    transport: Arc<dyn Transport>,
    url: Uri,
    clock: Arc<dyn Clock>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    set: KeySet,
    at: Option<Duration>,
}

impl Keys {
    /// The name of the outside system in metrics and in the flight recorder.
    pub const SYSTEM: &'static str = "issuer";

    /// Keys that are published at this address.
    pub fn fetched(transport: Arc<dyn Transport>, url: Uri, clock: Arc<dyn Clock>) -> Self {
        Self::Fetched(Arc::new(Fetched { transport, url, clock, kept: Mutex::default() }))
    }

    /// Whether one of them has signed the token.
    pub(super) async fn verify(&self, token: &Token) -> bool {
        match self {
            Self::Known(set) => set.verify(token),
            Self::Fetched(fetched) => fetched.verify(token).await,
        }
    }
}

impl Fetched {
    async fn verify(&self, token: &Token) -> bool {
        // Held while fetching: a hundred requests wait for one fetch instead of making a hundred.
        let mut kept = self.kept.lock().await;
        let age = kept.at.map(|at| self.clock.monotonic().saturating_sub(at));
        if age.is_some_and(|age| age < FRESH) && kept.set.verify(token) {
            return true;
        }
        if age.is_none_or(|age| age >= PAUSE) {
            kept.at = Some(self.clock.monotonic());
            match self.fetch().await {
                Some(set) => kept.set = set,
                None => {
                    tracing::warn!(url = %self.url, "the keys of an issuer cannot be fetched; the last ones are used")
                }
            }
        }
        kept.set.verify(token)
    }

    async fn fetch(&self) -> Option<KeySet> {
        let request = http::Request::get(self.url.clone()).body(Bytes::new()).ok()?;
        let answer = self.transport.send(Keys::SYSTEM, request, TIMEOUT).await.ok()?;
        answer.status().is_success().then(|| KeySet::parse(answer.body()).ok())?
    }
}
