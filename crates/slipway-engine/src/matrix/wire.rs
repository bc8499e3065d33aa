//! The wire with one fault in it. It knows which row a call belongs to from the run the call is
//! made in, so a fault strikes at its row and nowhere else.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use slipway_model::{
    StepStatus,
    ports::{BoxFuture, Clock, Transport, TransportError},
};
use tokio::sync::Notify;

use super::fault::{Call, Fault, Kind, RowName};
use crate::recording::CurrentRun;

/// Sees everything that a run does, and strikes once its moment has come.
pub(super) struct Tap {
    pub(super) fault: Option<Fault>,
    /// Tells the driver to let the program die.
    pub(super) crash: Notify,
    seen: Mutex<Observed>,
}

#[derive(Default)]
pub(super) struct Observed {
    pub(super) calls: Vec<Call>,
    pub(super) commits: Vec<(RowName, StepStatus)>,
    pub(super) has_struck: bool,
}

impl Tap {
    pub(super) fn new(fault: Option<Fault>) -> Arc<Self> {
        Arc::new(Self { fault, crash: Notify::new(), seen: Mutex::default() })
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, Observed> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The program dies here: nothing behind this point happens.
    pub(super) async fn die<T>(&self) -> T {
        self.crash.notify_one();
        std::future::pending().await
    }

    /// Notes a call; answers what goes wrong with it.
    fn strikes(&self, line: String) -> Option<Kind> {
        let run = CurrentRun::get()?;
        let place = RowName { stage: run.stage, step: run.step };
        let mut seen = self.seen();
        let number = seen.calls.iter().filter(|call| call.place == place).count();
        seen.calls.push(Call { place, number, line });
        let fault = self.fault.as_ref().filter(|fault| fault.place == place)?;
        let wanted = fault.call.as_ref()?.number;
        let strikes = if fault.kind.is_for_good() { number >= wanted } else { number == wanted };
        seen.has_struck |= strikes;
        strikes.then_some(fault.kind)
    }
}

/// The wire.
pub(super) struct FaultyWire {
    pub(super) inner: Arc<dyn Transport>,
    pub(super) tap: Arc<Tap>,
    pub(super) clock: Arc<dyn Clock>,
}

impl Transport for FaultyWire {
    fn send<'a>(
        &'a self,
        system: &'static str,
        request: Request<Bytes>,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let problem = "the failure matrix".to_owned();
            let strikes = self.tap.strikes(format!("{} {}", request.method(), request.uri().path()));
            let send = || self.inner.send(system, request, timeout);
            match strikes {
                None | Some(Kind::CrashBeforeCommit | Kind::CrashAfterCommit | Kind::CrashWhileWaiting) => send().await,
                Some(Kind::NotSentOnce | Kind::NotSentForGood) => Err(TransportError::NotSent { system, problem }),
                Some(Kind::BrokenOnce | Kind::BrokenForGood) => Ok(status(StatusCode::INTERNAL_SERVER_ERROR)),
                Some(Kind::SilentForGood) => {
                    self.clock.sleep(timeout).await;
                    Err(TransportError::NoAnswer { system, problem })
                }
                Some(Kind::RefusedForGood) => Ok(status(StatusCode::BAD_REQUEST)),
                Some(Kind::BusyOnce) => {
                    let mut busy = status(StatusCode::TOO_MANY_REQUESTS);
                    busy.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from(20));
                    Ok(busy)
                }
                Some(Kind::GarbledOnce) => {
                    let mut answer = send().await?;
                    *answer.body_mut() = Bytes::from_static(b"<html>");
                    Ok(answer)
                }
                Some(Kind::AnswerLost) => {
                    send().await?;
                    Err(TransportError::NoAnswer { system, problem })
                }
                Some(Kind::CrashBeforeCall) => self.tap.die().await,
                Some(Kind::CrashAfterCall) => {
                    send().await?;
                    self.tap.die().await
                }
            }
        })
    }
}

fn status(status: StatusCode) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    response
}
