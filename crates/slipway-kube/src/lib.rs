//! Kubernetes resources as types, the shapes the clouds want, and the way to the clusters that hold them.
//!
//! What others read and write by name (kinds, fields, labels, annotations, conditions) is a promise,
//! so it stands here once and the crates above cannot spell it differently. A resource that others
//! extend keeps what we do not know: such parts are a typed struct with a map for the rest.

pub mod access;
pub mod annotations;
pub mod conditions;
pub mod crds;
pub mod gardener_cluster;
pub mod labels;
pub mod providers;
pub mod runtime;
pub mod shoot;
pub mod subnets;

pub use gardener_cluster::GardenerCluster;
pub use runtime::{Runtime, RuntimeState};
pub use shoot::Shoot;
pub use subnets::Cidr;
