//! What goes wrong on demand with requests to the garden's API (F6 to F9, F15).

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use kube_sandbox::{
    http::{
        Seen, Trouble,
        troubles::{End, Garbage, Spoiled, is_watch},
    },
    status::{Details, Status},
};
use serde::{Deserialize, Serialize};

use super::{Garden, run::CLUSTER};

/// A fault of the garden's API: which requests, what happens, how often.
///
/// One of `code`, `reset`, `garbage`, `delaySeconds`, `watch`, `stale`; with none of them the request gets a `500`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RequestFault {
    /// HTTP method; empty means any.
    pub method: String,
    /// A part of the path; empty means any.
    pub path: String,
    /// Answer with this code.
    pub code: u16,
    /// And with this sentence.
    pub message: String,
    /// And ask to come back after so many seconds.
    pub retry_after: u32,
    /// Break the connection instead: before, or after the write took effect.
    pub reset: Option<Reset>,
    /// Do it, and answer what cannot be read.
    pub garbage: Option<Garbage>,
    /// Do it, so many (real) seconds later.
    pub delay_seconds: Option<f64>,
    /// Open the watch and spoil it; strikes watches alone.
    pub watch: Option<WatchFault>,
    /// Lists with `resourceVersion=0` show what was there when the fault was switched on.
    pub stale: bool,
    /// So many requests; for ever if absent.
    pub times: Option<u32>,
    /// Each request with this probability, between 0 and 1; every one if absent.
    pub probability: Option<f64>,
}

/// When the connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reset {
    /// Nothing happened.
    Before,
    /// It happened, and nobody was told.
    After,
}

/// How a watch is spoiled (F7). Seconds are real ones: it is the client's patience that is tried.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct WatchFault {
    /// It ends after so many events.
    pub events: Option<u32>,
    /// It ends after so many seconds.
    pub seconds: Option<f64>,
    /// Every line comes so many seconds later.
    pub delay_seconds: Option<f64>,
    /// Only bookmarks come.
    pub silent: bool,
    /// How it ends.
    pub end: WatchEnd,
}

/// How a spoiled watch ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WatchEnd {
    /// It is closed.
    #[default]
    Closed,
    /// It is told `410`, and closed.
    Expired,
    /// Nothing comes any more, and nobody says so.
    HalfOpen,
}

fn real(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

impl WatchFault {
    fn spoiled(&self) -> Spoiled {
        Spoiled {
            events: self.events,
            after: self.seconds.map(real),
            delay: self.delay_seconds.map(real),
            silent: self.silent,
            end: match self.end {
                WatchEnd::Closed => End::Closed,
                WatchEnd::Expired => End::Expired,
                WatchEnd::HalfOpen => End::HalfOpen,
            },
        }
    }
}

impl RequestFault {
    fn is_meant(&self, seen: &Seen<'_>) -> bool {
        let watch = is_watch(seen.method, seen.path, seen.query);
        seen.cluster == CLUSTER
            && (self.method.is_empty() || self.method == seen.method.as_str())
            && seen.path.contains(&self.path)
            && (self.watch.is_none() || watch)
            && (!self.stale || !watch)
    }

    /// `version` is what there was when it was switched on.
    fn trouble(&self, version: u64) -> Trouble {
        match self {
            Self { reset: Some(Reset::Before), .. } => Trouble::Reset,
            Self { reset: Some(Reset::After), .. } => Trouble::ResetAfter,
            Self { garbage: Some(how), .. } => Trouble::Garbage(*how),
            Self { watch: Some(watch), .. } => Trouble::Watch(watch.spoiled()),
            Self { stale: true, .. } => Trouble::AsOf(version),
            Self { delay_seconds: Some(seconds), .. } => Trouble::Delay(real(*seconds)),
            _ => Trouble::Status(self.status()),
        }
    }

    fn status(&self) -> Status {
        let code = if self.code == 0 { 500 } else { self.code };
        let reason = match code {
            403 => "Forbidden",
            409 => "Conflict",
            410 => "Expired",
            429 => "TooManyRequests",
            503 => "ServiceUnavailable",
            504 => "Timeout",
            _ => "InternalError",
        };
        let mut status = Status::new(code, reason, self.message.clone());
        if self.retry_after > 0 {
            let details = Details { retry_after_seconds: self.retry_after, ..Details::default() };
            status.details = Some(Box::new(details));
        }
        status
    }
}

/// A fault that is switched on.
struct Armed {
    fault: RequestFault,
    version: u64,
    met: AtomicU64,
    struck: AtomicU64,
}

impl Garden {
    /// Lets requests of the garden's API fail; an empty list ends it. Each one that fails is in the journal.
    pub fn fail_requests(&self, faults: Vec<RequestFault>) {
        let told = serde_json::to_value(&faults).unwrap_or_default();
        self.journal().record(self.clock().now(), "request faults", "", told);
        if faults.is_empty() {
            return self.server().set_faults(None);
        }
        let version = self.cluster().store().version();
        let armed: Vec<Armed> = faults
            .into_iter()
            .map(|fault| Armed { fault, version, met: AtomicU64::new(0), struck: AtomicU64::new(0) })
            .collect();
        let (chance, journal, clock) = (self.chance(), self.journal().clone(), self.clock().clone());
        self.server().set_faults(Some(Arc::new(move |seen| {
            let strikes = |armed: &&Armed| {
                if !armed.fault.is_meant(seen) {
                    return false;
                }
                let met = armed.met.fetch_add(1, Ordering::Relaxed);
                let probability = armed.fault.probability.unwrap_or(1.0);
                let lucky = chance.fraction(&armed.fault.path, "request", met) >= probability;
                let most = u64::from(armed.fault.times.unwrap_or(u32::MAX));
                !lucky && armed.struck.fetch_add(1, Ordering::Relaxed) < most
            };
            let struck = armed.iter().find(strikes)?;
            let more = serde_json::to_value(&struck.fault).unwrap_or_default();
            journal.record(clock.now(), "request fault", &format!("{} {}", seen.method, seen.path), more);
            Some(struck.fault.trouble(struck.version))
        })));
    }
}

#[cfg(test)]
mod tests;
