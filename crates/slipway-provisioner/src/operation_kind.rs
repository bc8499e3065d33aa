//! What an operation does, in the provisioner's words, and how the engine knows it.
//!
//! The engine has few types, because they only choose slots and budgets; the published contract has
//! more. The process name tells them apart, so nothing has to be stored twice. One table maps both
//! ways, and a test walks it.

use slipway_model::{OperationType, ProcessKey};

/// What an operation of the provisioner does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OperationKind {
    /// Makes a cluster and installs Kyma.
    Provision,
    /// Makes a cluster.
    ProvisionNoInstall,
    /// Changes Kyma, the Kubernetes version, or both.
    Upgrade,
    /// Changes the cluster.
    UpgradeShoot,
    /// Uninstalls Kyma and removes the cluster.
    Deprovision,
    /// Removes the cluster.
    DeprovisionNoInstall,
    /// Makes the agent connect anew.
    ReconnectRuntime,
    /// Puts the cluster to sleep.
    Hibernate,
    /// Wakes the cluster up.
    WakeUp,
}

/// One row of the table.
struct Row {
    kind: OperationKind,
    /// The word on the wire.
    spelled: &'static str,
    /// The name of its process.
    process: &'static str,
    engine: OperationType,
    /// The sentence a client reads right after it was accepted.
    accepted: &'static str,
}

use OperationKind as Kind;
use OperationType as Engine;

#[rustfmt::skip]
static TABLE: &[Row] = &[
    row(Kind::Provision,            "Provision",            "provisioner_provision",              Engine::Provision,   "Provisioning started"),
    row(Kind::ProvisionNoInstall,   "ProvisionNoInstall",   "provisioner_provision_no_install",   Engine::Provision,   "Provisioning started"),
    row(Kind::Upgrade,              "Upgrade",              "provisioner_upgrade",                Engine::UpgradeKyma, "Upgrade started"),
    row(Kind::UpgradeShoot,         "UpgradeShoot",         "provisioner_upgrade_shoot",          Engine::Update,      "Upgrade of the cluster started"),
    row(Kind::Deprovision,          "Deprovision",          "provisioner_deprovision",            Engine::Deprovision, "Deprovisioning started"),
    row(Kind::DeprovisionNoInstall, "DeprovisionNoInstall", "provisioner_deprovision_no_install", Engine::Deprovision, "Deprovisioning started"),
    row(Kind::ReconnectRuntime,     "ReconnectRuntime",     "provisioner_reconnect",              Engine::Update,      "Reconnecting the agent started"),
    row(Kind::Hibernate,            "Hibernate",            "provisioner_hibernate",              Engine::Update,      "Hibernation started"),
    row(Kind::WakeUp,               "WakeUp",               "provisioner_wake_up",                Engine::Update,      "Waking up started"),
];

const fn row(
    kind: OperationKind,
    spelled: &'static str,
    process: &'static str,
    engine: OperationType,
    accepted: &'static str,
) -> Row {
    Row { kind, spelled, process, engine, accepted }
}

impl OperationKind {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.kind)
    }

    fn row(self) -> &'static Row {
        TABLE.iter().find(|row| row.kind == self).expect("a test walks the table and finds every kind")
    }

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        self.row().spelled
    }

    /// The name of its process, in all versions.
    pub fn process_name(self) -> &'static str {
        self.row().process
    }

    /// What the engine takes it for.
    pub fn engine_type(self) -> OperationType {
        self.row().engine
    }

    /// The sentence a client reads right after it was accepted.
    pub fn accepted(self) -> &'static str {
        self.row().accepted
    }

    /// The kind of an operation with this process, in whatever version; none for the operations of others.
    pub fn of(process: &ProcessKey) -> Option<Self> {
        TABLE.iter().find(|row| row.process == process.name).map(|row| row.kind)
    }

    /// Makes a cluster.
    pub fn provisions(self) -> bool {
        matches!(self, Self::Provision | Self::ProvisionNoInstall)
    }

    /// Removes a cluster.
    pub fn deprovisions(self) -> bool {
        matches!(self, Self::Deprovision | Self::DeprovisionNoInstall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a wildcard, so that a new kind cannot be forgotten here.
    fn is_known(kind: OperationKind) -> bool {
        match kind {
            Kind::Provision
            | Kind::ProvisionNoInstall
            | Kind::Upgrade
            | Kind::UpgradeShoot
            | Kind::Deprovision
            | Kind::DeprovisionNoInstall
            | Kind::ReconnectRuntime
            | Kind::Hibernate
            | Kind::WakeUp => true,
        }
    }

    #[test]
    fn every_kind_has_one_row_and_reads_back_from_its_process() {
        assert_eq!(TABLE.len(), 9);
        for kind in OperationKind::all() {
            assert!(is_known(kind));
            assert_eq!(TABLE.iter().filter(|row| row.kind == kind).count(), 1);
            for version in [1, 2, 40] {
                let process = ProcessKey { name: kind.process_name().to_owned(), version };
                assert_eq!(OperationKind::of(&process), Some(kind));
            }
            assert_eq!(TABLE.iter().filter(|row| row.spelled == kind.as_str()).count(), 1);
        }
        assert_eq!(OperationKind::of(&"provision@1".parse().expect("a process")), None);
    }
}
