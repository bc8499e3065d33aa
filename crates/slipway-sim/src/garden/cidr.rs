//! Networks in CIDR form.

use std::net::IpAddr;

/// A network: the first address of it and the number of leading bits that all its addresses share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    /// The address as it was written.
    pub address: IpAddr,
    /// Leading bits.
    pub bits: u8,
}

impl std::str::FromStr for Cidr {
    type Err = String;

    /// The sentence of Go's parser, because Gardener hands it on.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("invalid CIDR address: {text}");
        let (address, bits) = text.split_once('/').ok_or_else(wrong)?;
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let bits: u8 = bits.parse().map_err(|_| wrong())?;
        if bits > width(address) { Err(wrong()) } else { Ok(Self { address, bits }) }
    }
}

const fn width(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

impl Cidr {
    /// Whether it is of the fourth version of the protocol.
    pub fn is_v4(&self) -> bool {
        self.address.is_ipv4()
    }

    /// The address as a number, moved to the high end, so that both versions are cut in one way.
    fn number(&self) -> u128 {
        match self.address {
            IpAddr::V4(address) => u128::from(u32::from(address)) << 96,
            IpAddr::V6(address) => u128::from(address),
        }
    }

    fn prefix(&self, bits: u8) -> u128 {
        if bits == 0 { 0 } else { self.number() >> (128 - bits) }
    }

    /// Whether no bit behind the prefix is set.
    pub fn is_canonical(&self) -> bool {
        self.bits == 128 || self.number() << self.bits == 0
    }

    /// Whether two networks share an address.
    pub fn overlaps(&self, other: &Self) -> bool {
        let bits = self.bits.min(other.bits);
        self.is_v4() == other.is_v4() && self.prefix(bits) == other.prefix(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cidr(text: &str) -> Cidr {
        text.parse().expect("cidr")
    }

    #[test]
    fn networks_overlap_or_do_not() {
        assert!(cidr("10.0.0.0/8").overlaps(&cidr("10.250.0.0/16")));
        assert!(!cidr("100.64.0.0/13").overlaps(&cidr("100.96.0.0/11")));
        assert!(cidr("0.0.0.0/0").overlaps(&cidr("1.2.3.4/32")));
        assert!(!cidr("::/0").overlaps(&cidr("1.2.3.4/32")));
        assert!(cidr("10.250.0.0/16").is_canonical() && !cidr("10.250.0.1/16").is_canonical());
        assert!(cidr("::1/128").is_canonical() && cidr("0.0.0.0/0").is_canonical());
        assert_eq!("10.0.0.0/33".parse::<Cidr>(), Err("invalid CIDR address: 10.0.0.0/33".to_owned()));
        assert!("10.0.0.0".parse::<Cidr>().is_err() && "x/8".parse::<Cidr>().is_err());
    }
}
