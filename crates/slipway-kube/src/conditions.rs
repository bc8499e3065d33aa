//! The conditions of a Runtime: types, reasons, and which status goes with which reason.
//!
//! Others match on these words, so they are enums: a word that is not in the catalogue cannot be
//! written. Messages are for people and free.

/// An enum whose variants are words of the contract.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$variant_doc])* #[doc = concat!("`", $word, "`")] $variant,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The word on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use words;

words! {
    /// What a condition is about.
    Type {
        Provisioned = "Provisioned",
        KubeconfigReady = "KubeconfigReady",
        KymaSystemNsCreated = "KymaSystemNSCreated",
        OidcAndConfigMapConfigured = "OidcAndConfigMapConfigured",
        RegistryCacheConfigured = "RegistryCacheConfigured",
        RuntimeBootstrapperReady = "RuntimeBootstrapperReady",
        Configured = "Configured",
        CustomAuditLogConfigured = "CustomAuditLogConfigured",
        AuditLogCredentialsCopied = "AuditLogCredentialsCopied",
        Deprovisioned = "Deprovisioned",
    }
}

words! {
    /// Why a condition has its status.
    Reason {
        Initialised = "Initialised",
        Pending = "Pending",
        ShootCreationCompleted = "ShootCreationCompleted",
        Processing = "Processing",
        ConfigurationCompleted = "ConfigurationCompleted",
        ProcessingErr = "ProcessingErr",
        CreationErr = "CreationErr",
        GardenerErr = "GardenerErr",
        ConversionErr = "ConversionErr",
        AuditLogErr = "AuditLogErr",
        CustomAuditLogErr = "CustomAuditLogErr",
        OidcConfigurationErr = "OidcConfigurationErr",
        SeedNotFound = "SeedNotFound",
        GardenerClusterCrCreated = "GardenerClusterCRCreated",
        GardenerClusterCrReady = "GardenerClusterCRReady",
        KubernetesErr = "KubernetesErr",
        KymaSystemNsReady = "KymaSystemNSReady",
        KymaSystemNsError = "KymaSystemNSError",
        OidcAndConfigMapsConfigured = "OidcAndConfigMapsConfigured",
        ConfigMapErr = "ConfigMapErr",
        RegistryCacheConfigured = "RegistryCacheConfigured",
        RegistryCacheError = "RegistryCacheError",
        RegistryCacheGardenClusterConfigurationFailed = "RegistryCacheGardenClusterConfigurationFailed",
        RegistryCacheGardenClusterCleanupFailed = "RegistryCacheGardenClusterCleanupFailed",
        RuntimeBootstrapperConfigured = "RuntimeBootstrapperConfigured",
        RuntimeBootstrapperStatusUnknown = "RuntimeBootstrapperStatusUnknown",
        RuntimeBootstrapperInstallationFailed = "RuntimeBootstrapperInstallationFailed",
        RuntimeBootstrapperInstallationInProgress = "RuntimeBootstrapperInstallationInProgress",
        RuntimeBootstrapperUpgradeFailed = "RuntimeBootstrapperUpgradeFailed",
        RuntimeBootstrapperUpgradeInProgress = "RuntimeBootstrapperUpgradeInProgress",
        RuntimeBootstrapperConfigurationFailed = "RuntimeBootstrapperConfigurationFailed",
        AdministratorsConfigured = "AdministratorsConfigured",
        ConfigurationError = "ConfigurationError",
        CustomAuditLogConfigured = "CustomAuditLogConfigured",
        CredentialsCopied = "CredentialsCopied",
        CredentialsCopyErr = "CredentialsCopyErr",
        GardenerClusterCrDeleted = "GardenerClusterCRDeleted",
        GardenerShootDeleted = "GardenerShootDeleted",
        StructuredConfigDeleted = "StructuredConfigDeleted",
    }
}

words! {
    /// The status of a condition.
    Status {
        True = "True",
        False = "False",
        Unknown = "Unknown",
    }
}

use Reason as R;
use Status::{False, True, Unknown};

