//! `runtimeOperationUpdated`: an operation, now and whenever it changes, until its end.
//!
//! The engine's news say that something has changed in this process; a slow look every few seconds sees
//! what other replicas did and what was lost. Only a changed operation is sent.

use std::{pin::Pin, sync::Arc, time::Duration};

use futures::{Stream, stream};
use juniper::{FieldError, IntoFieldError as _, graphql_subscription};
use slipway_engine::Event;
use slipway_model::{OperationId, time::secs};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::{operation_status::OperationStatus, request::Request};
use crate::{OperationKind, api::Api, errors::ApiError};

/// The safety net under the news.
const LOOK_AGAIN: Duration = secs(5);

/// The root of subscriptions.
#[derive(Debug, Clone, Copy)]
pub struct Subscription;

type Updates = Pin<Box<dyn Stream<Item = Result<OperationStatus, FieldError>> + Send>>;

/// What clients may wait for.
#[graphql_subscription(context = Request)]
impl Subscription {
    /// An operation, now and whenever it changes, until its end.
    async fn runtime_operation_updated(id: String, #[graphql(context)] request: &Request) -> Updates {
        match begin(request, &id).await {
            Ok(follow) => Box::pin(stream::unfold(follow, Follow::next)),
            Err(error) => Box::pin(stream::iter([Err(error.into_field_error())])),
        }
    }
}

async fn begin(request: &Request, id: &str) -> Result<Follow, ApiError> {
    let tenant = request.reads()?;
    // Before the first look, so that nothing between the two is missed.
    let news = request.api.engine.news();
    let (operation, kind) = request.operation(id, &tenant).await?;
    Ok(Follow { api: request.api.clone(), id: operation.id, kind, news, shown: None, is_over: false })
}

struct Follow {
    api: Arc<Api>,
    id: OperationId,
    kind: OperationKind,
    news: Option<Receiver<Event>>,
    /// The latest that was sent: version, state and sentence.
    shown: Option<(u64, slipway_model::OperationState)>,
    is_over: bool,
}

impl Follow {
    /// The next change, and how to go on.
    async fn next(mut self) -> Option<(Result<OperationStatus, FieldError>, Self)> {
        while !self.is_over {
            match self.api.store.operation(self.id).await {
                Ok(operation) => {
                    let seen = (operation.version, operation.state);
                    if self.shown != Some(seen) {
                        self.shown = Some(seen);
                        self.is_over = operation.state.is_finished();
                        return Some((Ok(OperationStatus::new(operation, self.kind)), self));
                    }
                }
                // Whoever follows an operation does not want to hear of a database that is away for a moment.
                Err(error) if error.is_temporary() => tracing::warn!(%error, "a followed operation cannot be read"),
                Err(error) => {
                    self.is_over = true;
                    return Some((Err(ApiError::from(error).into_field_error()), self));
                }
            }
            let clock = self.api.clock.clone();
            tokio::select! {
                () = clock.sleep(LOOK_AGAIN) => {}
                () = news_of(&mut self.news, self.id) => {}
            }
        }
        None
    }
}

/// Ends at the next news about this operation; never when there are none to come.
async fn news_of(news: &mut Option<Receiver<Event>>, id: OperationId) {
    while let Some(receiver) = news {
        match receiver.recv().await {
            Ok(Event::StepProcessed { operation, .. } | Event::OperationFinished { operation, .. })
                if operation == id =>
            {
                return;
            }
            Ok(_) => {}
            Err(RecvError::Lagged(_)) => return,
            Err(RecvError::Closed) => *news = None,
        }
    }
    std::future::pending().await
}
