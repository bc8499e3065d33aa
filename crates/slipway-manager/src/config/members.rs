//! Every member of the configuration file: its path, its type, whether it must be there.
//!
//! One table from which types, required members and unknown ones are checked, because only with it
//! can every problem be told by its path, and all of them at once.

use std::{borrow::Cow, sync::LazyLock};

use serde_json::Value;
use slipway_kube::{cloud::LandscapeMember, providers::CLOUDS};

use super::{ConfigError, Problem};
use crate::go_duration;

/// What a member may be.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Flag,
    Texts,
    /// Names to flags.
    Flags,
    /// Names to texts.
    TextMap,
    /// A duration as Go writes them.
    Duration,
    /// A number, written as text.
    NumberText,
    /// An address with a scheme.
    Url,
    /// Regions to taints.
    Tolerations,
}

#[derive(Clone)]
struct Member {
    path: Cow<'static, str>,
    kind: Kind,
    is_required: bool,
    /// For the page.
    #[cfg_attr(not(test), expect(dead_code, reason = "the page is made by a test"))]
    meaning: &'static str,
}

const fn required(path: &'static str, kind: Kind, meaning: &'static str) -> Member {
    Member { path: Cow::Borrowed(path), kind, is_required: true, meaning }
}

const fn optional(path: &'static str, kind: Kind, meaning: &'static str) -> Member {
    Member { path: Cow::Borrowed(path), kind, is_required: false, meaning }
}

/// As a switch was spelled until 2025.
const OLD_SPELLING: &str = "converter.kubernetes.enableMachineImageVersionVersionAutoUpdate";
/// As it is spelled now.
const NEW_SPELLING: &str = "converter.kubernetes.enableMachineImageVersionAutoUpdate";

/// The members of all landscapes, and those that single clouds have.
static MEMBERS: LazyLock<Vec<Member>> = LazyLock::new(|| {
    let of_clouds = CLOUDS.iter().flat_map(|cloud| cloud.landscape.iter().map(|member| of_cloud(cloud.name, member)));
    COMMON.iter().cloned().chain(of_clouds).collect()
});

fn of_cloud(cloud: &str, member: &LandscapeMember) -> Member {
    Member {
        path: format!("converter.provider.{cloud}.{}", member.name).into(),
        kind: if member.is_switch { Kind::Flag } else { Kind::Text },
        is_required: false,
        meaning: member.meaning,
    }
}

