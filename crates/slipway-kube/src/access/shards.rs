//! Which Runtimes are whose: the hash of the name, modulo the number of shards.
//!
//! The name and not the order, so that a new Runtime moves nobody; a fixed hash (FNV-1a) and not the one of
//! the standard library, so that two versions of the program agree during a rolling update.

use std::collections::BTreeSet;

use tokio::sync::watch;

/// The shard of a name.
pub fn shard_of(name: &str, shards: u32) -> u32 {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    u32::try_from(hash % u64::from(shards.max(1))).unwrap_or(0)
}

/// The shards this replica has at the moment.
#[derive(Debug, Clone)]
pub struct Shards {
    count: u32,
    held: watch::Receiver<BTreeSet<u32>>,
}

impl Shards {
    /// Those that `held` says, out of so many.
    pub fn new(count: u32, held: watch::Receiver<BTreeSet<u32>>) -> Self {
        Self { count: count.max(1), held }
    }

    /// Whether an object is ours now.
    pub fn has(&self, name: &str) -> bool {
        self.held.borrow().contains(&shard_of(name, self.count))
    }

    /// Whether we have any.
    pub fn is_active(&self) -> bool {
        !self.held.borrow().is_empty()
    }

    /// Those we have.
    pub fn held(&self) -> BTreeSet<u32> {
        self.held.borrow().clone()
    }

    /// Ends when it is no longer ours: the work on it must stop then, in the middle if need be.
    pub async fn until_lost(&self, name: &str) {
        let (mut held, shard) = (self.held.clone(), shard_of(name, self.count));
        // Without a sender nobody holds anything any more.
        let _ = held.wait_for(|held| !held.contains(&shard)).await;
    }

    /// Changes of the set.
    pub fn changes(&self) -> watch::Receiver<BTreeSet<u32>> {
        self.held.clone()
    }
}
