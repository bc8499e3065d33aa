//! From what a client sends to what we store: normalise, check everything, say all that is wrong.
//!
//! `wire` has the types of the schema; [`spec`] and [`kyma`] the documents that are stored. Nothing
//! behind this module reads a wire type, and a document that exists has been checked.

mod checks;
mod cluster;
pub mod kyma;
mod merge;
mod networks;
pub mod provider;
mod provision;
pub mod spec;
mod text;
mod upgrade;
mod version;
mod violations;
pub mod wire;

pub use kyma::{KymaSecrets, KymaSpec};
pub use provider::{Provider, ProviderConfig};
pub use provision::{Provision, Rules, provision};
pub use spec::{ClusterSecrets, ClusterSpec, RuntimeInfo};
pub use text::is_label_value;
pub(crate) use upgrade::IMMUTABLE;
pub use upgrade::{Changed, Living, upgrade_shoot, upgrade_version};
pub use version::Version;
pub use violations::{Violation, Violations, quoted};
