//! The real servers: etcd, kube-apiserver and gardener-apiserver as processes of this machine.
//!
//! A simulator proves nothing about itself. Whatever the embedded API and the garden simulator claim
//! is checked by running the same assertions on the servers everybody else runs; this module starts
//! them. `cargo xtask testbins` builds the programs, [`Binaries`] finds them, [`Kube`] is an etcd with
//! a kube-apiserver, [`Garden`] a [`Kube`] with a gardener-apiserver behind it.
//!
//! Every server listens on the loopback interface only and ends with the process that started it,
//! however that process ends. Starting takes seconds: share one instance per test program.

mod binaries;
mod certificates;
mod garden;
mod kube;
mod kubeconfig;
mod process;
mod tokens;
mod workplace;

use std::io;

pub use self::{
    binaries::{Binaries, Mode},
    garden::Garden,
    kube::{Kube, Purpose},
    kubeconfig::client,
};

/// Why a real server is not there.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// They were switched off, by `SLIPWAY_REAL=off`.
    #[error("the real servers are switched off")]
    Off,
    /// They were never built, or from another `testbins/go.mod`.
    #[error("the real servers are not built: run `cargo xtask testbins`")]
    NotBuilt,
    /// The machine refused a file, a port or a process.
    #[error("cannot {0}")]
    Machine(&'static str, #[source] io::Error),
    /// A certificate could not be made.
    #[error("cannot make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// A kubeconfig could not be read.
    #[error("a kubeconfig cannot be read")]
    Kubeconfig(#[from] ::kube::config::KubeconfigError),
    /// A server ended, or was not ready in time.
    #[error("{program} {what}; the end of its log:\n{log}")]
    NotReady {
        /// The program.
        program: &'static str,
        /// What it did instead of becoming ready.
        what: String,
        /// The last lines it wrote.
        log: String,
    },
    /// A server did not take what it was given to begin with.
    #[error("a server refused its first objects")]
    Refused(#[source] Box<::kube::Error>),
}

impl From<::kube::Error> for Error {
    fn from(error: ::kube::Error) -> Self {
        Self::Refused(Box::new(error))
    }
}
