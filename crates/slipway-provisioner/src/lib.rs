//! The provisioner: a cluster by one GraphQL call.
//!
//! It is a face over Runtime resources: it accepts requests, keeps the log of operations, and says
//! what became of them. Only the infrastructure manager talks to Gardener. The GraphQL side ([`http`],
//! [`graphql`], [`input`]) decides and stores; the steps act.

pub mod api;
pub mod auth;
pub mod catalogue;
pub mod clusters;
pub mod errors;
pub mod graphql;
pub mod http;
pub mod input;
pub mod mapping;
pub mod operation_kind;
pub mod registration;
pub mod settings;
pub mod status;

pub use api::Api;
pub use catalogue::Catalogue;
pub use operation_kind::OperationKind;
pub use settings::Settings;
