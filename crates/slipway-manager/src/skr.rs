//! Preparing the customer's cluster: namespace, information, logins, administrators.
//!
//! All of it is due when the hash of what it is made of differs from the one written at the GardenerCluster,
//! or when the resync comes; a Runtime whose labels or Shoot moved in other ways causes no call at all. A
//! cluster that cannot be reached delays its own Runtime and nobody else's.
//!
//! The calls are made together, by the first step that is due, because each of them costs a round trip to a
//! cluster far away; the steps then tell what came of their part.

pub mod administrators;
mod clients;
pub mod namespace;
pub mod oidc;
pub mod provisioning_info;
pub mod registry_caches;
mod registry_watch;

use std::time::Duration;

use serde_json::json;
use slipway_kube::{
    Runtime, Shoot,
    access::{self, Access},
    annotations,
    conditions::{Reason, Status, Type},
    gardener_cluster::SECRET_KEY,
    runtime::OidcConfig,
};
use slipway_model::time::{hours, secs};

use self::registry_caches::{Asked, Standing};
pub use self::{clients::Clients, registry_watch::RegistryWatches};
use crate::{
    decide::caches::Wish,
    observe::{Observation, hash},
    outcome::Outcome,
    pass::Pass,
    shared::Shared,
};

/// The field manager of what we apply there.
pub const MANAGER: &str = crate::settings::FIELD_MANAGER;
/// The extension that reads our logins.
const LOGIN_SERVICE: &str = "shoot-oidc-service";
/// The longest time for one step.
const STEP_BUDGET: Duration = secs(30);
/// The longest time for a handshake that nobody waits for.
const HANDSHAKE_MAX: Duration = secs(1);
/// When a cluster is looked after although nothing changed: somebody may have deleted a binding inside.
const LOOKED_AFTER: Duration = hours(11);

/// The hash of everything a cluster is prepared with. Without times, or every maintenance would rewrite every cluster.
pub fn prepared_hash(runtime: &Runtime, shoot: Option<&Shoot>, tenant: &OidcConfig) -> String {
    let details = provisioning_info::details(runtime, shoot, None, false);
    let wanted = oidc::wanted(runtime, tenant);
    let has_service = shoot.is_some_and(|shoot| shoot.has_extension(LOGIN_SERVICE));
    let uid = shoot.and_then(|shoot| shoot.metadata.uid.clone());
    let all = json!([uid, details, has_service, wanted.objects, runtime.spec.security.administrators]);
    hash(all.to_string().as_bytes())
}

/// The hash that is written down.
pub fn written_hash(seen: &Observation) -> Option<&str> {
    let notes = seen.cluster.as_ref()?.metadata.annotations.as_ref()?;
    notes.get(annotations::PREPARED_HASH).map(String::as_str)
}

/// Whether the cluster must be called.
pub fn is_due(seen: &Observation) -> bool {
    // Nobody answers in a cluster that sleeps; what is due is done when it is awake.
    if seen.is_asleep() {
        return false;
    }
    let differs = written_hash(seen) != Some(seen.prepared_hash.as_str());
    let stale = seen.memory.prepared_at.is_some_and(|at| seen.now.saturating_sub(at) > LOOKED_AFTER);
    differs || stale || !is_told(seen)
}

/// Whether the Runtime says that its cluster is prepared. A process that died between writing down what it did
/// and telling it leaves a Runtime that never would.
fn is_told(seen: &Observation) -> bool {
    let Some(status) = seen.memory.status.as_ref().or(seen.runtime.status.as_ref()) else { return false };
    let said = |of: Type| status.conditions.iter().any(|condition| condition.type_ == of.as_str());
    said(Type::KymaSystemNsCreated) && said(Type::OidcAndConfigMapConfigured)
}

/// Does something with the cluster, within the budget of a step.
async fn within<T>(
    pass: &mut Pass,
    work: impl AsyncFnOnce(Access, &Pass) -> Result<T, access::Error>,
) -> Result<T, access::Error> {
    let clock = pass.shared.clock.clone();
    let whole = async {
        let skr = match &pass.skr {
            Some(skr) => skr.clone(),
            None => {
                let skr = clients::of(&pass.shared, &pass.seen).await?;
                pass.skr = Some(skr.clone());
                skr
            }
        };
        work(skr, pass).await
    };
    tokio::select! {
        biased;
        done = whole => done,
        () = clock.sleep(STEP_BUDGET) => Err(access::Error::timeout(STEP_BUDGET)),
    }
}

