//! The kinds of the Gardener API, as rows for the embedded Kubernetes API.
//!
//! A row is names and columns; what is special about a kind is its strategy in a file of its own.

mod bindings;
mod profiles;
mod projects;
mod shoots;
mod simple;

use jiff::Timestamp;
use kube_sandbox::kind::{Cell, Column, Generation, Kind, ServedBy, Subresource};
use serde_json::{Value, json};

use super::{
    chance::Chance,
    clock::Clock,
    engine::faults::Faults,
    kubeconfig::Issuer,
    problems::CORE,
    scheduler::Usage,
    schema,
    value::{at, is_true, label, list, number, text},
};

const SECURITY: &str = "security.gardener.cloud";
/// Kinds of which a `PUT` need not name the version it was made from.
const UPDATED_BLINDLY: [&str; 7] =
    ["CloudProfile", "NamespacedCloudProfile", "Project", "Seed", "Quota", "SecretBinding", "InternalSecret"];
const AUTHENTICATION: &str = "authentication.gardener.cloud";

/// What the strategies of a garden share with its engine.
#[derive(Debug, Clone)]
pub struct Shared {
    /// Simulated time.
    pub clock: Clock,
    /// Who issues kubeconfigs.
    pub issuer: Issuer,
    /// How full the Seeds are.
    pub usage: Usage,
    /// Chance.
    pub chance: Chance,
    /// What goes wrong.
    pub faults: Faults,
}

/// All kinds.
///
/// A Gardener API server follows the machinery's plain rules, not those of Kubernetes' own kinds: its
/// finalizer is called `gardener`, without a domain, and a `PUT` of most kinds must name a version (U19).
pub fn kinds(shared: &Shared) -> Vec<Kind> {
    let finish = |kind: Kind| Kind {
        served_by: ServedBy::Aggregated,
        updates_name_version: !UPDATED_BLINDLY.contains(&kind.kind.as_str()),
        schema: schema::of(&kind.kind),
        ..kind
    };
    table(shared).into_iter().map(finish).collect()
}

fn table(shared: &Shared) -> Vec<Kind> {
    let core = |kind: &str, plural: &str| Kind::new(CORE, "v1beta1", kind, plural).generation(Generation::Spec);
    vec![
        shoot(shared),
        core("CloudProfile", "cloudprofiles")
            .short(&["cprofile", "cpfl"])
            .strategy(profiles::CloudProfiles)
            .columns(vec![Column::path("Type", ".spec.type"), Column::age()]),
        core("NamespacedCloudProfile", "namespacedcloudprofiles")
            .namespaced()
            .short(&["ncprofile", "ncpfl"])
            .below(Subresource::Status)
            .strategy(profiles::NamespacedCloudProfiles)
            .columns(vec![Column::path("Parent", ".spec.parent.name"), Column::age()]),
        core("Project", "projects")
            .below(Subresource::Status)
            .strategy(projects::Projects)
            .selectable(&["spec.namespace"])
            .columns(vec![
                Column::path("Namespace", ".spec.namespace"),
                Column::path("Status", ".status.phase"),
                Column::path("Owner", ".spec.owner.name"),
                Column::path("Creator", ".spec.createdBy.name"),
                Column::age(),
            ]),
        core("Seed", "seeds").below(Subresource::Status).strategy(simple::SEED).columns(vec![
            Column::of("Status", "string", |seed, _| {
                json!(if super::scheduler::is_usable(seed) { "Ready" } else { "NotReady" })
            }),
            Column::path("Last Operation", ".status.lastOperation.state"),
            Column::path("Provider", ".spec.provider.type"),
            Column::path("Region", ".spec.provider.region"),
            Column::age(),
            Column::path("Version", ".status.gardener.version"),
            Column::path("K8S Version", ".status.kubernetesVersion"),
        ]),
        core("Quota", "quotas").namespaced().short(&["squota"]).strategy(simple::QUOTA),
        core("ExposureClass", "exposureclasses").short(&["expclass", "expcls"]).strategy(simple::EXPOSURE_CLASS),
        core("InternalSecret", "internalsecrets")
            .namespaced()
            .generation(Generation::None)
            .strategy(simple::InternalSecrets),
        core("ShootState", "shootstates").namespaced().strategy(simple::States),
        core("ControllerRegistration", "controllerregistrations")
            .short(&["ctrlreg"])
            .strategy(simple::Registrations)
            .columns(vec![Column::of("Resources", "string", resources), Column::age()]),
        core("ControllerInstallation", "controllerinstallations").short(&["ctrlinst"]).below(Subresource::Status),
        core("BackupBucket", "backupbuckets").short(&["bbc"]).below(Subresource::Status),
        core("BackupEntry", "backupentries").namespaced().short(&["bec"]).below(Subresource::Status),
        Kind::new(CORE, "v1", "ControllerDeployment", "controllerdeployments").short(&["ctrldeploy"]),
        core("SecretBinding", "secretbindings")
            .namespaced()
            .short(&["sb"])
            .generation(Generation::None)
            .strategy(bindings::SECRET)
            .selectable(&["provider.type"])
            .columns(vec![Column::path("Provider", ".provider.type"), Column::age()]),
        Kind::new(SECURITY, "v1alpha1", "CredentialsBinding", "credentialsbindings")
            .namespaced()
            .short(&["cb"])
            .strategy(bindings::CREDENTIALS)
            .selectable(&["provider.type"])
            .columns(vec![
                Column::path("Provider", ".provider.type"),
                Column::path("Credentials Kind", ".credentialsRef.kind"),
                Column::path("Credentials Name", ".credentialsRef.name"),
                Column::age(),
            ]),
        Kind::new(SECURITY, "v1alpha1", "WorkloadIdentity", "workloadidentities")
            .namespaced()
            .generation(Generation::Spec)
            .below(Subresource::Status),
        Kind::new("seedmanagement.gardener.cloud", "v1alpha1", "ManagedSeed", "managedseeds")
            .namespaced()
            .short(&["ms"])
            .generation(Generation::Spec)
            .below(Subresource::Status),
        Kind::new("operations.gardener.cloud", "v1alpha1", "Bastion", "bastions")
            .namespaced()
            .generation(Generation::Spec)
            .below(Subresource::Status)
            .strategy(simple::BASTION),
    ]
}

