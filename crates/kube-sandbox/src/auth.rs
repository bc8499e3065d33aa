//! Who asks, and what they may.

pub mod authn;
pub mod rbac;
pub mod review;
pub mod tokens;
