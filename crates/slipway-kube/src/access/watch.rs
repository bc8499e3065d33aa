//! Watches: one answer that never ends, read line by line.

use std::pin::Pin;

use bytes::{Buf as _, BytesMut};
use futures::StreamExt as _;
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Access, Ask, Error};

/// A running watch.
pub struct Watching {
    lines: Lines,
}

/// Bytes as they come, cut at line ends.
pub struct Lines {
    body: Pin<Box<dyn futures::Stream<Item = Result<bytes::Bytes, String>> + Send>>,
    rest: BytesMut,
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

impl Lines {
    async fn next(&mut self) -> Option<Result<bytes::Bytes, Error>> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line = self.rest.split_to(end).freeze();
                self.rest.advance(1);
                if line.is_empty() {
                    continue;
                }
                return Some(Ok(line));
            }
            match self.body.next().await? {
                Ok(bytes) => self.rest.extend_from_slice(&bytes),
                Err(problem) => return Some(Err(Error::broken_off(&problem))),
            }
        }
    }
}

impl Access {
    /// Starts a watch. It draws from no budget: it is one request for hours.
    pub async fn watch(&self, ask: &Ask) -> Result<Watching, Error> {
        let options = &self.options;
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
        let request = ask.request(false)?.map(Body::from);
        let response = self.client.send(request).await.map_err(|error| Error::transport(&error))?;
        let (head, body) = response.into_parts();
        if !head.status.is_success() {
            let whole = body.collect().await.map_err(|error| Error::broken_off(&error.to_string()))?.to_bytes();
            return Err(Error::answer(&head, &whole));
        }
        let body = body.into_data_stream().map(|part| part.map_err(|error| error.to_string()));
        Ok(Watching { lines: Lines { body: Box::pin(body), rest: BytesMut::new() } })
    }
}

impl Watching {
    /// The next change; none when the server ends the watch, as it does every few minutes.
    pub(super) async fn next(&mut self) -> Option<Result<Change, Error>> {
        let line = self.lines.next().await?;
        Some(line.and_then(|line| serde_json::from_slice(&line).map_err(|error| Error::garbage(&error.to_string()))))
    }
}
