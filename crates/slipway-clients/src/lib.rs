//! Clients of the outside systems.
//!
//! One file per system, all over the one [`Transport`](slipway_model::ports::Transport): a client is
//! a concrete type, never a trait, so that tests use the very code that production uses and only
//! the wire differs. What an answer means (try again, give up, not there) is decided in `call.rs`, once,
//! where it arrives; nobody behind this crate looks at a status code.
//!
//! A new system is its file here with a row in [`SYSTEMS`]: its settings and their page, its credentials,
//! timeout, limit in flight, breaker, figures and health follow from the row.

pub mod answer;
pub mod base_url;
pub mod broker;
pub mod call;
pub mod connections;
pub mod director;
mod graphql;
pub mod guard;
pub mod hello;
pub mod oauth;
pub mod provisioner;
pub mod reconciler;
pub mod system;
#[cfg(test)]
mod testing;
mod transport;

use slipway_model::time::secs;

pub use answer::{Answer, chain};
pub use base_url::BaseUrl;
pub use connections::{ConnectionSettings, Connections, Credentials, SettingsBySystem, SystemClient};
pub use guard::{Guard, Health, HealthBook};
pub use system::{Breaker, Login, OutsideSystem, UsedBy};
pub use transport::HttpTransport;

/// The outside systems. Names are contract: sections of the configuration, labels of figures, and systems
/// in the flight recorder.
pub static SYSTEMS: &[OutsideSystem] = &[
    OutsideSystem {
        name: hello::Client::NAME,
        title: "hello",
        about: "the Hello system that the sample process calls",
        used_by: &[UsedBy::Broker],
        login: Login::None,
        timeout: secs(30), // greetings are answered from memory
        in_flight: 64,
        breaker: Breaker::USUAL,
    },
    OutsideSystem {
        name: director::Client::NAME,
        title: "the Director",
        about: "the GraphQL of the Director, the registry of runtimes",
        used_by: &[UsedBy::Provisioner],
        login: Login::ClientCredentials { scope: "runtime:read runtime:write" },
        timeout: secs(30), // as its own gateway has it
        in_flight: 32,
        breaker: Breaker::USUAL,
    },
    OutsideSystem {
        name: reconciler::Client::NAME,
        title: "the Reconciler",
        about: "the Reconciler, which keeps Kyma in clusters, without its `/v1`",
        used_by: &[UsedBy::Provisioner],
        login: Login::None,
        timeout: secs(30), // its own limit
        in_flight: 32,
        breaker: Breaker::USUAL,
    },
];
