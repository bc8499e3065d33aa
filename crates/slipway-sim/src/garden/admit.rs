//! What the server fills into a Shoot by looking at other objects: the mutating half of admission.

use jiff::Timestamp;
use kube_sandbox::{kind::Ctx, status::Status};
use serde_json::{Value, json};

use super::{
    cidr::Cidr,
    defaults,
    problems::{CORE, Problems},
    profile::Profile,
    rules::Refs,
    shoot::{CONFIRM_DELETION, CONFIRMED_BY, CREATED_BY, NEEDS_RETRY, OPERATION, TASKS, operations},
    value::{
        annotate, annotation, at, default, has, is_deleting, is_true, list, name, named, parses_as_true, place, same,
        set, text, texts, unannotate,
    },
};

/// Everything, for a create (`old` is null) or an update.
pub fn mutate(shoot: &mut Value, old: &Value, refs: &Refs, ctx: &Ctx<'_>) -> Result<(), Status> {
    if old.is_null() {
        annotate(shoot, CREATED_BY, ctx.user.name.as_str());
        project_tolerations(shoot, &refs.project);
        exposure_class(shoot, ctx)?;
    }
    confirmation(shoot, old, &ctx.user.name);
    if old.is_null() {
        let period = "spec.maintenance.autoRotation.credentials.etcdEncryptionKey.rotationPeriod";
        default(shoot, period, "672h0m0s");
    }
    if !is_deleting(shoot) {
        let mut problems = Problems::default();
        versions(shoot, &refs.profile, ctx.now, &mut problems);
        machines(shoot, old, &refs.profile, ctx.now, &mut problems);
        problems.into_forbidden(CORE, "shoots", name(shoot))?;
        networks(shoot, &refs.seed);
        domain(shoot, refs, ctx);
        if !list(shoot, "spec.provider.workers").is_empty() {
            default(shoot, "spec.kubernetes.verticalPodAutoscaler", json!({"enabled": true}));
            defaults::autoscaler(shoot);
            if !has(shoot, "spec.kubernetes.kubelet.kubeReserved") {
                let reserved = json!({"cpu": "80m", "memory": "1Gi", "pid": "20k"});
                set(shoot, "spec.kubernetes.kubelet.kubeReserved", reserved);
            }
        }
    }
    tasks(shoot, old);
    labels(shoot);
    Ok(())
}

/// Who confirmed a deletion is written down, so that a second pair of eyes can be demanded.
fn confirmation(shoot: &mut Value, old: &Value, user: &str) {
    let confirmed = |shoot: &Value| parses_as_true(annotation(shoot, CONFIRM_DELETION));
    let by = annotation(old, CONFIRMED_BY).to_owned();
    match (confirmed(shoot), confirmed(old)) {
        (false, _) => unannotate(shoot, CONFIRMED_BY),
        (true, false) => annotate(shoot, CONFIRMED_BY, user),
        (true, true) if by.is_empty() => unannotate(shoot, CONFIRMED_BY),
        (true, true) => annotate(shoot, CONFIRMED_BY, by),
    }
}

fn project_tolerations(shoot: &mut Value, project: &Value) {
    for toleration in list(project, "spec.tolerations.defaults") {
        let key = text(toleration, "key");
        if !list(shoot, "spec.tolerations").iter().any(|one| text(one, "key") == key) {
            push(shoot, "spec.tolerations", toleration.clone());
        }
    }
}

fn push(object: &mut Value, path: &str, item: Value) {
    let place = place(object, path);
    match place.as_array_mut() {
        Some(list) => list.push(item),
        None => *place = json!([item]),
    }
}

/// The class's wishes about Seeds become the Shoot's, unless they contradict (N8).
fn exposure_class(shoot: &mut Value, ctx: &Ctx<'_>) -> Result<(), Status> {
    let called = text(shoot, "spec.exposureClassName").to_owned();
    let Some(class) = ctx.view.get(CORE, "exposureclasses", "", &called) else { return Ok(()) };
    for (key, value) in super::value::entries(&class, "scheduling.seedSelector.matchLabels") {
        let labels = place(shoot, "spec.seedSelector.matchLabels");
        match labels.get(key) {
            Some(given) if given != value => {
                let why =
                    format!("conflicting seed selector label {key:?} between shoot and exposure class {called:?}");
                return Err(Status::forbidden(CORE, "shoots", name(shoot), &why));
            }
            _ => labels[key] = value.clone(),
        }
    }
    for toleration in list(&class, "scheduling.tolerations") {
        let given = list(shoot, "spec.tolerations").iter().find(|one| text(one, "key") == text(toleration, "key"));
        match given {
            Some(given) if !same(given, toleration) => {
                let why = format!(
                    "conflicting toleration {:?} between shoot and exposure class {called:?}",
                    text(toleration, "key")
                );
                return Err(Status::forbidden(CORE, "shoots", name(shoot), &why));
            }
            Some(_) => {}
            None => push(shoot, "spec.tolerations", toleration.clone()),
        }
    }
    Ok(())
}

