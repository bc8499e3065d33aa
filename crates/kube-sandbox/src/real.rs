//! The real servers: etcd and kube-apiserver as processes of this machine.
//!
//! An imitation proves nothing about itself. Whatever the embedded server claims is checked by running the same
//! assertions on the server everybody else runs; this module starts it. [`Binaries`] are the programs,
//! [`Kube`] is an etcd with a kube-apiserver; [`Kube::start_beside`] starts others that share its etcd and its
//! authorities, such as an aggregated API server.
//!
//! Every server listens on the loopback interface only and ends with the process that started it,
//! however that process ends. Starting takes seconds: share one instance per test program.

mod binaries;
mod certificates;
mod kube;
mod process;
mod tokens;
mod workplace;

use std::io;

pub use self::{
    binaries::{ASSETS, Binaries},
    kube::{Kube, Purpose, until_healthy},
    process::Process,
    workplace::spare_port,
};
use crate::pki::PkiError;

/// Why a real server is not there.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The environment names no folder with the programs.
    #[error("there are no real servers: {ASSETS} names no folder with etcd and kube-apiserver")]
    NotFound,
    /// The machine refused a file, a port or a process.
    #[error("cannot {0}")]
    Machine(&'static str, #[source] io::Error),
    /// A certificate could not be made.
    #[error(transparent)]
    Certificate(#[from] PkiError),
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
    /// A server did not answer as expected.
    #[error("a server refused a request")]
    Refused(#[source] Box<::kube::Error>),
}

impl From<::kube::Error> for Error {
    fn from(error: ::kube::Error) -> Self {
        Self::Refused(Box::new(error))
    }
}
