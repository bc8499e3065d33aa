//! What is remembered of a Runtime's caches between two looks into its cluster, and when the next look is due.
//!
//! Pure, and all of it can be lost: a process that knows nothing looks once more.

use std::time::Duration;

use slipway_kube::runtime::ImageRegistryCache;

use crate::observe::Observation;

/// What is remembered of the caches of one Runtime; nothing where nobody looks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory(Option<Looks>);

#[derive(Debug, Clone, Default)]
struct Looks {
    /// When to look again.
    due: Duration,
    /// And not before this, whatever happens.
    not_before: Duration,
    /// Looks that failed in a row.
    failures: u32,
    found: Found,
}

/// What the looks of this process have come to.
#[derive(Debug, Clone, Default)]
enum Found {
    /// None has ended yet.
    #[default]
    Nothing,
    /// Something is not brought to its end: to be looked at when the Shoot has followed.
    Unsettled { wanted: Option<Vec<ImageRegistryCache>> },
    /// The Runtime and its Shoot have the caches that were wanted.
    Settled { wanted: Vec<ImageRegistryCache> },
}

impl Memory {
    /// Somebody looks from now on, at this moment first; no change where somebody does already.
    pub(super) fn begin(&mut self, first: impl FnOnce() -> Duration) {
        self.0.get_or_insert_with(|| Looks { due: first(), ..Looks::default() });
    }

    /// A look is due now; answers how long it must wait all the same.
    pub(super) fn hurry(&mut self, now: Duration) -> Duration {
        let looks = self.0.get_or_insert_default();
        looks.due = now;
        looks.not_before.saturating_sub(now)
    }

    /// Whatever was settled is not, until a look ends well.
    pub(super) fn unsettle(&mut self) {
        let Some(looks) = &mut self.0 else { return };
        looks.found = match std::mem::take(&mut looks.found) {
            Found::Nothing => Found::Unsettled { wanted: None },
            Found::Settled { wanted } => Found::Unsettled { wanted: Some(wanted) },
            unsettled @ Found::Unsettled { .. } => unsettled,
        };
    }

    /// A look has found out which caches are wanted, and whether Runtime and Shoot have them.
    pub(super) fn note(&mut self, wanted: &[ImageRegistryCache], is_settled: bool) {
        let Some(looks) = &mut self.0 else { return };
        let wanted = wanted.to_vec();
        looks.found = if is_settled { Found::Settled { wanted } } else { Found::Unsettled { wanted: Some(wanted) } };
    }

    /// A look has ended, after so many failures in a row.
    pub(super) fn schedule(&mut self, due: Duration, not_before: Duration, failures: u32) {
        let Some(looks) = &mut self.0 else { return };
        (looks.due, looks.not_before, looks.failures) = (due, not_before, failures);
    }

    pub(super) fn failures(&self) -> u32 {
        self.0.as_ref().map_or(0, |looks| looks.failures)
    }

    /// Whether somebody looks at all.
    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Whether a look may begin.
    pub(super) fn may_look(&self, now: Duration) -> bool {
        self.0.as_ref().is_some_and(|looks| now >= looks.not_before)
    }

    pub(super) fn is_settled(&self) -> bool {
        self.0.as_ref().is_some_and(|looks| matches!(looks.found, Found::Settled { .. }))
    }

    fn is_unsettled(&self) -> bool {
        self.0.as_ref().is_some_and(|looks| matches!(looks.found, Found::Unsettled { .. }))
    }

    /// The caches it should have, as last looked at.
    pub(super) fn wanted(&self) -> Option<&[ImageRegistryCache]> {
        match &self.0.as_ref()?.found {
            Found::Nothing => None,
            Found::Unsettled { wanted } => wanted.as_deref(),
            Found::Settled { wanted } => Some(wanted),
        }
    }
}

/// Whether what a cluster asks for is to be looked at now.
pub(super) fn is_due(seen: &Observation) -> bool {
    let (memory, present) = (&seen.memory.registry_caches, &seen.runtime.spec.image_registry_cache);
    let is_wanted = seen.registry_caches.watch_is_outdated
        || memory.0.as_ref().is_some_and(|looks| seen.now >= looks.due)
        || memory.wanted().is_some_and(|wanted| wanted != present);
    can_look(seen) && is_wanted && memory.may_look(seen.now)
}

/// Whether its caches are to be looked at as soon as the Shoot is as it should be.
pub(super) fn is_unsettled(seen: &Observation) -> bool {
    // What is not patched never settles.
    can_look(seen) && seen.memory.registry_caches.is_unsettled() && !seen.is_suspended()
}

