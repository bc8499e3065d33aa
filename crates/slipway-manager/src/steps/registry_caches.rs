//! Caches of image registries: what a cluster asks for becomes part of its Runtime, and from there of its Shoot.
//!
//! Looked at before the Shoot is written: where Gardener refuses a Shoot for its caches, the owner must be able to
//! mend that inside the cluster. Credentials go to the garden first, then the Runtime is changed, so that no Shoot
//! ever names a Secret that is not there. Nothing of it holds the Runtime up: what is wrong inside a cluster is told
//! there and in the condition.

use std::{collections::BTreeMap, time::Duration};

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
    decide::caches::{self, Caches, Credentials, Wish},
    observe::{Observation, SecretView},
    outcome::{Outcome, Said},
    pass::Pass,
    registry_secrets::{Known, chosen, secret},
    render::RegistrySecret,
    runtime::Step,
    skr::{self, registry_caches::Standing},
};

/// How long until the next try after one that failed; longer each time, up to the period of looks.
const PAUSE: Duration = mins(1);
/// How long until the next look where a module has not brought its kind yet.
const KIND_IS_COMING: Duration = secs(30);
/// Two looks are not closer than this, whatever happens in the cluster.
const APART: Duration = secs(2);
/// How many wishes that are not met the Runtime names.
const NAMED: usize = 5;

/// Looks at what the cluster asks for.
pub struct RegistryCaches;

impl Step for RegistryCaches {
    fn applies(&self, seen: &Observation) -> bool {
        caches::is_due(seen)
    }

    fn run<'a>(&'a self, pass: &'a mut Pass) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            look(pass, false).await;
            Outcome::Done
        })
    }
}

/// What could not be done.
struct Trouble {
    reason: Reason,
    what: &'static str,
    /// Whether the cluster asks for caches, as far as is known.
    is_asked: bool,
    error: access::Error,
}

fn at(reason: Reason, what: &'static str, is_asked: bool) -> impl FnOnce(access::Error) -> Trouble {
    move |error| Trouble { reason, what, is_asked, error }
}

/// Looks, and sees to it that there is a next time. `is_aligned`: Gardener is done with the Shoot as it should be.
pub(super) async fn look(pass: &mut Pass, is_aligned: bool) {
    let period = pass.shared.settings.registry_caches.unwrap_or(PAUSE);
    let (next, apart, failures) = match align(pass, is_aligned).await {
        Ok(next) => (next, APART, 0),
        Err(trouble) => {
            let failures = pass.seen.memory.caches_failures.saturating_add(1);
            tell(pass, trouble);
            let pause = PAUSE.saturating_mul(2_u32.saturating_pow(failures.min(10) - 1)).min(period.max(PAUSE));
            (pause, pass.shared.random.jitter(pause), failures)
        }
    };
    let now = pass.shared.clock.monotonic();
    let due = now + pass.shared.random.jitter(next);
    pass.remember(|memory| {
        memory.caches_due = Some(due);
        memory.caches_not_before = now + apart;
        memory.caches_failures = failures;
    });
}

fn tell(pass: &mut Pass, Trouble { reason, what, is_asked, error }: Trouble) {
    tracing::warn!(%error, what, "to be tried again");
    if is_asked || is_concerned(pass) {
        let message = format!("{what}: {error}");
        pass.report.say(Said::new(Type::RegistryCacheConfigured, Status::False, reason, message));
    }
}

/// Whether the Runtime has to do with caches at all. One that never had is told nothing.
fn is_concerned(pass: &Pass) -> bool {
    let status = pass.seen.memory.status.as_ref().or(pass.seen.runtime.status.as_ref());
    let of = Type::RegistryCacheConfigured.as_str();
    let was_told = status.is_some_and(|status| status.conditions.iter().any(|it| it.type_ == of));
    let has_some = |list: &[ImageRegistryCache]| !list.is_empty();
    was_told
        || has_some(&pass.seen.runtime.spec.image_registry_cache)
        || pass.seen.memory.caches_wanted.as_deref().is_some_and(has_some)
}

