//! Encryption of secrets at rest: AES-256-GCM under named keys.
//!
//! A keyring holds several keys so that they can be changed without stopping anything: new secrets
//! are sealed under the active key, old ones are still opened with theirs, and
//! [`Storage::reencrypt`](slipway_model::ports::Storage::reencrypt) moves them over. What is sealed
//! is bound to the id of its row, so a ciphertext copied into another row does not open there.

mod data_key;

use std::{collections::BTreeMap, fmt, sync::Arc};

use aes_gcm::{
    Aes256Gcm, Nonce,
    aead::{Aead, KeyInit, Payload},
};
use secrecy::{ExposeSecret, SecretString};
use slipway_model::ports::Entropy;

pub(crate) use data_key::{DataKey, Wrapped};

/// What is sealed under each key at its first use, to recognise the key again.
const KNOWN_TEXT: &[u8] = b"slipway key check 1";

/// 96 bits, the size GCM is made for. Drawn at random; with one write per operation the chance of
/// a repeat stays far below the bound of 2^32 messages per key.
const NONCE_LEN: usize = 12;

/// Why a keyring cannot be made. Never shows a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    /// The text of a key has the wrong shape.
    #[error("encryption key {id:?} must be 64 hexadecimal digits (32 bytes), but {problem}")]
    BadKey {
        /// Which key.
        id: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The name of a key has the wrong shape.
    #[error("the id of an encryption key must be 1 to 64 letters, digits, dots, dashes or underscores, not {0:?}")]
    BadId(String),
    /// Two keys have the same id.
    #[error("encryption key {0:?} is given twice")]
    Twice(String),
    /// The active key is not among the keys.
    #[error("the active encryption key {0:?} is not among the given keys")]
    NoActive(String),
}

/// A secret could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OpenSecretError {
    #[error("it is encrypted with key {0:?}, which is not in the keyring")]
    UnknownKey(String),
    #[error("key {0:?} does not open it: the row is damaged or was copied from another row")]
    Damaged(String),
}

/// The keys that secrets are encrypted with: several by id, one active.
#[derive(Clone)]
pub struct Keyring {
    keys: BTreeMap<String, Aes256Gcm>,
    active: String,
    entropy: Arc<dyn Entropy>,
}

impl Keyring {
    /// A keyring of `(id, key)` pairs, each key 64 hexadecimal digits; `active` names the key for
    /// new secrets. Nonces and the keys of runtimes come from `entropy`.
    pub fn new(
        keys: impl IntoIterator<Item = (String, SecretString)>,
        active: &str,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, KeyringError> {
        let mut ring = BTreeMap::new();
        for (id, key) in keys {
            let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
            if id.is_empty() || id.len() > 64 || !id.bytes().all(word) {
                return Err(KeyringError::BadId(id.chars().take(80).collect()));
            }
            let cipher =
                parse_key(key.expose_secret()).map_err(|problem| KeyringError::BadKey { id: id.clone(), problem })?;
            if ring.insert(id.clone(), cipher).is_some() {
                return Err(KeyringError::Twice(id));
            }
        }
        if !ring.contains_key(active) {
            return Err(KeyringError::NoActive(active.to_owned()));
        }
        Ok(Self { keys: ring, active: active.to_owned(), entropy })
    }

    /// The id of the key for new secrets.
    pub fn active(&self) -> &str {
        &self.active
    }

    pub(crate) fn knows(&self, id: &str) -> bool {
        self.keys.contains_key(id)
    }

    pub(crate) fn ids(&self) -> Vec<&str> {
        self.keys.keys().map(String::as_str).collect()
    }

    pub(crate) fn draw(&self) -> u64 {
        u64::from_be_bytes(self.entropy.draw())
    }

    /// Seals `plain` for the row `row` under the active key: nonce, ciphertext, tag.
    pub(crate) fn seal(&self, row: &[u8], plain: &[u8]) -> Vec<u8> {
        seal_with(&self.keys[&self.active], self.entropy.as_ref(), row, plain)
    }

    /// Opens what [`Keyring::seal`] made for the same row under the key `id`.
    pub(crate) fn open(&self, id: &str, row: &[u8], sealed: &[u8]) -> Result<Vec<u8>, OpenSecretError> {
        let cipher = self.keys.get(id).ok_or_else(|| OpenSecretError::UnknownKey(id.to_owned()))?;
        open_with(cipher, row, sealed).ok_or_else(|| OpenSecretError::Damaged(id.to_owned()))
    }

    /// The known text under the active key, to be kept in `key_checks`.
    pub(crate) fn check_text(&self) -> Vec<u8> {
        self.seal(self.active.as_bytes(), KNOWN_TEXT)
    }

    /// Whether the key of this id is the one that sealed the check.
    pub(crate) fn passes(&self, id: &str, check: &[u8]) -> bool {
        self.open(id, id.as_bytes(), check).is_ok_and(|plain| plain == KNOWN_TEXT)
    }
}

fn seal_with(cipher: &Aes256Gcm, entropy: &dyn Entropy, row: &[u8], plain: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::with_capacity(NONCE_LEN + plain.len() + 16);
    sealed.extend_from_slice(&entropy.draw::<NONCE_LEN>());
    let nonce = Nonce::try_from(&sealed[..]).expect("twelve bytes were just written");
    let text = cipher.encrypt(&nonce, Payload { msg: plain, aad: row }).expect("a secret is far shorter than 64 GiB");
    sealed.extend_from_slice(&text);
    sealed
}

fn open_with(cipher: &Aes256Gcm, row: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
    let (nonce, text) = sealed.split_at_checked(NONCE_LEN)?;
    let nonce = Nonce::try_from(nonce).ok()?;
    cipher.decrypt(&nonce, Payload { msg: text, aad: row }).ok()
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyring").field("ids", &self.ids()).field("active", &self.active).finish()
    }
}

