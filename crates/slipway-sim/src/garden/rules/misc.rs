//! C5 to C9, C11, C15, C17, C19: maintenance, schedules, extensions, purposes, tolerations, domains, quotas.

use jiff::{SignedDuration, tz::TimeZone};
use kube_sandbox::status::{Cause, Status};
use serde_json::{Value, json};

use super::Case;
use crate::garden::{
    cron::Cron,
    names,
    problems::{CORE, Problems},
    quota,
    shoot::{MAINTENANCE_OPERATION, operations},
    value::{annotation, at, has, is_deleting, is_true, label, list, name, namespace, same, text},
    window::Window,
};

pub(super) fn c5(case: &Case<'_>, problems: &mut Problems) {
    let path = "spec.maintenance.timeWindow";
    let given = at(case.new, path);
    if given.is_null() {
        return;
    }
    match Window::parse(text(given, "begin"), text(given, "end")) {
        Err(wrong) => {
            // The real server shows its internal form.
            let shown = json!({"Begin": text(given, "begin"), "End": text(given, "end")});
            problems.invalid(format!("{path}.begin/end"), shown, &wrong);
        }
        Ok(window) => {
            let length = window.length();
            // It also shows durations as it counts them.
            let nanoseconds = i64::try_from(length.as_nanos()).unwrap_or_default();
            if length > SignedDuration::from_hours(6) {
                problems.invalid(path, nanoseconds, "time window must not be greater than 6h0m0s");
            } else if length < SignedDuration::from_mins(30) {
                problems.invalid(path, nanoseconds, "time window must not be smaller than 30m0s");
            }
        }
    }
}

pub(super) fn c6(case: &Case<'_>, problems: &mut Problems) {
    if is_true(case.new, "spec.hibernation.enabled") {
        for word in operations(case.new, MAINTENANCE_OPERATION) {
            if word.starts_with("rotate-credentials")
                || word.starts_with("rotate-etcd")
                || word.starts_with("rotate-serviceaccount")
            {
                let detail = format!(
                    "shoot cannot be hibernated when {MAINTENANCE_OPERATION} annotation contains {word} operation"
                );
                problems.forbidden("spec.hibernation.enabled", &detail);
            }
        }
    }
    let mut seen = Vec::new();
    for (index, schedule) in list(case.new, "spec.hibernation.schedules").iter().enumerate() {
        let path = format!("spec.hibernation.schedules[{index}]");
        if !has(schedule, "start") && !has(schedule, "end") {
            problems.required(format!("{path}.start/end"), "either start or end has to be provided");
        }
        for field in ["start", "end"] {
            let line = text(schedule, field);
            if !has(schedule, field) {
                continue;
            }
            let path = format!("{path}.{field}");
            match line.parse::<Cron>() {
                Err(wrong) => problems.invalid(path, line, &format!("not a valid cron spec: {wrong}")),
                Ok(_) if seen.contains(&line) => problems.duplicate(path, line),
                Ok(_) => seen.push(line),
            }
        }
        let zone = text(schedule, "location");
        if has(schedule, "location") && TimeZone::get(zone).is_err() {
            let detail = format!("not a valid location: unknown time zone {zone}");
            problems.invalid(format!("{path}.location"), zone, &detail);
        }
    }
}