/// How long until the next look; none where nobody looks.
pub(crate) fn until_look(seen: &Observation, now: Duration) -> Option<Duration> {
    let looks = seen.memory.registry_caches.0.as_ref().filter(|_| can_look(seen))?;
    let due = if is_unsettled(seen) { Duration::ZERO } else { looks.due };
    Some(due.max(looks.not_before).saturating_sub(now))
}

/// There is a way into the cluster, and somebody answers there.
fn can_look(seen: &Observation) -> bool {
    seen.memory.registry_caches.is_on() && seen.secret.is_some() && !seen.is_asleep()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use slipway_kube::annotations;
    use slipway_model::time::secs;

    use super::*;
    use crate::{
        decide::{
            plan,
            tests::{edit, seen},
        },
        registry_caches::secrets::tests::credentials,
    };

    /// Everything there is to do for caches is to be done.
    pub(crate) fn make_due(seen: &mut Observation) {
        seen.registry_caches.known = credentials("shop");
        seen.secret = Some(Arc::default());
        seen.memory.registry_caches.begin(|| seen.now);
    }

    #[test]
    fn when_a_cluster_is_asked_for_its_registry_caches() {
        type Case = (&'static str, fn(&mut Observation), (bool, bool));
        let due = |change: fn(&mut Observation)| {
            let mut seen = seen();
            seen.secret = Some(Arc::default());
            seen.memory.registry_caches.begin(|| seen.now + secs(60));
            seen.memory.registry_caches.note(&[], true);
            change(&mut seen);
            let names: Vec<&str> = plan(&seen).steps.iter().map(|row| row.name).collect();
            (names.contains(&"RegistryCaches"), names.contains(&"RegistryCacheCleanup"))
        };
        let (nothing, before, after) = ((false, false), (true, false), (false, true));
        let cases: [Case; 11] = [
            ("not yet", |_| {}, nothing),
            ("its time has come", |seen| _ = seen.memory.registry_caches.hurry(seen.now), before),
            ("nobody looks", |seen| seen.memory.registry_caches = Memory::default(), nothing),
            ("to be ended with the Shoot", |seen| seen.memory.registry_caches.unsettle(), after),
            ("it is listened to with an old kubeconfig", |seen| seen.registry_caches.watch_is_outdated = true, before),
            (
                "there is no kubeconfig",
                |seen| {
                    seen.secret = None;
                    seen.memory.registry_caches.unsettle();
                },
                nothing,
            ),
            (
                "somebody else wrote the list",
                |seen| seen.memory.registry_caches.note(&[ImageRegistryCache::default()], true),
                before,
            ),
            ("credentials are left over", |seen| seen.registry_caches.known = credentials("shop"), after),
            (
                "it was looked at a moment ago",
                |seen| seen.memory.registry_caches.schedule(seen.now, seen.now + secs(1), 0),
                nothing,
            ),
            (
                "its Shoot is not patched",
                |seen| {
                    seen.memory.registry_caches.unsettle();
                    edit(seen, |runtime| {
                        runtime["metadata"]["annotations"][annotations::SUSPEND_PATCH] = json!("true");
                    });
                },
                nothing,
            ),
            (
                "it sleeps",
                |seen| {
                    seen.memory.registry_caches.unsettle();
                    edit(seen, |runtime| runtime["spec"]["shoot"]["hibernation"] = json!({"enabled": true}));
                    assert_eq!(until_look(seen, seen.now), None, "and nobody counts the seconds");
                },
                nothing,
            ),
        ];
        for (what, change, expected) in cases {
            assert_eq!(due(change), expected, "{what}");
        }
    }

    #[test]
    fn only_a_look_that_ends_well_settles_and_what_was_wanted_is_kept_meanwhile() {
        let mut memory = Memory::default();
        memory.unsettle();
        memory.note(&[], true);
        assert!(!memory.is_on() && !memory.is_settled(), "where nobody looks nothing is remembered");
        memory.begin(|| secs(5));
        memory.begin(|| secs(900));
        memory.unsettle();
        assert!(memory.is_unsettled() && memory.wanted().is_none(), "begun, and not ended");
        let one = [ImageRegistryCache::default()];
        memory.note(&one, true);
        assert!(memory.is_settled());
        memory.unsettle();
        assert!(!memory.is_settled() && memory.wanted() == Some(&one));
        memory.schedule(secs(60), secs(12), 3);
        assert_eq!((memory.failures(), memory.hurry(secs(10))), (3, secs(2)), "not before, whatever happens");
    }
}
