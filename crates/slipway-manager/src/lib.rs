//! The infrastructure manager: Runtime in, Shoot out, kubeconfig fresh.
//!
//! Rendering and deciding are pure; acting is thin. Nothing is kept in the process that cannot be
//! read again from Kubernetes.

