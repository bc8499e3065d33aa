//! The port to what nobody can guess.

/// Where keys, nonces and tokens come from: the system's generator. Apart from [`Random`](super::Random), which only has to be
/// spread evenly and is seeded in simulations, so that neither can be given where the other is wanted.
pub trait Entropy: Send + Sync + 'static {
    /// Fills the bytes. A system that has none to give ends the process: nothing may be encrypted with what is left in memory.
    fn fill(&self, bytes: &mut [u8]);
}

impl dyn Entropy {
    /// So many bytes.
    pub fn draw<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }
}