/// Shakes hands with the cluster while Gardener still works, so that what is due afterwards begins at once. Only an
/// attempt, and a short one: the API of a new cluster may not be there yet.
pub async fn shake_hands(pass: &Pass) {
    let (shared, seen) = (&pass.shared, &pass.seen);
    if !is_due(seen) || !shared.skr.wants_handshake(seen, shared.clock.monotonic()) {
        return;
    }
    let hello = async {
        let skr = clients::of(shared, seen).await?;
        // As many connections as calls are made together later.
        let look = || skr.tell(namespace::look());
        let (said, ..) = futures::join!(look(), look(), look());
        said
    };
    tokio::select! {
        biased;
        said = hello => tracing::debug!(error = said.err().map(tracing::field::display), "hands were shaken"),
        () = shared.clock.sleep(HANDSHAKE_MAX) => {}
    }
}

/// What came of the calls.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The namespace.
    pub namespace: Result<(), access::Error>,
    /// What the customer is told.
    pub info: Result<(), access::Error>,
    /// Logins.
    pub oidc: Result<(), access::Error>,
    /// Administrators.
    pub administrators: Result<(), access::Error>,
}

/// Whether the cluster has what reads our logins.
pub fn takes_logins(seen: &Observation) -> bool {
    seen.shoot.as_ref().is_some_and(|shoot| shoot.has_extension(LOGIN_SERVICE))
}

/// Makes all calls, once in a pass.
pub async fn prepare(pass: &mut Pass) -> Prepared {
    if let Some(done) = &pass.prepared {
        return done.clone();
    }
    let (seen, shoot) = (&pass.seen, pass.seen.shoot.as_deref());
    let region = provisioning_info::seed_region(&pass.shared, shoot).await;
    let info = region.map(|region| {
        let details = provisioning_info::details(&seen.runtime, shoot, region, true);
        serde_saphyr::to_string(&details).unwrap_or_default()
    });
    let logins =
        takes_logins(seen).then(|| oidc::wanted(&seen.runtime, &pass.shared.blueprints.shared_tenant()).objects);
    let users = seen.runtime.spec.security.administrators.clone();
    let was_prepared = written_hash(seen).is_some();
    let calls = within(pass, async |skr, _| {
        let aligned = async {
            match &logins {
                Some(logins) => oidc::align(&skr, logins).await,
                None => Ok(()),
            }
        };
        let ((namespace, info), oidc, administrators) =
            futures::join!(told(&skr, info.as_deref(), was_prepared), aligned, administrators::align(&skr, &users));
        Ok(Prepared { namespace, info, oidc, administrators })
    });
    let done = calls.await.unwrap_or_else(|error| Prepared {
        namespace: Err(error.clone()),
        info: Err(error.clone()),
        oidc: Err(error.clone()),
        administrators: Err(error),
    });
    pass.prepared = Some(done.clone());
    done
}

/// What the cluster asks for in registry caches; none where it has not the module. Who has it is listened to.
pub async fn registry_look(pass: &mut Pass) -> Result<Option<Asked>, access::Error> {
    within(pass, async |skr, pass| {
        let asked = registry_caches::look(&skr).await?;
        let (watches, name) = (&pass.shared.registry_watches, pass.seen.name());
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

/// Tells the cluster how its registry caches stand; answers whether all wishes have heard it.
pub async fn registry_tell<'a>(
    pass: &mut Pass,
    asked: &Asked,
    standing: impl Fn(&Wish) -> Standing<'a>,
) -> Result<bool, access::Error> {
    let now = pass.shared.clock.wall();
    within(pass, async |skr, _| asked.tell(&skr, now, standing).await).await
}

/// What a cluster asks for may have changed: it is looked at.
pub fn registry_caches_changed(shared: &Shared, name: &str) {
    if shared.settings.registry_caches.is_none() || shared.caches.runtimes.get(name).is_none() {
        return;
    }
    let now = shared.clock.monotonic();
    let wait = {
        let cell = shared.memories.of(name);
        let mut memory = cell.lock();
        memory.caches_due = Some(now);
        memory.caches_not_before.saturating_sub(now)
    };
    shared.runtimes.wake_in(name, wait);
}

/// The namespace and the information in it, if it is known. One that was prepared before has the namespace, most
/// likely.
async fn told(
    skr: &Access,
    info: Result<&str, &access::Error>,
    was_prepared: bool,
) -> (Result<(), access::Error>, Result<(), access::Error>) {
    let write = async || match info {
        Ok(info) => provisioning_info::write(skr, info).await,
        Err(unknown) => Err(unknown.clone()),
    };
    if was_prepared {
        match write().await {
            Err(error) if error.is_not_found() => {}
            other => return (Ok(()), other),
        }
    }
    match namespace::ensure(skr).await {
        Ok(()) => (Ok(()), write().await),
        Err(error) => (Err(error.clone()), Err(error)),
    }
}

/// What a failure inside a cluster means. Never `Failed`: a cluster that answers nonsense today may answer sense
/// tomorrow, and the customer can do things inside that we cannot judge.
pub fn trouble(error: access::Error, of: Type, reason: Reason, status: Status, what: &str) -> Outcome {
    let said = crate::outcome::Said::new(of, status, reason, format!("{what}: {error}"));
    Outcome::Retry { error, said }
}
