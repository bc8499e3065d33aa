//! Runtime in, Shoot out: pure.
//!
//! A table of small transformers, each of which owns its paths of the Shoot and no other. They write
//! exactly the fields that are ours; the document is sent by server-side apply under one name, so a
//! field that is left out is given up, and Gardener removes it. Hence the second way to run: for a
//! Shoot that lives, a transformer that only means creation writes back what is there.

mod access;
mod audit;
mod base;
mod binding;
mod checks;
mod cloud_profile;
mod dns;
mod draft;
mod extensions;
mod feature_gates;
mod hash;
mod hibernation;
mod identity;
mod infrastructure;
mod maintenance;
mod networking;
mod resources;
mod seed;
mod seed_selector;
mod structured_auth;
mod token;
mod tolerations;
mod version;
mod workers;

use serde::Serialize;
use serde_json::Value;
use slipway_kube::{
    Runtime,
    cloud::Cloud,
    runtime::{Raw, RuntimeShoot},
};

use self::draft::Draft;
pub use self::{
    checks::unchangeable, extensions::registry_cache::TYPE as REGISTRY_CACHE, hash::input_hash,
    structured_auth::structured_auth_config,
};
use crate::config::{AclAddresses, AuditData, Converter, ConverterConfig, TimeWindow};

/// Everything a Shoot is made from.
#[derive(Clone, Copy)]
pub struct RenderInput<'a> {
    /// What its owner asks for.
    pub runtime: &'a Runtime,
    /// How the landscape wants its Shoots.
    pub config: &'a ConverterConfig,
    /// Where its audit log goes.
    pub audit: Option<&'a AuditData>,
    /// When it may be maintained; used for production only.
    pub window: Option<&'a TimeWindow>,
    /// Addresses that may always reach its API server.
    pub acl: &'a AclAddresses,
    /// Secrets of its registry caches in the garden.
    pub registry_secrets: &'a [RegistrySecret],
    /// The Shoot as it is, if it lives.
    pub existing: Option<&'a Value>,
}

/// A Secret in the garden with the credentials of a registry cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RegistrySecret {
    /// The cache, by its uid in the Runtime.
    pub cache_uid: String,
    /// The Secret; also the name under which the Shoot refers to it.
    pub secret_name: String,
}

/// A Shoot with exactly the fields that are ours.
#[derive(Clone, Debug, PartialEq)]
pub struct ShootDoc {
    value: Value,
    notes: Vec<Note>,
}

impl ShootDoc {
    /// What is sent.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// What is sent.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// What the Runtime asks for and does not get, because a living cluster cannot have it.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }
}

/// A wish that is not fulfilled, without being an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The field of the Runtime.
    pub path: String,
    /// What happens instead, and why.
    pub message: String,
}

/// Why a Runtime cannot be rendered. Nothing but a change of the named field helps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct RenderError {
    /// The field: of the Runtime, or where it begins with `shoot:`, of the living Shoot.
    pub path: String,
    /// What is wrong, and what to do.
    pub message: String,
}

impl RenderError {
    fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

/// What a transformer sees.
struct Context<'a> {
    input: &'a RenderInput<'a>,
    shoot: &'a RuntimeShoot,
    converter: &'a Converter,
    cloud: &'static Cloud,
    existing: Option<&'a Value>,
}

impl<'a> Context<'a> {
    fn new(input: &'a RenderInput<'a>) -> Self {
        let shoot = &input.runtime.spec.shoot;
        Self {
            input,
            shoot,
            converter: &input.config.converter,
            cloud: shoot.provider.provider_type.cloud(),
            existing: input.existing,
        }
    }

    /// What the landscape sets for the cloud.
    fn landscape(&self) -> Raw {
        let set = self.converter.provider.clouds.get(self.cloud.name);
        set.and_then(Value::as_object).cloned().unwrap_or_default()
    }

    /// A part of the living Shoot, by its path.
    fn existing(&self, path: &str) -> Option<&'a Value> {
        draft::at(self.existing?, path)
    }
}

/// One step of rendering.
struct Transformer {
    name: &'static str,
    /// The paths that it alone may write. A closing `.*` is not needed: what is below belongs to it.
    paths: &'static [&'static str],
    create: Way,
    patch: Way,
}

