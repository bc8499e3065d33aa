//! Many watches on one collection, and writers who wait for all of them.
//!
//! A writer writes again when every watch has delivered its last write. Without that, a server that
//! accepts writes faster than it delivers them would look fast and let its watchers fall behind.
//! Watchers look for two numbers in each line and parse nothing else: what is measured is the server.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{AsyncBufReadExt as _, future::try_join_all};
use kube::Client;
use serde_json::Value;
use slipway_engine::SystemClock;
use slipway_model::{
    ports::Clock,
    time::{millis, secs},
};
use tokio::{sync::Notify, task::JoinSet};

use super::{fan_out::Flow, round};
use crate::bench::measure::Percentiles;

/// Writers at a time. More than the cores, so that nobody waits for a writer.
const WRITERS: usize = 4;

/// No write takes so long to arrive everywhere unless something is lost.
const PATIENCE: Duration = secs(60);

struct Deliveries {
    clock: SystemClock,
    /// By writer: deliveries, summed over all watches.
    delivered: [AtomicUsize; WRITERS],
    arrived: [Notify; WRITERS],
    delays: Mutex<Vec<Duration>>,
    ready: AtomicUsize,
    /// Watches that ended before they should and were begun again.
    ended: AtomicUsize,
    failed: Mutex<Option<String>>,
}

/// What is watched, and how it is written.
pub(in crate::bench) struct Watched<'a> {
    /// Who watches and writes.
    pub(in crate::bench) client: &'a Client,
    /// Path of the collection.
    pub(in crate::bench) path: &'a str,
    /// Name of each writer's object.
    pub(in crate::bench) name: &'a (dyn Fn(usize) -> String + Sync),
    /// A merge patch that leaves `writer` and `sentAt` in the object.
    pub(in crate::bench) patch: &'a (dyn Fn(usize, u64) -> Value + Sync),
    /// Processor time of the server so far.
    pub(in crate::bench) cpu_time: &'a (dyn Fn() -> Duration + Sync),
}

/// Opens the watches, then lets writers patch their objects for a while.
pub(in crate::bench) async fn measure(watched: &Watched<'_>, watchers: usize, seconds: f64) -> Result<Flow, String> {
    let request = http::Request::get(format!("{}?limit=1", watched.path)).body(Vec::new());
    let listed: Value = watched.client.request(request.map_err(|error| error.to_string())?).await.map_err(explain)?;
    let version = listed["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
    let seen = Arc::new(Deliveries {
        clock: SystemClock::default(),
        delivered: Default::default(),
        arrived: Default::default(),
        delays: Mutex::default(),
        ready: AtomicUsize::new(0),
        ended: AtomicUsize::new(0),
        failed: Mutex::default(),
    });
    // Dropped at the end, and every watch with it.
    let mut watches = JoinSet::new();
    for _ in 0..watchers {
        let (client, path, version, seen) =
            (watched.client.clone(), watched.path.to_owned(), version.clone(), seen.clone());
        watches.spawn(async move {
            if let Err(why) = watch(&client, &path, version, &seen).await {
                *seen.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
            }
        });
    }
    while seen.ready.load(Ordering::Relaxed) < watchers {
        seen.check()?;
        seen.clock.sleep(millis(10)).await;
    }

    let cpu = (watched.cpu_time)();
    let begun = seen.clock.monotonic();
    let end = begun + Duration::from_secs_f64(seconds);
    let writers = (0..WRITERS).map(|writer| {
        let seen = &seen;
        async move {
            let mut written = 0;
            while seen.clock.monotonic() < end {
                let sent_at = seen.clock.monotonic().as_micros() as u64;
                let patch = (watched.patch)(writer, sent_at).to_string().into_bytes();
                let request = http::Request::patch(format!("{}/{}", watched.path, (watched.name)(writer)))
                    .header("content-type", "application/merge-patch+json")
                    .body(patch)
                    .map_err(|error| error.to_string())?;
                watched.client.request_text(request).await.map_err(explain)?;
                written += 1;
                seen.until(writer, written * watchers).await?;
            }
            Ok::<_, String>(written)
        }
    });
    let written: usize = try_join_all(writers).await?.into_iter().sum();
    let elapsed = seen.clock.monotonic().saturating_sub(begun).as_secs_f64();
    let cpu = (watched.cpu_time)().saturating_sub(cpu);
    let delays = std::mem::take(&mut *seen.delays.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Flow {
        writes_per_s: round(written as f64 / elapsed),
        events_per_s: round((written * watchers) as f64 / elapsed),
        delay: Percentiles::of(delays),
        watches_ended: seen.ended.load(Ordering::Relaxed),
        server_cpu: round(cpu.as_secs_f64() / elapsed),
    })
}

impl Deliveries {
    fn check(&self) -> Result<(), String> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.clone().map_or(Ok(()), Err)
    }

    /// Waits until a writer's events have been delivered so often.
    async fn until(&self, writer: usize, count: usize) -> Result<(), String> {
        let limit = self.clock.monotonic() + PATIENCE;
        while self.delivered[writer].load(Ordering::Acquire) < count {
            tokio::select! {
                () = self.arrived[writer].notified() => {}
                () = self.clock.sleep(secs(1)) => self.check()?,
            }
            if self.clock.monotonic() > limit {
                return Err("a write did not arrive at every watch within a minute".to_owned());
            }
        }
        Ok(())
    }

    fn take(&self, line: &[u8]) {
        let (Some(writer), Some(sent_at)) = (number(line, b"\"writer\":"), number(line, b"\"sentAt\":")) else {
            return;
        };
        let delay = self.clock.monotonic().saturating_sub(Duration::from_micros(sent_at));
        self.delays.lock().unwrap_or_else(PoisonError::into_inner).push(delay);
        let writer = usize::try_from(writer).unwrap_or(WRITERS).min(WRITERS - 1);
        self.delivered[writer].fetch_add(1, Ordering::Release);
        self.arrived[writer].notify_one();
    }
}

