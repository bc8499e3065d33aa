//! An embedded Kubernetes API: many logical clusters in one server.

pub mod apply;
pub mod builtin_schema;
pub mod kind;
pub mod openapi;
pub mod patch;
pub mod schema;
pub mod selector;
pub mod status;

pub use kind::{Ctx, Kind, Strategy};
pub use status::{Cause, CauseReason, Status};
