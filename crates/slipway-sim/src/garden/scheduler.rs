//! Which Seed hosts a Shoot: the scheduler's choice, and the questions admission asks about it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

use super::{
    profile::Profile,
    value::{at, entries, has, is_deleting, list, name, same, text, texts},
};

/// Whether a Shoot tolerates all taints of a Seed.
pub fn tolerates(shoot: &Value, seed: &Value) -> bool {
    list(seed, "spec.taints").iter().all(|taint| {
        list(shoot, "spec.tolerations").iter().any(|toleration| {
            text(toleration, "key") == text(taint, "key")
                && (!has(toleration, "value") || same(at(toleration, "value"), at(taint, "value")))
        })
    })
}

/// How many Shoots a Seed takes; none if it does not say.
pub fn capacity(seed: &Value) -> Option<u64> {
    let given = at(seed, "status.allocatable.shoots");
    given.as_u64().or_else(|| given.as_str().and_then(|text| text.parse().ok()))
}

/// How many Shoots are on each Seed. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct Usage(Arc<Mutex<BTreeMap<String, u64>>>);

impl Usage {
    fn counts(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The Shoots on a Seed.
    pub fn of(&self, seed: &str) -> u64 {
        self.counts().get(seed).copied().unwrap_or_default()
    }

    /// A Shoot went from one Seed to another; empty means none.
    pub fn moved(&self, from: &str, to: &str) {
        let mut counts = self.counts();
        if let Some(count) = counts.get_mut(from).filter(|_| from != to) {
            *count = count.saturating_sub(1);
        }
        if !to.is_empty() && from != to {
            *counts.entry(to.to_owned()).or_default() += 1;
        }
    }
}

/// Whether a Seed is ready to be used.
pub fn is_usable(seed: &Value) -> bool {
    let ready = |kind: &str| {
        list(seed, "status.conditions").iter().any(|one| text(one, "type") == kind && text(one, "status") == "True")
    };
    !is_deleting(seed)
        && at(seed, "spec.settings.scheduling.visible") != &Value::Bool(false)
        && has(seed, "status.lastOperation")
        && ready("GardenletReady")
        && (!has(seed, "spec.backup") || ready("BackupBucketsReady"))
}

/// Whether a seed selector (labels and provider types) means a Seed.
pub fn selects(selector: &Value, seed: &Value) -> bool {
    let label = |key: &str| at(seed, "metadata.labels").get(key).and_then(Value::as_str);
    let equal = entries(selector, "matchLabels").all(|(key, value)| label(key) == value.as_str());
    let met = list(selector, "matchExpressions").iter().all(|one| {
        let (found, values) = (label(text(one, "key")), texts(one, "values"));
        match text(one, "operator") {
            "In" => found.is_some_and(|found| values.contains(&found)),
            "NotIn" => found.is_none_or(|found| !values.contains(&found)),
            "Exists" => found.is_some(),
            "DoesNotExist" => found.is_none(),
            _ => false,
        }
    });
    equal && met && provider_fits(selector, seed)
}

fn provider_fits(selector: &Value, seed: &Value) -> bool {
    let types = texts(selector, "providerTypes");
    types.is_empty() || types.contains(&"*") || types.contains(&text(seed, "spec.provider.type"))
}

/// One reason after the other drops candidates; the first that leaves none is told.
struct Filter {
    why: fn(&Value) -> String,
    keeps: fn(&Value, &Profile, &Value, &Usage) -> bool,
}

#[rustfmt::skip]
static FILTERS: &[Filter] = &[
    Filter {
        why: |_| "none of the 0 seeds is valid for scheduling (not deleting, visible and ready)".to_owned(),
        keeps: |_, _, seed, _| is_usable(seed),
    },
    Filter {
        why: |shoot| format!("none out of the valid seeds has the matching labels required by seed selector of 'CloudProfile' (selector: '{}')", text(shoot, "spec.cloudProfile.name")),
        keeps: |_, profile, seed, _| selects(at(&profile.spec, "seedSelector"), seed),
    },
    Filter {
        why: |shoot| format!("none out of the valid seeds has the matching labels required by seed selector of 'Shoot' (selector: '{}')", selector_text(at(shoot, "spec.seedSelector"))),
        keeps: |shoot, _, seed, _| selects(at(shoot, "spec.seedSelector"), seed),
    },
    Filter {
        why: |_| "none of the valid seeds has a matching provider type".to_owned(),
        keeps: |shoot, profile, seed, _| has_provider(shoot, profile, seed),
    },
    Filter {
        why: |shoot| format!("none of the seeds has at least 3 zones for hosting a shoot control plane with failure tolerance type '{}'", text(shoot, "spec.controlPlane.highAvailability.failureTolerance.type")),
        keeps: |shoot, _, seed, _| text(shoot, "spec.controlPlane.highAvailability.failureTolerance.type") != "zone" || list(seed, "spec.provider.zones").len() >= 3,
    },
    Filter {
        why: |_| "none of the seeds supports the access restrictions configured in the shoot specification".to_owned(),
        keeps: |shoot, _, seed, _| list(shoot, "spec.accessRestrictions").iter().all(|wanted| list(seed, "spec.accessRestrictions").iter().any(|one| text(one, "name") == text(wanted, "name"))),
    },
    Filter {
        why: |_| "0/0 seed cluster candidate(s) are eligible for scheduling: {seed has taints that are not tolerated by the shoot}".to_owned(),
        keeps: |shoot, _, seed, _| tolerates(shoot, seed),
    },
    Filter {
        why: |_| "0/0 seed cluster candidate(s) are eligible for scheduling: {seed does not have available capacity for shoots}".to_owned(),
        keeps: |_, _, seed, usage| capacity(seed).is_none_or(|most| usage.of(name(seed)) < most),
    },
];

fn selector_text(selector: &Value) -> String {
    let labels: Vec<String> = entries(selector, "matchLabels")
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    labels.join(",")
}

/// Without a wish for other providers, a Seed of the Shoot's own provider hosts it.
fn has_provider(shoot: &Value, profile: &Profile, seed: &Value) -> bool {
    let wished = [at(shoot, "spec.seedSelector"), at(&profile.spec, "seedSelector")]
        .iter()
        .any(|selector| !texts(selector, "providerTypes").is_empty());
    wished || text(seed, "spec.provider.type") == text(shoot, "spec.provider.type")
}

/// The Seed for a Shoot: in its own region if there is one, else the nearest by name, and of those the
/// emptiest. Or the reason why there is none.
pub fn choose<'a>(shoot: &Value, profile: &Profile, seeds: &'a [Value], usage: &Usage) -> Result<&'a str, String> {
    let mut candidates: Vec<&Value> = seeds.iter().collect();
    for filter in FILTERS {
        let before = candidates.len();
        candidates.retain(|seed| (filter.keeps)(shoot, profile, seed, usage));
        if candidates.is_empty() {
            let why = (filter.why)(shoot);
            return Err(why
                .replace("0/0", &format!("0/{before}"))
                .replace("the 0 seeds", &format!("the {before} seeds")));
        }
    }
    let region = text(shoot, "spec.region");
    let distance = |seed: &Value| {
        let other = text(seed, "spec.provider.region");
        // As the real scheduler without a table of distances: the longer the common beginning, the nearer.
        let common = region.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
        if region == other { 0 } else { 1000 - common.min(999) }
    };
    let best = candidates.into_iter().min_by_key(|seed| (distance(seed), usage.of(name(seed)), name(seed).to_owned()));
    best.map(name).ok_or_else(|| "no seed is left".to_owned())
}

