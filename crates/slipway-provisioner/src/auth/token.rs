//! JSON web tokens, checked.
//!
//! By hand on top of ring, because time goes through our port and the library we could use reads the
//! machine's clock. What is left of it then is splitting a text at two dots. The algorithm is taken from
//! the key, never from the token: a token cannot choose how it is checked.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::Value;
use slipway_model::{Timestamp, time::secs};

/// Clocks of two machines may differ by so much.
const LEEWAY: std::time::Duration = secs(60);

/// No token of any issuer we know is near this long.
const LENGTH_MAX: usize = 16 * 1024;

/// Why a token is not accepted. For the log; the caller learns only that it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Problem {
    #[error("it is not a token")]
    Malformed,
    #[error("nobody knows its issuer")]
    Issuer,
    #[error("it is not signed by its issuer")]
    Signature,
    #[error("it is for somebody else")]
    Audience,
    #[error("it has expired")]
    Expired,
    #[error("it is not valid yet")]
    NotYet,
    #[error("it names nobody")]
    Nobody,
}

#[derive(Debug, Deserialize)]
pub(super) struct Header {
    pub(super) alg: String,
    #[serde(default)]
    pub(super) kid: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Claims {
    pub(super) iss: String,
    #[serde(default)]
    pub(super) sub: String,
    #[serde(default)]
    aud: OneOrMany,
    /// Seconds since 1970; some issuers write fractions.
    exp: f64,
    #[serde(default)]
    nbf: Option<f64>,
    #[serde(default)]
    scope: Option<OneOrMany>,
    #[serde(default)]
    scp: Option<OneOrMany>,
    /// All of them, for those whose name an operator chooses.
    #[serde(skip)]
    all: Value,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl Default for OneOrMany {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl OneOrMany {
    fn all(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(list) => list,
        }
    }
}

impl Claims {
    /// The texts of the claim of this name: one, or a list. What is no text says nothing.
    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        let texts = OneOrMany::deserialize(&self.all[name]).unwrap_or_default();
        texts.all().to_vec()
    }

    /// What the issuer allows: one text with spaces, or a list, under either of two names.
    pub(super) fn scopes(&self) -> Vec<String> {
        let given = self.scope.iter().chain(&self.scp).flat_map(OneOrMany::all);
        given.flat_map(|text| text.split_whitespace()).map(str::to_owned).collect()
    }
}

/// A token taken apart. Nothing in it is believed yet.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) header: Header,
    pub(super) claims: Claims,
    /// What is signed.
    pub(super) signed: Vec<u8>,
    /// The signature.
    pub(super) signature: Vec<u8>,
}

impl Token {
    pub(super) fn parse(text: &str) -> Result<Self, Problem> {
        if text.len() > LENGTH_MAX {
            return Err(Problem::Malformed);
        }
        let parts: Vec<&str> = text.split('.').collect();
        let [header, claims, signature] = parts.as_slice() else { return Err(Problem::Malformed) };
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| Problem::Malformed);
        Ok(Self {
            header: serde_json::from_slice(&decode(header)?).map_err(|_| Problem::Malformed)?,
            claims: read(&decode(claims)?).map_err(|_| Problem::Malformed)?,
            signed: format!("{header}.{claims}").into_bytes(),
            signature: decode(signature)?,
        })
    }
}

fn read(claims: &[u8]) -> serde_json::Result<Claims> {
    let all: Value = serde_json::from_slice(claims)?;
    Ok(Claims { all: all.clone(), ..serde_json::from_value(all)? })
}

/// Whether a token is good for us now; answers until when.
pub(super) fn check(token: &Token, is_signed: bool, audience: &str, now: Timestamp) -> Result<Timestamp, Problem> {
    let claims = &token.claims;
    let at = |seconds: f64| Timestamp::from_micros((seconds * 1e6) as i64);
    match () {
        () if !is_signed => Err(Problem::Signature),
        () if !claims.aud.all().iter().any(|given| given == audience) => Err(Problem::Audience),
        // Written so that a number that is none counts as long ago.
        () if !(claims.exp.is_finite() && at(claims.exp) + LEEWAY > now) => Err(Problem::Expired),
        () if claims.nbf.is_some_and(|nbf| !(nbf.is_finite() && at(nbf) <= now + LEEWAY)) => Err(Problem::NotYet),
        () if claims.sub.is_empty() || claims.sub.chars().any(char::is_control) => Err(Problem::Nobody),
        () => Ok(at(claims.exp) + LEEWAY),
    }
}
