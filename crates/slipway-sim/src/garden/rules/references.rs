//! N4 to N9, N11, U6: what a Shoot refers to.

use kube_sandbox::{
    kind::{Access, Ctx, View},
    status::Status,
};
use serde_json::Value;

use super::{Case, Refs};
use crate::garden::{
    names,
    problems::{CORE, Problems},
    profile::Profile,
    scheduler::Usage,
    shoot::profile_name,
    value::{at, has, is_deleting, list, namespace, same, text},
    version,
};

/// Group of bindings and workload identities.
const SECURITY: &str = "security.gardener.cloud";

impl Refs {
    /// Looks up project, profile and Seed. Without them nothing can be said about the Shoot, so the
    /// real server answers `500`, and so do we (N3, N4).
    pub fn load(shoot: &Value, old: &Value, usage: &Usage, ctx: &Ctx<'_>) -> Result<Self, Status> {
        let both = has(shoot, "spec.cloudProfile") && !text(shoot, "spec.cloudProfileName").is_empty();
        if old.is_null() && both && !same(at(shoot, "spec.cloudProfile.name"), at(shoot, "spec.cloudProfileName")) {
            let message = "new shoot can only specify either cloudProfileName or cloudProfile reference";
            return Err(Status::new(500, "", message));
        }
        let profile = profile(shoot, ctx.view)
            .map_err(|why| Status::internal(format!("could not find referenced cloud profile: {why}")))?;
        let seed_name = text(shoot, "spec.seedName");
        let seeds = ctx.view.consult(CORE, "seeds");
        let seed = if seed_name.is_empty() { Some(&Value::Null) } else { named(&seeds, seed_name) };
        let seed = seed.cloned().ok_or_else(|| {
            let why = Status::not_found(CORE, "seed", seed_name).message;
            let message = format!(
                "error retrieving default domains: Internal error occurred: could not get seed {seed_name}: {why}"
            );
            Status::new(500, "", message)
        })?;
        let place = namespace(shoot);
        let project = project(place, ctx.view).ok_or_else(|| {
            // In a namespace that is there, another plug-in comes first and tells it as its own refusal.
            if ctx.view.get("", "namespaces", "", place).is_some() {
                let why = Status::not_found(CORE, "Project", "<unknown>").message;
                let why = format!("Internal error occurred: could not find referenced project: {why}");
                return Status::forbidden(CORE, "shoots", text(shoot, "metadata.name"), &why);
            }
            let why = Status::not_found(CORE, "Project", place).message;
            Status::internal(format!("could not find referenced project: {why}"))
        })?;
        Ok(Self { project, profile, seed, seed_usage: usage.of(seed_name) })
    }
}

fn named<'a>(objects: &'a [Value], called: &str) -> Option<&'a Value> {
    objects.iter().find(|object| text(object, "metadata.name") == called)
}

/// The project that owns a namespace.
pub(crate) fn project(namespace: &str, view: &dyn View) -> Option<Value> {
    let projects = view.consult(CORE, "projects");
    projects.iter().find(|project| text(project, "spec.namespace") == namespace).cloned()
}

/// The profile a Shoot uses, or why there is none.
pub(crate) fn profile(shoot: &Value, view: &dyn View) -> Result<Profile, String> {
    let (kind, called) = (text(shoot, "spec.cloudProfile.kind"), profile_name(shoot));
    let missing = |resource| Status::not_found(CORE, resource, called).message;
    match kind {
        "" | "CloudProfile" => {
            let profiles = view.consult(CORE, "cloudprofiles");
            let found = named(&profiles, called).ok_or_else(|| missing("cloudprofile"))?;
            Ok(Profile { root: called.to_owned(), spec: found["spec"].clone() })
        }
        "NamespacedCloudProfile" => {
            let found = view
                .get(CORE, "namespacedcloudprofiles", namespace(shoot), called)
                .ok_or_else(|| missing("namespacedcloudprofile"))?;
            let root = text(&found, "spec.parent.name").to_owned();
            Ok(Profile { root, spec: at(&found, "status.cloudProfileSpec").clone() })
        }
        kind => Err(format!("could not find referenced cloud profile with kind {kind:?}")),
    }
}