/// What a transformer does in one of the two cases.
enum Way {
    /// It writes.
    Write(fn(&Context<'_>, &mut Draft) -> Result<(), RenderError>),
    /// It writes back what the living Shoot has at its paths: they were ours from creation on.
    Keep,
}

use Way::{Keep, Write};

static TRANSFORMERS: &[Transformer] = &[
    Transformer {
        name: "base",
        paths: &[
            "apiVersion",
            "kind",
            "metadata.name",
            "metadata.namespace",
            "spec.purpose",
            "spec.region",
            "spec.networking.type",
            "spec.networking.nodes",
            "spec.networking.pods",
            "spec.networking.services",
            "spec.controlPlane",
        ],
        create: Write(base::write),
        patch: Write(base::write),
    },
    Transformer {
        name: "identity",
        paths: &["metadata.annotations", "metadata.labels"],
        create: Write(identity::write),
        patch: Write(identity::write),
    },
    Transformer {
        name: "seed_selector",
        paths: &["spec.seedSelector"],
        create: Write(seed_selector::write),
        patch: Write(seed_selector::write),
    },
    Transformer { name: "seed", paths: &["spec.seedName"], create: Write(seed::write), patch: Write(seed::write) },
    Transformer {
        name: "structured_auth",
        paths: &["spec.kubernetes.kubeAPIServer.structuredAuthentication"],
        create: Write(structured_auth::write),
        patch: Write(structured_auth::write),
    },
    Transformer {
        name: "cloud_profile",
        paths: &["spec.cloudProfile", "spec.exposureClassName"],
        create: Write(cloud_profile::write),
        patch: Write(cloud_profile::write),
    },
    Transformer {
        name: "access",
        paths: &["spec.accessRestrictions"],
        create: Write(access::write),
        patch: Write(access::write),
    },
    Transformer {
        name: "feature_gates",
        paths: &[
            "spec.kubernetes.kubeAPIServer.featureGates",
            "spec.kubernetes.kubeAPIServer.runtimeConfig",
            "spec.kubernetes.kubelet.featureGates",
        ],
        create: Write(feature_gates::write),
        patch: Write(feature_gates::write),
    },
    Transformer {
        name: "workers",
        paths: &["spec.provider.type", "spec.provider.workers", "spec.provider.workersSettings"],
        create: Write(workers::create),
        patch: Write(workers::patch),
    },
    Transformer {
        name: "infrastructure",
        paths: &["spec.provider.infrastructureConfig", "spec.provider.controlPlaneConfig"],
        create: Write(infrastructure::create),
        patch: Write(infrastructure::patch),
    },
    Transformer { name: "tolerations", paths: &["spec.tolerations"], create: Write(tolerations::write), patch: Keep },
    Transformer {
        name: "resources",
        paths: &["spec.resources"],
        create: Write(resources::create),
        patch: Write(resources::patch),
    },
    Transformer { name: "dns", paths: &["spec.dns"], create: Write(dns::create), patch: Write(dns::patch) },
    Transformer {
        name: "extensions",
        paths: &["spec.extensions"],
        create: Write(extensions::create),
        patch: Write(extensions::patch),
    },
    Transformer {
        name: "version",
        paths: &["spec.kubernetes.version"],
        create: Write(version::write),
        patch: Write(version::write),
    },
    Transformer {
        name: "maintenance",
        paths: &["spec.maintenance"],
        create: Write(maintenance::write),
        patch: Write(maintenance::write),
    },
    Transformer {
        name: "hibernation",
        paths: &["spec.hibernation.enabled"],
        create: Write(hibernation::write),
        patch: Write(hibernation::write),
    },
    Transformer {
        name: "audit",
        paths: &["spec.kubernetes.kubeAPIServer.auditConfig"],
        create: Write(audit::write),
        patch: Write(audit::write),
    },
    Transformer {
        name: "token",
        paths: &["spec.kubernetes.kubeAPIServer.serviceAccountConfig"],
        create: Write(token::write),
        patch: Keep,
    },
    Transformer {
        name: "networking",
        paths: &["spec.networking.ipFamilies", "spec.networking.providerConfig"],
        create: Write(networking::write),
        patch: Keep,
    },
    Transformer {
        name: "binding",
        paths: &["spec.credentialsBindingName", "spec.secretBindingName"],
        create: Write(binding::write),
        patch: Write(binding::write),
    },
];

/// The paths of a Shoot that are ours, each with the transformer it belongs to.
pub fn owned_paths() -> impl Iterator<Item = (&'static str, &'static str)> {
    TRANSFORMERS.iter().flat_map(|transformer| transformer.paths.iter().map(|path| (*path, transformer.name)))
}

/// Renders a Shoot: a new one, or the next form of one that lives.
pub fn render(input: &RenderInput<'_>) -> Result<ShootDoc, RenderError> {
    let context = Context::new(input);
    checks::check(&context)?;
    let mut draft = Draft::default();
    for transformer in TRANSFORMERS {
        run(transformer, &context, &mut draft)?;
    }
    let (value, notes) = draft.finish();
    Ok(ShootDoc { value, notes })
}

fn run(transformer: &Transformer, context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let way = if context.existing.is_some() { &transformer.patch } else { &transformer.create };
    match way {
        Write(write) => write(context, draft),
        Keep => {
            for path in transformer.paths {
                draft.set_some(path, context.existing(path).cloned());
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod page;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod trial;
#[cfg(test)]
mod walks;
