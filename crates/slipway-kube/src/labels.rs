//! Every label key, once.

/// The service instance a runtime belongs to.
pub const INSTANCE_ID: &str = "kyma-project.io/instance-id";
/// The runtime itself; name of the GardenerCluster and end of the Secret's name.
pub const RUNTIME_ID: &str = "kyma-project.io/runtime-id";
/// The cloud region.
pub const REGION: &str = "kyma-project.io/region";
/// The region of the platform that asked.
pub const PLATFORM_REGION: &str = "kyma-project.io/platform-region";
/// The name of the Kyma resource; by it the lifecycle manager finds the kubeconfig.
pub const KYMA_NAME: &str = "operator.kyma-project.io/kyma-name";
/// The plan, by id.
pub const BROKER_PLAN_ID: &str = "kyma-project.io/broker-plan-id";
/// The plan, by name.
pub const BROKER_PLAN_NAME: &str = "kyma-project.io/broker-plan-name";
/// The customer's global account.
pub const GLOBAL_ACCOUNT_ID: &str = "kyma-project.io/global-account-id";
/// The customer's subaccount.
pub const SUBACCOUNT_ID: &str = "kyma-project.io/subaccount-id";
/// The name of the Shoot.
pub const SHOOT_NAME: &str = "kyma-project.io/shoot-name";
/// The cloud provider.
pub const PROVIDER: &str = "kyma-project.io/provider";
/// Whether the customer runs production there; not interpreted by us.
pub const USED_FOR_PRODUCTION: &str = "operator.kyma-project.io/used-for-production";
/// Who keeps an object up to date; [`MANAGED_BY_US`] where it is us.
pub const MANAGED_BY: &str = "operator.kyma-project.io/managed-by";
/// The value of the labels that name us.
pub const MANAGED_BY_US: &str = "infrastructure-manager";
/// Marks what customers do not see.
pub const INTERNAL: &str = "operator.kyma-project.io/internal";
/// On a kubeconfig Secret: the GardenerCluster it belongs to.
pub const CLUSTER_NAME: &str = "operator.kyma-project.io/cluster-name";
/// In a customer's cluster: who keeps an object up to date.
pub const RECONCILER_MANAGED_BY: &str = "reconciler.kyma-project.io/managed-by";
/// On a registry cache Secret in the garden: the cache it belongs to.
pub const REGISTRY_CACHE_ID: &str = "kyma-project.io/registry-cache-id";
/// On a registry cache Secret in the garden: who keeps it up to date.
pub const APP_MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// On a registry cache Secret in the garden: to be removed once no Shoot refers to it.
pub const DIRTY: &str = "kyma-project.io/dirty";

/// On a Shoot: the global account.
pub const SHOOT_ACCOUNT: &str = "account";
/// On a Shoot: the subaccount.
pub const SHOOT_SUBACCOUNT: &str = "subaccount";
/// On a Seed, Gardener's: its region.
pub const SEED_REGION: &str = "seed.gardener.cloud/region";

/// What a Runtime must carry, with a value, before a Shoot is rendered from it.
pub const REQUIRED: [&str; 8] =
    [INSTANCE_ID, RUNTIME_ID, REGION, KYMA_NAME, BROKER_PLAN_ID, BROKER_PLAN_NAME, GLOBAL_ACCOUNT_ID, SUBACCOUNT_ID];
