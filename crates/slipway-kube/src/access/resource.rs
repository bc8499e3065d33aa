//! The kinds we touch: static, so that no call has to ask a server what it serves.

/// A kind of object, as the API serves it.
#[derive(Debug, PartialEq, Eq)]
pub struct Resource {
    /// Group; empty for the core.
    pub group: &'static str,
    /// Version.
    pub version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// The word in paths.
    pub plural: &'static str,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
}

const fn row(group: &'static str, version: &'static str, kind: &'static str, plural: &'static str) -> Resource {
    Resource { group, version, kind, plural, namespaced: true }
}

const fn global(group: &'static str, version: &'static str, kind: &'static str, plural: &'static str) -> Resource {
    Resource { group, version, kind, plural, namespaced: false }
}

/// Runtimes, on the control plane.
pub static RUNTIMES: Resource = row("infrastructuremanager.kyma-project.io", "v1", "Runtime", "runtimes");
/// Clusters whose kubeconfig is kept fresh, on the control plane.
pub static GARDENER_CLUSTERS: Resource =
    row("infrastructuremanager.kyma-project.io", "v1", "GardenerCluster", "gardenerclusters");
/// Shoots, in the garden.
pub static SHOOTS: Resource = row("core.gardener.cloud", "v1beta1", "Shoot", "shoots");
/// Seeds, in the garden.
pub static SEEDS: Resource = global("core.gardener.cloud", "v1beta1", "Seed", "seeds");
/// Secrets.
pub static SECRETS: Resource = row("", "v1", "Secret", "secrets");
/// ConfigMaps.
pub static CONFIG_MAPS: Resource = row("", "v1", "ConfigMap", "configmaps");
/// Namespaces.
pub static NAMESPACES: Resource = global("", "v1", "Namespace", "namespaces");
/// Events.
pub static EVENTS: Resource = row("", "v1", "Event", "events");
/// Leases.
pub static LEASES: Resource = row("coordination.k8s.io", "v1", "Lease", "leases");
/// Bindings of cluster roles.
pub static CLUSTER_ROLE_BINDINGS: Resource =
    global("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings");
/// Login of customers, in their clusters.
pub static OPEN_ID_CONNECTS: Resource =
    global("authentication.gardener.cloud", "v1alpha1", "OpenIDConnect", "openidconnects");
/// What customers want of Kyma, in their clusters.
pub static KYMAS: Resource = row("operator.kyma-project.io", "v1beta2", "Kyma", "kymas");
/// Caches of image registries that customers ask for, in their clusters.
pub static REGISTRY_CACHE_CONFIGS: Resource =
    row("core.kyma-project.io", "v1beta1", "RegistryCacheConfig", "registrycacheconfigs");
/// Connections of agents, in customers' clusters.
pub static COMPASS_CONNECTIONS: Resource =
    global("compass.kyma-project.io", "v1alpha1", "CompassConnection", "compassconnections");
/// Brokers of outside services, in customers' clusters.
pub static CLUSTER_SERVICE_BROKERS: Resource =
    global("servicecatalog.k8s.io", "v1beta1", "ClusterServiceBroker", "clusterservicebrokers");
/// Services those offer.
pub static CLUSTER_SERVICE_CLASSES: Resource =
    global("servicecatalog.k8s.io", "v1beta1", "ClusterServiceClass", "clusterserviceclasses");
/// Services that customers have.
pub static SERVICE_INSTANCES: Resource = row("servicecatalog.k8s.io", "v1beta1", "ServiceInstance", "serviceinstances");
/// Definitions of kinds.
pub static CUSTOM_RESOURCE_DEFINITIONS: Resource =
    global("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions");

impl Resource {
    /// `apiVersion` of its objects.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Where its objects are, of one namespace or (empty) of all.
    pub fn path(&self, namespace: &str) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        let inside = match namespace {
            "" => String::new(),
            namespace if self.namespaced => format!("/namespaces/{namespace}"),
            _ => String::new(),
        };
        format!("{root}/{}{inside}/{}", self.api_version(), self.plural)
    }
}
