//! Types and states of operations, and which state may follow which.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::text::BadText;

/// Declares an enum whose variants have one spelling everywhere: database, JSON, metrics, logs.
macro_rules! spelled {
    ($(#[$doc:meta])* $name:ident, $what:literal { $($(#[$vdoc:meta])* $variant:ident => $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $text)] $variant,)+
        }

        impl $name {
            /// Every variant, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The contract spelling.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }

        impl FromStr for $name {
            type Err = BadText;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err(BadText::new($what, text, concat!("is none of:", $(" ", $text, ";"),+))),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use spelled;

spelled! {
    /// What an operation does to its instance. A suspension is a `deprovision` marked temporary.
    OperationType, "operation type" {
        /// Makes a runtime, or brings back a suspended one.
        Provision => "provision",
        /// Removes a runtime, for good or (temporary) as a suspension.
        Deprovision => "deprovision",
        /// Changes parameters of a runtime.
        Update => "update",
        /// Raises the Kyma version.
        UpgradeKyma => "upgradeKyma",
        /// Raises the Kubernetes version.
        UpgradeCluster => "upgradeCluster",
    }
}

spelled! {
    /// Operations of one class share slots, so that a burst of one kind cannot starve another.
    Class, "operation class" {
        /// Provisionings.
        Provision => "provision",
        /// Deprovisionings.
        Deprovision => "deprovision",
        /// Updates.
        Update => "update",
        /// Both kinds of upgrades.
        Upgrade => "upgrade",
    }
}

spelled! {
    /// Where an operation stands. The spelling with a space is contract.
    OperationState, "operation state" {
        /// Accepted, not yet begun: another operation of the instance may be running.
        Pending => "pending",
        /// Its process is running or waiting.
        InProgress => "in progress",
        /// Asked to stop, still cleaning up.
        Canceling => "canceling",
        /// Shown for an upgrade whose orchestration tries it again.
        Retrying => "retrying",
        /// Ended well.
        Succeeded => "succeeded",
        /// Ended with an error on record.
        Failed => "failed",
        /// Ended because someone asked for it.
        Canceled => "canceled",
    }
}

impl OperationType {
    /// The slots this type runs in.
    pub const fn class(self) -> Class {
        match self {
            Self::Provision => Class::Provision,
            Self::Deprovision => Class::Deprovision,
            Self::Update => Class::Update,
            Self::UpgradeKyma | Self::UpgradeCluster => Class::Upgrade,
        }
    }

    /// Upgrades may stay pending for days until their maintenance window; their budget starts
    /// with the work. Everyone else has a customer waiting, so queueing counts.
    pub const fn budget_counts_queueing(self) -> bool {
        match self {
            Self::Provision | Self::Deprovision | Self::Update => true,
            Self::UpgradeKyma | Self::UpgradeCluster => false,
        }
    }
}

impl OperationState {
    /// Nothing more will happen to it.
    pub const fn is_finished(self) -> bool {
        match self {
            Self::Succeeded | Self::Failed | Self::Canceled => true,
            Self::Pending | Self::InProgress | Self::Canceling | Self::Retrying => false,
        }
    }

    /// Holds the instance: at most one operation of an instance is in such a state.
    pub const fn occupies_instance(self) -> bool {
        matches!(self, Self::InProgress | Self::Canceling)
    }

    /// The one table of allowed changes; the stores refuse all others.
    pub const fn may_become(self, next: Self) -> bool {
        use OperationState::{Canceled, Canceling, Failed, InProgress, Pending, Retrying, Succeeded};
        match self {
            Pending => matches!(next, InProgress | Canceled | Succeeded | Failed),
            InProgress => matches!(next, Succeeded | Failed | Canceled | Canceling),
            Canceling => matches!(next, Canceled | Failed),
            Retrying => matches!(next, InProgress | Canceled | Failed),
            Succeeded | Failed | Canceled => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_read_back() {
        for state in OperationState::ALL {
            assert_eq!(state.as_str().parse::<OperationState>().as_ref(), Ok(state));
        }
        let error = "done".parse::<OperationState>().expect_err("no such state").to_string();
        assert!(error.contains("in progress;"), "{error}");
    }

    #[test]
    fn a_finished_operation_never_changes_again() {
        for from in OperationState::ALL.iter().filter(|s| s.is_finished()) {
            for to in OperationState::ALL {
                assert!(!from.may_become(*to), "{from} -> {to}");
            }
        }
    }
}
