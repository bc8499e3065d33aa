//! Records the outgoing calls of steps.
//!
//! Clients are shared by all steps, so a call finds out whose it is through a task-local value that
//! the runner sets around every run. A step must not spawn tasks that call outside.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use slipway_model::{
    RecordKind,
    ports::{BoxFuture, Clock, Transport, TransportError},
};

/// The run that the current task is in.
#[derive(Debug)]
pub struct CurrentRun {
    /// Stage.
    pub stage: &'static str,
    /// Step.
    pub step: &'static str,
    calls: Mutex<Vec<RecordKind>>,
}

tokio::task_local! {
    static CURRENT: Arc<CurrentRun>;
}

impl CurrentRun {
    pub(crate) fn new(stage: &'static str, step: &'static str) -> Arc<Self> {
        Arc::new(Self { stage, step, calls: Mutex::default() })
    }

    /// The run that the caller is part of, if it is a step.
    pub fn get() -> Option<Arc<Self>> {
        CURRENT.try_with(Arc::clone).ok()
    }

    pub(crate) fn scope<F: Future>(self: &Arc<Self>, run: F) -> impl Future<Output = F::Output> {
        CURRENT.scope(self.clone(), run)
    }

    pub(crate) fn take_calls(&self) -> Vec<RecordKind> {
        std::mem::take(&mut self.calls.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, call: RecordKind) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }
}

/// A transport that puts every call of a step into the flight recorder: system, method, path
/// without query, status, duration. Never headers or bodies.
pub struct RecordingTransport<T> {
    inner: T,
    clock: Arc<dyn Clock>,
}

impl<T: Transport> RecordingTransport<T> {
    /// Records what goes through `inner`.
    pub fn new(inner: T, clock: Arc<dyn Clock>) -> Self {
        Self { inner, clock }
    }
}

impl<T: Transport> Transport for RecordingTransport<T> {
    fn send<'a>(
        &'a self,
        system: &'static str,
        request: http::Request<Bytes>,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<http::Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
            let begun = self.clock.monotonic();
            let answer = self.inner.send(system, request, timeout).await;
            if let Some(run) = CurrentRun::get() {
                let took = self.clock.monotonic().saturating_sub(begun);
                run.add(RecordKind::Call {
                    step: run.step.to_owned(),
                    system: system.to_owned(),
                    method,
                    path,
                    status: answer.as_ref().ok().map(|answer| answer.status().as_u16()),
                    error: answer.as_ref().err().map(ToString::to_string),
                    took_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
                });
            }
            answer
        })
    }
}
