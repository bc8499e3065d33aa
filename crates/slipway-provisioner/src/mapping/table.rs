//! Where each input field ends up.

use crate::graphql::clouds;

/// What becomes of an input field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It stands in the Runtime at these places, and in the Shoot at those.
    Applied,
    /// It chooses the value of another field, named here.
    Chooses(&'static str),
    /// It has no effect, and the operation says so.
    Warned,
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct Mapping {
    /// The field of `GardenerConfigInput`; a dot leads into a block of a cloud.
    pub input: &'static str,
    /// What becomes of it.
    pub fate: Fate,
    /// Its places in the Runtime, as JSON pointers.
    pub runtime: &'static [&'static str],
    /// Its place in the Shoot, in words.
    pub shoot: &'static str,
}

pub(crate) const fn applied(input: &'static str, runtime: &'static [&'static str], shoot: &'static str) -> Mapping {
    Mapping { input, fate: Fate::Applied, runtime, shoot }
}

pub(crate) const fn chooses(input: &'static str, field: &'static str) -> Mapping {
    Mapping { input, fate: Fate::Chooses(field), runtime: &[], shoot: "" }
}

const fn warned(input: &'static str) -> Mapping {
    Mapping { input, fate: Fate::Warned, runtime: &[], shoot: "" }
}

/// Every input field of a cluster.
pub fn table() -> impl Iterator<Item = &'static Mapping> {
    TABLE.iter().chain(clouds::FIELDS)
}

#[rustfmt::skip]
static TABLE: &[Mapping] = &[
    applied("name",                                 &["/spec/shoot/name", "/metadata/labels/kyma-project.io~1shoot-name"], "metadata.name"),
    applied("kubernetesVersion",                    &["/spec/shoot/kubernetes/version"], "spec.kubernetes.version, never lowered"),
    applied("provider",                             &["/spec/shoot/provider/type", "/metadata/labels/kyma-project.io~1provider"], "spec.provider.type, spec.cloudProfileName"),
    applied("targetSecret",                         &["/spec/shoot/secretBindingName"], "spec.secretBindingName"),
    applied("region",                               &["/spec/shoot/region", "/metadata/labels/kyma-project.io~1region"], "spec.region"),
    applied("platformRegion",                       &["/spec/shoot/platformRegion"], "access restriction"),
    applied("purpose",                              &["/spec/shoot/purpose"], "spec.purpose"),
    applied("licenceType",                          &["/spec/shoot/licenceType"], "annotation licence-type"),
    applied("seed",                                 &["/spec/shoot/seedName"], "spec.seedName"),
    applied("shootAndSeedSameRegion",               &["/spec/shoot/enforceSeedLocation"], "spec.seedSelector"),
    applied("exposureClassName",                    &["/spec/shoot/exposureClassName"], "spec.exposureClassName"),
    applied("enableKubernetesVersionAutoUpdate",    &["/spec/shoot/maintenance/autoUpdate/kubernetesVersion"], "spec.maintenance.autoUpdate.kubernetesVersion"),
    applied("enableMachineImageVersionAutoUpdate",  &["/spec/shoot/maintenance/autoUpdate/machineImageVersion"], "spec.maintenance.autoUpdate.machineImageVersion"),
    applied("dnsConfig",                            &["/spec/shoot/dns"], "spec.dns and the DNS extension"),
    applied("euAccess",                             &["/spec/shoot/euAccess"], "access restriction eu-access-only"),
    warned ("allowPrivilegedContainers"),
    applied("controlPlaneFailureTolerance",         &["/spec/shoot/controlPlane/highAvailability/failureTolerance/type"], "the same under spec.controlPlane"),
    applied("oidcConfig",                           &["/spec/shoot/kubernetes/kubeAPIServer/additionalOidcConfig/0/clientID"], "authentication of the API server"),
    applied("shootNetworkingFilterDisabled",        &["/spec/security/networking/filter/egress/enabled"], "extension shoot-networking-filter, negated"),
    applied("workerCidr",                           &["/spec/shoot/networking/nodes"], "spec.networking.nodes"),
    applied("podsCidr",                             &["/spec/shoot/networking/pods"], "spec.networking.pods"),
    applied("servicesCidr",                         &["/spec/shoot/networking/services"], "spec.networking.services"),
    applied("machineType",                          &["/spec/shoot/provider/workers/0/machine/type"], "the same"),
    applied("machineImage",                         &["/spec/shoot/provider/workers/0/machine/image/name"], "the same"),
    applied("machineImageVersion",                  &["/spec/shoot/provider/workers/0/machine/image/version"], "the same"),
    applied("diskType",                             &["/spec/shoot/provider/workers/0/volume/type"], "the same"),
    applied("volumeSizeGB",                         &["/spec/shoot/provider/workers/0/volume/size"], "the same"),
    applied("autoScalerMin",                        &["/spec/shoot/provider/workers/0/minimum"], "the same"),
    applied("autoScalerMax",                        &["/spec/shoot/provider/workers/0/maximum"], "the same"),
    applied("maxSurge",                             &["/spec/shoot/provider/workers/0/maxSurge"], "the same"),
    applied("maxUnavailable",                       &["/spec/shoot/provider/workers/0/maxUnavailable"], "the same"),
    chooses("size",                                 "autoScalerMin"),
    chooses("memory",                               "machineType"),
    chooses("nodeCount",                            "autoScalerMin"),
    chooses("zone",                                 "providerSpecificConfig"),
    chooses("cidr",                                 "workerCidr"),
    chooses("volumeSize",                           "volumeSizeGB"),
    warned ("projectName"),
    warned ("targetProvider"),
    applied("providerSpecificConfig",               &["/spec/shoot/provider/workers/0/zones"], "the same"),
];