/// A reason, and the statuses it may come with.
pub type Allowed = (Reason, &'static [Status]);

/// Which reasons a type may have, each with the statuses it may come with.
pub static CATALOGUE: &[(Type, &[Allowed])] = &[
    (
        Type::Provisioned,
        &[
            (R::Initialised, &[Unknown]),
            (R::Pending, &[Unknown]),
            (R::ShootCreationCompleted, &[True]),
            (R::Processing, &[Unknown, True]),
            (R::ConfigurationCompleted, &[True]),
            (R::ProcessingErr, &[False]),
            (R::CreationErr, &[False]),
            (R::GardenerErr, &[False]),
            (R::ConversionErr, &[False]),
            (R::AuditLogErr, &[False]),
            (R::CustomAuditLogErr, &[False]),
            (R::OidcConfigurationErr, &[False]),
            (R::SeedNotFound, &[False]),
        ],
    ),
    (
        Type::KubeconfigReady,
        &[
            (R::GardenerClusterCrCreated, &[Unknown]),
            (R::GardenerClusterCrReady, &[True]),
            (R::KubernetesErr, &[False]),
        ],
    ),
    (Type::KymaSystemNsCreated, &[(R::KymaSystemNsReady, &[True]), (R::KymaSystemNsError, &[False])]),
    (
        Type::OidcAndConfigMapConfigured,
        &[
            (R::OidcAndConfigMapsConfigured, &[True]),
            (R::OidcConfigurationErr, &[Unknown, False]),
            (R::ConfigMapErr, &[Unknown, False]),
        ],
    ),
    (
        Type::RegistryCacheConfigured,
        &[
            (R::RegistryCacheConfigured, &[True]),
            (R::RegistryCacheError, &[False]),
            (R::RegistryCacheGardenClusterConfigurationFailed, &[False]),
            (R::RegistryCacheGardenClusterCleanupFailed, &[False]),
        ],
    ),
    (
        Type::RuntimeBootstrapperReady,
        &[
            (R::RuntimeBootstrapperConfigured, &[True]),
            (R::RuntimeBootstrapperStatusUnknown, &[Unknown]),
            (R::RuntimeBootstrapperInstallationFailed, &[False]),
            (R::RuntimeBootstrapperInstallationInProgress, &[Unknown, False]),
            (R::RuntimeBootstrapperUpgradeFailed, &[False]),
            (R::RuntimeBootstrapperUpgradeInProgress, &[Unknown, False]),
            (R::RuntimeBootstrapperConfigurationFailed, &[False]),
        ],
    ),
    (Type::Configured, &[(R::AdministratorsConfigured, &[True]), (R::ConfigurationError, &[False])]),
    (Type::CustomAuditLogConfigured, &[(R::CustomAuditLogConfigured, &[True]), (R::CustomAuditLogErr, &[False])]),
    (Type::AuditLogCredentialsCopied, &[(R::CredentialsCopied, &[True]), (R::CredentialsCopyErr, &[False])]),
    (
        Type::Deprovisioned,
        &[
            (R::GardenerClusterCrDeleted, &[Unknown, True]),
            (R::GardenerShootDeleted, &[Unknown, True]),
            (R::StructuredConfigDeleted, &[Unknown, True]),
            (R::GardenerErr, &[False]),
            (R::KubernetesErr, &[False]),
        ],
    ),
];

/// Whether the catalogue knows this combination.
pub fn is_allowed(of: Type, reason: Reason, status: Status) -> bool {
    CATALOGUE
        .iter()
        .filter(|(row, _)| *row == of)
        .flat_map(|(_, reasons)| *reasons)
        .any(|(allowed, statuses)| *allowed == reason && statuses.contains(&status))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_type_has_one_row_and_every_reason_is_used() {
        let rows: Vec<_> = CATALOGUE.iter().map(|(of, _)| *of).collect();
        assert_eq!(rows, Type::ALL);
        let used: BTreeSet<_> = CATALOGUE.iter().flat_map(|(_, reasons)| *reasons).map(|(reason, _)| *reason).collect();
        assert_eq!(used, Reason::ALL.iter().copied().collect());
    }

    #[test]
    fn words_are_unique() {
        let words: BTreeSet<_> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
        assert_eq!(words.len(), Reason::ALL.len());
    }

    #[test]
    fn a_reason_of_another_type_is_not_allowed() {
        assert!(is_allowed(Type::Provisioned, R::Processing, True));
        assert!(!is_allowed(Type::Provisioned, R::KubernetesErr, False));
        assert!(!is_allowed(Type::Configured, R::AdministratorsConfigured, False));
    }
}
