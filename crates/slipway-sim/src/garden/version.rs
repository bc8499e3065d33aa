//! Version numbers: Kubernetes' and those of machine images.
//!
//! Only what the rules ask: order, major and minor, and the simple constraints that machine images
//! put on kubelets (`>= 1.32, < 1.35`).

use std::{cmp::Ordering, fmt, str::FromStr};

/// Three numbers, and what follows a hyphen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The first number.
    pub major: u64,
    /// The second number.
    pub minor: u64,
    /// The third number.
    pub patch: u64,
    /// What follows a hyphen: a version with it comes before the one without.
    pub pre: String,
}

/// A text that is no version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid semantic version")]
pub struct NotAVersion;

impl FromStr for Version {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let text = text.split_once('+').map_or(text, |(version, _build)| version);
        let (numbers, pre) = text.split_once('-').unwrap_or((text, ""));
        let mut numbers = numbers.split('.').map(|number| number.parse::<u64>().map_err(|_| NotAVersion));
        let version = Self {
            major: numbers.next().ok_or(NotAVersion)??,
            minor: numbers.next().unwrap_or(Ok(0))?,
            patch: numbers.next().unwrap_or(Ok(0))?,
            pre: pre.to_owned(),
        };
        if numbers.next().is_some() { Err(NotAVersion) } else { Ok(version) }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if self.pre.is_empty() { Ok(()) } else { write!(f, "-{}", self.pre) }
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let numbers = |version: &Self| (version.major, version.minor, version.patch);
        let pre = || match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            _ => self.pre.cmp(&other.pre),
        };
        numbers(self).cmp(&numbers(other)).then_with(pre)
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Version {
    /// Whether it is of this minor release or a later one.
    pub fn at_least(&self, major: u64, minor: u64) -> bool {
        (self.major, self.minor) >= (major, minor)
    }
}

/// Whether a version text is of this minor release or a later one; no for what is no version.
pub fn at_least(version: &str, major: u64, minor: u64) -> bool {
    version.parse::<Version>().is_ok_and(|version| version.at_least(major, minor))
}

/// Whether a version meets a constraint such as `>= 1.32, < 1.35`. A constraint that cannot be read
/// holds: profiles are checked when they are written, not when they are used.
pub fn meets(version: &Version, constraint: &str) -> bool {
    constraint.split(',').all(|part| {
        let part = part.trim();
        let (sign, bound) = part.split_at(part.find(|c: char| c.is_ascii_digit()).unwrap_or(part.len()));
        let Ok(bound) = bound.trim().parse::<Version>() else { return true };
        match sign.trim() {
            ">=" => *version >= bound,
            ">" => *version > bound,
            "<=" => *version <= bound,
            "<" => *version < bound,
            "" | "=" => *version == bound,
            _ => true,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().expect("version")
    }

    #[test]
    fn versions_are_ordered_by_number_not_by_letter() {
        assert!(version("1.9.0") < version("1.10.0"));
        assert!(version("1.34.1-beta") < version("1.34.1"));
        assert_eq!(version("v1.34"), version("1.34.0"));
        assert_eq!(version("1.34.1+build").to_string(), "1.34.1");
        for wrong in ["", "one", "1.x", "1.2.3.4"] {
            assert_eq!(wrong.parse::<Version>(), Err(NotAVersion), "{wrong}");
        }
        assert!(at_least("1.34.2", 1, 34) && !at_least("1.33.9", 1, 34) && !at_least("", 1, 34));
    }

    #[test]
    fn constraints_are_read_part_by_part() {
        assert!(meets(&version("1.33.4"), ">= 1.32, < 1.35"));
        assert!(!meets(&version("1.35.0"), ">= 1.32, < 1.35"));
        assert!(meets(&version("1.35.0"), "unreadable"));
    }
}
