//! The suite of the manager: one binary, one file per story.
//!
//! The manager stands between an embedded Kubernetes API and a simulated garden; the calls are those of
//! production, without sockets where both ends are in this process.

mod extension;
mod life;
mod sweep;
mod walk;
mod world;
