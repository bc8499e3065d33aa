//! An embedded Kubernetes API.

pub mod apply;
pub mod builtin_schema;
pub mod openapi;
pub mod patch;
pub mod schema;
pub mod selector;
pub mod status;
