//! Watches: one answer that never ends, read line by line.

use std::pin::Pin;

use bytes::{Buf as _, BytesMut};
use futures::StreamExt as _;
use http_body_util::BodyExt as _;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    Access, Ask, Error,
    transport::{OBJECT_MAX, read},
};

/// A running watch: bytes as they come, cut at line ends.
pub struct Watching {
    body: Pin<Box<dyn futures::Stream<Item = Result<bytes::Bytes, String>> + Send>>,
    rest: BytesMut,
    /// So much of the rest has no line end in it.
    searched: usize,
}

/// One change.
#[derive(Debug, Deserialize)]
pub(super) struct Change {
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`.
    #[serde(rename = "type")]
    pub(super) what: String,
    /// The object, not read yet: what it is depends on the word before.
    pub(super) object: Box<RawValue>,
}

impl Access {
    /// Starts a watch. It draws from the budget: one is a request for minutes, but one that ends at once is many.
    pub async fn watch(&self, ask: &Ask) -> Result<Watching, Error> {
        let options = &self.options;
        if let Some(budget) = &options.budget {
            budget.take(ask.priority).await;
        }
        if let Some(calls) = &options.calls {
            calls.before(options.cluster, ask).await.into_result()?;
        }
        let begun = tokio::select! {
            biased;
            begun = self.begin(ask) => begun,
            () = options.clock.sleep(options.write_timeout) => Err(Error::timeout(options.write_timeout)),
        };
        let code = begun.as_ref().map_or_else(|error| error.code, |_| Some(200));
        options.counters.count(options.cluster, ask.verb, ask.resource.plural, ask.subresource, code);
        begun
    }

    async fn begin(&self, ask: &Ask) -> Result<Watching, Error> {
        let answer = self.wire.open(ask.request(false)?).await?;
        if !answer.status().is_success() {
            let (head, whole) = read(answer, OBJECT_MAX).await?;
            return Err(Error::answer(&head, &whole));
        }
        let body = answer.into_body().into_data_stream().map(|part| part.map_err(|error| error.to_string()));
        Ok(Watching { body: Box::pin(body), rest: BytesMut::new(), searched: 0 })
    }
}

impl Watching {
    /// The next change; none when the server ends the watch, as it does every few minutes.
    pub(super) async fn next(&mut self) -> Option<Result<Change, Error>> {
        let line = self.line().await?;
        Some(line.and_then(|line| serde_json::from_slice(&line).map_err(|error| Error::garbage(&error.to_string()))))
    }

    async fn line(&mut self) -> Option<Result<bytes::Bytes, Error>> {
        loop {
            let end = self.rest[self.searched..].iter().position(|byte| *byte == b'\n');
            if let Some(end) = end.map(|end| self.searched + end) {
                let line = self.rest.split_to(end).freeze();
                self.rest.advance(1);
                self.searched = 0;
                if line.is_empty() {
                    continue;
                }
                return Some(Ok(line));
            }
            self.searched = self.rest.len();
            // One line is one object.
            if self.searched > OBJECT_MAX {
                return Some(Err(Error::too_large(OBJECT_MAX)));
            }
            match self.body.next().await? {
                Ok(bytes) => self.rest.extend_from_slice(&bytes),
                Err(problem) => return Some(Err(Error::broken_off(&problem))),
            }
        }
    }
}
