//! The built-in kinds we can describe: one row each.

use k8s_openapi::{
    Resource,
    api::{
        admissionregistration::v1 as admission, apps::v1 as apps, authentication::v1 as authentication,
        authorization::v1 as authorization, autoscaling::v1 as autoscaling, batch::v1 as batch,
        certificates::v1 as certificates, coordination::v1 as coordination, core::v1 as core,
        discovery::v1 as discovery, events::v1 as events, networking::v1 as networking, policy::v1 as policy,
        rbac::v1 as rbac, scheduling::v1 as scheduling, storage::v1 as storage,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions,
    apimachinery::pkg::apis::meta::v1 as meta,
    kube_aggregator::pkg::apis::apiregistration::v1 as apiregistration,
};
use schemars::{JsonSchema, SchemaGenerator};

/// A kind and how its definition is made.
pub(super) struct Row {
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) kind: &'static str,
    /// The full name of its definition.
    pub(super) name: fn() -> &'static str,
    /// Adds its definition and all it refers to.
    pub(super) describe: fn(&mut SchemaGenerator),
}

impl Row {
    pub(super) fn is(&self, group: &str, version: &str, kind: &str) -> bool {
        (self.kind, self.group, self.version) == (kind, group, version)
    }
}

const fn row<T: Resource + JsonSchema>() -> Row {
    Row { group: T::GROUP, version: T::VERSION, kind: T::KIND, name: name::<T>, describe: describe::<T> }
}

fn name<T: JsonSchema>() -> &'static str {
    match T::schema_name() {
        std::borrow::Cow::Borrowed(name) => name,
        // All names of the crate are literals.
        std::borrow::Cow::Owned(_) => "",
    }
}

fn describe<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}

/// The built-in kinds.
pub(super) const KINDS: &[Row] = &[
    row::<core::Namespace>(),
    row::<core::Secret>(),
    row::<core::ConfigMap>(),
    row::<core::Event>(),
    row::<core::ServiceAccount>(),
    row::<core::Node>(),
    row::<core::Service>(),
    row::<core::Endpoints>(),
    row::<core::Pod>(),
    row::<core::PodTemplate>(),
    row::<core::ReplicationController>(),
    row::<core::PersistentVolume>(),
    row::<core::PersistentVolumeClaim>(),
    row::<core::LimitRange>(),
    row::<core::ResourceQuota>(),
    row::<core::Binding>(),
    row::<apps::Deployment>(),
    row::<apps::DaemonSet>(),
    row::<apps::ReplicaSet>(),
    row::<apps::StatefulSet>(),
    row::<apps::ControllerRevision>(),
    row::<batch::Job>(),
    row::<batch::CronJob>(),
    row::<coordination::Lease>(),
    row::<events::Event>(),
    row::<rbac::ClusterRole>(),
    row::<rbac::ClusterRoleBinding>(),
    row::<rbac::Role>(),
    row::<rbac::RoleBinding>(),
    row::<apiextensions::CustomResourceDefinition>(),
    row::<apiregistration::APIService>(),
    row::<networking::Ingress>(),
    row::<networking::IngressClass>(),
    row::<networking::NetworkPolicy>(),
    row::<policy::PodDisruptionBudget>(),
    row::<discovery::EndpointSlice>(),
    row::<scheduling::PriorityClass>(),
    row::<storage::StorageClass>(),
    row::<storage::CSIDriver>(),
    row::<storage::CSINode>(),
    row::<storage::VolumeAttachment>(),
    row::<certificates::CertificateSigningRequest>(),
    row::<admission::MutatingWebhookConfiguration>(),
    row::<admission::ValidatingWebhookConfiguration>(),
    row::<admission::ValidatingAdmissionPolicy>(),
    row::<admission::ValidatingAdmissionPolicyBinding>(),
    row::<autoscaling::HorizontalPodAutoscaler>(),
    row::<autoscaling::Scale>(),
    row::<authentication::TokenRequest>(),
    row::<authentication::TokenReview>(),
    row::<authentication::SelfSubjectReview>(),
    row::<authorization::SubjectAccessReview>(),
    row::<authorization::SelfSubjectAccessReview>(),
    row::<authorization::LocalSubjectAccessReview>(),
    row::<authorization::SelfSubjectRulesReview>(),
];

/// Definitions that are no kinds of their own but stand in every document.
pub(super) const SUPPORT: &[fn(&mut SchemaGenerator)] = &[
    describe::<meta::ObjectMeta>,
    describe::<meta::ListMeta>,
    describe::<meta::Status>,
    describe::<meta::DeleteOptions>,
];