static COMMON: &[Member] = &[
    required(
        "cluster.defaultSharedIASTenant.clientID",
        Kind::Text,
        "customers' login where a Runtime names none: who a token must be for",
    ),
    required("cluster.defaultSharedIASTenant.groupsClaim", Kind::Text, "which claim has the groups"),
    required("cluster.defaultSharedIASTenant.issuerURL", Kind::Url, "who issues tokens"),
    required("cluster.defaultSharedIASTenant.signingAlgs", Kind::Texts, "which signatures are trusted"),
    required("cluster.defaultSharedIASTenant.usernameClaim", Kind::Text, "which claim is the user"),
    required(
        "cluster.defaultSharedIASTenant.usernamePrefix",
        Kind::Text,
        "what stands before the user; `-` is nothing",
    ),
    required("converter.kubernetes.defaultVersion", Kind::Text, "Kubernetes version where a Runtime names none"),
    optional(
        "converter.kubernetes.enableKubernetesVersionAutoUpdate",
        Kind::Flag,
        "whether Gardener raises versions by itself",
    ),
    optional(NEW_SPELLING, Kind::Flag, "whether Gardener raises image versions by itself"),
    optional(OLD_SPELLING, Kind::Flag, "the same, as it was spelled until 2025"),
    required(
        "converter.kubernetes.defaultOperatorOidc.clientID",
        Kind::Text,
        "operators' login where a Runtime names none: who a token must be for",
    ),
    required("converter.kubernetes.defaultOperatorOidc.groupsClaim", Kind::Text, "which claim has the groups"),
    required("converter.kubernetes.defaultOperatorOidc.issuerURL", Kind::Url, "who issues tokens"),
    required(
        "converter.kubernetes.defaultOperatorOidc.signingAlgs",
        Kind::Texts,
        "kept for the reference; structured authentication trusts what the issuer publishes",
    ),
    required("converter.kubernetes.defaultOperatorOidc.usernameClaim", Kind::Text, "which claim is the user"),
    required(
        "converter.kubernetes.defaultOperatorOidc.usernamePrefix",
        Kind::Text,
        "what stands before the user; `-` is nothing",
    ),
    optional(
        "converter.kubernetes.dashPrefixIsNone",
        Kind::Flag,
        "whether `-` is nothing in the operators' login; otherwise it is taken literally (default true)",
    ),
    optional(
        "converter.kubernetes.kubeApiServer.acl.configMapName",
        Kind::Text,
        "ConfigMap with addresses that may always reach API servers; required with `--api-server-acl-enabled`",
    ),
    optional(
        "converter.kubernetes.kubeApiServer.maxTokenExpiration",
        Kind::Duration,
        "life of service account tokens, 720h to 2160h (default 720h); new clusters only",
    ),
    optional("converter.kubernetes.kubeApiServer.runtimeConfig", Kind::Flags, "APIs switched on or off"),
    optional("converter.kubernetes.kubeApiServer.featureGates", Kind::Flags, "features of the API server"),
    optional("converter.kubernetes.kubelet.featureGates", Kind::Flags, "features of the kubelets"),
    optional(
        "converter.dns.secretName",
        Kind::Text,
        "credentials of the DNS provider; all three empty is Gardener's own domain",
    ),
    optional("converter.dns.domainPrefix", Kind::Text, "below which domain clusters are"),
    optional("converter.dns.providerType", Kind::Text, "the DNS provider"),
    optional(
        "converter.provider.worker.defaultMaxEvictRetries",
        Kind::NumberText,
        "how often an eviction is tried (default `2`)",
    ),
    optional(
        "converter.provider.worker.defaultMachineDrainTimeout",
        Kind::Duration,
        "how long draining may take (default `15m`)",
    ),
    optional("converter.provider.cloudProfiles", Kind::TextMap, "other cloud profiles than the usual, by provider"),
    required("converter.machineImage.defaultName", Kind::Text, "operating system where a pool names none"),
    required("converter.machineImage.defaultVersion", Kind::Text, "its version"),
    required("converter.gardener.projectName", Kind::Text, "the Gardener project; Shoots are in `garden-<name>`"),
    optional(
        "converter.gardener.enableCredentialBinding",
        Kind::Flag,
        "bindings are CredentialsBindings, not SecretBindings",
    ),
    optional(
        "converter.gardener.fieldManager",
        Kind::Text,
        "the name Shoots are written under (default `kim`); one for the life of a landscape",
    ),
    required("converter.auditLogging.policyConfigMapName", Kind::Text, "audit policy, in the project's namespace"),
    required("converter.auditLogging.tenantConfigPath", Kind::Text, "file with the audit tenants"),
    optional(
        "converter.maintenanceWindow.windowMapPath",
        Kind::Text,
        "file with the maintenance windows; empty for none",
    ),
    optional("converter.tolerations", Kind::Tolerations, "taints of Seeds that new clusters of a region bear"),
    optional(
        "converter.networking.enableDualStackIP",
        Kind::Flag,
        "Runtimes may ask for IPv6 too, on clouds that have it",
    ),
    optional(
        "converter.euAccess.platformRegions",
        Kind::Texts,
        "platform regions where only people in the EU have access (default `cf-eu11`, `cf-ch20`, `cf-eu01`, `cf-eu02`, `cf-eu31`)",
    ),
];

/// Checks a file; answers the members it does not know.
pub(super) fn check(file: &Value) -> Result<Vec<String>, ConfigError> {
    let mut problems: Vec<Problem> = MEMBERS.iter().filter_map(|member| problem(member, file)).collect();
    problems.extend(dns(file));
    let mut unknown = Vec::new();
    look_for_unknown(file, "", &mut unknown, &mut problems);
    if problems.is_empty() { Ok(unknown) } else { Err(ConfigError { problems }) }
}

fn get<'a>(file: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(file, |at, name| at.get(name)).filter(|value| !value.is_null())
}