/// Whether the Seed has reconciliations switched off.
pub fn is_stopped(seed: &Value) -> bool {
    super::value::parses_as_true(super::value::annotation(seed, "shoot.gardener.cloud/emergency-stop-reconciliations"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::garden::{landscape, value::set};
    use serde_json::json;

    #[test]
    fn the_nearest_seed_that_fits_is_chosen_and_else_the_reason_is_told() {
        let objects = landscape::objects();
        let seeds: Vec<Value> = objects.iter().filter(|one| text(one, "kind") == "Seed").cloned().collect();
        let profile = Profile { root: "aws".into(), spec: json!({}) };
        let shoot = json!({"spec": {"region": "eu-central-1", "provider": {"type": "aws"}}});
        let usage = Usage::default();
        let choose = |edit: &dyn Fn(&mut Value)| {
            let mut shoot = shoot.clone();
            edit(&mut shoot);
            super::choose(&shoot, &profile, &seeds, &usage).map(str::to_owned)
        };
        assert_eq!(choose(&|_| {}).as_deref(), Ok("aws-eu1"), "not the tainted one");
        assert_eq!(choose(&|s| set(s, "spec.region", "us-west-2")).as_deref(), Ok("aws-us1"));
        let tolerant = choose(&|s| set(s, "spec.tolerations", json!([{"key": "seed.gardener.cloud/protected"}])));
        assert_eq!(tolerant.as_deref(), Ok("aws-eu1"), "the emptiest, then by name");
        let wrong = choose(&|s| set(s, "spec.seedSelector.matchLabels", json!({"moon": "yes"})));
        assert!(wrong.is_err_and(|why| why.contains("matching labels required by seed selector of 'Shoot'")));
        let wrong = choose(&|s| set(s, "spec.provider.type", "abacus"));
        assert!(wrong.is_err_and(|why| why.contains("matching provider")));
        usage.moved("", "aws-eu1");
        usage.moved("aws-eu1", "aws-us1");
        assert_eq!((usage.of("aws-eu1"), usage.of("aws-us1")), (0, 1));
    }
}