pub(super) fn n4_static(case: &Case<'_>, problems: &mut Problems) {
    let path = "spec.cloudProfileName";
    if version::at_least(case.version(), 1, 34) && !text(case.new, path).is_empty() {
        let detail = "for Kubernetes version >= 1.34, cloudProfileName field is no longer supported, use spec.cloudProfile.name instead";
        problems.forbidden(path, detail);
    }
    if profile_name(case.new).is_empty() {
        return problems.required("spec.cloudProfile.name", "must specify a cloud profile");
    }
    let (kind, known) = (text(case.new, "spec.cloudProfile.kind"), ["CloudProfile", "NamespacedCloudProfile"]);
    if has(case.new, "spec.cloudProfile") && !known.contains(&kind) {
        problems.unsupported("spec.cloudProfile.kind", kind, &known);
    }
}

/// Plain errors of the real server, hence `500` without a reason.
pub(super) fn n4(case: &Case<'_>, _: &mut Problems) -> Result<(), Status> {
    if case.is_create() || same(at(case.new, "spec.cloudProfile"), at(case.old, "spec.cloudProfile")) {
        return Ok(());
    }
    let refuse = |why: String| Err(Status::new(500, "", why));
    let old = profile(case.old, case.ctx.view).map_err(|why| Status::new(500, "", why))?;
    if old.root != case.refs.profile.root {
        return refuse(
            "cloud profile reference change is invalid: the new cloud profile reference must be from the same hierarchy"
                .to_owned(),
        );
    }
    for (_, worker, _) in case.workers() {
        let (image, version) = (text(worker, "machine.image.name"), text(worker, "machine.image.version"));
        if case.refs.profile.image_version(image, version).is_none() {
            return refuse(format!(
                "newly referenced cloud profile does not contain the machine image version \"{image}@{version}\" currently in use by worker \"{}\"",
                text(worker, "name")
            ));
        }
        let machine = text(worker, "machine.type");
        if case.refs.profile.machine_type(machine).is_none() {
            return refuse(format!(
                "newly referenced cloud profile does not contain the machine type {machine:?} currently in use by worker \"{}\"",
                text(worker, "name")
            ));
        }
    }
    Ok(())
}

pub(super) fn n5(case: &Case<'_>, problems: &mut Problems) {
    const WORKERLESS: &str = "this field should not be set for workerless Shoot clusters";
    let (secret, credentials) = ("spec.secretBindingName", "spec.credentialsBindingName");
    if case.is_workerless() {
        for path in [secret, credentials] {
            if has(case.new, path) {
                problems.forbidden(path, WORKERLESS);
            }
        }
        return;
    }
    match (!text(case.new, secret).is_empty(), !text(case.new, credentials).is_empty()) {
        (false, false) => problems.required(secret, "must be set when credentialsBindingName is not"),
        (true, true) => problems.forbidden(secret, "is incompatible with credentialsBindingName"),
        _ => {}
    }
    if !text(case.new, secret).is_empty() && version::at_least(case.version(), 1, 34) {
        let detail = "for Kubernetes versions >= 1.34, secretBindingName field is no longer supported, use spec.credentialsBindingName instead";
        problems.forbidden(secret, detail);
    }
}

pub(super) fn n6(case: &Case<'_>, problems: &mut Problems) -> Result<(), Status> {
    let kind = text(case.new, "spec.provider.type");
    let offered = text(&case.refs.profile.spec, "type");
    if case.spec_changed() && kind != offered {
        let detail = format!("provider type in shoot must equal provider type of referenced CloudProfile: {offered:?}");
        problems.invalid("spec.provider.type", kind, &detail);
        return Ok(());
    }
    for (path, group, plural, shown) in [
        ("spec.credentialsBindingName", SECURITY, "credentialsbindings", "CredentialsBinding"),
        ("spec.secretBindingName", CORE, "secretbindings", "SecretBinding"),
    ] {
        let called = text(case.new, path);
        if called.is_empty() || same(at(case.new, path), at(case.old, path)) {
            continue;
        }
        let Some(binding) = case.ctx.view.get(group, plural, namespace(case.new), called) else {
            let why = Status::not_found(group, plural.trim_end_matches('s'), called).message;
            return Err(case.refuse(why));
        };
        // A SecretBinding may be of several types, separated by commas.
        let types = text(&binding, "provider.type");
        if !types.split(',').any(|one| one == kind) {
            let detail = format!("provider type in shoot must match provider type of referenced {shown}: {types:?}");
            problems.invalid("spec.provider.type", kind, &detail);
        }
    }
    Ok(())
}

