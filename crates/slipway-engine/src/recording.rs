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
            let mut call = OpenCall {
                run: CurrentRun::get(),
                clock: self.clock.clone(),
                begun: self.clock.monotonic(),
                system,
                method: request.method().to_string(),
                path: request.uri().path().to_owned(),
                answer: Err("given up before the answer".to_owned()),
            };
            let answer = self.inner.send(system, request, timeout).await;
            call.answer = match &answer {
                Ok(answer) => Ok(answer.status().as_u16()),
                Err(error) => Err(error.to_string()),
            };
            answer
        })
    }
}

/// A call under way. It is recorded when it ends, and also when its run is broken off: that it was
/// sent is just what somebody will want to know then.
struct OpenCall {
    run: Option<Arc<CurrentRun>>,
    clock: Arc<dyn Clock>,
    begun: Duration,
    system: &'static str,
    method: String,
    path: String,
    /// The status, or why there is none.
    answer: Result<u16, String>,
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        let Some(run) = &self.run else { return };
        let took = self.clock.monotonic().saturating_sub(self.begun);
        run.add(RecordKind::Call {
            step: run.step.to_owned(),
            system: self.system.to_owned(),
            method: std::mem::take(&mut self.method),
            path: std::mem::take(&mut self.path),
            status: self.answer.as_ref().ok().copied(),
            error: self.answer.as_ref().err().cloned(),
            took_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        });
    }
}

#[cfg(test)]
mod tests {
    use slipway_model::time::secs;

    use super::*;
    use crate::simulated::{SimulatedClock, SimulatedWire};

    /// What is recorded of one call over this wire, broken off after ten seconds.
    async fn recorded(
        answering: fn() -> BoxFuture<'static, Result<http::Response<Bytes>, String>>,
    ) -> (Option<u16>, Option<String>, u64) {
        let clock: Arc<dyn Clock> = Arc::new(SimulatedClock::default());
        let wire = SimulatedWire::new(clock.clone(), move |_, _| answering());
        let wire = RecordingTransport::new(wire, clock.clone());
        let run = CurrentRun::new("stage", "Step");
        let request = http::Request::get("http://hello/things/7?token=hunter2").body(Bytes::new()).expect("request");
        tokio::select! {
            biased;
            _ = run.scope(wire.send("hello", request, secs(60))) => {}
            () = clock.sleep(secs(10)) => {}
        }
        let calls = run.take_calls();
        let [RecordKind::Call { step, system, method, path, status, error, took_us }] = &calls[..] else {
            panic!("one call: {calls:?}")
        };
        assert_eq!(
            (step.as_str(), system.as_str(), method.as_str(), path.as_str()),
            ("Step", "hello", "GET", "/things/7")
        );
        (*status, error.clone(), *took_us)
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_recorded_with_its_status_and_without_its_query() {
        let answered = recorded(|| Box::pin(async { Ok(http::Response::new(Bytes::new())) })).await;
        assert_eq!(answered, (Some(200), None, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_lost_call_is_recorded_with_what_went_wrong() {
        let lost = recorded(|| Box::pin(async { Err("the connection broke".to_owned()) })).await;
        assert_eq!(lost, (None, Some("hello did not answer: the connection broke".to_owned()), 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_whose_run_is_broken_off_is_recorded_too() {
        let given_up = recorded(|| Box::pin(std::future::pending())).await;
        assert_eq!(given_up, (None, Some("given up before the answer".to_owned()), 10_000_000));
    }
}
