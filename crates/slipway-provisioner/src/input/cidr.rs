//! Ranges of IPv4 addresses. Gardener's networks of nodes, pods and services are such ranges, and a
//! cluster whose ranges overlap is only found to be broken after half an hour.

use std::{fmt, net::Ipv4Addr, str::FromStr};

/// A range in its canonical spelling: no bit is set behind the prefix.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    first: u32,
    length: u8,
}

/// Why a text is no range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCidr {
    /// Something else.
    #[error("must look like 10.250.0.0/16")]
    NotARange,
    /// Bits behind the prefix.
    #[error("has bits set behind its prefix; {0} would be right")]
    NotCanonical(Cidr),
}

impl Cidr {
    const fn mask(length: u8) -> u32 {
        match length {
            0 => 0,
            length => u32::MAX << (32 - length),
        }
    }

    const fn last(self) -> u32 {
        self.first | !Self::mask(self.length)
    }

    /// All addresses of the other are in this one.
    pub const fn contains(self, other: Self) -> bool {
        self.first <= other.first && other.last() <= self.last()
    }

    /// They share an address. Ranges with a prefix either nest or are apart.
    pub const fn overlaps(self, other: Self) -> bool {
        self.contains(other) || other.contains(self)
    }

    /// The parts of this range with a longer prefix, in order; none if it is not longer.
    pub fn parts(self, length: u8) -> impl Iterator<Item = Self> {
        let bits = length.checked_sub(self.length).filter(|_| length <= 32);
        let count = bits.map_or(0, |bits| 1_u64 << bits);
        let step = move |n: u64| u32::try_from(n << (32 - u32::from(length))).unwrap_or(0);
        (0..count).map(move |n| Self { first: self.first | step(n), length })
    }

    /// The length of its prefix.
    pub const fn prefix(self) -> u8 {
        self.length
    }
}

impl FromStr for Cidr {
    type Err = BadCidr;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (address, length) = text.split_once('/').ok_or(BadCidr::NotARange)?;
        let address: Ipv4Addr = address.parse().map_err(|_| BadCidr::NotARange)?;
        let digits = (1..=2).contains(&length.len()) && length.bytes().all(|byte| byte.is_ascii_digit());
        let length = length.parse::<u8>().ok().filter(|length| digits && *length <= 32).ok_or(BadCidr::NotARange)?;
        let canonical = Self { first: u32::from(address) & Self::mask(length), length };
        if canonical.first == u32::from(address) { Ok(canonical) } else { Err(BadCidr::NotCanonical(canonical)) }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Ipv4Addr::from(self.first), self.length)
    }
}

impl fmt::Debug for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cidr(text: &str) -> Cidr {
        text.parse().expect(text)
    }

    #[test]
    fn only_canonical_ranges_are_ranges() {
        for bad in
            ["", "cidr", "10.0.0.0", "10.0.0.0/33", "10.10.10.10/255", "10.0.0/8", "::/0", "1.2.3.4/+8", "1.2.3.4/"]
        {
            assert_eq!(bad.parse::<Cidr>(), Err(BadCidr::NotARange), "{bad}");
        }
        assert_eq!("10.250.0.1/16".parse::<Cidr>(), Err(BadCidr::NotCanonical(cidr("10.250.0.0/16"))));
        assert_eq!(cidr("0.0.0.0/0").to_string(), "0.0.0.0/0");
    }

    #[test]
    fn ranges_nest_or_are_apart() {
        assert!(cidr("10.0.0.0/8").contains(cidr("10.250.0.0/16")));
        assert!(!cidr("10.250.0.0/16").contains(cidr("10.0.0.0/8")));
        assert!(cidr("10.250.0.0/16").overlaps(cidr("10.0.0.0/8")));
        assert!(!cidr("10.96.0.0/13").overlaps(cidr("10.104.0.0/13")));
        assert!(cidr("0.0.0.0/0").contains(cidr("255.255.255.255/32")));
    }

    #[test]
    fn a_range_is_cut_into_parts() {
        let parts: Vec<String> = cidr("10.0.0.0/30").parts(31).map(|part| part.to_string()).collect();
        assert_eq!(parts, ["10.0.0.0/31", "10.0.0.2/31"]);
        assert_eq!(cidr("10.0.0.0/24").parts(20).count(), 0);
        assert_eq!(cidr("0.0.0.0/0").parts(1).last(), Some(cidr("128.0.0.0/1")));
        assert_eq!(cidr("10.0.0.0/32").parts(33).count(), 0);
    }
}
