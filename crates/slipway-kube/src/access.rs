//! The way to a Kubernetes API: every request of the product leaves through [`Access::send`].
//!
//! One door, because five things must hold for every call and none may be forgotten at a call site: the
//! class of a failure is decided where the answer arrives ([`Error`]), the garden's budget is asked first
//! ([`Budget`]), a garden that is away is left alone ([`Breaker`]), every request is counted ([`Counters`]),
//! and a test can stand before and after each of them ([`Calls`]). The objects are JSON here; their types
//! are the business of the callers. There is no discovery: the kinds we touch are the rows of [`resource`].

mod ask;
mod breaker;
mod budget;
pub mod cache;
mod calls;
mod connect;
mod counters;
mod error;
pub mod lease;
pub mod resource;
pub mod shards;
mod watch;

use std::{sync::Arc, time::Duration};

use http_body_util::BodyExt as _;
use kube::client::Body;
use serde::de::DeserializeOwned;
use serde_json::Value;
use slipway_model::{ports::Clock, time::secs};

pub use self::{
    ask::{Ask, Exactly, Verb},
    breaker::Breaker,
    budget::{Budget, Priority, Waits},
    calls::{Calls, Verdict},
    connect::{ConnectError, from_kubeconfig, from_kubeconfig_text, in_cluster},
    counters::{Counted, Counters},
    error::{Class, Error},
    resource::Resource,
    watch::{Lines, Watching},
};

/// How an [`Access`] behaves.
#[derive(Clone)]
pub struct Options {
    /// Which cluster it leads to, for logs, metrics and hooks: `kcp`, `garden`, `skr`.
    pub cluster: &'static str,
    /// Longest time for a read. 5 s: a get that takes longer is answered faster by asking again.
    pub read_timeout: Duration,
    /// Longest time for a write. 15 s: giving up a slow but successful write makes an error of a success.
    pub write_timeout: Duration,
    /// Budget of this cluster, if it has one.
    pub budget: Option<Budget>,
    /// Circuit breaker of this cluster, if it has one.
    pub breaker: Option<Breaker>,
    /// What becomes of writes.
    pub writes: Writes,
    /// Stands before and after every call.
    pub calls: Option<Arc<dyn Calls>>,
    /// Counts.
    pub counters: Counters,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

impl Options {
    /// The usual ones.
    pub fn new(cluster: &'static str, clock: Arc<dyn Clock>) -> Self {
        Self {
            cluster,
            read_timeout: secs(5),
            write_timeout: secs(15),
            budget: None,
            breaker: None,
            writes: Writes::Real,
            calls: None,
            counters: Counters::default(),
            clock,
        }
    }
}

/// What becomes of writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// They are made.
    Real,
    /// They are sent with `dryRun=All`: checked by the server, and without effect.
    DryRun,
    /// They are not sent, and answered with what would have been sent; only events are.
    Skipped,
}

/// The way to one cluster. Clones share everything.
#[derive(Clone)]
pub struct Access {
    client: kube::Client,
    options: Arc<Options>,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "access to {}", self.options.cluster)
    }
}

impl Access {
    /// Over a client that is there.
    pub fn new(client: kube::Client, options: Options) -> Self {
        Self { client, options: Arc::new(options) }
    }

    /// Its options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Time, as it goes for this access.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.options.clock
    }

    /// One call; the answer as JSON.
    pub async fn send(&self, ask: Ask) -> Result<Value, Error> {
        self.send_as(ask).await
    }

    /// One call; the answer as a type. An answer of another shape is garbage, and the effect of the call unknown.
    pub async fn send_as<T: DeserializeOwned>(&self, ask: Ask) -> Result<T, Error> {
        let bytes = self.raw(&ask).await?;
        serde_json::from_slice(&bytes).map_err(|error| Error::garbage(&error.to_string()))
    }

    /// The object, or none where there is none.
    pub async fn find<T: DeserializeOwned>(&self, ask: Ask) -> Result<Option<T>, Error> {
        match self.send_as(ask).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// One call whose answer does not matter. Deleting what is not there is a success.
    pub async fn tell(&self, ask: Ask) -> Result<(), Error> {
        let deletes = ask.verb == Verb::Delete;
        match self.raw(&ask).await {
            Ok(_) => Ok(()),
            Err(error) if deletes && error.is_not_found() => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn raw(&self, ask: &Ask) -> Result<bytes::Bytes, Error> {
        let options = &self.options;
        if let Some(breaker) = &options.breaker
            && breaker.is_open()
        {
            return Err(Error::held());
        }
        if let Some(budget) = &options.budget {
            budget.take(ask.priority).await;
        }
        let answered = self.unbudgeted(ask).await;
        // A part of one object may fail for reasons of its own, such as a cluster whose authority is not there yet:
        // that says nothing about the API, and must not hold the work of all others.
        if let Some(breaker) = &options.breaker
            && (ask.subresource.is_empty() || answered.is_ok())
        {
            breaker.note(answered.as_ref().err(), self);
        }
        answered
    }

    /// The exchange itself: no budget, no breaker; lists and probes use it directly.
    pub(crate) async fn unbudgeted(&self, ask: &Ask) -> Result<bytes::Bytes, Error> {
        let options = &self.options;
        if let Some(calls) = &options.calls {
            calls.before(options.cluster, ask).await.into_result()?;
        }
        let timeout = if ask.verb.is_write() { options.write_timeout } else { options.read_timeout };
        let answered = tokio::select! {
            biased;
            answered = self.exchange(ask) => answered,
            () = options.clock.sleep(timeout) => Err(Error::timeout(timeout)),
        };
        let code = answered.as_ref().map_or_else(|error| error.code, |_| Some(200));
        options.counters.count(options.cluster, ask.verb, ask.resource.plural, ask.subresource, code);
        match &options.calls {
            Some(calls) => match calls.after(options.cluster, ask, answered.as_ref().err()).await.into_result() {
                Ok(()) => answered,
                Err(instead) => Err(instead),
            },
            None => answered,
        }
    }

    async fn exchange(&self, ask: &Ask) -> Result<bytes::Bytes, Error> {
        if self.options.writes == Writes::Skipped && ask.verb.is_write() && *ask.resource != resource::EVENTS {
            let told = ask.body().map(ToString::to_string).unwrap_or_default();
            return Ok(told.into());
        }
        let request = ask.request(self.options.writes == Writes::DryRun)?.map(Body::from);
        let response = self.client.send(request).await.map_err(|error| Error::transport(&error))?;
        let (head, body) = response.into_parts();
        let whole = body.collect().await.map_err(|error| Error::broken_off(&error.to_string()))?.to_bytes();
        if head.status.is_success() { Ok(whole) } else { Err(Error::answer(&head, &whole)) }
    }
}

#[cfg(test)]
mod tests;
