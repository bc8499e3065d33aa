//! The name of a cached build: a hash of everything that decides what comes out of it.

use std::fmt;

/// FNV-1a over 64 bits. Not the standard library's hasher, whose result may change with the compiler
/// and would then throw a good build away; and no secret depends on it.
pub(super) struct Key(u64);

impl Default for Key {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Key {
    /// Adds one part. Parts are kept apart: `ab`, `c` is not `a`, `bc`.
    pub(super) fn add(&mut self, part: &str) {
        for byte in part.bytes().chain([0]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(parts: &[&str]) -> String {
        let mut key = Key::default();
        parts.iter().for_each(|part| key.add(part));
        key.to_string()
    }

    #[test]
    fn a_key_stays_the_same_and_changes_with_every_part() {
        assert_eq!(key(&["go.mod", "go1.26"]), key(&["go.mod", "go1.26"]));
        assert_ne!(key(&["go.mod", "go1.26"]), key(&["go.mod", "go1.27"]));
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_eq!(key(&[]).len(), 16);
    }
}
