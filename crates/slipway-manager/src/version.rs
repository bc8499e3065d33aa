//! Versions of Kubernetes and of machine images, compared leniently.
//!
//! People write `1.34` and mean the newest patch; images have three numbers too. A text that is no
//! version compares with nothing, and the caller then takes what was asked for.

use std::cmp::Ordering;

/// A version: three numbers, and what comes before a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    numbers: [u64; 3],
    /// Without one it is a release, which is higher.
    pre: Option<String>,
}

impl Version {
    /// Reads `1.34.5`, `v1.34`, `1` or `1.34.0-rc.1+build`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let text = text.split('+').next()?;
        let (core, pre) = match text.split_once('-') {
            Some((core, pre)) if !pre.is_empty() => (core, Some(pre.to_owned())),
            Some(_) => return None,
            None => (text, None),
        };
        let mut numbers = [0; 3];
        let mut parts = core.split('.');
        for (at, number) in numbers.iter_mut().enumerate() {
            match parts.next() {
                Some(part) if !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) => {
                    *number = part.parse().ok()?
                }
                None if at > 0 => break,
                Some(_) | None => return None,
            }
        }
        parts.next().is_none().then_some(Self { numbers, pre })
    }

    /// The minor version, with its major one.
    pub(crate) fn minor(&self) -> (u64, u64) {
        (self.numbers[0], self.numbers[1])
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let of_pre = match (&self.pre, &other.pre) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(a), Some(b)) => a.cmp(b),
        };
        self.numbers.cmp(&other.numbers).then(of_pre)
    }
}

/// Whether `existing` is above `wanted`; not so if either is no version.
pub(crate) fn is_higher(existing: &str, wanted: &str) -> bool {
    matches!((Version::parse(existing), Version::parse(wanted)), (Some(existing), Some(wanted)) if existing > wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn higher_is_told_by_number_not_by_letter() {
        for (higher, lower) in [
            ("1.34.10", "1.34.9"),
            ("1.34.5", "1.34"),
            ("v1.35", "1.34.9"),
            ("1877.9.0", "934.8.0"),
            ("1.34.0", "1.34.0-rc.1"),
        ] {
            assert!(is_higher(higher, lower), "{higher} {lower}");
            assert!(!is_higher(lower, higher), "{lower} {higher}");
        }
        assert!(!is_higher("1.34", "1.34.0"));
    }

    #[test]
    fn what_is_no_version_compares_with_nothing() {
        for bad in ["", "latest", "1.x", "1.34.5.6", "1..3", "-1", "1.34-"] {
            assert_eq!(Version::parse(bad), None, "{bad}");
            assert!(!is_higher("9.9.9", bad) && !is_higher(bad, "0.0.1"), "{bad}");
        }
    }

    #[test]
    fn the_minor_version_is_two_numbers() {
        assert_eq!(Version::parse("1.34.5").map(|version| version.minor()), Some((1, 34)));
    }
}