pub(super) fn c7(case: &Case<'_>, problems: &mut Problems) {
    let mut seen = Vec::new();
    for (index, extension) in list(case.new, "spec.extensions").iter().enumerate() {
        let path = format!("spec.extensions[{index}].type");
        let kind = text(extension, "type");
        if kind.is_empty() {
            problems.required(path, "field must not be empty");
            continue;
        }
        names::check_dns_label(&path, kind, problems);
        if seen.contains(&kind) {
            problems.duplicate(path, kind);
        }
        seen.push(kind);
    }
    let mut seen = Vec::new();
    for (index, resource) in list(case.new, "spec.resources").iter().enumerate() {
        let path = format!("spec.resources[{index}]");
        let called = text(resource, "name");
        if called.is_empty() {
            problems.required(format!("{path}.name"), "field must not be empty");
        } else if seen.contains(&called) {
            problems.duplicate(format!("{path}.name"), called);
        }
        seen.push(called);
        let reference = at(resource, "resourceRef");
        let (version, kind) = (text(reference, "apiVersion"), text(reference, "kind"));
        for (field, given, detail) in
            [("apiVersion", version, "must provide an apiVersion"), ("kind", kind, "must provide a kind")]
        {
            if given.is_empty() {
                problems.required(format!("{path}.resourceRef.{field}"), detail);
            }
        }
        let identity = ("security.gardener.cloud/v1alpha1", "WorkloadIdentity");
        if !matches!((version, kind), ("v1", "Secret" | "ConfigMap")) && (version, kind) != identity {
            let known =
                ["/v1, Kind=Secret", "/v1, Kind=ConfigMap", "security.gardener.cloud/v1alpha1, Kind=WorkloadIdentity"];
            let (group, version) = version.split_once('/').unwrap_or(("", version));
            problems.unsupported(format!("{path}.resourceRef"), &format!("{group}/{version}, Kind={kind}"), &known);
        }
        if text(reference, "name").is_empty() {
            problems.required(format!("{path}.resourceRef.name"), "must provide a name");
        }
    }
}

pub(super) fn c8(case: &Case<'_>, problems: &mut Problems) {
    let path = "spec.purpose";
    let mut known = vec!["development", "evaluation", "production", "testing"];
    if namespace(case.new) == "garden" {
        known.insert(2, "infrastructure");
    }
    if has(case.new, path) && !known.contains(&text(case.new, path)) {
        problems.unsupported(path, text(case.new, path), &known);
    }
}

