//! From what a client sends to what we store: normalise, check everything, say all that is wrong.
//!
//! `wire` has the types of the schema; [`spec`] and [`kyma`] the documents that are stored. Nothing
//! behind this module reads a wire type, and a document that exists has been checked.

mod checks;
mod cluster;
pub mod kyma;
mod networks;
mod provision;
pub mod spec;
mod upgrade;
mod version;
pub mod wire;

pub use kyma::{KymaSecrets, KymaSpec};
pub use provision::{Provision, provision};
pub use slipway_kube::violations::{IMMUTABLE, Violation, Violations, is_label_value, quoted};
pub use spec::{ClusterSecrets, ClusterSpec, RuntimeInfo};
pub use upgrade::{Changed, Living, upgrade_shoot, upgrade_version};
pub use version::Version;
