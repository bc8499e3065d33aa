//! Chance from one seed.
//!
//! A draw is named by what it is for (`("garden-dev/shop", "infrastructure", 3)`) instead of taken
//! from a sequence: then the order in which Shoots are looked at, how many there are, or a restart in
//! between changes no draw, and two runs with one seed give the same history of every Shoot.

/// The source of all chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chance {
    seed: u64,
}

impl Chance {
    /// From a seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// 64 even bits for this purpose.
    pub fn bits(&self, whose: &str, what: &str, which: u64) -> u64 {
        let mut hash = mix(self.seed ^ 0x9e37_79b9_7f4a_7c15);
        for byte in whose.bytes().chain([0]).chain(what.bytes()) {
            hash = mix(hash ^ u64::from(byte));
        }
        mix(hash ^ which)
    }

    /// A number from zero up to, and without, this one.
    pub fn below(&self, whose: &str, what: &str, which: u64, end: u64) -> u64 {
        if end == 0 { 0 } else { self.bits(whose, what, which) % end }
    }

    /// A number from zero up to, and without, one.
    pub fn fraction(&self, whose: &str, what: &str, which: u64) -> f64 {
        // 53 bits are what a double holds.
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let fraction = (self.bits(whose, what, which) >> 11) as f64 / (1_u64 << 53) as f64;
        fraction
    }

    /// This many lower-case letters and digits, the first a letter.
    pub fn name(&self, whose: &str, what: &str, which: u64, length: usize) -> String {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let letter = |index: usize| {
            let end = if index == 0 { 20 } else { LETTERS.len() };
            let at = self.below(whose, what, which.wrapping_mul(64).wrapping_add(index as u64), end as u64);
            char::from(LETTERS[usize::try_from(at).unwrap_or_default()])
        };
        (0..length).map(letter).collect()
    }
}

/// The finalizer of SplitMix64: every bit of the result depends on every bit of the input.
const fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_depend_on_the_seed_and_on_what_they_are_for() {
        let (one, two) = (Chance::new(1), Chance::new(2));
        assert_eq!(one.bits("a/b", "x", 0), one.bits("a/b", "x", 0));
        assert_ne!(one.bits("a/b", "x", 0), two.bits("a/b", "x", 0));
        assert_ne!(one.bits("a/b", "x", 0), one.bits("a/b", "x", 1));
        assert_ne!(one.bits("a/b", "x", 0), one.bits("a/", "bx", 0));
        let mean = (0..1000).map(|which| one.fraction("a", "b", which)).sum::<f64>() / 1000.0;
        assert!((0.45..0.55).contains(&mean), "{mean}");
        let name = one.name("a", "name", 0, 7);
        assert!(name.len() == 7 && name.starts_with(|c: char| c.is_ascii_lowercase()), "{name}");
    }
}
