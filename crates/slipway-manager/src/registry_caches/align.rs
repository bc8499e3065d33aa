//! Caches of image registries: what a cluster asks for becomes part of its Runtime, and from there of its Shoot.
//!
//! Looked at before the Shoot is written: where Gardener refuses a Shoot for its caches, the owner must be able to
//! mend that inside the cluster. Credentials go to the garden first, then the Runtime is changed, so that no Shoot
//! ever names a Secret that is not there. Nothing of it holds the Runtime up: what is wrong inside a cluster is told
//! there and in the condition.

use std::{collections::BTreeMap, time::Duration};

use serde_json::json;
use slipway_kube::{
    access::{self, Ask, Exactly, resource::RUNTIMES},
    conditions::{Reason, Status, Type},
    gardener_cluster::SECRET_KEY,
    runtime::ImageRegistryCache,
};
use slipway_model::time::{mins, secs};

use super::{
    credentials::copy_all,
    decide::{Decision, Wish, decide, decide_from_part},
    memory::is_due,
    secrets::choose,
    wishes::{self, WishList, WishState},
};
use crate::{
    observe::Observation,
    outcome::{ConditionUpdate, Outcome},
    pass::Pass,
    render::RegistrySecret,
    runtime::Step,
    skr,
};

/// How long until the next try after one that failed; longer each time, up to the period of looks.
const PAUSE: Duration = mins(1);
/// How long until the next look where a module has not brought its kind yet.
const KIND_IS_COMING: Duration = secs(30);
/// Two looks are not closer than this, whatever happens in the cluster.
const APART: Duration = secs(2);
/// How many wishes that are not met the Runtime names.
const NAMED: usize = 5;

/// Looks at what the cluster asks for, and brings Runtime and garden in line with it.
pub(crate) struct AlignCaches;

impl Step for AlignCaches {
    fn applies(&self, seen: &Observation) -> bool {
        is_due(seen)
    }

    async fn run(&self, pass: &mut Pass) -> Outcome {
        look(pass, false).await;
        Outcome::Done
    }
}

/// Why a look did not come to its end.
struct LookError {
    reason: Reason,
    what: &'static str,
    /// Whether the cluster asks for caches, as far as is known.
    has_wishes: bool,
    error: access::Error,
}

fn failed(reason: Reason, what: &'static str, has_wishes: bool) -> impl FnOnce(access::Error) -> LookError {
    move |error| LookError { reason, what, has_wishes, error }
}

/// Looks, and sees to it that there is a next time. `is_aligned`: Gardener is done with the Shoot as it should be.
pub(super) async fn look(pass: &mut Pass, is_aligned: bool) {
    let period = pass.shared.settings.registry_caches.unwrap_or(PAUSE);
    let (next, apart, failures) = match align(pass, is_aligned).await {
        Ok(next) => (next, APART, 0),
        Err(error) => {
            let failures = pass.seen.memory.registry_caches.failures().saturating_add(1);
            report(pass, error);
            let pause = PAUSE.saturating_mul(2_u32.saturating_pow(failures.min(10) - 1)).min(period.max(PAUSE));
            (pause, pass.shared.random.jitter(pause), failures)
        }
    };
    let now = pass.shared.clock.monotonic();
    let due = now + pass.shared.random.jitter(next);
    pass.remember(|memory| memory.registry_caches.schedule(due, now + apart, failures));
}

fn report(pass: &mut Pass, LookError { reason, what, has_wishes, error }: LookError) {
    tracing::warn!(%error, what, "to be tried again");
    if has_wishes || is_concerned(pass) {
        let message = format!("{what}: {error}");
        pass.report.set(ConditionUpdate::new(Type::RegistryCacheConfigured, Status::False, reason, message));
    }
}

/// Whether the Runtime has to do with caches at all. One that never had is told nothing.
fn is_concerned(pass: &Pass) -> bool {
    let has_some = |list: &[ImageRegistryCache]| !list.is_empty();
    pass.seen.condition(Type::RegistryCacheConfigured).is_some()
        || has_some(&pass.seen.runtime.spec.image_registry_cache)
        || pass.seen.memory.registry_caches.wanted().is_some_and(has_some)
}

/// What the cluster asks for; none where it has not the module. Who has it is listened to.
async fn read_wishes(pass: &mut Pass) -> Result<Option<WishList>, access::Error> {
    skr::within(pass, async |skr, pass| {
        let asked = wishes::read(&skr).await?;
        let (watches, name) = (&pass.shared.registry_caches.watches, pass.seen.name());
        match asked.as_ref().filter(|asked| asked.has_kind) {
            Some(_) => {
                let secret = pass.seen.secret.as_ref().and_then(|secret| secret.hash(SECRET_KEY));
                watches.begin(&pass.shared, name, secret.unwrap_or_default(), skr);
            }
            None => watches.end(name),
        }
        Ok(asked)
    })
    .await
}

