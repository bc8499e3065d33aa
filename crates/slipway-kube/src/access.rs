//! The way to a Kubernetes API: every request of the product leaves through [`Access::send`].
//!
//! One door, because these things must hold for every call and none may be forgotten at a call site: the
//! class of a failure is decided where the answer arrives ([`Error`]), no answer is read without a limit, the
//! garden's budget is asked first ([`Budget`]), a garden that is away is left alone ([`Breaker`]), every request
//! is counted ([`Counters`]), and a test can stand before and after each of them ([`Calls`]). Below is one
//! transport: a client, or the port through which steps are recorded and simulated. The objects are JSON here;
//! their types are the business of the callers. There is no discovery: the kinds we touch are the rows of
//! [`resource`].

mod ask;
mod breaker;
mod budget;
pub mod cache;
mod calls;
mod connect;
mod counters;
mod error;
mod kubeconfig;
pub mod lease;
mod pages;
pub mod resource;
pub mod shards;
mod transport;
mod watch;

use std::{sync::Arc, time::Duration};

use serde::de::DeserializeOwned;
use serde_json::Value;
use slipway_model::{
    ports::{Clock, Transport},
    time::secs,
};

pub use kube::Client;

use self::transport::{OBJECT_MAX, PAGE_MAX, Wire};

pub use self::{
    ask::{Ask, Exactly, Verb},
    breaker::Breaker,
    budget::{Budget, Priority, Waits},
    calls::{Calls, Verdict},
    connect::{ConnectError, from_operators_file, from_secret_text, in_cluster},
    counters::{Counted, Counters},
    error::{Class, Error},
    resource::Resource,
    transport::ClientTransport,
    watch::Watching,
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
    wire: Wire,
    options: Arc<Options>,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "access to {}", self.options.cluster)
    }
}

impl Access {
    /// Over a client that is there.
    pub fn new(client: Client, options: Options) -> Self {
        Self { wire: Wire::Client(client), options: Arc::new(options) }
    }

    /// Over the port, so that who records, simulates or breaks exchanges does so here too; it carries no watches.
    /// `base` goes before every path; a transport that knows its own address needs none.
    pub fn over(transport: Arc<dyn Transport>, base: &str, options: Options) -> Self {
        let base = base.trim_end_matches('/').into();
        Self { wire: Wire::Port { transport, base }, options: Arc::new(options) }
    }

    /// Its options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Time, as it goes for this access.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.options.clock
    }

    /// One call; the answer as a JSON object.
    pub async fn send(&self, ask: Ask) -> Result<Value, Error> {
        let answer: Value = self.send_as(ask).await?;
        if answer.is_object() { Ok(answer) } else { Err(Error::garbage("it is no object")) }
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

    /// The same where the kind itself may be missing, as in customers' clusters, whose parts come and go.
    pub async fn find_if_served<T: DeserializeOwned>(&self, ask: Ask) -> Result<Option<T>, Error> {
        match self.find(ask).await {
            Err(error) if error.class == Class::NoKind => Ok(None),
            found => found,
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
            answered = self.exchange(ask, timeout) => answered,
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

    async fn exchange(&self, ask: &Ask, timeout: Duration) -> Result<bytes::Bytes, Error> {
        if self.options.writes == Writes::Skipped && ask.verb.is_write() && *ask.resource != resource::EVENTS {
            let told = ask.body().map(ToString::to_string).unwrap_or_default();
            return Ok(told.into());
        }
        let request = ask.request(self.options.writes == Writes::DryRun)?;
        let most = if ask.verb == Verb::List { PAGE_MAX } else { OBJECT_MAX };
        let (head, whole) = self.wire.exchange(self.options.cluster, request, timeout, most).await?;
        if head.status.is_success() { Ok(whole) } else { Err(Error::answer(&head, &whole)) }
    }
}

#[cfg(test)]
mod tests;
