//! The real servers: an etcd and a kube-apiserver as [`kube_sandbox::real`] starts them, and behind them a
//! gardener-apiserver.
//!
//! A simulator proves nothing about itself. Whatever the garden simulator claims is checked by running the same
//! assertions on the servers everybody else runs; this module starts them. `cargo xtask testbins` builds the
//! programs and puts them where `KUBEBUILDER_ASSETS` points to under cargo; `SLIPWAY_REAL` says whether they are
//! wanted at all.

mod garden;

use std::env;

use kube_sandbox::real::{self, Binaries, Kube};

pub use self::garden::Garden;

/// What `SLIPWAY_REAL` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Never start a real server.
    Off,
    /// Use them where they are built; what a plain `cargo test` does.
    Auto,
    /// A suite without them has failed; what `make test` does.
    Required,
}

impl Mode {
    /// Reads the environment. An unknown word is as strict as can be: it was meant to say something.
    pub fn from_env() -> Self {
        match env::var("SLIPWAY_REAL").as_deref() {
            Ok("off") => Self::Off,
            Ok("auto") | Err(_) => Self::Auto,
            Ok(_) => Self::Required,
        }
    }
}

/// Why a real server is not there.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// They were switched off, by `SLIPWAY_REAL=off`.
    #[error("the real servers are switched off")]
    Off,
    /// They were never built, or nobody says where they are.
    #[error("the real servers are not built: run `cargo xtask testbins`, and name its folder in KUBEBUILDER_ASSETS")]
    NotBuilt,
    /// A server did not start.
    #[error(transparent)]
    Server(real::Error),
}

impl From<real::Error> for Error {
    fn from(error: real::Error) -> Self {
        match error {
            real::Error::NotFound => Self::NotBuilt,
            error => Self::Server(error),
        }
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        Self::Server(error.into())
    }
}

/// Finds the programs, if they are wanted.
pub fn find_binaries() -> Result<Binaries, Error> {
    if Mode::from_env() == Mode::Off { Err(Error::Off) } else { Ok(Binaries::from_env()?) }
}

/// Starts an etcd with a kube-apiserver for tests and waits until it is ready.
pub async fn start_kube() -> Result<Kube, Error> {
    Ok(Kube::start_for(real::Purpose::Tests, find_binaries()?).await?)
}
