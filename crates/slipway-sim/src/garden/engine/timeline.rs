//! What an operation does, step by step.
//!
//! Times are unscaled and typical for a cluster of medium size; they are spread a little by chance.
//! Names of steps are what users read as progress; ids are what faults name. Progress is what is
//! reported when the step begins; within a long step it creeps towards that of the next.

/// What is done to a Shoot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// For the first time.
    Create,
    /// Again.
    Reconcile,
    /// Put to sleep.
    Hibernate,
    /// Woken.
    Wake,
    /// Taken away.
    Delete,
    /// Taken away without cleaning up.
    ForceDelete,
}

/// What a finished step leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Conditions are there, unknown.
    Conditions,
    /// The cluster has an identity.
    Identity,
    /// The CAs exist, and kubeconfigs could be signed.
    Authorities,
    /// The networks are known.
    Networking,
    /// The API addresses are advertised.
    Addresses,
    /// The API server answers.
    ApiUp,
    /// The API server does not answer any more.
    ApiDown,
    /// The nodes are as the spec wants them.
    Nodes,
    /// There are no nodes.
    NoNodes,
}

/// One step.
#[derive(Debug)]
pub struct Step {
    /// What faults call it.
    pub id: &'static str,
    /// What users read.
    pub name: &'static str,
    /// Percent when it begins.
    pub progress: u8,
    /// How long it takes.
    pub seconds: u32,
    /// Takes longer when nodes change.
    pub waits_for_nodes: bool,
    /// What it leaves behind.
    pub effects: &'static [Effect],
}

const fn step(id: &'static str, progress: u8, seconds: u32, name: &'static str, effects: &'static [Effect]) -> Step {
    Step { id, name, progress, seconds, waits_for_nodes: false, effects }
}

const fn nodes(id: &'static str, progress: u8, seconds: u32, name: &'static str, effects: &'static [Effect]) -> Step {
    Step { id, name, progress, seconds, waits_for_nodes: true, effects }
}

use Effect::{Addresses, ApiDown, ApiUp, Authorities, Conditions, Identity, Networking, NoNodes, Nodes};

#[rustfmt::skip]
static CREATE: &[Step] = &[
    //    id                progress seconds
    step("start",                 0,      5, "Shoot cluster reconciliation is starting.", &[Conditions]),
    step("secrets",               5,      5, "Deploying Shoot namespace in Seed, Generating secrets and saving them, Syncing shoot cluster identity", &[Identity, Authorities]),
    step("infrastructure",       10,     90, "Deploying Shoot infrastructure", &[]),
    step("infrastructure-wait",  15,     45, "Waiting until shoot infrastructure has been reconciled", &[Networking]),
    step("dns",                  20,     30, "Deploying Kubernetes API server service, Deploying internal and external domain DNS records", &[Addresses]),
    step("etcd",                 30,     60, "Deploying main and events etcd, Waiting until main and event etcd report readiness", &[]),
    step("kube-apiserver",       40,     60, "Deploying Kubernetes API server, Waiting until Kubernetes API server rolled out", &[ApiUp]),
    step("system-components",    55,     30, "Deploying Kubernetes controller manager, Deploying shoot network plugin, Deploying shoot system components", &[]),
    step("worker",               70,     30, "Configuring shoot worker pools", &[]),
    nodes("worker-wait",         75,    110, "Waiting until shoot worker nodes have been reconciled", &[Nodes]),
    step("observability",        95,     12, "Reconciling Grafana for Shoot in Seed for the logging stack, Deploying Prometheus", &[]),
];

#[rustfmt::skip]
static CREATE_WORKERLESS: &[Step] = &[
    step("start",                 0,      5, "Shoot cluster reconciliation is starting.", &[Conditions]),
    step("secrets",               5,      5, "Deploying Shoot namespace in Seed, Generating secrets and saving them, Syncing shoot cluster identity", &[Identity, Authorities, Networking]),
    step("dns",                  20,     30, "Deploying Kubernetes API server service, Deploying internal and external domain DNS records", &[Addresses]),
    step("etcd",                 35,     60, "Deploying main and events etcd, Waiting until main and event etcd report readiness", &[]),
    step("kube-apiserver",       55,     60, "Deploying Kubernetes API server, Waiting until Kubernetes API server rolled out", &[ApiUp]),
    step("observability",        90,     17, "Deploying Prometheus", &[]),
];

#[rustfmt::skip]
static RECONCILE: &[Step] = &[
    step("start",                 0,      3, "Shoot cluster reconciliation is starting.", &[]),
    step("secrets",               8,      7, "Generating secrets and saving them", &[Identity, Authorities]),
    step("infrastructure",       15,     10, "Deploying Shoot infrastructure", &[Networking]),
    step("dns",                  25,     10, "Deploying internal and external domain DNS records", &[Addresses]),
    step("etcd",                 32,     15, "Deploying main and events etcd", &[]),
    step("kube-apiserver",       42,     25, "Deploying Kubernetes API server, Waiting until Kubernetes API server rolled out", &[ApiUp]),
    step("system-components",    56,     15, "Deploying shoot network plugin, Deploying shoot system components", &[]),
    step("worker",               68,     10, "Configuring shoot worker pools", &[]),
    nodes("worker-wait",         75,     15, "Waiting until shoot worker nodes have been reconciled", &[Nodes]),
    step("observability",        94,     10, "Deploying Prometheus", &[]),
];