/// The audit policy is not looked up here: that is left to a webhook which is not part of the API server.
pub(super) fn n7(case: &Case<'_>, _: &mut Problems) -> Result<(), Status> {
    if !case.spec_changed() || is_deleting(case.new) {
        return Ok(());
    }
    let (view, place) = (case.ctx.view, namespace(case.new));
    let exists = |plural: &str, called: &str| view.get("", plural, place, called).is_some();
    let missing = |plural: &str, called: &str| Status::not_found("", plural, called).message;
    for resource in list(case.new, "spec.resources") {
        let (kind, called) = (text(resource, "resourceRef.kind"), text(resource, "resourceRef.name"));
        let plural = match kind {
            "Secret" => "secrets",
            "ConfigMap" => "configmaps",
            _ => continue,
        };
        let access = Access { verb: "get", resource: plural, namespace: place, name: called, ..Access::default() };
        if !case.ctx.may(&access) {
            return Err(case.refuse("shoot cannot reference a resource you are not allowed to read"));
        }
        if !exists(plural, called) {
            let why = missing(plural, called);
            let entry = text(resource, "name");
            return Err(case.refuse(format!("failed to resolve resource reference {entry:?}: {why}")));
        }
    }
    let server = "spec.kubernetes.kubeAPIServer";
    for what in ["authentication", "authorization"] {
        let called = text(at(case.new, server), &format!("structured{}.configMapName", capital(what)));
        if !called.is_empty() && !exists("configmaps", called) {
            let why = missing("configmaps", called);
            return Err(case.refuse(format!("failed to resolve structured {what} config map reference: {why}")));
        }
    }
    for provider in list(case.new, "spec.dns.providers") {
        let by_name = text(provider, "credentialsRef.kind") == "Secret";
        let called = text(provider, if by_name { "credentialsRef.name" } else { "secretName" });
        if !called.is_empty() && !exists("secrets", called) {
            let why = missing("secrets", called);
            return Err(case.refuse(format!("failed to resolve credentials reference of type Secret: {why}")));
        }
    }
    let referenced: Vec<&str> = list(case.new, "spec.resources")
        .iter()
        .filter(|resource| text(resource, "resourceRef.kind") == "Secret")
        .map(|resource| text(resource, "resourceRef.name"))
        .collect();
    for (index, plugin) in list(case.new, "spec.kubernetes.kubeAPIServer.admissionPlugins").iter().enumerate() {
        let called = text(plugin, "kubeconfigSecretName");
        if !called.is_empty() && !referenced.contains(&called) {
            return Err(case.refuse(format!(
                "{server}.admissionPlugins[{index}].kubeconfigSecretName: Invalid value: {called:?}: secret should be referenced in shoot .spec.resources"
            )));
        }
    }
    Ok(())
}

fn capital(word: &str) -> String {
    word.replacen('a', "A", 1)
}

/// Who may not read credentials could otherwise move a cluster into another account.
pub(super) fn u6(case: &Case<'_>, _: &mut Problems) -> Result<(), Status> {
    let path = "spec.credentialsBindingName";
    let (new, old) = (text(case.new, path), text(case.old, path));
    if new.is_empty() || old.is_empty() || new == old {
        return Ok(());
    }
    for (called, which) in [(old, "previously"), (new, "newly")] {
        let Some(binding) = case.ctx.view.get(SECURITY, "credentialsbindings", namespace(case.new), called) else {
            continue;
        };
        let reference = at(&binding, "credentialsRef");
        let (kind, place, name) = (text(reference, "kind"), text(reference, "namespace"), text(reference, "name"));
        let (group, resource) = match kind {
            "WorkloadIdentity" => (SECURITY, "workloadidentities"),
            "InternalSecret" => (CORE, "internalsecrets"),
            _ => ("", "secrets"),
        };
        let access = Access { verb: "get", group, resource, namespace: place, name, ..Access::default() };
        if !case.ctx.may(&access) {
            let user = &case.ctx.user.name;
            return Err(case.refuse(format!(
                "user {user:?} is not allowed to read the {which} referenced {kind} {:?}",
                format!("{place}/{name}")
            )));
        }
    }
    Ok(())
}

