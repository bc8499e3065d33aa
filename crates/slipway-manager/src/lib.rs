//! The infrastructure manager: Runtime in, Shoot out, kubeconfig fresh.
//!
//! Rendering and deciding are pure; acting is thin. Nothing is kept in the process that cannot be
//! read again from Kubernetes.

pub mod config;
pub mod go_duration;
pub mod render;
pub mod version;

pub use config::{AclAddresses, AuditData, ConverterConfig, TimeWindow};
pub use render::{RenderError, RenderInput, ShootDoc, input_hash, render, structured_auth_config};
