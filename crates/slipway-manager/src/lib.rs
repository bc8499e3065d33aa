//! The infrastructure manager: Runtime in, Shoot out, kubeconfig fresh.
//!
//! Rendering and deciding are pure; acting is thin. Nothing is kept in the process that cannot be
//! read again from Kubernetes.

mod acl;
pub mod blueprints;
pub mod config;
mod controller;
mod decide;
mod events;
mod go_duration;
mod kubeconfig;
mod manager;
mod memory;
mod metrics;
mod observe;
mod outcome;
mod owner;
mod ownership;
mod pass;
pub mod plan;
mod registry_caches;
pub mod render;
mod runtime;
mod seeds;
mod settings;
mod shared;
mod skr;
mod status;
mod steps;
mod tasks;
mod version;

pub use config::{AclAddresses, AuditData, ConverterConfig, TimeWindow};
pub use manager::{Goodbye, Manager, Parts, Probe};
pub use registry_caches::secrets_named_by;
pub use render::{RenderError, RenderInput, ShootDoc, input_hash, render, structured_auth_config};
pub use runtime::graph as step_graph;
pub use settings::{Resync, Settings};
pub use skr::prepared_hash;
