//! An embedded Kubernetes API: many logical clusters in one server.

pub mod apply;
pub mod auth;
pub mod builtin_schema;
pub mod cluster;
pub mod delete;
pub mod kind;
pub mod metadata;
pub mod names;
pub mod object;
pub mod openapi;
pub mod patch;
pub mod patching;
pub mod registry;
pub mod schema;
pub mod selector;
pub mod status;
pub mod store;
pub mod write;

pub use cluster::{Cluster, Place};
pub use kind::{Ctx, Kind, Strategy};
pub use status::{Cause, CauseReason, Status};