/// Reads, copies credentials, changes the Runtime, and tells; answers when to look again.
async fn align(pass: &mut Pass, is_aligned: bool) -> Result<Duration, Trouble> {
    let period = pass.shared.settings.registry_caches.unwrap_or(PAUSE);
    let asked = skr::registry_look(pass).await;
    let unread = at(Reason::RegistryCacheError, "The registry caches of the cluster cannot be read", false);
    let asked = asked.map_err(unread)?;
    let wishes = asked.as_ref().map(|asked| asked.wishes.as_slice()).unwrap_or_default();
    let is_asked = !wishes.is_empty();
    let present = pass.seen.runtime.spec.image_registry_cache.clone();
    let is_whole = asked.as_ref().is_none_or(|asked| asked.is_whole);
    let decide = if is_whole { caches::caches } else { caches::caches_of_part };
    let Caches { mut wanted, refused } = decide(wishes, &present);
    // Whatever is not brought to its end from here on is to be looked at again before anything is removed.
    let memory = &pass.seen.memory;
    let was_settled = is_aligned || present.is_empty() || (memory.caches_wanted.is_some() && !memory.caches_unsettled);
    pass.remember(|memory| memory.caches_unsettled = true);

    let uncopied = copy_all(pass, wishes, &mut wanted, &refused, &present).await;
    let is_listed = wanted == present;
    if !is_listed {
        let list = if wanted.is_empty() { json!(null) } else { json!(wanted) };
        let change = json!({"spec": {"imageRegistryCache": list}});
        let ask = Ask::merge(&RUNTIMES, &pass.shared.settings.namespace, pass.seen.name(), change);
        match pass.shared.kcp.tell(ask).await {
            // It is gone, and the cache will say so.
            Err(error) if error.is_not_found() => return Ok(period),
            told => {
                let what = "The Runtime cannot be told of registry caches";
                told.map_err(at(Reason::RegistryCacheError, what, is_asked))?;
            }
        }
    }
    let secrets = chosen(&pass.shared.registry_secrets.of(pass.seen.name()), &wanted);
    let is_same = is_listed && secrets == pass.seen.registry.secrets;
    if is_listed && !is_same {
        // Other credentials are another Shoot, though the Runtime is the same.
        pass.shared.runtimes.wake(pass.seen.name());
    }
    let is_settled = is_same && was_settled && uncopied.is_none();
    pass.remember(|memory| {
        memory.caches_unsettled = !is_settled;
        memory.caches_wanted = Some(wanted.clone());
    });
    if let Some(asked) = &asked {
        // One that stays as it is stays `Ready` while others change.
        let before = pass.seen.registry.secrets.clone();
        let stays = |uid: &str| {
            let entry = |list: &[ImageRegistryCache]| list.iter().find(|cache| cache.uid == uid).cloned();
            let named = |list: &[RegistrySecret]| list.iter().find(|secret| secret.cache_uid == uid).cloned();
            entry(&wanted) == entry(&present) && named(&secrets) == named(&before)
        };
        let told = skr::registry_tell(pass, asked, |wish| match refused.get(&wish.uid) {
            Some(why) => Standing::Failed(why),
            None if uncopied.is_some() && wish.credentials.is_some() => Standing::Pending,
            None if was_settled && stays(&wish.uid) => Standing::Ready,
            None => Standing::Pending,
        });
        let what = "The cluster cannot be told of its registry caches";
        if !told.await.map_err(at(Reason::RegistryCacheError, what, is_asked))? {
            pass.remember(|memory| memory.caches_unsettled = true);
        }
    }
    if let Some(error) = uncopied {
        let what = "Credentials of a registry cache cannot be written to Gardener";
        return Err(at(Reason::RegistryCacheGardenClusterConfigurationFailed, what, is_asked)(error));
    }
    if is_asked || is_concerned(pass) {
        pass.report.say(said(wishes, &wanted, &refused));
    }
    Ok(asked.filter(|asked| !asked.has_kind).map_or(period, |_| KIND_IS_COMING))
}

/// What the Runtime is told.
fn said(wishes: &[Wish], wanted: &[ImageRegistryCache], refused: &BTreeMap<String, String>) -> Said {
    let of = Type::RegistryCacheConfigured;
    let named = |wish: &Wish| Some(format!("{}/{}: {}", wish.namespace, wish.name, refused.get(&wish.uid)?));
    let mut wrong: Vec<String> = wishes.iter().filter_map(named).take(NAMED).collect();
    if wrong.is_empty() {
        let message = format!("Registry caches: {}", wanted.len());
        return Said::new(of, Status::True, Reason::RegistryCacheConfigured, message);
    }
    if refused.len() > NAMED {
        wrong.push(format!("and {} more", refused.len() - NAMED));
    }
    Said::new(of, Status::False, Reason::RegistryCacheError, wrong.join("; "))
}

/// Copies credentials to the garden. A cache whose credentials cannot be copied stays as it was; the others go on.
async fn copy_all(
    pass: &Pass,
    wishes: &[Wish],
    wanted: &mut Vec<ImageRegistryCache>,
    refused: &BTreeMap<String, String>,
    present: &[ImageRegistryCache],
) -> Option<access::Error> {
    let mut failed = None;
    let mut kept = Vec::with_capacity(wanted.len());
    for cache in wanted.drain(..) {
        let wish = wishes.iter().find(|wish| wish.uid == cache.uid && !refused.contains_key(&wish.uid));
        let copied = match wish.and_then(|wish| wish.credentials.as_ref()) {
            Some(credentials) => copy(pass, &cache, credentials).await,
            None => Ok(()),
        };
        match copied {
            Ok(()) => kept.push(cache),
            Err(error) => {
                failed = Some(error);
                kept.extend(present.iter().find(|before| before.uid == cache.uid).cloned());
            }
        }
    }
    *wanted = kept;
    failed
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
            let (secret_name, document) = secret(name, cache, credentials, &known, namespace);
            match garden.send_as::<SecretView>(Ask::create(&SECRETS, namespace, document)).await {
                Ok(made) => shared.registry_secrets.note(&secret_name, &made),
                // Made before, and the news of it are on their way. If not, somebody has made it another's.
                Err(error) if error.is_already_there() => {
                    let found = garden.send_as(Ask::get(&SECRETS, namespace, &secret_name)).await?;
                    shared.registry_secrets.note(&secret_name, &found);
                    if !shared.registry_secrets.of(name).get(&secret_name).is_some_and(fits) {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
            secret_name
        }
    };
    let known = shared.registry_secrets.of(name);
    for (secret_name, known) in known.iter().filter(|(_, it)| it.cache_uid == cache.uid && !it.is_going) {
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
