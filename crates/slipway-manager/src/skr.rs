//! Preparing the customer's cluster: namespace, information, logins, administrators.
//!
//! All of it is due when the hash of what it is made of differs from the one written at the GardenerCluster,
//! or when the resync comes; a Runtime whose labels or Shoot moved in other ways causes no call at all. A
//! cluster that cannot be reached delays its own Runtime and nobody else's.

pub mod administrators;
mod clients;
pub mod namespace;
pub mod oidc;
pub mod provisioning_info;

use std::time::Duration;

use serde_json::json;
use slipway_kube::{
    Runtime, Shoot,
    access::{self, Access},
    annotations,
    conditions::{Reason, Status, Type},
    runtime::OidcConfig,
};
use slipway_model::time::{hours, secs};

pub use self::clients::Clients;
use crate::{
    observe::{Observation, hash},
    outcome::Outcome,
    pass::Pass,
};

/// The field manager of what we apply there.
pub const MANAGER: &str = crate::settings::FIELD_MANAGER;
/// The longest time for one step.
const STEP_BUDGET: Duration = secs(30);
/// When a cluster is looked after although nothing changed: somebody may have deleted a binding inside.
const LOOKED_AFTER: Duration = hours(11);

/// The hash of everything a cluster is prepared with. Without times, or every maintenance would rewrite every cluster.
pub fn prepared_hash(runtime: &Runtime, shoot: Option<&Shoot>, tenant: &OidcConfig) -> String {
    let details = provisioning_info::details(runtime, shoot, None, false);
    let wanted = oidc::wanted(runtime, tenant);
    let has_service = shoot.is_some_and(|shoot| shoot.has_extension("shoot-oidc-service"));
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
    differs || stale
}

/// Does something with the cluster, within the budget of a step.
pub async fn within<T>(
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

/// What a failure inside a cluster means. Never `Failed`: a cluster that answers nonsense today may answer sense
/// tomorrow, and the customer can do things inside that we cannot judge.
pub fn trouble(error: access::Error, of: Type, reason: Reason, status: Status, what: &str) -> Outcome {
    let said = crate::outcome::Said::new(of, status, reason, format!("{what}: {error}"));
    Outcome::Retry { error, said }
}
