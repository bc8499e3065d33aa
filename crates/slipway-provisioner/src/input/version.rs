//! Versions, to be compared: a Kubernetes version is only ever raised.

use std::{cmp::Ordering, str::FromStr};

/// A version as semver has it; the patch may be missing, as Gardener allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    numbers: [u64; 3],
    pre_release: Vec<String>,
}

/// A text that is no version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a version such as 1.33.4")]
pub struct BadVersion;

impl FromStr for Version {
    type Err = BadVersion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() > 64 {
            return Err(BadVersion);
        }
        let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
        let (core, pre) = text.split_once('-').map_or((text, None), |(core, pre)| (core, Some(pre)));
        let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if !pre.into_iter().chain(build).flat_map(|words| words.split('.')).all(is_word) {
            return Err(BadVersion);
        }
        let mut numbers = [0; 3];
        let mut count = 0;
        for part in core.split('.') {
            let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            let has_leading_zero = part.len() > 1 && part.starts_with('0');
            let place = numbers.get_mut(count).filter(|_| is_number && !has_leading_zero).ok_or(BadVersion)?;
            *place = part.parse().map_err(|_| BadVersion)?;
            count += 1;
        }
        if count < 2 || (count == 2 && pre.is_some()) {
            return Err(BadVersion);
        }
        let pre_release = pre.into_iter().flat_map(|words| words.split('.')).map(str::to_owned).collect();
        Ok(Self { numbers, pre_release })
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| match (self.pre_release.len(), other.pre_release.len()) {
            (0, 0) => Ordering::Equal,
            (0, _) => Ordering::Greater,
            (_, 0) => Ordering::Less,
            _ => compare_words(&self.pre_release, &other.pre_release),
        })
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Numbers before words, numbers by value, fewer before more.
fn compare_words(left: &[String], right: &[String]) -> Ordering {
    for (left, right) in left.iter().zip(right) {
        let order = match (left.parse::<u64>(), right.parse::<u64>()) {
            (Ok(left), Ok(right)) => left.cmp(&right),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => left.cmp(right),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    left.len().cmp(&right.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_semver_says() {
        let ordered = ["1.9.0", "1.33.0-alpha.2", "1.33.0-alpha.10", "1.33.0-beta", "1.33.0", "1.33.4", "2.0"];
        for pair in ordered.windows(2) {
            let [low, high] = [pair[0], pair[1]].map(|text| text.parse::<Version>().expect(text));
            assert!(low < high, "{pair:?}");
        }
        assert_eq!("1.33".parse::<Version>().expect("short").cmp(&"1.33.0".parse().expect("long")), Ordering::Equal);
        assert_eq!("1.2.3+a".parse::<Version>(), "1.2.3+b".parse());
    }

    #[test]
    fn other_texts_are_refused() {
        for bad in
            ["", "1", "v1.33.0", "1.33.x", "1.2.3.4", "01.2.3", "1.2.3-", "1.2.3-a..b", "1.-2", "1.2-a", "latest"]
        {
            assert_eq!(bad.parse::<Version>(), Err(BadVersion), "{bad}");
        }
        "1.99999999999999999999.0".parse::<Version>().expect_err("too large");
        "9".repeat(5000).parse::<Version>().expect_err("too long");
    }
}
