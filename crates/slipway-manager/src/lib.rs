//! The infrastructure manager: Runtime in, Shoot out, kubeconfig fresh.
//!
//! Rendering and deciding are pure; acting is thin. Nothing is kept in the process that cannot be
//! read again from Kubernetes.

mod acl;
pub mod blueprints;
pub mod config;
pub mod controller;
pub mod decide;
pub mod events;
pub mod go_duration;
pub mod kubeconfig;
pub mod manager;
pub mod memory;
pub mod metrics;
pub mod observe;
pub mod outcome;
mod ownership;
pub mod pass;
pub mod plan;
pub mod registry_secrets;
pub mod render;
pub mod runtime;
pub mod seeds;
pub mod settings;
pub mod shared;
pub mod skr;
pub mod status;
pub mod steps;
pub mod version;

pub use config::{AclAddresses, AuditData, ConverterConfig, TimeWindow};
pub use manager::{Manager, Parts, Probe};
pub use render::{RenderError, RenderInput, ShootDoc, input_hash, render, structured_auth_config};
pub use settings::Settings;
