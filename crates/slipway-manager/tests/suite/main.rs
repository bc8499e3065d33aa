//! The suite of the manager: one binary, one file per story.
//!
//! The manager stands between an embedded Kubernetes API and a simulated garden; the calls are those of
//! production, without sockets where both ends are in this process. What it renders is also shown to real
//! servers, where they are built.

mod changes;
mod debts;
mod definitions;
mod deletions;
mod deployment;
mod gardens;
mod goodbyes;
mod kubeconfigs;
mod landscapes;
mod lanes;
mod life;
mod list_ownership;
mod losses;
mod neighbours;
mod preparation;
mod refusals;
mod registry_caches;
mod rendered_shoots;
mod rivals;
mod strangers;
mod sweep;
mod walk;
mod world;
