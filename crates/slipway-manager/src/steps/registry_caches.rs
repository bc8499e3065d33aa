//! Caches of image registries: what a cluster asks for becomes part of its Runtime, and from there of its Shoot.
//!
//! Credentials go from the cluster to the garden first, then the Runtime is changed, so that no Shoot ever names a
//! Secret that is not there. Nothing of it holds the Runtime up: what is wrong inside a cluster is its owner's to
//! mend, and is told there and in the condition.

use std::time::Duration;

use serde_json::json;
use slipway_kube::{
    access::{
        self, Ask,
        resource::{RUNTIMES, SECRETS},
    },
    conditions::{Reason, Status, Type},
    labels,
    runtime::ImageRegistryCache,
};
use slipway_model::{
    ports::BoxFuture,
    time::{mins, secs},
};

use crate::{
    decide::caches::{self, Caches, Credentials},
    observe::{Observation, SecretView},
    outcome::{Outcome, Said},
    pass::Pass,
    registry_secrets::{Known, chosen, secret},
    runtime::Step,
    skr::{self, registry_caches::Standing},
};

/// How long until the next try after one that failed.
pub(super) const PAUSE: Duration = mins(1);
/// How long until the next look where a module has not brought its kind yet.
const KIND_IS_COMING: Duration = secs(30);

/// Looks at what the cluster asks for.
pub struct RegistryCaches;

/// What could not be done.
struct Trouble {
    reason: Reason,
    what: &'static str,
    error: access::Error,
}

fn at(reason: Reason, what: &'static str) -> impl FnOnce(access::Error) -> Trouble {
    move |error| Trouble { reason, what, error }
}

impl Step for RegistryCaches {
    fn applies(&self, seen: &Observation) -> bool {
        let (memory, present) = (&seen.memory, &seen.runtime.spec.image_registry_cache);
        let Some(due) = memory.caches_due.filter(|_| seen.secret.is_some() && !seen.is_asleep()) else { return false };
        seen.now >= due
            || memory.caches_unsettled
            || seen.registry.watch_is_outdated
            || memory.caches_wanted.as_ref().is_some_and(|wanted| wanted != present)
    }

    fn run<'a>(&'a self, pass: &'a mut Pass) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let next = match align(pass).await {
                Ok(next) => next,
                Err(Trouble { reason, what, error }) => {
                    tracing::warn!(%error, what, "to be tried again");
                    let message = format!("{what}: {error}");
                    pass.report.say(Said::new(Type::RegistryCacheConfigured, Status::False, reason, message));
                    PAUSE
                }
            };
            let due = pass.shared.clock.monotonic() + pass.shared.random.jitter(next);
            pass.remember(|memory| memory.caches_due = Some(due));
            Outcome::Done
        })
    }
}

/// Reads, copies credentials, changes the Runtime, and tells; answers when to look again.
async fn align(pass: &mut Pass) -> Result<Duration, Trouble> {
    let period = pass.shared.settings.registry_caches.unwrap_or(PAUSE);
    let asked = skr::registry_look(pass).await;
    let asked = asked.map_err(at(Reason::RegistryCacheError, "The registry caches of the cluster cannot be read"))?;
    let wishes = asked.as_ref().map(|asked| asked.wishes.as_slice()).unwrap_or_default();
    let present = pass.seen.runtime.spec.image_registry_cache.clone();
    let Caches { wanted, refused } = caches::caches(wishes, &present);
    for cache in wanted.iter().filter(|cache| !refused.contains_key(&cache.uid)) {
        let wish = wishes.iter().find(|wish| wish.uid == cache.uid);
        if let Some(credentials) = wish.and_then(|wish| wish.credentials.as_ref()) {
            let copied = copy(pass, cache, credentials).await;
            let what = "Credentials of a registry cache cannot be written to Gardener";
            copied.map_err(at(Reason::RegistryCacheGardenClusterConfigurationFailed, what))?;
        }
    }
    let is_listed = wanted == present;
    if !is_listed {
        let list = if wanted.is_empty() { json!(null) } else { json!(wanted) };
        let change = json!({"spec": {"imageRegistryCache": list}});
        let ask = Ask::merge(&RUNTIMES, &pass.shared.settings.namespace, pass.seen.name(), change);
        match pass.shared.kcp.tell(ask).await {
            // It is gone, and the cache will say so.
            Err(error) if error.is_not_found() => return Ok(period),
            told => told.map_err(at(Reason::RegistryCacheError, "The Runtime cannot be told of registry caches"))?,
        }
    }
    let secrets = chosen(&pass.shared.registry_secrets.of(pass.seen.name()), &wanted);
    let is_settled = is_listed && secrets == pass.seen.registry.secrets;
    if is_listed && !is_settled {
        // Other credentials are another Shoot, though the Runtime is the same.
        pass.shared.runtimes.wake(pass.seen.name());
    }
    pass.remember(|memory| {
        memory.caches_unsettled = !is_settled;
        memory.caches_wanted = Some(wanted.clone());
    });
    if let Some(asked) = &asked {
        let told = skr::registry_tell(pass, asked, |wish| match refused.get(&wish.uid) {
            Some(why) => Standing::Failed(why),
            None if is_settled => Standing::Ready,
            None => Standing::Pending,
        });
        told.await.map_err(at(Reason::RegistryCacheError, "The cluster cannot be told of its registry caches"))?;
    }
    say(pass, wishes, &wanted, &refused);
    Ok(asked.filter(|asked| !asked.has_kind).map_or(period, |_| KIND_IS_COMING))
}

