//! Clients of the outside systems.
//!
//! One file per system, all over the one [`Transport`](slipway_model::ports::Transport): a client is
//! a concrete type, never a trait, so that tests use the very code that production uses and only
//! the wire differs. What an answer means (try again, give up, not there) is decided here, once,
//! where it arrives; nobody behind this crate looks at a status code.

pub mod answer;
pub mod base_url;
pub mod broker;
pub mod director;
pub mod hello;
pub mod oauth;
pub mod provisioner;
pub mod reconciler;
#[cfg(test)]
mod testing;
mod transport;

pub use answer::{Answer, chain};
pub use base_url::BaseUrl;
pub use transport::HttpTransport;