/// Reads, copies credentials, changes the Runtime, and tells; answers when to look again.
async fn align(pass: &mut Pass, is_aligned: bool) -> Result<Duration, LookError> {
    let period = pass.shared.settings.registry_caches.unwrap_or(PAUSE);
    let unread = failed(Reason::RegistryCacheError, "The registry caches of the cluster cannot be read", false);
    let asked = read_wishes(pass).await.map_err(unread)?;
    let wishes = asked.as_ref().map(|asked| asked.wishes.as_slice()).unwrap_or_default();
    let has_wishes = !wishes.is_empty();
    let present = pass.seen.runtime.spec.image_registry_cache.clone();
    let is_whole = asked.as_ref().is_none_or(|asked| asked.is_whole);
    let decide = if is_whole { decide } else { decide_from_part };
    let Decision { mut wanted, refused } = decide(wishes, &present);
    // Whatever is not brought to its end from here on is to be looked at again before anything is removed.
    let was_settled = is_aligned || present.is_empty() || pass.seen.memory.registry_caches.is_settled();
    pass.remember(|memory| memory.registry_caches.unsettle());

    let uncopied = copy_all(pass, wishes, &mut wanted, &refused, &present).await;
    let is_listed = wanted == present;
    if !is_listed {
        let list = if wanted.is_empty() { json!(null) } else { json!(wanted) };
        let change = json!({"spec": {"imageRegistryCache": list}});
        let only = Exactly::this(&pass.seen.runtime.metadata);
        let ask = Ask::merge(&RUNTIMES, &pass.shared.settings.namespace, pass.seen.name(), &only, change);
        match pass.shared.kcp.tell(ask).await {
            // It is gone, and the cache will say so.
            Err(error) if error.is_not_found() => return Ok(period),
            written => {
                let what = "The Runtime cannot be told of registry caches";
                written.map_err(failed(Reason::RegistryCacheError, what, has_wishes))?;
            }
        }
    }
    let secrets = choose(&pass.shared.registry_caches.secrets.of_runtime(pass.seen.name()), &wanted);
    let is_same = is_listed && secrets == pass.seen.registry_caches.secrets;
    if is_listed && !is_same {
        // Other credentials are another Shoot, though the Runtime is the same.
        pass.shared.runtimes.wake(pass.seen.name());
    }
    let is_settled = is_same && was_settled && uncopied.is_none();
    pass.remember(|memory| memory.registry_caches.note(&wanted, is_settled));
    if let Some(asked) = &asked {
        // One that stays as it is stays `Ready` while others change.
        let before = pass.seen.registry_caches.secrets.clone();
        let stays = |uid: &str| {
            let entry = |list: &[ImageRegistryCache]| list.iter().find(|cache| cache.uid == uid).cloned();
            let named = |list: &[RegistrySecret]| list.iter().find(|secret| secret.cache_uid == uid).cloned();
            entry(&wanted) == entry(&present) && named(&secrets) == named(&before)
        };
        let standing = |wish: &Wish| match refused.get(&wish.uid) {
            Some(why) => WishState::Failed(why),
            None if uncopied.is_some() && wish.credentials.is_some() => WishState::Pending,
            None if was_settled && stays(&wish.uid) => WishState::Ready,
            None => WishState::Pending,
        };
        let now = pass.shared.clock.wall();
        let heard = skr::within(pass, async |skr, _| asked.report(&skr, now, standing).await).await;
        let what = "The cluster cannot be told of its registry caches";
        if !heard.map_err(failed(Reason::RegistryCacheError, what, has_wishes))? {
            pass.remember(|memory| memory.registry_caches.unsettle());
        }
    }
    if let Some(error) = uncopied {
        let what = "Credentials of a registry cache cannot be written to Gardener";
        return Err(failed(Reason::RegistryCacheGardenClusterConfigurationFailed, what, has_wishes)(error));
    }
    if has_wishes || is_concerned(pass) {
        pass.report.set(describe(wishes, &wanted, &refused));
    }
    Ok(asked.filter(|asked| !asked.has_kind).map_or(period, |_| KIND_IS_COMING))
}

/// What the Runtime is told.
fn describe(wishes: &[Wish], wanted: &[ImageRegistryCache], refused: &BTreeMap<String, String>) -> ConditionUpdate {
    let of = Type::RegistryCacheConfigured;
    let named = |wish: &Wish| Some(format!("{}/{}: {}", wish.namespace, wish.name, refused.get(&wish.uid)?));
    let mut wrong: Vec<String> = wishes.iter().filter_map(named).take(NAMED).collect();
    if wrong.is_empty() {
        let message = format!("Registry caches: {}", wanted.len());
        return ConditionUpdate::new(of, Status::True, Reason::RegistryCacheConfigured, message);
    }
    if refused.len() > NAMED {
        wrong.push(format!("and {} more", refused.len() - NAMED));
    }
    ConditionUpdate::new(of, Status::False, Reason::RegistryCacheError, wrong.join("; "))
}
