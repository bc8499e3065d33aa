//! How lists and maps of the built-in kinds merge.
//!
//! k8s-openapi drops Kubernetes' extensions, but apply needs to know which items of a list are the
//! same (`x-kubernetes-list-type`), and strategic merge patches what they merge by. The facts are
//! those of the published API description of Kubernetes 1.36; a list without a row is atomic.

use serde_json::{Map, Value, json};

/// Definition, field, list type with its keys, patch strategy, patch merge key.
type List = (&'static str, &'static str, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const LISTS: &[List] = &[
    ("admissionregistration.v1.MutatingWebhook", "matchConditions", "map:name", "merge", "name"),
    ("admissionregistration.v1.MutatingWebhookConfiguration", "webhooks", "map:name", "merge", "name"),
    ("admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec", "validationActions", "set", "", ""),
    ("admissionregistration.v1.ValidatingAdmissionPolicySpec", "matchConditions", "map:name", "merge", "name"),
    ("admissionregistration.v1.ValidatingAdmissionPolicySpec", "variables", "map:name", "merge", "name"),
    ("admissionregistration.v1.ValidatingAdmissionPolicyStatus", "conditions", "map:type", "", ""),
    ("admissionregistration.v1.ValidatingWebhook", "matchConditions", "map:name", "merge", "name"),
    ("admissionregistration.v1.ValidatingWebhookConfiguration", "webhooks", "map:name", "merge", "name"),
    ("apiextensions.v1.CustomResourceDefinitionStatus", "conditions", "map:type", "", ""),
    ("apiextensions.v1.JSONSchemaProps", "x-kubernetes-validations", "map:rule", "merge", "rule"),
    ("apiregistration.v1.APIServiceStatus", "conditions", "map:type", "merge", "type"),
    ("apps.v1.DaemonSetStatus", "conditions", "map:type", "merge", "type"),
    ("apps.v1.DeploymentSpec", "strategy", "", "retainKeys", ""),
    ("apps.v1.DeploymentStatus", "conditions", "map:type", "merge", "type"),
    ("apps.v1.ReplicaSetStatus", "conditions", "map:type", "merge", "type"),
    ("apps.v1.StatefulSetStatus", "conditions", "map:type", "merge", "type"),
    ("batch.v1.JobStatus", "conditions", "atomic", "merge", "type"),
    ("batch.v1.PodFailurePolicyOnExitCodesRequirement", "values", "set", "", ""),
    ("batch.v1.UncountedTerminatedPods", "failed", "set", "", ""),
    ("batch.v1.UncountedTerminatedPods", "succeeded", "set", "", ""),
    ("certificates.v1.CertificateSigningRequestStatus", "conditions", "map:type", "", ""),
    ("core.v1.Container", "env", "map:name", "merge", "name"),
    ("core.v1.Container", "ports", "map:containerPort,protocol", "merge", "containerPort"),
    ("core.v1.Container", "volumeDevices", "map:devicePath", "merge", "devicePath"),
    ("core.v1.Container", "volumeMounts", "map:mountPath", "merge", "mountPath"),
    ("core.v1.ContainerStatus", "allocatedResourcesStatus", "map:name", "merge", "name"),
    ("core.v1.ContainerStatus", "volumeMounts", "map:mountPath", "merge", "mountPath"),
    ("core.v1.EphemeralContainer", "env", "map:name", "merge", "name"),
    ("core.v1.EphemeralContainer", "ports", "map:containerPort,protocol", "merge", "containerPort"),
    ("core.v1.EphemeralContainer", "volumeDevices", "map:devicePath", "merge", "devicePath"),
    ("core.v1.EphemeralContainer", "volumeMounts", "map:mountPath", "merge", "mountPath"),
    ("core.v1.NamespaceStatus", "conditions", "map:type", "merge", "type"),
    ("core.v1.NodeSpec", "podCIDRs", "set", "merge", ""),
    ("core.v1.NodeStatus", "addresses", "map:type", "merge", "type"),
    ("core.v1.NodeStatus", "conditions", "map:type", "merge", "type"),
    ("core.v1.PersistentVolumeClaimStatus", "conditions", "map:type", "merge", "type"),
    ("core.v1.PodSpec", "containers", "map:name", "merge", "name"),
    ("core.v1.PodSpec", "ephemeralContainers", "map:name", "merge", "name"),
    ("core.v1.PodSpec", "hostAliases", "map:ip", "merge", "ip"),
    ("core.v1.PodSpec", "imagePullSecrets", "map:name", "merge", "name"),
    ("core.v1.PodSpec", "initContainers", "map:name", "merge", "name"),
    ("core.v1.PodSpec", "resourceClaims", "map:name", "merge,retainKeys", "name"),
    ("core.v1.PodSpec", "schedulingGates", "map:name", "merge", "name"),
    ("core.v1.PodSpec", "topologySpreadConstraints", "map:topologyKey,whenUnsatisfiable", "merge", "topologyKey"),
    ("core.v1.PodSpec", "volumes", "map:name", "merge,retainKeys", "name"),
    ("core.v1.PodStatus", "conditions", "map:type", "merge", "type"),
    ("core.v1.PodStatus", "hostIPs", "atomic", "merge", "ip"),
    ("core.v1.PodStatus", "podIPs", "map:ip", "merge", "ip"),
    ("core.v1.PodStatus", "resourceClaimStatuses", "map:name", "merge,retainKeys", "name"),
    ("core.v1.ReplicationControllerStatus", "conditions", "map:type", "merge", "type"),
    ("core.v1.ResourceRequirements", "claims", "map:name", "", ""),
    ("core.v1.ResourceStatus", "resources", "map:resourceID", "", ""),
    ("core.v1.ServiceAccount", "secrets", "map:name", "merge", "name"),
    ("core.v1.ServiceSpec", "ports", "map:port,protocol", "merge", "port"),
    ("core.v1.ServiceStatus", "conditions", "map:type", "merge", "type"),
    ("discovery.v1.Endpoint", "addresses", "set", "", ""),
    ("meta.v1.ObjectMeta", "finalizers", "set", "merge", ""),
    ("meta.v1.ObjectMeta", "ownerReferences", "map:uid", "merge", "uid"),
    ("policy.v1.PodDisruptionBudgetSpec", "selector", "", "replace", ""),
    ("policy.v1.PodDisruptionBudgetStatus", "conditions", "map:type", "merge", "type"),
    ("storage.v1.CSIDriverSpec", "volumeLifecycleModes", "set", "", ""),
    ("storage.v1.CSINodeSpec", "drivers", "map:name", "merge", "name"),
];

/// Definitions whose objects are one value.
const ATOMIC: &[&str] = &[
    "admissionregistration.v1.MatchResources",
    "admissionregistration.v1.NamedRuleWithOperations",
    "admissionregistration.v1.ParamKind",
    "admissionregistration.v1.ParamRef",
    "admissionregistration.v1.Variable",
    "autoscaling.v1.CrossVersionObjectReference",
    "core.v1.ConfigMapKeySelector",
    "core.v1.EndpointAddress",
    "core.v1.EndpointPort",
    "core.v1.LocalObjectReference",
    "core.v1.NodeSelector",
    "core.v1.NodeSelectorTerm",
    "core.v1.ObjectFieldSelector",
    "core.v1.ObjectReference",
    "core.v1.ResourceFieldSelector",
    "core.v1.ScopeSelector",
    "core.v1.SecretKeySelector",
    "core.v1.SecretReference",
    "core.v1.TopologySelectorTerm",
    "core.v1.TypedLocalObjectReference",
    "discovery.v1.EndpointPort",
    "meta.v1.LabelSelector",
    "meta.v1.OwnerReference",
    "networking.v1.ServiceBackendPort",
    "rbac.v1.RoleRef",
    "rbac.v1.Subject",
];

/// Fields that differ from their definition.
const MAPS: &[(&str, &str, &str)] = &[
    ("core.v1.PersistentVolumeSpec", "claimRef", "granular"),
    ("core.v1.PodSpec", "nodeSelector", "atomic"),
    ("core.v1.ReplicationControllerSpec", "selector", "atomic"),
    ("core.v1.ServiceSpec", "selector", "atomic"),
];

/// Keys of lists that may be left out.
const DEFAULTS: &[(&str, &str, &str)] =
    &[("core.v1.ContainerPort", "protocol", "TCP"), ("core.v1.ServicePort", "protocol", "TCP")];

/// `core.v1.Pod` in full.
pub(super) fn full_name(short: &str) -> String {
    match short.split_once('.') {
        Some(("apiextensions", _)) => format!("io.k8s.apiextensions-apiserver.pkg.apis.{short}"),
        Some(("apiregistration", _)) => format!("io.k8s.kube-aggregator.pkg.apis.{short}"),
        Some(("meta", _)) => format!("io.k8s.apimachinery.pkg.apis.{short}"),
        _ => format!("io.k8s.api.{short}"),
    }
}

/// Adds the extensions to the definitions. Rows about fields an older Kubernetes lacks do nothing.
pub(super) fn write(all: &mut Map<String, Value>) {
    for name in ATOMIC {
        if let Some(definition) = all.get_mut(&full_name(name)) {
            definition["x-kubernetes-map-type"] = json!("atomic");
        }
    }
    let mut set = |definition: &str, field: &str, extension: &str, value: Value| {
        let definition = all.get_mut(&full_name(definition));
        let field = definition.and_then(|definition| definition.get_mut("properties")?.get_mut(field));
        if let Some(Value::Object(field)) = field {
            field.insert(extension.to_owned(), value);
        }
    };
    for (definition, field, list, strategy, merge_key) in LISTS {
        let (list, keys) = list.split_once(':').map_or((*list, None), |(list, keys)| (list, Some(keys)));
        if !list.is_empty() {
            set(definition, field, "x-kubernetes-list-type", json!(list));
        }
        if let Some(keys) = keys {
            set(definition, field, "x-kubernetes-list-map-keys", json!(keys.split(',').collect::<Vec<_>>()));
        }
        for (extension, value) in [("patch-strategy", strategy), ("patch-merge-key", merge_key)] {
            if !value.is_empty() {
                set(definition, field, &format!("x-kubernetes-{extension}"), json!(value));
            }
        }
    }
    for (definition, field, map) in MAPS {
        set(definition, field, "x-kubernetes-map-type", json!(map));
    }
    for (definition, field, default) in DEFAULTS {
        set(definition, field, "default", json!(default));
    }
}

/// All definitions and fields the tables name, for the test that they exist.
#[cfg(test)]
pub(super) fn named() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lists = LISTS.iter().map(|(definition, field, ..)| (*definition, *field));
    let fields = MAPS.iter().chain(DEFAULTS).map(|(definition, field, _)| (*definition, *field));
    lists.chain(fields).chain(ATOMIC.iter().map(|definition| (*definition, "")))
}
