//! Kubernetes resources as types, and the way to the clusters that hold them.

pub mod access;
