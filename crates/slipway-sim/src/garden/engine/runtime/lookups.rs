//! What a worker looks up beside the Shoot: its profile, its project, its Seed's switch, its credentials.

use kube_sandbox::status::Status;
use serde_json::Value;

use super::Shared;
use crate::garden::{
    engine::port::{BINDINGS, OWN_PROFILES, PROFILES, PROJECTS, Port, SECRETS, SEEDS},
    profile::Profile,
    scheduler,
    shoot::profile_name,
    value::{at, name, namespace, text},
};

/// The Seed has reconciliations switched off: nothing begins there.
pub(super) async fn is_stopped<P: Port>(shared: &Shared<P>, shoot: &Value) -> Result<bool, Status> {
    let (seeds, on) = (shared.port.consult(SEEDS).await?, text(shoot, "spec.seedName"));
    Ok(seeds.iter().any(|seed| name(seed) == on && scheduler::is_stopped(seed)))
}

pub(super) async fn profile<P: Port>(port: &P, shoot: &Value) -> Result<Option<Profile>, Status> {
    let called = profile_name(shoot);
    if text(shoot, "spec.cloudProfile.kind") == "NamespacedCloudProfile" {
        let found = port.get(OWN_PROFILES, namespace(shoot), called).await?;
        return Ok(found.map(|found| Profile {
            root: text(&found, "spec.parent.name").to_owned(),
            spec: at(&found, "status.cloudProfileSpec").clone(),
        }));
    }
    let profiles = port.consult(PROFILES).await?;
    Ok(profiles
        .iter()
        .find(|one| name(one) == called)
        .map(|found| Profile { root: called.to_owned(), spec: found["spec"].clone() }))
}

pub(super) async fn project<P: Port>(port: &P, shoot: &Value) -> Result<String, Status> {
    let id = text(shoot, "status.technicalID");
    // `shoot--<project>--<name>`, once it is known.
    if let Some(project) = id.strip_prefix("shoot--").and_then(|rest| rest.split("--").next()) {
        return Ok(project.to_owned());
    }
    let projects = port.consult(PROJECTS).await?;
    let found = projects.iter().find(|one| text(one, "spec.namespace") == namespace(shoot));
    Ok(found.map_or_else(|| namespace(shoot).trim_start_matches("garden-").to_owned(), |one| name(one).to_owned()))
}

/// Keys without which a cloud knows nobody.
const KEYS: [(&str, &[&str]); 5] = [
    ("aws", &["accessKeyID", "secretAccessKey"]),
    ("azure", &["clientID", "clientSecret", "subscriptionID", "tenantID"]),
    ("gcp", &["serviceaccount.json"]),
    ("openstack", &["domainName", "tenantName"]),
    ("alicloud", &["accessKeyID", "accessKeySecret"]),
];

/// Why the credentials do not work, if they do not (F13).
pub(super) async fn credentials<P: Port>(port: &P, shoot: &Value) -> Result<Option<String>, Status> {
    let binding = text(shoot, "spec.credentialsBindingName");
    if binding.is_empty() {
        return Ok(None);
    }
    let Some(binding) = port.get(BINDINGS, namespace(shoot), binding).await? else {
        return Ok(Some("the credentials binding is gone".to_owned()));
    };
    if text(&binding, "credentialsRef.kind") != "Secret" {
        return Ok(None);
    }
    let (place, called) = (text(&binding, "credentialsRef.namespace"), text(&binding, "credentialsRef.name"));
    let secret = port.get(SECRETS, place, called).await?.unwrap_or_default();
    let wanted = KEYS
        .iter()
        .find(|(provider, _)| *provider == text(shoot, "spec.provider.type"))
        .map_or(&[][..], |(_, keys)| keys);
    let missing = wanted.iter().find(|key| at(&secret, "data").get(**key).is_none());
    Ok(missing.map(|key| format!("the provider does not know us: {key} is missing in the credentials")))
}