/// Tolerations that are new must stand in the project's list.
pub(super) fn c9(case: &Case<'_>, _: &mut Problems) -> Result<(), Status> {
    let mut problems = Problems::default();
    let path = "spec.tolerations";
    if same(at(case.new, path), at(case.old, path)) || is_deleting(case.new) {
        return Ok(());
    }
    let allowed = [
        list(&case.refs.project, "spec.tolerations.whitelist"),
        list(&case.refs.project, "spec.tolerations.defaults"),
        list(case.old, path),
    ];
    for (index, toleration) in list(case.new, path).iter().enumerate() {
        let key = text(toleration, "key");
        // The namespace of the landscape itself gets this one from the server.
        let given = namespace(case.new) == "garden" && key == "seed.gardener.cloud/protected";
        let fits = |one: &Value| {
            text(one, "key") == key && (!has(one, "value") || same(at(one, "value"), at(toleration, "value")))
        };
        if !given && !allowed.iter().flat_map(|list| list.iter()).any(fits) {
            let keys: Vec<&str> = allowed.iter().flat_map(|list| list.iter()).map(|one| text(one, "key")).collect();
            let detail = format!("only the following tolerations are allowed: [{}]", keys.join(" "));
            problems.forbidden(format!("{path}[{index}]"), &detail);
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(case.refuse(format!("error while validating tolerations against allowlist: {}", problems.bracketed())))
}

pub(super) fn c11(case: &Case<'_>, problems: &mut Problems) -> Result<(), Status> {
    let path = "spec.dns.domain";
    let domain = text(case.new, path);
    // A domain by the landscape's scheme names the Shoot and its project, so nobody else has it: no need to look
    // at every Shoot there is.
    let own = format!("{}.{}", name(case.new), name(&case.refs.project));
    let given = default_domains(case.ctx.view).iter().any(|default| domain == format!("{own}.{default}"));
    if domain.is_empty() || domain == text(case.old, path) || is_deleting(case.new) || given {
        return Ok(());
    }
    for other in case.ctx.view.list(CORE, "shoots", "") {
        let taken = text(&other, path);
        if taken.is_empty() || (name(&other) == name(case.new) && namespace(&other) == namespace(case.new)) {
            continue;
        }
        if taken == domain {
            problems.duplicate(path, domain);
            break;
        }
        if taken.ends_with(&format!(".{domain}")) || domain.ends_with(&format!(".{taken}")) {
            let detail = "the domain is already used by another shoot or it is a subdomain of an already used domain";
            problems.forbidden(path, detail);
            break;
        }
    }
    Ok(())
}

/// The landscape's default domains.
pub(crate) fn default_domains(view: &dyn kube_sandbox::kind::View) -> Vec<String> {
    let secrets = view.consult("", "secrets");
    let secrets = secrets
        .iter()
        .filter(|secret| namespace(secret) == "garden" && label(secret, "gardener.cloud/role") == "default-domain");
    let mut domains: Vec<(i64, String)> = secrets
        .map(|secret| {
            let priority = annotation(secret, "dns.gardener.cloud/domain-default-priority").parse().unwrap_or(0);
            (-priority, annotation(secret, "dns.gardener.cloud/domain").to_owned())
        })
        .collect();
    domains.sort();
    domains.into_iter().map(|(_, domain)| domain).collect()
}

/// Nobody takes the name of another project's Shoot.
pub(super) fn c17(case: &Case<'_>, _: &mut Problems) -> Result<(), Status> {
    let path = "spec.dns.domain";
    let domain = text(case.new, path);
    if domain.is_empty() || domain == text(case.old, path) {
        return Ok(());
    }
    let refuse = |cause: Cause| Err(Status::invalid(CORE, "Shoot", name(case.new), vec![cause]));
    for default in default_domains(case.ctx.view) {
        if domain != default && !domain.ends_with(&format!(".{default}")) {
            continue;
        }
        let wanted = format!("{}.{}.{default}", name(case.new), name(&case.refs.project));
        if domain != wanted {
            let detail = format!(
                "shoot uses a default domain but does not match expected scheme: <shoot-name>.<project-name>.<default-domain> (expected '{wanted}', but got '{domain}')"
            );
            return refuse(Cause::invalid(path, &domain.into(), &detail));
        }
        if list(case.new, "spec.dns.providers").iter().any(|provider| is_true(provider, "primary")) {
            let detail = "primary dns provider must not be set when default domain is used";
            return refuse(Cause::forbidden("spec.dns.providers", detail));
        }
    }
    Ok(())
}

pub(super) fn c15(case: &Case<'_>, _: &mut Problems) -> Result<(), Status> {
    if is_deleting(case.new) || (!case.is_create() && !case.spec_changed()) {
        return Ok(());
    }
    let exceeded = quota::exceeded(case.new, &case.refs.profile, case.ctx.view);
    match exceeded {
        Some(metrics) => Err(case.refuse(format!("quota limits exceeded. Unable to allocate further {metrics}"))),
        None => Ok(()),
    }
}

pub(super) fn dns_providers(case: &Case<'_>, problems: &mut Problems) {
    let domain = text(case.new, "spec.dns.domain");
    if !domain.is_empty() {
        names::check_dns_subdomain("spec.dns.domain", domain, problems);
    }
    let mut primary = false;
    for (index, provider) in list(case.new, "spec.dns.providers").iter().enumerate() {
        let path = format!("spec.dns.providers[{index}]");
        let kind = text(provider, "type");
        if is_true(provider, "primary") {
            if primary {
                problems.forbidden(format!("{path}.primary"), "multiple primary DNS providers are not supported");
                continue;
            }
            primary = true;
            if !kind.is_empty() && kind != "unmanaged" && domain.is_empty() {
                let detail = "domain must be set when primary provider type is not set to \"unmanaged\"";
                problems.required("spec.dns.domain", detail);
            }
        } else if !has(provider, "credentialsRef") {
            let detail = "non-primary DNS providers must specify `credentialsRef`";
            problems.required(format!("{path}.credentialsRef"), detail);
        }
        if kind == "unmanaged" && has(provider, "credentialsRef") {
            let detail = "credentialsRef must not be set when type is \"unmanaged\"";
            problems.invalid(format!("{path}.credentialsRef"), at(provider, "credentialsRef").clone(), detail);
        } else if kind.is_empty() && has(provider, "credentialsRef") {
            problems.required(format!("{path}.type"), "type must be set when credentialsRef is set");
        }
    }
}
