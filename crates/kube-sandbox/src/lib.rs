//! An in-process Kubernetes API server for tests, judged by the real one.
//!
//! One [`Server`] holds any number of logical clusters. To clients each is Kubernetes: `kubectl` and `kube::Client`
//! cannot tell the difference, and a contract suite that runs on a real kube-apiserver too sees to it that they
//! keep failing to. A server starts in milliseconds, in memory or on disk, and needs no network, no container and
//! no binary beside yours.
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::{Api, api::PostParams};
//! use kube_sandbox::{Server, Settings};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::start(Settings::default()).await?;
//! server.add_cluster("test").await?;
//! let maps: Api<ConfigMap> = Api::namespaced(server.client("test")?, "default");
//! let mut map = ConfigMap::default();
//! map.metadata.name = Some("greeting".to_owned());
//! maps.create(&PostParams::default(), &map).await?;
//! assert!(maps.get("greeting").await?.metadata.uid.is_some());
//! # Ok(())
//! # }
//! ```
//!
//! [`Server::client`] is a client in this process, without a socket. [`Server::listen`] opens a TLS port, and
//! [`Server::kubeconfig`] is what `kubectl` reads. [`Server::set_faults`] makes requests go wrong on purpose.
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
//! | `real` | starts a real etcd and kube-apiserver to compare with |
//! | `contract` | one set of assertions for both |
//!
//! Nothing here runs anything: a Deployment is an object and stays one.

pub mod apply;
pub mod auth;
mod bootstrap;
pub mod builtin_schema;
pub mod clock;
pub mod cluster;
pub mod contract;
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
pub mod real;
pub mod registry;
pub mod schema;
pub mod selector;
pub mod server;
pub mod status;
pub mod store;
pub mod tls;
pub mod write;

pub use cluster::{Cluster, Place};
pub use kind::{Ctx, Kind, Strategy, User};
pub use server::{Door, Server, ServerError, Settings};
pub use status::{Cause, CauseReason, Status};