/// `x.y` becomes the newest supported `x.y.z`.
fn versions(shoot: &mut Value, profile: &Profile, now: Timestamp, problems: &mut Problems) {
    let mut paths = vec![("spec.kubernetes.version".to_owned(), "spec.kubernetes.version".to_owned())];
    for (index, worker) in list(shoot, "spec.provider.workers").iter().enumerate() {
        if has(worker, "kubernetes.version") {
            let shown = format!("spec.provider.workers[{index}].kubernetes.version");
            paths.push((format!("spec.provider.workers.{index}.kubernetes.version"), shown));
        }
    }
    for (path, shown) in paths {
        let wanted = text(shoot, &path).to_owned();
        if wanted.split('.').count() >= 3 {
            continue;
        }
        if let Some(wrong) = wanted.split('.').find(|part| !part.is_empty() && part.parse::<u64>().is_err()) {
            problems.invalid(shown, wrong, "must be a semantic version");
            continue;
        }
        match profile.latest_version(&wanted, now) {
            Some(version) => set(shoot, &path, version),
            None => {
                let detail = format!(
                    "couldn't find a suitable version for {wanted}. Suitable versions have a non-expired expiration date and are no 'preview' versions. 'Preview'-classified versions have to be selected explicitly"
                );
                problems.invalid(shown, wanted, &detail);
            }
        }
    }
}

/// Architecture and image. An existing pool keeps its image when a write leaves it out: nodes roll
/// when somebody wants them to, not because a newer image appeared.
fn machines(shoot: &mut Value, old: &Value, profile: &Profile, now: Timestamp, problems: &mut Problems) {
    let old_workers = list(old, "spec.provider.workers");
    if !has(shoot, "spec.provider.workers") {
        return;
    }
    let workers = place(shoot, "spec.provider.workers").as_array_mut().into_iter().flatten();
    for (index, worker) in workers.enumerate() {
        let architecture = profile.architecture(text(worker, "machine.type")).to_owned();
        default(worker, "machine.architecture", architecture);
        let (called, version) = (text(worker, "machine.image.name").to_owned(), text(worker, "machine.image.version"));
        let is_known = called.is_empty() || named(list(&profile.spec, "machineImages"), &called).is_some();
        if !version.is_empty() && !called.is_empty() && is_known {
            continue;
        }
        let before = named(old_workers, text(worker, "name")).map(|old| at(old, "machine.image"));
        if let Some(before) =
            before.filter(|image| !image.is_null() && (called.is_empty() || called == text(image, "name")))
        {
            set(worker, "machine.image", before.clone());
            continue;
        }
        let architecture = text(worker, "machine.architecture").to_owned();
        match profile.default_image(&called, &architecture, now) {
            Some((name, version)) => {
                set(worker, "machine.image.name", name);
                set(worker, "machine.image.version", version);
            }
            None => {
                let path = format!("spec.provider.workers[{index}]");
                let known = named(list(&profile.spec, "machineImages"), &called).is_some();
                let detail = if called.is_empty() || known {
                    format!("no valid machine image found that support architecture `{architecture}`")
                } else {
                    "image is not supported".to_owned()
                };
                problems.invalid(path, called, &detail);
            }
        }
    }
}

/// The Seed knows which networks are free.
fn networks(shoot: &mut Value, seed: &Value) {
    if seed.is_null() {
        return;
    }
    let families: Vec<String> = texts(shoot, "spec.networking.ipFamilies").into_iter().map(str::to_owned).collect();
    let workerless = list(shoot, "spec.provider.workers").is_empty();
    for field in ["pods", "services"] {
        let given = text(seed, &format!("spec.networks.shootDefaults.{field}"));
        let Ok(cidr) = given.parse::<Cidr>() else { continue };
        let family = if cidr.is_v4() { "IPv4" } else { "IPv6" };
        if families.iter().any(|one| one == family) && !(workerless && field == "pods") {
            default(shoot, &format!("spec.networking.{field}"), given);
        }
    }
}