/// What the Runtime is told. One that never had to do with caches is told nothing.
fn say(
    pass: &mut Pass,
    wishes: &[caches::Wish],
    wanted: &[ImageRegistryCache],
    refused: &std::collections::BTreeMap<String, String>,
) {
    let of = Type::RegistryCacheConfigured;
    let status = pass.seen.memory.status.as_ref().or(pass.seen.runtime.status.as_ref());
    let was_told = status.is_some_and(|status| status.conditions.iter().any(|it| it.type_ == of.as_str()));
    if wishes.is_empty() && wanted.is_empty() && !was_told {
        return;
    }
    let wrong: Vec<String> = wishes
        .iter()
        .filter_map(|wish| Some(format!("{}/{}: {}", wish.namespace, wish.name, refused.get(&wish.uid)?)))
        .collect();
    pass.report.say(if wrong.is_empty() {
        Said::new(of, Status::True, Reason::RegistryCacheConfigured, format!("Registry caches: {}", wanted.len()))
    } else {
        Said::new(of, Status::False, Reason::RegistryCacheError, wrong.join("; "))
    });
}

/// Sees to it that the garden has these credentials, and that no others of the same cache are used.
async fn copy(pass: &Pass, cache: &ImageRegistryCache, credentials: &Credentials) -> Result<(), access::Error> {
    let (shared, name) = (&pass.shared, pass.seen.name());
    let (garden, namespace) = (&shared.garden, &shared.settings.garden_namespace);
    let known = shared.registry_secrets.of(name);
    let fits = |known: &Known| known.cache_uid == cache.uid && !known.is_going && known.has(credentials);
    let there = known.iter().find(|(_, known)| fits(known)).map(|(name, _)| name.clone());
    let right = match there {
        Some(there) => there,
        None => {
            let (secret_name, document) = secret(name, cache, credentials, namespace);
            match garden.send_as::<SecretView>(Ask::create(&SECRETS, namespace, document)).await {
                Ok(made) => shared.registry_secrets.note(&secret_name, &made),
                // Made before, and the news of it are on their way; or on its way out, and made anew when it is gone.
                Err(error) if error.is_already_there() => {
                    let found: SecretView = garden.send_as(Ask::get(&SECRETS, namespace, &secret_name)).await?;
                    shared.registry_secrets.note(&secret_name, &found);
                    if found.metadata.deletion_timestamp.is_some() {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
            secret_name
        }
    };
    for (secret_name, known) in shared.registry_secrets.of(name).iter().filter(|(_, it)| it.cache_uid == cache.uid) {
        let is_dirty = *secret_name != right;
        if known.is_dirty == is_dirty {
            continue;
        }
        let mark = if is_dirty { json!("true") } else { json!(null) };
        let change = json!({"metadata": {"labels": {labels::DIRTY: mark}}});
        match garden.send_as::<SecretView>(Ask::merge(&SECRETS, namespace, secret_name, change)).await {
            Ok(marked) => shared.registry_secrets.note(secret_name, &marked),
            Err(error) if error.is_not_found() && is_dirty => {
                shared.registry_secrets.forget(name, secret_name);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
