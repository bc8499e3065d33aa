//! IPv4 networks, and how the network of nodes is cut into subnets for zones.
//!
//! Subnets of a living cluster cannot move, so these rules are a contract with every cluster that was
//! ever created: the reference operator cut the same way. A zone keeps its slot for life; a new zone
//! gets a free one.

use std::{fmt, net::Ipv4Addr, str::FromStr};

/// Why a network is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It does not parse.
    #[error("`{0}` is not an IPv4 network; write it like 10.250.0.0/16")]
    NotANetwork(String),
    /// It has bits beyond its prefix, so what is meant is unclear.
    #[error("`{given}` has host bits set; write {meant}")]
    HostBits {
        /// As it was given.
        given: String,
        /// The network it lies in.
        meant: Cidr,
    },
    /// Subnets for zones would not fit, or be too small.
    #[error("{0} must have a prefix from /16 to /24 to be cut into subnets for zones")]
    Prefix(Cidr),
    /// All slots are taken.
    #[error("{0} has no room for another zone")]
    Full(Cidr),
}

/// An IPv4 network without host bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cidr {
    start: u32,
    prefix: u8,
}

impl Cidr {
    /// The network that begins here. The start must be a multiple of the size.
    pub(crate) const fn at(start: u32, prefix: u8) -> Self {
        Self { start, prefix }
    }

    pub(crate) const fn start(self) -> u32 {
        self.start
    }

    /// The length of the prefix.
    pub const fn prefix(self) -> u8 {
        self.prefix
    }

    /// How many addresses it has.
    pub const fn size(self) -> u64 {
        1 << (32 - self.prefix as u32)
    }

    /// How many addresses of it pods can have: all but the first and the last, where there are such.
    pub const fn usable(self) -> u64 {
        match self.prefix {
            32 => 1,
            31 => 2,
            _ => self.size() - 2,
        }
    }

    const fn end(self) -> u64 {
        self.start as u64 + self.size()
    }

    /// Whether an address is in both.
    pub const fn overlaps(self, other: Self) -> bool {
        (self.start as u64) < other.end() && (other.start as u64) < self.end()
    }

    /// Whether all of another is in this.
    pub const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end() <= self.end()
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Ipv4Addr::from(self.start), self.prefix)
    }
}

impl FromStr for Cidr {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::NotANetwork(text.to_owned());
        let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
        let address = u32::from(address.parse::<Ipv4Addr>().map_err(|_| wrong())?);
        let is_number = prefix.len() <= 2 && prefix.bytes().all(|b| b.is_ascii_digit());
        let prefix: u8 = prefix.parse().ok().filter(|prefix| is_number && *prefix <= 32).ok_or_else(wrong)?;
        let mask = if prefix == 0 { 0 } else { u32::MAX << (32 - u32::from(prefix)) };
        let meant = Self::at(address & mask, prefix);
        if meant.start == address { Ok(meant) } else { Err(Error::HostBits { given: text.to_owned(), meant }) }
    }
}

/// How many zones fit, on every cloud that has subnets.
pub const MAX_ZONES: usize = 8;

/// The subnet in a slot where zones have eighths of the network.
pub fn eighth(nodes: Cidr, slot: usize) -> Result<Cidr, Error> {
    let (p, index) = (cuttable(nodes)?, slot_number(nodes, slot)?);
    Ok(Cidr::at(nodes.start + (index << (29 - p)), p + 3))
}

/// The subnets of up to three zones: the whole network, halves, or three quarters.
pub fn equal_parts(nodes: Cidr, zones: usize) -> Result<Vec<Cidr>, Error> {
    let shift = match zones {
        1 => 0,
        2 => 1,
        3 => 2,
        _ => return Err(Error::Full(nodes)),
    };
    let prefix = nodes.prefix + shift;
    if prefix > 32 {
        return Err(Error::Full(nodes));
    }
    let size = u64::from(nodes.start)..nodes.end();
    let step = 1_usize << (32 - u32::from(prefix));
    let starts = size.step_by(step).take(zones);
    Ok(starts.map(|start| Cidr::at(u32::try_from(start).expect("inside IPv4"), prefix)).collect())
}

/// The two halves of a network.
pub fn halves(of: Cidr) -> Result<[Cidr; 2], Error> {
    match equal_parts(of, 2)?[..] {
        [low, high] => Ok([low, high]),
        _ => Err(Error::Full(of)),
    }
}

/// The prefix, if subnets for zones fit in.
pub(crate) fn cuttable(nodes: Cidr) -> Result<u8, Error> {
    if (16..=24).contains(&nodes.prefix) { Ok(nodes.prefix) } else { Err(Error::Prefix(nodes)) }
}

pub(crate) fn slot_number(nodes: Cidr, slot: usize) -> Result<u32, Error> {
    u32::try_from(slot).ok().filter(|_| slot < MAX_ZONES).ok_or(Error::Full(nodes))
}

#[cfg(test)]
mod tests;
