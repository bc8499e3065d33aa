//! GraphQL over real HTTP on loopback: what clients send, and what they get.
//!
//! The listener is the product's own, on the memory store, with the embedded Kubernetes API and the
//! Director simulator behind it. Only the engine is a stand-in: it gives budgets and news and runs
//! nothing, so that a test decides when an operation ends.

mod access;
mod bench;
mod deprovision;
mod director;
mod documents;
mod fuzz;
mod hand_clock;
mod hostile;
mod ownership;
mod probes;
mod provision;
mod replay;
mod rules;
mod sleep;
mod sockets;
mod status;
mod subscription;
mod tenants;
mod upgrade_kyma;
mod upgrade_shoot;