fn parse_key(text: &str) -> Result<Aes256Gcm, String> {
    let text = text.trim();
    if text.len() != 64 {
        return Err(format!("it has {} characters", text.chars().count()));
    }
    let mut key = [0_u8; 32];
    for (byte, pair) in key.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let digit = |b: u8| char::from(b).to_digit(16);
        let (Some(high), Some(low)) = (digit(pair[0]), digit(pair[1])) else {
            return Err("it has other characters in it".to_owned());
        };
        *byte = u8::try_from(high * 16 + low).expect("two hexadecimal digits make a byte");
    }
    Ok(Aes256Gcm::new(&key.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Chance;

    fn ring(keys: &[(&str, &str)], active: &str) -> Result<Keyring, KeyringError> {
        let keys = keys.iter().map(|(id, key)| ((*id).to_owned(), SecretString::from(*key)));
        Keyring::new(keys, active, Arc::new(Chance::seeded(7)))
    }

    #[test]
    fn a_sealed_secret_opens_only_in_its_own_row_and_under_its_own_key() {
        let both = ring(&[("old", &"1a".repeat(32)), ("new", &"2B".repeat(32))], "new").expect("good keys");
        let sealed = both.seal(b"row 1", b"hunter2");
        assert!(!sealed.windows(7).any(|part| part == b"hunter2"));
        assert_eq!(both.open("new", b"row 1", &sealed).expect("own row"), b"hunter2");
        assert_eq!(both.open("new", b"row 2", &sealed), Err(OpenSecretError::Damaged("new".to_owned())));
        assert_eq!(both.open("old", b"row 1", &sealed), Err(OpenSecretError::Damaged("old".to_owned())));
        assert_eq!(both.open("gone", b"row 1", &sealed), Err(OpenSecretError::UnknownKey("gone".to_owned())));
        assert_eq!(both.open("new", b"row 1", b"short"), Err(OpenSecretError::Damaged("new".to_owned())));
        assert_ne!(both.seal(b"row 1", b"hunter2"), sealed, "the nonce is drawn anew");
    }

    #[test]
    fn a_bad_key_is_refused_by_its_id_and_never_printed() {
        let secret = "zz".repeat(32);
        let error = ring(&[("k1", &secret)], "k1").expect_err("not hexadecimal").to_string();
        assert_eq!(
            error,
            "encryption key \"k1\" must be 64 hexadecimal digits (32 bytes), but it has other characters in it"
        );
        let error = ring(&[("k1", "abc")], "k1").expect_err("too short").to_string();
        assert!(error.ends_with("but it has 3 characters"), "{error}");
        let good = "ab".repeat(32);
        assert_eq!(ring(&[("k1", &good)], "k2").expect_err("no such key"), KeyringError::NoActive("k2".to_owned()));
        assert_eq!(ring(&[("a b", &good)], "a b").expect_err("space"), KeyringError::BadId("a b".to_owned()));
        assert_eq!(ring(&[("k", &good), ("k", &good)], "k").expect_err("twice"), KeyringError::Twice("k".to_owned()));
        assert!(!format!("{:?}", ring(&[("k1", &good)], "k1")).contains(&good));
    }
}