#[rustfmt::skip]
static HIBERNATE: &[Step] = &[
    step("start",                 0,      3, "Shoot cluster reconciliation is starting.", &[]),
    step("secrets",               8,      7, "Generating secrets and saving them", &[Identity, Authorities]),
    step("infrastructure",       18,     15, "Deploying Shoot infrastructure", &[]),
    step("kube-apiserver",       38,     20, "Deploying Kubernetes API server", &[]),
    step("worker-wait",          60,     85, "Waiting until shoot worker nodes have been terminated", &[NoNodes]),
    step("hibernate",            85,     40, "Hibernating control plane, Destroying internal and external domain DNS records", &[ApiDown]),
    step("observability",        95,     10, "Deploying Prometheus", &[]),
];

#[rustfmt::skip]
static WAKE: &[Step] = &[
    step("start",                 0,      3, "Shoot cluster reconciliation is starting.", &[]),
    step("secrets",               8,      7, "Generating secrets and saving them", &[Identity, Authorities]),
    step("infrastructure",       15,     20, "Deploying Shoot infrastructure", &[Networking]),
    step("dns",                  22,     20, "Deploying internal and external domain DNS records", &[Addresses]),
    step("etcd",                 32,     60, "Waking up control plane, Waiting until main and event etcd report readiness", &[]),
    step("kube-apiserver",       42,     60, "Deploying Kubernetes API server, Waiting until Kubernetes API server rolled out", &[ApiUp]),
    step("system-components",    58,     30, "Deploying shoot network plugin, Deploying shoot system components", &[]),
    nodes("worker-wait",         74,    145, "Waiting until shoot worker nodes have been reconciled", &[Nodes]),
    step("observability",        94,     15, "Deploying Prometheus", &[]),
];

#[rustfmt::skip]
static DELETE: &[Step] = &[
    step("start",                 0,      8, "Starting deletion of Shoot cluster", &[]),
    step("control-plane",        20,     50, "Deploying main and events etcd, Deploying Kubernetes API server", &[ApiUp]),
    step("cleanup",              40,     90, "Cleaning shoot cluster resources, Cleaning kubernetes resources", &[]),
    step("worker-wait",          50,    120, "Waiting until shoot worker nodes have been terminated", &[NoNodes]),
    step("kube-apiserver",       75,     30, "Destroying Kubernetes API server, Destroying control plane", &[ApiDown]),
    step("infrastructure",       85,     50, "Destroying shoot infrastructure, Destroying internal and external domain DNS records", &[]),
    step("namespace",            95,     10, "Deleting shoot namespace in Seed", &[]),
];

#[rustfmt::skip]
static FORCE_DELETE: &[Step] = &[
    step("start",                 0,      5, "Starting force deletion of Shoot cluster", &[]),
    step("kube-apiserver",       35,     25, "Deleting extension resources, Deleting control plane", &[ApiDown, NoNodes]),
    step("namespace",            80,     30, "Deleting shoot namespace in Seed", &[]),
];

impl Operation {
    /// Its steps.
    pub fn steps(self, workerless: bool) -> &'static [Step] {
        match self {
            Self::Create if workerless => CREATE_WORKERLESS,
            Self::Create => CREATE,
            Self::Reconcile => RECONCILE,
            Self::Hibernate => HIBERNATE,
            Self::Wake => WAKE,
            Self::Delete => DELETE,
            Self::ForceDelete => FORCE_DELETE,
        }
    }

    /// As it stands in `lastOperation.type`. A Shoot that was never created stays in `Create`.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Create => "Create",
            Self::Reconcile | Self::Hibernate | Self::Wake => "Reconcile",
            Self::Delete | Self::ForceDelete => "Delete",
        }
    }

    /// All of them, for tests over the tables.
    pub const ALL: [Self; 6] =
        [Self::Create, Self::Reconcile, Self::Hibernate, Self::Wake, Self::Delete, Self::ForceDelete];
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes(steps: &[Step]) -> u32 {
        (steps.iter().map(|step| step.seconds).sum::<u32>() + 30) / 60
    }

    #[test]
    fn operations_take_about_as_long_as_real_ones() {
        let took: Vec<u32> = Operation::ALL.iter().map(|operation| minutes(operation.steps(false))).collect();
        assert_eq!(took, [8, 2, 3, 6, 6, 1]);
        assert_eq!(minutes(Operation::Create.steps(true)), 3);
    }

    #[test]
    fn progress_rises_and_ids_are_unique_within_an_operation() {
        for operation in Operation::ALL {
            for workerless in [false, true] {
                let steps = operation.steps(workerless);
                assert_eq!(steps[0].progress, 0);
                assert!(steps.windows(2).all(|two| two[0].progress < two[1].progress), "{operation:?}");
                let mut ids: Vec<&str> = steps.iter().map(|step| step.id).collect();
                ids.sort_unstable();
                ids.dedup();
                assert_eq!(ids.len(), steps.len(), "{operation:?}");
            }
        }
    }

    #[test]
    fn the_api_answers_not_before_forty_percent_and_not_asleep() {
        let up = CREATE.iter().find(|step| step.effects.contains(&ApiUp)).expect("up");
        assert!(up.progress >= 40);
        assert!(HIBERNATE.iter().any(|step| step.effects.contains(&ApiDown) && step.progress >= 85));
    }
}
