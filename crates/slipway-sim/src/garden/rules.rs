//! What a Gardener API server accepts and refuses about a Shoot: one table of rules.
//!
//! Every rule has the id it has in the specification, stands in a function of its own, and is found
//! here. There are two gates, and they answer differently: what can be said by looking at the Shoot
//! alone is answered `422` with causes; what needs a look at other objects is answered `403` with one
//! sentence, sometimes `500`. Order in the table is the order of the sentences in an answer.
//!
//! What is left out, and why, is a table too ([`OMISSIONS`]): a difference to the real server is
//! either a bug or a row there.

#[cfg(test)]
mod differential;
mod gates;
mod identity;
mod kubernetes;
mod machines;
mod misc;
mod networks;
pub(crate) mod operations;
mod references;
mod seeds;
#[cfg(test)]
mod tests;
mod updates;
mod workers;

use kube_sandbox::{kind::Ctx, status::Status};
use serde_json::Value;

use super::{
    problems::{CORE, Problems},
    profile::Profile,
    value::{list, name, same, text},
};

/// What the rules look at.
pub struct Case<'a> {
    /// The Shoot as it would be stored.
    pub new: &'a Value,
    /// The Shoot as it is stored; null when it is created.
    pub old: &'a Value,
    /// What it refers to.
    pub refs: &'a Refs,
    /// Who asks, when, and what else there is.
    pub ctx: &'a Ctx<'a>,
}

/// The objects a Shoot refers to.
#[derive(Debug, Clone)]
pub struct Refs {
    /// Its project.
    pub project: Value,
    /// Its effective cloud profile.
    pub profile: Profile,
    /// The Seed in its spec; null if it has none.
    pub seed: Value,
    /// How many Shoots that Seed has. Counted once by whoever watches Shoots: to list ten thousand of
    /// them for every binding would make the simulator the slowest part of a test.
    pub seed_usage: u64,
}