pub(super) fn n8(case: &Case<'_>, problems: &mut Problems) -> Result<(), Status> {
    let path = "spec.exposureClassName";
    let called = text(case.new, path);
    if called.is_empty() {
        return Ok(());
    }
    if !names::is_dns_subdomain(called) {
        problems.invalid(path, called, "exposureClassName is not a valid DNS subdomain");
    }
    if !same(at(case.new, path), at(case.old, path)) && case.ctx.view.get(CORE, "exposureclasses", "", called).is_none()
    {
        return Err(case.refuse(Status::not_found(CORE, "exposureclass", called).message));
    }
    Ok(())
}

pub(super) fn n9(case: &Case<'_>, _: &mut Problems) -> Result<(), Status> {
    if !case.spec_changed() || is_deleting(case.new) {
        return Ok(());
    }
    let registrations = case.ctx.view.consult(CORE, "controllerregistrations");
    let registered = |kind: &str, of_type: &str| {
        registrations.iter().flat_map(|registration| list(registration, "spec.resources")).any(|resource| {
            text(resource, "kind") == kind
                && text(resource, "type") == of_type
                && at(resource, "primary") != &Value::Bool(false)
        })
    };
    let mut missing = Vec::new();
    let mut need = |kind: &str, of_type: &str, what: &str, path: String| {
        if !registered(kind, of_type) {
            missing.push(format!("given Shoot uses non-registered {what}: {path} ({of_type:?})"));
        }
    };
    let provider = text(case.new, "spec.provider.type");
    for kind in ["ControlPlane", "Infrastructure", "Worker"] {
        if !case.is_workerless() {
            need(kind, provider, "provider type", "spec.provider.type".to_owned());
        }
    }
    if !case.is_workerless() {
        let network = text(case.new, "spec.networking.type");
        need("Network", network, "networking type", "spec.networking.type".to_owned());
    }
    for (index, extension) in list(case.new, "spec.extensions").iter().enumerate() {
        need("Extension", text(extension, "type"), "extension type", format!("spec.extensions[{index}].type"));
    }
    for (path, worker, _) in case.workers() {
        for (index, runtime) in list(worker, "cri.containerRuntimes").iter().enumerate() {
            let path = format!("{path}.cri.containerRuntimes[{index}].type");
            need("ContainerRuntime", text(runtime, "type"), "container runtime type", path);
        }
        let image = text(worker, "machine.image.name");
        if !image.is_empty() {
            need("OperatingSystemConfig", image, "operating system type", format!("{path}.machine.image.name"));
        }
    }
    match &missing[..] {
        [] => Ok(()),
        [one] => Err(case.refuse(format!("1 error occurred:\n\t* {one}\n\n"))),
        several => {
            let lines: String = several.iter().map(|one| format!("\t* {one}\n")).collect();
            Err(case.refuse(format!("{} errors occurred:\n{lines}\n", several.len())))
        }
    }
}

pub(super) fn n11(case: &Case<'_>, problems: &mut Problems) {
    let kind = text(case.new, "spec.provider.type");
    if kind.is_empty() {
        problems.required("spec.provider.type", "must specify a provider type");
    } else {
        names::check_dns_label("spec.provider.type", kind, problems);
    }
    if text(case.new, "spec.region").is_empty() {
        problems.required("spec.region", "must specify a region");
    }
    if at(case.new, "spec.seedName").as_str() == Some("") {
        problems.invalid("spec.seedName", "", "seed name must not be empty when providing the key");
    }
}
