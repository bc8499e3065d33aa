//! Quotas: how much a project or a set of credentials may use.

use std::collections::BTreeMap;

use kube_sandbox::kind::View;
use serde_json::Value;

use super::{
    names::quantity,
    problems::CORE,
    profile::Profile,
    value::{at, entries, list, name, named, namespace, number, text},
};

/// Amounts by metric, in thousandths.
type Amounts = BTreeMap<String, i128>;

/// The quotas of a Shoot's binding that it would exceed, as the sentence shows the metrics; none if
/// all hold. What other Shoots of the same binding need counts too.
pub fn exceeded(shoot: &Value, profile: &Profile, view: &dyn View) -> Option<String> {
    let quotas = quotas(shoot, view);
    if quotas.is_empty() {
        return None;
    }
    let mut used = Amounts::new();
    add(&mut used, needs(shoot, profile));
    let others = view.list(CORE, "shoots", namespace(shoot)).into_iter();
    for other in others.filter(|other| name(other) != name(shoot) && binding(other) == binding(shoot)) {
        add(&mut used, needs(&other, profile));
    }
    let over = |quota: &Value| -> Vec<String> {
        let limits = entries(quota, "spec.metrics");
        let over = limits.filter(|(metric, most)| {
            let used = used.get(*metric).copied().unwrap_or_default();
            quantity(most).is_some_and(|most| used > most)
        });
        over.map(|(metric, _)| metric.to_owned()).collect()
    };
    let mut metrics: Vec<String> = quotas.iter().flat_map(over).collect();
    metrics.sort();
    metrics.dedup();
    (!metrics.is_empty()).then(|| metrics.iter().map(|metric| format!("{metric} ")).collect())
}

fn binding(shoot: &Value) -> (&str, &str) {
    (text(shoot, "spec.credentialsBindingName"), text(shoot, "spec.secretBindingName"))
}

fn quotas(shoot: &Value, view: &dyn View) -> Vec<Value> {
    let (credentials, secret) = binding(shoot);
    let binding = if credentials.is_empty() {
        view.get(CORE, "secretbindings", namespace(shoot), secret)
    } else {
        view.get("security.gardener.cloud", "credentialsbindings", namespace(shoot), credentials)
    };
    let binding = binding.unwrap_or_default();
    let references = list(&binding, "quotas").iter();
    references.filter_map(|one| view.get(CORE, "quotas", text(one, "namespace"), text(one, "name"))).collect()
}

/// What a Shoot may grow to: every pool at its maximum.
fn needs(shoot: &Value, profile: &Profile) -> Amounts {
    let mut needed = Amounts::new();
    for worker in list(shoot, "spec.provider.workers") {
        let count = i128::from(number(worker, "maximum"));
        let machine = profile.machine_type(text(worker, "machine.type"));
        for metric in ["cpu", "gpu", "memory"] {
            let one = machine.and_then(|machine| quantity(at(machine, metric))).unwrap_or_default();
            *needed.entry(metric.to_owned()).or_default() += one * count;
        }
        if let Some(size) = quantity(at(worker, "volume.size")) {
            let kind = named(list(&profile.spec, "volumeTypes"), text(worker, "volume.type"));
            let class = kind.map_or("standard", |kind| text(kind, "class"));
            *needed.entry(format!("storage.{class}")).or_default() += size * count;
        }
    }
    *needed.entry("loadbalancer".to_owned()).or_default() += 1000;
    needed
}

fn add(sum: &mut Amounts, more: Amounts) {
    for (metric, amount) in more {
        *sum.entry(metric).or_default() += amount;
    }
}