/// Where a rule is asked, and with that how it refuses.
#[derive(Clone, Copy)]
pub enum Check {
    /// By looking at the Shoot alone: `422`.
    Static(fn(&Case<'_>, &mut Problems)),
    /// By looking at other objects: `403`, unless the rule says otherwise itself.
    Admission(fn(&Case<'_>, &mut Problems) -> Result<(), Status>),
}

/// One rule.
pub struct Rule {
    /// Its id in the specification.
    pub id: &'static str,
    /// What it asks for, in a few words.
    pub what: &'static str,
    /// How it is checked.
    pub check: Check,
}

const fn fixed(id: &'static str, what: &'static str, check: fn(&Case<'_>, &mut Problems)) -> Rule {
    Rule { id, what, check: Check::Static(check) }
}

const fn admitted(
    id: &'static str,
    what: &'static str,
    check: fn(&Case<'_>, &mut Problems) -> Result<(), Status>,
) -> Rule {
    Rule { id, what, check: Check::Admission(check) }
}

/// The rules, in the order they speak.
#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    // By looking at the Shoot alone.
    fixed("U1",  "the spec is frozen once deletion has begun",                 updates::u1),
    fixed("U2",  "region, provider, network type and set networks stay",       updates::u2),
    fixed("U6",  "the credentials binding is not removed",                     updates::u6),
    fixed("U7",  "the secret binding stays or gives way to its successor",     updates::u7),
    fixed("U5",  "the domain and its primary provider stay",                   updates::u5),
    fixed("U8",  "the control plane's version rises by one minor at most",     updates::u8),
    fixed("U4",  "the nodes' network mask stays",                              updates::u4),
    fixed("U11", "with workers or without, but not in turn",                   updates::u11),
    fixed("U12", "in-place pools keep what cannot change in place",            updates::u12),
    fixed("U3",  "only IPv4 to dual stack and back",                           updates::u3),
    fixed("U16", "the scheduler stays",                                        updates::u16),
    fixed("U17", "encryption changes one at a time",                           updates::u17),
    fixed("N1",  "the name is a DNS label without two hyphens in a row",       identity::n1),
    fixed("C16", "operation annotations mean something",                       operations::c16),
    fixed("N4",  "a cloud profile is named",                                   references::n4_static),
    fixed("N11", "region and provider type are there",                         references::n11),
    fixed("W1",  "pool names are short DNS labels, each once",                 workers::w1),
    fixed("W2",  "a machine type and an image",                                workers::w2),
    fixed("W3",  "0 <= minimum <= maximum",                                    workers::w3),
    fixed("W4",  "surge and unavailability, not both zero",                    workers::w4),
    fixed("W12", "taints are well formed and each there once",                 workers::w12),
    fixed("U9",  "workers follow the control plane",                           updates::u9),
    fixed("W13", "labels, annotations, priority, bundle, sysctls are right",   workers::w13),
    fixed("W6",  "volumes have a size in Gi and names of their own",           workers::w6),
    fixed("W14", "containerd on amd64 or arm64",                               workers::w14),
    fixed("W5",  "system components find a place in every zone",               workers::w5),
    fixed("C4",  "the nodes' mask leaves room for the pods",                   networks::c4),
    fixed("W16", "workerless Shoots have no settings for workers",             workers::w16),
    fixed("C19", "DNS providers are complete and one is primary",              misc::dns_providers),
    fixed("C7",  "extensions and resources are named once",                    misc::c7),
    fixed("C12", "configuration references have a name",                       kubernetes::c12),
    fixed("C13", "settings of Kubernetes' components are in range",            kubernetes::c13),
    fixed("C14", "no fields that the version has dropped",                     kubernetes::c14),
    fixed("C4",  "the nodes' mask is in range",                                networks::c4_range),
    fixed("C1",  "networks parse, are canonical and of the right family",      networks::c1),
    fixed("C5",  "the maintenance window is 30 min to 6 h",                    misc::c5),
    fixed("C6",  "hibernation schedules mean something",                       misc::c6),
    fixed("N5",  "workers need one binding, none needs none",                  references::n5),
    fixed("C8",  "a known purpose",                                            misc::c8),
    fixed("W16", "and no system components",                                   workers::w16_system_components),
    fixed("U13", "failure tolerance stays once scheduled",                     updates::u13),
    fixed("U18", "no sleep while keys rotate",                                 updates::u18),
    fixed("C18", "force deletion only where it is deserved",                   operations::force_deletion),
    fixed("N10", "protected finalizers come from Gardener alone",              identity::n10),
    // By looking at other objects.
    admitted("N2",  "project and Shoot name are 21 characters at most",        identity::n2),
    admitted("N3",  "the project is not being deleted",                        identity::n3),
    admitted("U14", "the Seed comes by binding alone, never back to none",     seeds::u14),
    admitted("U15", "the Seed still matches the selector",                     seeds::u15),
    admitted("U21", "nothing changes during a migration",                      seeds::u21),
    admitted("U20", "the gardener finalizer stays until deletion succeeded",   seeds::finalizer),
    admitted("U18", "no sleep while it would be the last",                     updates::u18_admission),
    admitted("N4",  "a profile changes within its root alone",                 references::n4),
    admitted("N6",  "the binding exists and is of the provider's type",        references::n6),
    admitted("N7",  "what is referred to exists",                              references::n7),
    admitted("U6",  "another binding only for who may read both credentials",  references::u6),
    admitted("N8",  "the exposure class exists and fits",                      references::n8),
    admitted("N9",  "extension, network, image and provider are registered",   references::n9),
    admitted("C2",  "pods, services and nodes do not overlap",                 networks::c2),
    admitted("C3",  "the Seed's reserved networks are not touched",            networks::c3),
    admitted("U10", "the version is in the profile and not expired",           machines::u10),
    admitted("C20", "the region is in the profile",                            machines::region),
    admitted("C10", "access restrictions are offered",                         machines::c10),
    admitted("W8",  "machine and volume types exist, are usable, in all zones", machines::w8),
    admitted("W9",  "the image exists, is active and fits",                    machines::w9),
    admitted("W7",  "volumes are large enough",                                machines::w7),
    admitted("W10", "zones exist and are named once",                          machines::w10),
    admitted("W11", "the profile's limit of nodes holds",                      machines::w11),
    admitted("W15", "kubelet reservations leave something",                    machines::w15),
    admitted("C9",  "tolerations are allowed by the project",                  misc::c9),
    admitted("C11", "the domain belongs to no other Shoot",                    misc::c11),
    admitted("C17", "the landscape's domains are given by scheme",             misc::c17),
    admitted("C15", "no quota is exceeded",                                    misc::c15),
];

/// What the real server checks and this one does not.
#[rustfmt::skip]
pub static OMISSIONS: &[(&str, &str)] = &[
    ("self-hosted Shoots (workers[].controlPlane)", "Slipway never creates them"),
    ("in-place update details (pendingWorkerUpdates, node-local-dns)", "behind a feature gate, and Slipway sets no strategy"),
    ("feature gates and runtimeConfig keys per Kubernetes version (part of C13)", "tables of several hundred names; only the form is checked"),
    ("admission plug-in names and configurations per version", "same tables; references of them are checked (N7)"),
    ("machine capabilities instead of architectures", "profiles of the landscapes Slipway runs on list architectures"),
    ("autoscaling minimums of control plane components", "no plan sets them"),
    ("VPA and kubelet eviction, reservation and swap details", "no plan sets them; reservations are compared with the machine (W15)"),
    ("CoreDNS rewriting, addon details", "no plan sets them; addons are refused from 1.35 (C14)"),
    ("WorkloadIdentity token claims", "bindings to Secrets alone are used"),
    ("managed service-account issuer", "needs a landscape-wide Secret that no test landscape has"),
    ("control plane zone pinning", "needs allowZonePinning in the profile, which no landscape sets"),
    ("provider blobs beyond the internal version", "opaque to Gardener itself; the providers' webhooks are not played"),
    ("warnings of deprecated fields and due rotations", "no client decides by them"),
];

impl<'a> Case<'a> {
    /// Whether the Shoot is being created.
    pub fn is_create(&self) -> bool {
        self.old.is_null()
    }

    /// Whether the spec differs from the stored one.
    pub fn spec_changed(&self) -> bool {
        !same(&self.new["spec"], super::value::at(self.old, "spec"))
    }

    /// The pools, each with its path and its stored self (null if it is new).
    pub fn workers(&self) -> impl Iterator<Item = (String, &'a Value, &'a Value)> {
        static NONE: Value = Value::Null;
        let old = list(self.old, "spec.provider.workers");
        list(self.new, "spec.provider.workers").iter().enumerate().map(move |(index, worker)| {
            let old = super::value::named(old, name_of(worker)).unwrap_or(&NONE);
            (format!("spec.provider.workers[{index}]"), worker, old)
        })
    }

    /// Whether it has no workers.
    pub fn is_workerless(&self) -> bool {
        list(self.new, "spec.provider.workers").is_empty()
    }

    /// The Kubernetes version of the control plane.
    pub fn version(&self) -> &'a str {
        text(self.new, "spec.kubernetes.version")
    }

    /// `403` with this sentence.
    pub fn refuse(&self, why: impl AsRef<str>) -> Status {
        Status::forbidden(CORE, "shoots", name(self.new), why.as_ref())
    }
}

fn name_of(worker: &Value) -> &str {
    text(worker, "name")
}

pub use gates::{admission, statics, status_update};
pub(super) use misc::default_domains;
pub(super) use references::project;
