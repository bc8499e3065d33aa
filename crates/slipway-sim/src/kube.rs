//! An embedded Kubernetes API: many logical clusters in one server.
//!
//! On a laptop and in tests, Slipway's own cluster, the garden and every customer's cluster are
//! logical clusters of one [`Server`] in one process. To clients it is Kubernetes: `kubectl` and
//! `kube::Client` cannot tell the difference, and a contract suite that runs on a real server too
//! sees to it that they keep failing to.
//!
//! | where | what |
//! |---|---|
//! | `server` | doors (TLS ports), clusters, clients in this process |
//! | `http` | one request: who, may they, what, answer |
//! | `write`, `patching`, `delete` | the one way into the store |
//! | `store` | memory, disk, history |
//! | `kind`, `kinds`, `registry` | what is served, and what is special about it |
//! | `controllers` | what a cluster does by itself |
//! | `schema`, `apply`, `patch`, `selector`, `openapi` | pure functions on objects |
//!
//! Nothing here runs anything: a Deployment is an object and stays one.

pub mod apply;
pub mod auth;
mod bootstrap;
pub mod builtin_schema;
pub mod cluster;
pub(crate) mod controllers;
pub mod delete;
pub mod http;
pub mod kind;
pub mod kinds;
pub mod kubeconfig;
pub mod metadata;
pub mod names;
pub mod object;
pub mod openapi;
pub mod patch;
pub mod patching;
pub mod pki;
pub mod registry;
pub mod schema;
pub mod selector;
pub mod server;
pub mod status;
pub mod store;
pub(crate) mod tls;
pub mod write;

pub use cluster::{Cluster, Place};
pub use kind::{Ctx, Kind, Strategy, User};
pub use server::{Door, Server, ServerError, Settings};
pub use status::{Cause, CauseReason, Status};