fn shoot(shared: &Shared) -> Kind {
    let kubeconfig = |name, kind| Subresource::Call { name, group: AUTHENTICATION, version: "v1alpha1", kind };
    Kind::new(CORE, "v1beta1", "Shoot", "shoots")
        .namespaced()
        .below(Subresource::Status)
        .below(Subresource::View { name: "binding" })
        .below(kubeconfig("adminkubeconfig", "AdminKubeconfigRequest"))
        .below(kubeconfig("viewerkubeconfig", "ViewerKubeconfigRequest"))
        .selectable(&[
            "spec.seedName",
            "status.seedName",
            "spec.cloudProfileName",
            "spec.cloudProfile.name",
            "spec.cloudProfile.kind",
        ])
        .strategy(shoots::Shoots::new(shared.clone()))
        .columns(shoot_columns())
}

fn shoot_columns() -> Vec<Column> {
    let of =
        |name: &str, cell: fn(&Value, Timestamp) -> Value| Column { cell: Cell::Of(cell), ..Column::path(name, "") };
    vec![
        of("CloudProfile", |shoot, _| json!(super::shoot::profile_name(shoot))),
        Column::path("Provider", ".spec.provider.type"),
        Column::path("Region", ".spec.region"),
        of("Seed", |shoot, _| or(text(shoot, "spec.seedName"), "<none>")).wide(),
        Column::path("K8S Version", ".spec.kubernetes.version"),
        of("Hibernation", hibernation),
        of("Last Operation", last_operation),
        of("Status", |shoot, _| or(label(shoot, super::shoot::STATUS), "<pending>")),
        of("Purpose", |shoot, _| or(text(shoot, "spec.purpose"), "<none>")).wide(),
        of("Gardener Version", |shoot, _| or(text(shoot, "status.gardener.version"), "<unknown>")).wide(),
        of("APIServer", |shoot, _| condition(shoot, "APIServerAvailable")).wide(),
        of("Control", |shoot, _| condition(shoot, "ControlPlaneHealthy")).wide(),
        of("Observability", |shoot, _| condition(shoot, "ObservabilityComponentsHealthy")).wide(),
        of("Nodes", |shoot, _| condition(shoot, "EveryNodeReady")).wide(),
        of("System", |shoot, _| condition(shoot, "SystemComponentsHealthy")).wide(),
        Column::age(),
    ]
}

fn or(found: &str, otherwise: &str) -> Value {
    json!(if found.is_empty() { otherwise } else { found })
}

fn hibernation(shoot: &Value, _: Timestamp) -> Value {
    let words = match (is_true(shoot, "spec.hibernation.enabled"), is_true(shoot, "status.hibernated")) {
        (true, true) => "Hibernated",
        (true, false) => "Hibernating",
        (false, true) => "Waking Up",
        (false, false) => "Awake",
    };
    json!(words)
}

fn last_operation(shoot: &Value, _: Timestamp) -> Value {
    let last = at(shoot, "status.lastOperation");
    if last.is_null() {
        return json!("<pending>");
    }
    json!(format!("{} {} ({}%)", text(last, "type"), text(last, "state"), number(last, "progress")))
}

fn condition(shoot: &Value, kind: &str) -> Value {
    let found = list(shoot, "status.conditions").iter().find(|one| text(one, "type") == kind);
    or(found.map_or("", |one| text(one, "status")), "<unknown>")
}

fn resources(registration: &Value, _: Timestamp) -> Value {
    let rows = list(registration, "spec.resources").iter();
    let rows: Vec<String> = rows.map(|one| format!("{}/{}", text(one, "kind"), text(one, "type"))).collect();
    json!(rows.join(", "))
}