fn problem(member: &Member, file: &Value) -> Option<Problem> {
    let value = get(file, &member.path);
    let message = match value {
        None if member.is_required => "is missing; it must have a value".to_owned(),
        None => return None,
        Some(value) if member.is_required && is_empty(value) => "is empty; it must have a value".to_owned(),
        Some(value) => format!("must be {}", wanted(member.kind, value)?),
    };
    Some(Problem { path: member.path.to_string(), message })
}

fn is_empty(value: &Value) -> bool {
    value.as_str().is_some_and(str::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

/// What should have stood there, if it does not.
fn wanted(kind: Kind, value: &Value) -> Option<&'static str> {
    let text = value.as_str();
    let all = |is_right: fn(&Value) -> bool| value.as_object().is_some_and(|map| map.values().all(is_right));
    let is_unset_or = |is_right: fn(&str) -> bool| text.is_some_and(|text| text.is_empty() || is_right(text));
    let (is_right, wanted) = match kind {
        Kind::Text => (text.is_some(), "a text"),
        Kind::Flag => (value.is_boolean(), "true or false"),
        Kind::Texts => (value.as_array().is_some_and(|list| list.iter().all(Value::is_string)), "a list of texts"),
        Kind::Flags => (all(Value::is_boolean), "an object of names with true or false"),
        Kind::TextMap => (all(Value::is_string), "an object of names with texts"),
        Kind::Duration => (is_unset_or(|text| go_duration::parse(text).is_some()), "a duration such as 15m or 720h"),
        Kind::NumberText => {
            (is_unset_or(|text| text.parse::<i32>().is_ok_and(|number| number >= 0)), "a number as text, such as \"2\"")
        }
        Kind::Url => (
            text.is_some_and(|text| text.starts_with("https://") || text.starts_with("http://")),
            "an address that starts with https://",
        ),
        Kind::Tolerations => (
            all(|list| list.as_array().is_some_and(|list| list.iter().all(|one| one["key"].is_string()))),
            "an object of regions with lists of {\"key\", \"value\"}",
        ),
    };
    (!is_right).then_some(wanted)
}

/// Three members that only make sense together.
fn dns(file: &Value) -> Option<Problem> {
    let paths = ["converter.dns.secretName", "converter.dns.domainPrefix", "converter.dns.providerType"];
    let is_set = |path: &&str| get(file, path).is_some_and(|value| !is_empty(value));
    let missing = paths.iter().find(|path| !is_set(path))?;
    paths.iter().any(is_set).then(|| Problem {
        path: (*missing).to_owned(),
        message: "is empty while others of converter.dns are set; set all three, or none for Gardener's own domain"
            .to_owned(),
    })
}

fn look_for_unknown(value: &Value, path: &str, unknown: &mut Vec<String>, problems: &mut Vec<Problem>) {
    if MEMBERS.iter().any(|member| member.path == path) {
        return;
    }
    let is_on_the_way = path.is_empty() || MEMBERS.iter().any(|member| member.path.starts_with(&format!("{path}.")));
    match value {
        Value::Object(map) if is_on_the_way => {
            for (name, inner) in map {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                look_for_unknown(inner, &path, unknown, problems);
            }
        }
        Value::Null if is_on_the_way => {}
        _ if is_on_the_way => {
            let path = if path.is_empty() { "the file" } else { path };
            problems.push(Problem { path: path.to_owned(), message: "must be an object".to_owned() });
        }
        _ => unknown.push(path.to_owned()),
    }
}

/// The rows of the page about the configuration.
#[cfg(test)]
pub(crate) fn rows() -> impl Iterator<Item = String> {
    MEMBERS.iter().map(|member| {
        let required = if member.is_required { "yes" } else { "" };
        format!("| `{}` | {required} | {} |", member.path, member.meaning)
    })
}

/// Leaves out what says nothing: nulls, and the old spelling of a switch where the new one is there.
pub(super) fn simplify(file: &mut Value) {
    if get(file, NEW_SPELLING).is_some()
        && let Some(Value::Object(kubernetes)) = file.pointer_mut("/converter/kubernetes")
    {
        kubernetes.retain(|name, _| !OLD_SPELLING.ends_with(&format!(".{name}")));
    }
    without_nulls(file);
}

fn without_nulls(value: &mut Value) {
    if let Value::Object(map) = value {
        map.retain(|_, inner| !inner.is_null());
        map.values_mut().for_each(without_nulls);
    }
}