/// At binding, `<shoot>.<project>.<default domain>`, unless the Shoot brings its own or wants none.
fn domain(shoot: &mut Value, refs: &Refs, ctx: &Ctx<'_>) {
    let unmanaged = list(shoot, "spec.dns.providers")
        .iter()
        .any(|provider| is_true(provider, "primary") && text(provider, "type") == "unmanaged");
    if refs.seed.is_null() || has(shoot, "spec.dns.domain") || unmanaged {
        return;
    }
    if let Some(default) = super::rules::default_domains(ctx.view).first() {
        let domain = format!("{}.{}.{default}", name(shoot), name(&refs.project));
        set(shoot, "spec.dns.domain", domain);
    }
}

const INFRASTRUCTURE: &str = "deployInfrastructure";
const DNS: [&str; 3] = ["deployDNSRecordInternal", "deployDNSRecordExternal", "deployDNSRecordIngress"];

/// What the next operation must deploy anew.
fn tasks(shoot: &mut Value, old: &Value) {
    let changed = |path: &str| !same(at(shoot, path), at(old, path));
    let wakes = is_true(old, "spec.hibernation.enabled") && !is_true(shoot, "spec.hibernation.enabled");
    let rotates = operations(shoot, OPERATION)
        .iter()
        .any(|word| *word == "rotate-ssh-keypair" || word.starts_with("rotate-credentials-start"));
    let ssh = "spec.provider.workersSettings.sshAccess.enabled";
    let infrastructure = old.is_null()
        || wakes
        || rotates
        || changed("spec.provider.infrastructureConfig")
        || changed("spec.networking.ipFamilies")
        || (has(old, ssh) && changed(ssh));
    let dns = old.is_null() || wakes || changed("spec.dns");
    let retry = is_true(shoot, "spec.maintenance.confineSpecUpdateRollout")
        && changed("spec")
        && text(shoot, "status.lastOperation.state") == "Failed";
    let wanted = [(infrastructure, &[INFRASTRUCTURE][..]), (dns, &DNS[..])];
    let mut words: Vec<String> =
        annotation(shoot, TASKS).split(',').filter(|one| !one.is_empty()).map(str::to_owned).collect();
    for task in wanted.iter().filter(|(wanted, _)| *wanted).flat_map(|(_, tasks)| tasks.iter()) {
        if !words.iter().any(|one| one == task) {
            words.push((*task).to_owned());
        }
    }
    if !words.is_empty() {
        annotate(shoot, TASKS, words.join(","));
    }
    if retry {
        annotate(shoot, NEEDS_RETRY, "true");
    }
}

/// Labels by which others find Shoots that use them.
fn labels(shoot: &mut Value) {
    const OURS: [&str; 6] = [
        "provider.extensions.gardener.cloud/",
        "networking.extensions.gardener.cloud/",
        "extensions.extensions.gardener.cloud/",
        "operatingsystemconfig.extensions.gardener.cloud/",
        "containerruntime.extensions.gardener.cloud/",
        "name.seed.gardener.cloud/",
    ];
    let mut wanted = Vec::new();
    let mut want = |prefix: usize, what: &str| {
        if !what.is_empty() {
            wanted.push(format!("{}{what}", OURS[prefix]));
        }
    };
    want(0, text(shoot, "spec.provider.type"));
    want(1, text(shoot, "spec.networking.type"));
    for extension in list(shoot, "spec.extensions").iter().filter(|one| !is_true(one, "disabled")) {
        want(2, text(extension, "type"));
    }
    for worker in list(shoot, "spec.provider.workers") {
        want(3, text(worker, "machine.image.name"));
        for runtime in list(worker, "cri.containerRuntimes") {
            want(4, text(runtime, "type"));
        }
    }
    want(5, text(shoot, "spec.seedName"));
    want(5, text(shoot, "status.seedName"));
    let labels = place(shoot, "metadata.labels");
    if !labels.is_object() {
        *labels = json!({});
    }
    if let Some(labels) = labels.as_object_mut() {
        labels.retain(|key, _| wanted.contains(key) || !OURS.iter().any(|prefix| key.starts_with(prefix)));
        for key in wanted {
            labels.insert(key, json!("true"));
        }
    }
}
