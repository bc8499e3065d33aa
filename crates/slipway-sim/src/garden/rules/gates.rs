//! The two gates that run the table, and the rules of the status subresource.

use kube_sandbox::status::Status;
use serde_json::Value;

use super::{Case, Check, RULES};
use crate::garden::{
    problems::{CORE, Problems},
    value::{at, has, list, name, text},
};

/// All rules about the Shoot alone, answered together with `422`.
pub fn statics(case: &Case<'_>) -> Result<(), Status> {
    let mut problems = Problems::default();
    for rule in RULES {
        if let Check::Static(check) = rule.check {
            check(case, &mut problems);
        }
    }
    problems.into_invalid(CORE, "Shoot", name(case.new))
}

/// All rules about other objects, answered together with `403`; one that says otherwise speaks alone.
pub fn admission(case: &Case<'_>) -> Result<(), Status> {
    let mut problems = Problems::default();
    for rule in RULES {
        if let Check::Admission(check) = rule.check {
            check(case, &mut problems)?;
        }
    }
    problems.into_forbidden(CORE, "shoots", name(case.new))
}

/// U20: what the status subresource keeps.
pub fn status_update(new: &Value, old: &Value) -> Result<(), Status> {
    let mut problems = Problems::default();
    for field in ["uid", "technicalID", "clusterIdentity"] {
        let path = format!("status.{field}");
        if has(old, &path) && !text(old, &path).is_empty() {
            problems.immutable(path.clone(), at(new, &path), at(old, &path));
        }
    }
    let mut names = Vec::new();
    for (index, address) in list(new, "status.advertisedAddresses").iter().enumerate() {
        let path = format!("status.advertisedAddresses[{index}]");
        let called = text(address, "name");
        if called.is_empty() {
            problems.required(format!("{path}.name"), "field must not be empty");
        } else if names.contains(&called) {
            problems.duplicate(format!("{path}.name"), called);
        } else {
            names.push(called);
            advertised_url(&format!("{path}.url"), text(address, "url"), &mut problems);
        }
    }
    problems.into_invalid(CORE, "Shoot", name(new))
}

fn advertised_url(path: &str, url: &str, problems: &mut Problems) {
    const FORM: &str = "; desired format: https://host[:port]";
    let mut wrong = |value: &str, what: &str| problems.invalid(path, value, &format!("{what}{FORM}"));
    let (url, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (url, query) = url.split_once('?').unwrap_or((url, ""));
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = rest.split('/').next().unwrap_or_default();
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if scheme != "https" {
        wrong(scheme, "'https' is the only allowed URL scheme");
    }
    if host.is_empty() || scheme.is_empty() {
        wrong("", "host must be provided");
    }
    if !user.is_empty() {
        wrong(user, "user information is not permitted in the URL");
    }
    if !fragment.is_empty() {
        wrong(fragment, "fragments are not permitted in the URL");
    }
    if !query.is_empty() {
        wrong(query, "query parameters are not permitted in the URL");
    }
}
