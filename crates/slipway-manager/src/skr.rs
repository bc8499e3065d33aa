//! Preparing the customer's cluster: namespace, information, logins, administrators.
//!
//! All of it is due when the hash of what it is made of differs from the one written at the GardenerCluster,
//! or when the resync comes; a Runtime whose labels or Shoot moved in other ways causes no call at all. A
//! cluster that cannot be reached delays its own Runtime and nobody else's.
//!
//! The calls are made together, because each of them costs a round trip to a cluster far away;
//! [`crate::steps::PrepareCluster`] tells what came of them.

mod administrators;
mod clients;
pub(crate) mod namespace;
pub(crate) mod oidc;
mod provisioning_info;

use std::time::Duration;

use serde_json::json;
use slipway_kube::{
    Runtime, Shoot,
    access::{self, Access},
    annotations,
    conditions::Type,
    gardener_cluster::SECRET_KEY,
    runtime::OidcConfig,
};
use slipway_model::time::{hours, secs};

pub(crate) use self::clients::Clients;
use crate::{
    observe::{Observation, hash},
    pass::Pass,
    tasks,
};

/// The field manager of what we apply there.
const MANAGER: &str = crate::settings::FIELD_MANAGER;
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
    let details = provisioning_info::build_details(runtime, shoot, None, false);
    let wanted = oidc::plan_logins(runtime, tenant);
    let has_service = shoot.is_some_and(|shoot| shoot.has_extension(LOGIN_SERVICE));
    let uid = shoot.and_then(|shoot| shoot.metadata.uid.clone());
    let all = json!([uid, details, has_service, wanted.objects, runtime.spec.security.administrators]);
    hash(all.to_string().as_bytes())
}

/// The hash that is written down.
pub(crate) fn written_hash(seen: &Observation) -> Option<&str> {
    let notes = seen.cluster.as_ref()?.metadata.annotations.as_ref()?;
    notes.get(annotations::PREPARED_HASH).map(String::as_str)
}

/// Whether the cluster must be called.
pub(crate) fn is_due(seen: &Observation) -> bool {
    // Nobody answers in a cluster that sleeps; what is due is done when it is awake.
    if seen.is_asleep() {
        return false;
    }
    let differs = written_hash(seen) != Some(seen.prepared_hash.as_str());
    let stale = seen.memory.prepared_at.is_some_and(|at| seen.now.saturating_sub(at) > LOOKED_AFTER);
    // A process that died between writing down what it did and telling it leaves a Runtime that never would.
    let is_told = |of: Type| seen.condition(of).is_some();
    differs || stale || !is_told(Type::KymaSystemNsCreated) || !is_told(Type::OidcAndConfigMapConfigured)
}

/// Does something with the cluster, within the budget of a step.
pub(crate) async fn within<T>(
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
    let done = tokio::select! {
        biased;
        done = whole => done,
        () = clock.sleep(STEP_BUDGET) => {
            tasks::forget_writes();
            Err(access::Error::timeout(STEP_BUDGET))
        }
    };
    if let Err(error) = &done {
        note_refusal(pass, error);
    }
    done
}

/// A cluster that does not know who we are needs another kubeconfig, long before this one is old.
fn note_refusal(pass: &mut Pass, error: &access::Error) {
    let hash = pass.seen.secret.as_ref().and_then(|secret| secret.hash(SECRET_KEY)).map(str::to_owned);
    if let (Some(401), Some(hash)) = (error.code, hash) {
        pass.remember(|memory| memory.kubeconfig.note_refused(&hash));
        pass.shared.skr.forget(pass.seen.name());
        pass.shared.kubeconfigs.wake(pass.seen.name());
    }
}

/// Shakes hands with the cluster while Gardener still works, so that what is due afterwards begins at once. Only an
/// attempt, and a short one: the API of a new cluster may not be there yet.
pub(crate) async fn shake_hands(pass: &Pass) {
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
pub(crate) struct Prepared {
    pub(crate) namespace: Result<(), access::Error>,
    /// What the customer is told about the cluster.
    pub(crate) info: Result<(), access::Error>,
    /// Logins; nothing to fail where the cluster takes none.
    pub(crate) oidc: Result<(), access::Error>,
    pub(crate) administrators: Result<(), access::Error>,
}

/// Whether the cluster has what reads our logins.
pub(crate) fn takes_logins(seen: &Observation) -> bool {
    seen.shoot.as_ref().is_some_and(|shoot| shoot.has_extension(LOGIN_SERVICE))
}

pub(crate) async fn prepare(pass: &mut Pass) -> Prepared {
    let (seen, shoot) = (&pass.seen, pass.seen.shoot.as_deref());
    let region = provisioning_info::find_seed_region(&pass.shared, shoot).await;
    let info = region.map(|region| {
        let details = provisioning_info::build_details(&seen.runtime, shoot, region, true);
        serde_saphyr::to_string(&details).unwrap_or_default()
    });
    let logins =
        takes_logins(seen).then(|| oidc::plan_logins(&seen.runtime, &pass.shared.blueprints.shared_tenant()).objects);
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
            futures::join!(inform(&skr, info.as_deref(), was_prepared), aligned, administrators::align(&skr, &users));
        Ok(Prepared { namespace, info, oidc, administrators })
    });
    let prepared = calls.await.unwrap_or_else(|error| Prepared {
        namespace: Err(error.clone()),
        info: Err(error.clone()),
        oidc: Err(error.clone()),
        administrators: Err(error),
    });
    let Prepared { namespace, info, oidc, administrators } = &prepared;
    for failed in [namespace, info, oidc, administrators].into_iter().filter_map(|part| part.as_ref().err()) {
        note_refusal(pass, failed);
    }
    prepared
}

/// The namespace and the information in it, if it is known. One that was prepared before has the namespace, most
/// likely.
async fn inform(
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
