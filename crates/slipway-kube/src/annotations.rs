//! Every annotation key, once.

/// On a Shoot: the Runtime it belongs to, by name. The reference's mark; [`RUNTIME_UID`] decides where it is there.
pub const RUNTIME_ID: &str = "infrastructuremanager.kyma-project.io/runtime-id";
/// On a Shoot and what is made beside it: the Runtime it belongs to, by uid. What names another one is never touched.
pub const RUNTIME_UID: &str = "infrastructuremanager.kyma-project.io/runtime-uid";
/// On a Shoot: the generation of the Runtime it was last rendered from.
pub const RUNTIME_GENERATION: &str = "infrastructuremanager.kyma-project.io/runtime-generation";
/// On a Shoot: the hash of everything it was last rendered from.
pub const INPUT_HASH: &str = "infrastructuremanager.kyma-project.io/input-hash";
/// On a Shoot: how often we asked for another attempt, as `<input hash>:<count>`.
pub const RETRIES: &str = "infrastructuremanager.kyma-project.io/retries";
/// On a GardenerCluster: the hash of what its cluster was last prepared with.
pub const PREPARED_HASH: &str = "infrastructuremanager.kyma-project.io/prepared-hash";
/// On a Shoot: the licence type of the customer.
pub const LICENCE_TYPE: &str = "infrastructuremanager.kyma-project.io/licence-type";

/// On a Runtime, value `true`: render and apply the Shoot in the next pass whatever the hash says.
pub const FORCE_PATCH: &str = "operator.kyma-project.io/force-patch-reconciliation";
/// On a Runtime, value `true`: do not patch the Shoot. Wins over [`FORCE_PATCH`].
pub const SUSPEND_PATCH: &str = "operator.kyma-project.io/suspend-patch-reconciliation";
/// On a Runtime, value `true` in any case: use [`crate::shoot::EXPERIMENTAL_AUDIT_POLICY`].
pub const EXPERIMENTAL_AUDIT_POLICY: &str = "operator.kyma-project.io/experimental-audit-policy";
/// On a Runtime, the uid of a Shoot: a person says that this Shoot is the Runtime's, whatever its mark says.
pub const ADOPT_SHOOT: &str = "operator.kyma-project.io/adopt-shoot";
/// On a Runtime, value `true`: a person confirms a deletion that is held.
pub const DELETION_CONFIRMED: &str = "operator.kyma-project.io/deletion-confirmed";

/// On a GardenerCluster: its presence asks for a new kubeconfig at once.
pub const FORCE_KUBECONFIG_ROTATION: &str = "operator.kyma-project.io/force-kubeconfig-rotation";
/// On a GardenerCluster: the DNS domain of its Shoot.
pub const SKR_DOMAIN: &str = "skr-domain";
/// On a kubeconfig Secret: when the kubeconfig was issued, RFC 3339 in UTC.
pub const LAST_SYNC: &str = "operator.kyma-project.io/last-sync";
/// On a kubeconfig Secret: when the kubeconfig expires, RFC 3339 in UTC.
pub const EXPIRES_AT: &str = "operator.kyma-project.io/expires-at";
/// On a kubeconfig Secret: what it was issued for, as a hash: the Shoot by uid, its address and its authority.
pub const ISSUED_FOR: &str = "operator.kyma-project.io/issued-for";
/// On a registry cache Secret in the garden: the name of what asked for the cache, in the customer's cluster.
pub const REGISTRY_CACHE_NAME: &str = "kyma-project.io/registry-cache-name";
/// On a registry cache Secret in the garden: the namespace of what asked for the cache.
pub const REGISTRY_CACHE_NAMESPACE: &str = "kyma-project.io/registry-cache-namespace";

/// On a Shoot, Gardener's: must be `true` before it takes a deletion.
pub const CONFIRM_DELETION: &str = "confirmation.gardener.cloud/deletion";
/// On a Shoot, Gardener's: operations it should run.
pub const GARDENER_OPERATION: &str = "gardener.cloud/operation";
/// On a Shoot, Gardener's: how long extension APIs may take to clean up before they are forced, in seconds.
pub const CLEANUP_EXTENDED_APIS: &str = "shoot.gardener.cloud/cleanup-extended-apis-finalize-grace-period-seconds";
/// On a Shoot, Gardener's: the same for Kubernetes resources.
pub const CLEANUP_RESOURCES: &str = "shoot.gardener.cloud/cleanup-kubernetes-resources-finalize-grace-period-seconds";
/// On a Shoot, Gardener's: the same for webhooks.
pub const CLEANUP_WEBHOOKS: &str = "shoot.gardener.cloud/cleanup-webhooks-finalize-grace-period-seconds";

/// On a Runtime, the provisioner's: the stored record it was made for. One without is nobody's whom the provisioner
/// knows, whatever it is called.
pub const RECORD: &str = "provisioner.slipway.io/record";
/// On a Runtime, the provisioner's: the operation that last wrote it.
pub const OPERATION_ID: &str = "provisioner.slipway.io/operation-id";
/// On a Runtime, the provisioner's: the runtime's name for people; free text does not fit a label.
pub const DISPLAY_NAME: &str = "provisioner.slipway.io/display-name";
/// On a Runtime, the provisioner's: what people say about it.
pub const DESCRIPTION: &str = "provisioner.slipway.io/description";
/// On a Runtime, the provisioner's: the labels of its registration that are no labels here, as JSON.
pub const DIRECTOR_LABELS: &str = "provisioner.slipway.io/director-labels";