async fn watch(client: &Client, path: &str, mut version: String, seen: &Deliveries) -> Result<(), String> {
    let mut is_first = true;
    loop {
        let uri = format!("{path}?watch=1&allowWatchBookmarks=false&resourceVersion={version}");
        let request = http::Request::get(uri).body(Vec::new()).map_err(|error| error.to_string())?;
        let mut stream = Box::pin(client.request_stream(request).await.map_err(explain)?);
        if is_first {
            seen.ready.fetch_add(1, Ordering::Relaxed);
        }
        is_first = false;
        let mut line = Vec::new();
        while stream.read_until(b'\n', &mut line).await.unwrap_or(0) > 0 {
            if line.starts_with(b"{\"type\":\"ERROR\"") {
                return Err(format!("a watch failed: {}", String::from_utf8_lossy(&line)));
            }
            if let Some(newest) = number(&line, b"\"resourceVersion\":\"") {
                version = newest.to_string();
            }
            seen.take(&line);
            line.clear();
        }
        seen.ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// The number behind the first occurrence of these bytes, in quotes or not.
fn number(line: &[u8], behind: &[u8]) -> Option<u64> {
    let start = line.windows(behind.len()).position(|window| window == behind)? + behind.len();
    let digits: Vec<u8> =
        line[start..].iter().copied().skip_while(|byte| *byte == b'"').take_while(u8::is_ascii_digit).collect();
    std::str::from_utf8(&digits).ok()?.parse().ok()
}

fn explain(error: kube::Error) -> String {
    format!("a request failed: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_behind_their_names() {
        let line = br#"{"managed":{"f:sentAt":{}},"spec":{"sentAt":123,"writer":2}}"#;
        assert_eq!(number(line, b"\"sentAt\":"), Some(123));
        assert_eq!(number(line, b"\"writer\":"), Some(2));
        assert_eq!(number(line, b"\"absent\":"), None);
        assert_eq!(number(br#"{"annotations":{"sentAt":"45"}}"#, b"\"sentAt\":"), Some(45));
    }
}
