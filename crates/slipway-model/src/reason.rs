//! Who is to blame and why: the error vocabulary that users and operators see.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{state::spelled, text::BadText};

spelled! {
    /// The part a failure is charged to. An error of an inner system keeps the inner component.
    Component, "component" {
        /// The engine and our own logic.
        Keb => "keb",
        /// Our storage.
        Db => "db - keb",
        /// Calls to any Kubernetes API.
        K8sClient => "k8s client - keb",
        /// The provisioner.
        Provisioner => "provisioner",
        /// The infrastructure manager.
        InfrastructureManager => "infrastructure-manager",
        /// The reconciler.
        Reconciler => "reconciler",
        /// The lifecycle manager.
        LifecycleManager => "lifecycle-manager",
        /// Availability evaluations.
        Avs => "avs",
        /// The event data platform.
        Edp => "edp",
        /// The identity service.
        Ias => "ias",
        /// The BTP manager.
        BtpManager => "btp-manager",
        /// The pool of hyperscaler accounts.
        AccountPool => "account-pool",
        /// The director.
        Director => "director",
        /// The same in the provisioner's words, which its clients match on; so are all that follow.
        CompassDirector => "compass director",
        /// Our way to the Director, when it does not answer or not as agreed.
        CompassDirectorClient => "compass director client",
        /// Whoever issues our tokens for the Director.
        TokenIssuer => "mps oauth2",
        /// The agent's connection.
        CompassConnection => "compass connection",
        /// Whoever installs Kyma.
        KymaInstaller => "kyma installer",
        /// Gardener.
        Gardener => "gardener",
        /// The provisioner's storage.
        ProvisionerDb => "db - provisioner",
        /// The provisioner's calls to the control plane.
        ProvisionerK8s => "k8s client - provisioner",
        /// The provisioner's calls to a customer's cluster.
        ClusterK8s => "k8s client - cluster",
        /// The infrastructure manager, as the provisioner spells it.
        Infrastructure => "infrastructure manager",
    }
}

/// Declares [`Reason`]: the reasons we give ourselves, and [`Reason::Foreign`] for those that come
/// from outside (a Kubernetes status reason, a condition of a Runtime).
macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident => $text:literal,)+) => {
        /// Why an operation failed or a request was refused. Each reason of ours has a page in `docs/errors/`.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum Reason {
            $($(#[$doc])* $variant,)+
            /// A word of another system, kept as it came.
            Foreign(Foreign),
        }

        impl Reason {
            /// The reasons of our own, each with a page.
            pub const OWN: &'static [Self] = &[$(Self::$variant),+];

            /// The contract spelling.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)+
                    Self::Foreign(Foreign(word)) => word,
                }
            }

            /// What another system, or what is stored, gives as the reason. A word of ours stays ours.
            pub fn foreign(word: impl Into<String>) -> Self {
                let word = word.into();
                match word.as_str() {
                    $($text => Self::$variant,)+
                    _ => Self::Foreign(Foreign(word)),
                }
            }
        }
    };
}

/// A word that only [`Reason::foreign`] makes, so none of ours is ever taken for one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Foreign(String);

reasons! {
    /// A defect of ours, a panic among them.
    KebInternal => "err_keb_internal",
    /// A budget is spent.
    KebTimeout => "err_keb_timeout",
    /// A row that must exist does not.
    DbNotFound => "err_db_not_found",
    /// Somebody else kept changing the same row.
    DbConflict => "err_db_conflict",
    /// The database refused or broke.
    DbInternal => "err_db_internal",
    /// An outside system answered with a status we cannot use.
    HttpStatusCode => "err_http_status_code",
    /// A stage of the provisioner has reached its deadline.
    ProvisionerTimeout => "err_provisioner_timeout",
    /// An installation of Kyma could not be started.
    TriggerKymaInstall => "err_trigger_kyma_install",
    /// The state of an installation of Kyma could not be read, or is an error.
    CheckKymaInstallationState => "err_check_kyma_installation_state",
    /// A removal of Kyma could not be started.
    TriggerKymaUninstall => "err_trigger_kyma_uninstall",
    /// The agent did not connect.
    AgentConnection => "err_agent_connection",
    /// The Runtime resource is gone although nobody asked for that.
    RuntimeGone => "err_runtime_gone",
    /// The infrastructure manager has given up and does not say why.
    RuntimeFailed => "err_runtime_failed",
    /// Gardener reports an error without a code.
    Gardener => "err_gardener",
    /// The kubeconfig of a cluster leads nowhere.
    Kubeconfig => "err_kubeconfig",
    /// A defect of the provisioner, or something it needs is away.
    ProvisionerInternal => "err_provisioner_internal",
    /// A name that was drawn is taken.
    DbAlreadyExists => "err_db_already_exists",
    /// The Director answered nothing that can be read.
    DirectorNilResponse => "err_director_nil_response",
    /// The Director has the name for another runtime.
    DirectorRuntimeIdMismatch => "err_director_runtime_id_mismatch",
    /// The request is wrong.
    Validation => "err_validation",
    /// A field that cannot change.
    ImmutableField => "err_immutable_field",
    /// No token, or not a good one.
    Unauthenticated => "err_unauthenticated",
    /// The token does not allow this.
    Forbidden => "err_forbidden",
    /// No tenant is named.
    TenantMissing => "err_tenant_missing",
    /// The runtime belongs to another tenant.
    TenantMismatch => "err_tenant_mismatch",
    /// Another operation of the runtime has not ended.
    OperationInProgress => "err_operation_in_progress",
    /// The name belongs to another runtime.
    RuntimeNameConflict => "err_runtime_name_conflict",
    /// The last operation failed, and only a removal helps.
    RuntimeNeedsDeprovisioning => "err_runtime_needs_deprovisioning",
    /// Kyma was not installed by us.
    KymaNotManaged => "err_kyma_not_managed",
    /// There is no upgrade to take back.
    RollbackNotAllowed => "err_rollback_not_allowed",
    /// The cluster sleeps.
    RuntimeHibernated => "err_runtime_hibernated",
    /// Gardener does not let the cluster sleep.
    HibernationNotPossible => "err_hibernation_not_possible",
}

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        reason.as_str().to_owned()
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Reason {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::foreign)
    }
}

/// What made an operation fail. Never empty on a failed operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastError {
    /// The details, for operators. Users see the operation's description instead.
    pub message: String,
    /// Why.
    pub reason: Reason,
    /// Who is to blame.
    pub component: Component,
    /// The step that failed; empty when the engine itself ended the operation.
    pub step: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_read_back_and_foreign_ones_are_kept() {
        for reason in Reason::OWN {
            assert_eq!(&Reason::foreign(reason.as_str()), reason);
        }
        assert_eq!(Reason::foreign("NotFound").as_str(), "NotFound");
    }

    #[test]
    fn components_read_back() {
        for component in Component::ALL {
            assert_eq!(component.as_str().parse::<Component>().as_ref(), Ok(component));
        }
    }
}
