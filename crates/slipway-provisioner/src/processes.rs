//! The provisioner's processes: one table each. A table in use is never edited: copy it, raise the
//! version, and keep the old one until no unfinished operation needs it.
//!
//! The names of the stages are contract: clients read them. Every deadline of a stage is in
//! [`Deadlines`](crate::deadlines::Deadlines); the budget of a table only ends what those have missed.

pub mod deprovision;
pub mod deprovision_no_install;
pub mod hibernate;
pub mod provision;
pub mod provision_no_install;
pub mod reconnect;
pub mod upgrade;
pub mod upgrade_shoot;
pub mod wake_up;

pub use deprovision::DEPROVISION;
pub use deprovision_no_install::DEPROVISION_NO_INSTALL;
pub use hibernate::HIBERNATE;
pub use provision::PROVISION;
pub use provision_no_install::PROVISION_NO_INSTALL;
pub use reconnect::RECONNECT;
pub use upgrade::UPGRADE;
pub use upgrade_shoot::UPGRADE_SHOOT;
pub use wake_up::WAKE_UP;

use slipway_engine::{ProcessTable, Registry, TableError};

use crate::domain::Provisioner;

/// All tables.
pub static TABLES: &[&ProcessTable<Provisioner>] = &[
    &PROVISION,
    &PROVISION_NO_INSTALL,
    &UPGRADE,
    &UPGRADE_SHOOT,
    &DEPROVISION,
    &DEPROVISION_NO_INSTALL,
    &RECONNECT,
    &HIBERNATE,
    &WAKE_UP,
];

/// All processes the provisioner can run.
pub fn registry() -> Result<Registry<Provisioner>, TableError> {
    TABLES.iter().try_fold(Registry::default(), |registry, table| registry.with(table))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OperationKind;

    #[test]
    fn every_kind_of_operation_has_its_process_and_every_process_its_kind() {
        let registry = registry().expect("all tables are right");
        for kind in OperationKind::all() {
            assert!(registry.newest(kind.process_name()).is_some(), "{} has no process", kind.as_str());
        }
        for process in registry.processes() {
            let kind = OperationKind::of(&process.key).unwrap_or_else(|| panic!("{} has no kind", process.key));
            assert_eq!(process.kind, kind.engine_type(), "{}", process.key);
        }
    }
}
