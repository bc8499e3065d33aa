//! The key of one runtime: what its secrets are encrypted with.
//!
//! It is drawn when the runtime is stored and kept beside it, sealed under a key of the keyring. So a
//! change of keys writes one small value per runtime and never touches the secrets, and who erases
//! that value has erased every secret of the runtime, in whatever row a copy was left.

use std::sync::Arc;

use aes_gcm::{Aes256Gcm, aead::KeyInit};
use secrecy::{ExposeSecret, SecretBox, SecretString};
use slipway_model::{
    RuntimeId,
    ports::{Entropy, StoreError, StoreResult},
};

use super::{Keyring, open_with, seal_with};

/// A key that opens the secrets of one runtime.
pub(crate) struct DataKey {
    runtime: RuntimeId,
    bytes: SecretBox<[u8; 32]>,
    cipher: Aes256Gcm,
    entropy: Arc<dyn Entropy>,
}

/// A key as it is stored: sealed, and under which key of the keyring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrapped {
    pub(crate) sealed: Vec<u8>,
    pub(crate) under: String,
}

impl DataKey {
    /// A new key for a runtime.
    pub(crate) fn draw(keyring: &Keyring, runtime: RuntimeId) -> Self {
        Self::of(keyring, runtime, keyring.entropy.draw())
    }

    fn of(keyring: &Keyring, runtime: RuntimeId, bytes: [u8; 32]) -> Self {
        let cipher = Aes256Gcm::new(&bytes.into());
        Self { runtime, bytes: SecretBox::new(Box::new(bytes)), cipher, entropy: Arc::clone(&keyring.entropy) }
    }

    /// The key under the active key of the keyring.
    pub(crate) fn wrap(&self, keyring: &Keyring) -> Wrapped {
        let sealed = keyring.seal(&place(self.runtime, "data_key", ""), self.bytes.expose_secret());
        Wrapped { sealed, under: keyring.active.clone() }
    }

    /// Opens a stored key.
    pub(crate) fn unwrap(keyring: &Keyring, runtime: RuntimeId, stored: &Wrapped) -> StoreResult<Self> {
        let damaged = |problem: &dyn std::fmt::Display| {
            StoreError::Unreadable(format!("the key of runtime {runtime} cannot be opened: {problem}"))
        };
        let plain = keyring
            .open(&stored.under, &place(runtime, "data_key", ""), &stored.sealed)
            .map_err(|error| damaged(&error))?;
        let bytes = <[u8; 32]>::try_from(plain).map_err(|_| damaged(&"it has another length"))?;
        Ok(Self::of(keyring, runtime, bytes))
    }

    /// Seals a secret for one cell: the column, and which of the runtime's rows.
    pub(crate) fn seal(&self, column: &str, row: &str, secret: &SecretString) -> Vec<u8> {
        let place = place(self.runtime, column, row);
        seal_with(&self.cipher, self.entropy.as_ref(), &place, secret.expose_secret().as_bytes())
    }

    /// Opens what was sealed for the same cell.
    pub(crate) fn open(&self, column: &str, row: &str, sealed: &[u8]) -> StoreResult<SecretString> {
        let plain = open_with(&self.cipher, &place(self.runtime, column, row), sealed);
        plain.and_then(|plain| String::from_utf8(plain).ok()).map(SecretString::from).ok_or_else(|| {
            let (runtime, at) = (self.runtime, format!("{column} {row}"));
            StoreError::Unreadable(format!("runtime {runtime}: {at} is damaged or was copied from another row"))
        })
    }
}

/// What a sealed value is bound to, so that it opens nowhere else.
fn place(runtime: RuntimeId, column: &str, row: &str) -> Vec<u8> {
    format!("runtime/{runtime}/{column}/{row}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Chance;

    fn ring(active: &str) -> Keyring {
        let keys = [("k1", "1a"), ("k2", "2b")].map(|(id, part)| (id.to_owned(), SecretString::from(part.repeat(32))));
        Keyring::new(keys, active, Arc::new(Chance::seeded(9))).expect("good keys")
    }

    #[test]
    fn a_secret_of_a_runtime_opens_only_in_its_own_cell_and_survives_a_change_of_keys() {
        let runtime: RuntimeId = RuntimeId::EXAMPLE.parse().expect("example");
        let other: RuntimeId = "7f1de04b-4b5a-4a1c-8b0a-2f9a3c1d0b6a".parse().expect("a UUID");
        let (old, new) = (ring("k1"), ring("k2"));
        let key = DataKey::draw(&old, runtime);
        let sealed = key.seal("runtime_configs", "1", &SecretString::from("hunter2"));
        assert!(!sealed.windows(7).any(|part| part == b"hunter2"));

        let moved = DataKey::unwrap(&new, runtime, &key.wrap(&old)).expect("opens").wrap(&new);
        assert_eq!(moved.under, "k2");
        let key = DataKey::unwrap(&new, runtime, &moved).expect("opens under the new key");
        assert_eq!(key.open("runtime_configs", "1", &sealed).expect("own cell").expose_secret(), "hunter2");
        for (column, row) in [("runtime_configs", "2"), ("kyma_configs", "1")] {
            key.open(column, row, &sealed).expect_err("another cell");
        }
        assert!(DataKey::unwrap(&new, other, &moved).is_err(), "another runtime");
        assert!(DataKey::unwrap(&new, runtime, &Wrapped { under: "k1".to_owned(), ..moved }).is_err(), "another key");
    }
}
