//! Simulators of the outside systems.
//!
//! A judge shares no code with the accused: of our crates this one knows `kube_sandbox` alone, the embedded
//! Kubernetes API that the garden and its clusters stand on. Each simulator is an HTTP service with its
//! own idea of what a right request is. It answers a wrong one with a refusal and keeps a complaint, and
//! it counts what it was made to do, so that a test can ask for doubles and orphans. It breaks at will,
//! where a [`Fault`] says so.

pub mod agent;
pub mod dial;
pub mod garden;
pub mod ground;
mod kept;
pub mod listening;
pub mod raw_http;
pub mod real;
pub mod systems;

pub use dial::{Dial, Fault};
pub use ground::Ground;
use kube_sandbox::clock;
pub use listening::Listening;
pub use systems::{SYSTEMS, System, Systems};
