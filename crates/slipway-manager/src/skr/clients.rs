//! One client per customer's cluster, kept while its kubeconfig is the same.
//!
//! Making one costs a TLS handshake and a read of the Secret, so it is kept; connections cost memory on both
//! sides, so it is forgotten after ten quiet minutes, and there are never more than 500.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use slipway_kube::{
    access::{self, Access, Ask, Calls, Counters, Error, Options, Writes, resource::SECRETS},
    gardener_cluster::{SECRET_KEY, secret_name},
};
use slipway_model::time::{mins, secs};

use crate::{observe::Observation, shared::Shared};

/// At most this many.
const MOST: usize = 500;
/// Forgotten after this long without use.
const IDLE: Duration = mins(10);
/// How long a connection nobody uses stays open for sure.
const CONNECTED: Duration = mins(1);

struct Kept {
    hash: String,
    access: Access,
    used: Duration,
}

/// The clients.
#[derive(Clone, Default)]
pub(crate) struct Clients {
    kept: Arc<Mutex<HashMap<String, Kept>>>,
    calls: Option<Arc<dyn Calls>>,
    counters: Counters,
    is_dry: bool,
}

#[derive(Deserialize)]
struct Secret {
    #[serde(default)]
    data: HashMap<String, String>,
}

impl Clients {
    /// None yet; those that are made get this hook and these counters.
    pub(crate) fn new(calls: Option<Arc<dyn Calls>>, counters: Counters, is_dry: bool) -> Self {
        Self { kept: Arc::default(), calls, counters, is_dry }
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<String, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.kept().len()
    }

    /// Forgets that of one Runtime.
    pub(crate) fn forget(&self, name: &str) {
        self.kept().remove(name);
    }

    /// Forgets those nobody used for a while.
    pub(crate) fn sweep(&self, now: Duration) {
        self.kept().retain(|_, kept| now.saturating_sub(kept.used) < IDLE);
    }

    /// Whether a connection that was open before will not do any more: there is a kubeconfig, nobody used it
    /// lately, and there is room.
    pub(super) fn wants_handshake(&self, seen: &Observation, now: Duration) -> bool {
        let Some(hash) = seen.secret.as_ref().and_then(|secret| secret.hash(SECRET_KEY)) else { return false };
        let kept = self.kept();
        let is_fresh = |kept: &Kept| kept.hash == hash && now.saturating_sub(kept.used) < CONNECTED;
        kept.len() < MOST / 2 && !kept.get(seen.name()).is_some_and(is_fresh)
    }

    fn find(&self, name: &str, hash: &str, now: Duration) -> Option<Access> {
        let mut kept = self.kept();
        let found = kept.get_mut(name).filter(|kept| kept.hash == hash)?;
        found.used = now;
        Some(found.access.clone())
    }

    fn keep(&self, name: &str, hash: String, access: Access, now: Duration) {
        let mut kept = self.kept();
        if kept.len() >= MOST
            && let Some(oldest) = kept.iter().min_by_key(|(_, kept)| kept.used).map(|(name, _)| name.clone())
        {
            kept.remove(&oldest);
        }
        kept.insert(name.to_owned(), Kept { hash, access, used: now });
    }
}

/// The client of this Runtime's cluster.
pub(super) async fn of(shared: &Shared, seen: &Observation) -> Result<Access, Error> {
    let (name, now) = (seen.name(), shared.clock.monotonic());
    let hash = seen.secret.as_ref().and_then(|secret| secret.hash(SECRET_KEY)).unwrap_or_default().to_owned();
    if let Some(access) = shared.skr.find(name, &hash, now) {
        return Ok(access);
    }
    let secret: Secret = shared.kcp.send_as(Ask::get(&SECRETS, &shared.settings.namespace, &secret_name(name))).await?;
    let text = secret.data.get(SECRET_KEY).and_then(|text| STANDARD.decode(text).ok());
    let text = text.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let client = access::from_secret_text(&text).await.map_err(|error| Error::unusable_kubeconfig(&error))?;
    let options = Options {
        read_timeout: secs(10),
        write_timeout: secs(10),
        calls: shared.skr.calls.clone(),
        counters: shared.skr.counters.clone(),
        writes: if shared.skr.is_dry { Writes::Skipped } else { Writes::Real },
        ..Options::new("skr", shared.clock.clone())
    };
    let access = Access::new(client, options);
    shared.skr.keep(name, hash, access.clone(), now);
    Ok(access)
}
