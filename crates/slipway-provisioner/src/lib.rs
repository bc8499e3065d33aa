//! The provisioner: a cluster by one GraphQL call.
//!
//! It is a face over Runtime resources: it accepts requests, keeps the log of operations, and says
//! what became of them. Only the infrastructure manager talks to Gardener. The GraphQL side ([`http`],
//! [`graphql`], [`input`]) decides and stores; the steps act.

pub mod agent;
pub mod api;
pub mod auth;
pub mod clusters;
pub mod deadlines;
pub mod domain;
pub mod errors;
pub mod graphql;
pub mod http;
pub mod input;
pub mod installer;
pub mod jobs;
pub mod juniper_gaps;
pub mod mapping;
pub mod metrics;
pub mod operation_kind;
pub mod ownership;
pub mod processes;
pub mod reach;
pub mod registration;
mod resource;
pub mod settings;
pub mod status;
pub mod steps;
pub mod watch;

pub use api::Api;
pub use deadlines::Deadlines;
pub use domain::{Data, Provisioner, Systems};
pub use installer::Installer;
pub use metrics::Metrics;
pub use operation_kind::OperationKind;
pub use processes::registry;
pub use settings::Settings;
