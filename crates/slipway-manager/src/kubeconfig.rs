//! Kubeconfigs: one Secret per cluster on the control plane, always fresh, never without content.
//!
//! | part | is |
//! |---|---|
//! | [`rotation`] | when a kubeconfig is due: pure |
//! | [`secret`] | the Secret: what is written, in one write |
//! | [`pass`] | one pass over one GardenerCluster |
//!
//! The rotation rule knows neither caches nor queues, so that it can move into another controller.

pub(crate) mod pass;
pub(crate) mod rotation;
pub(crate) mod secret;
