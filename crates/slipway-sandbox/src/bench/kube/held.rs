//! Ten thousand objects of 9 kB: memory, a list of all, and whether writes and watches still flow.

use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::PostParams;
use slipway_engine::SystemClock;
use slipway_model::{ports::Clock, time::secs};

use super::{Options, Target, fan_out::Flow, objects, ratio, round, target::Landscape};

/// Requests in flight while the objects are made.
const IN_FLIGHT: usize = 32;

/// Lists of all objects; the fastest counts, the first is told too.
const LISTS: usize = 3;

/// Figures of one server.
#[derive(Debug, serde::Serialize)]
pub struct Holding {
    /// Resident memory of the server's processes before there were objects.
    pub memory_before_bytes: u64,
    /// And with all of them, two seconds after the last.
    pub memory_after_bytes: u64,
    /// What an object costs.
    pub memory_per_object_bytes: f64,
    /// Objects made per second, 32 in flight.
    pub creates_per_s: f64,
    /// Time of the first list of all objects, in one request, until its last byte.
    pub first_list_ms: f64,
    /// Time of the fastest.
    pub list_ms: f64,
    /// Bytes of it.
    pub list_bytes: usize,
    /// Watches on all of them, while four write large objects.
    pub with_watchers: Flow,
}

/// Figures of many objects.
#[derive(Debug, serde::Serialize)]
pub struct Held {
    /// Objects.
    pub objects: usize,
    /// Size of one, without what the server adds.
    pub object_bytes: usize,
    /// Watches on them.
    pub watchers: usize,
    /// The embedded API.
    pub embedded: Holding,
    /// The real server: kube-apiserver and etcd together.
    pub real: Option<Holding>,
    /// The first in units of the second.
    pub embedded_vs_real: Option<Ratios>,
}

/// The embedded API in units of the real server. More is better but for memory and the list.
#[derive(Debug, serde::Serialize)]
pub struct Ratios {
    /// Memory with all objects.
    pub memory_after: f64,
    /// Time of a list.
    pub list_time: f64,
    /// Objects made per second.
    pub creates: f64,
    /// Writes per second with watches.
    pub writes_with_watchers: f64,
}

pub(super) async fn measure(landscape: &Landscape<'_>, options: &Options, say: &dyn Fn(&str)) -> Result<Held, String> {
    // One after the other: each has the machine's memory for itself.
    let embedded = {
        let target = landscape.embedded().await?;
        holding(&target, options).await?
    };
    say(&embedded.spelled("embedded"));
    let real = match landscape.real().await? {
        Some(target) => Some(holding(&target, options).await?),
        None => None,
    };
    if let Some(real) = &real {
        say(&real.spelled("real"));
    }
    let embedded_vs_real = real.as_ref().map(|real| Ratios {
        memory_after: round(embedded.memory_after_bytes as f64 / real.memory_after_bytes as f64),
        list_time: round(embedded.list_ms / real.list_ms),
        creates: round(embedded.creates_per_s / real.creates_per_s),
        writes_with_watchers: ratio(embedded.with_watchers.writes_per_s, Some(real.with_watchers.writes_per_s))
            .unwrap_or_default(),
    });
    let (objects, watchers) = (options.objects, options.watchers);
    Ok(Held { objects, object_bytes: objects::LARGE, watchers, embedded, real, embedded_vs_real })
}

async fn holding(target: &Target, options: &Options) -> Result<Holding, String> {
    let clock = SystemClock::default();
    let api = objects::widgets(&target.client, "held");
    let name = |number: usize| format!("widget-{number:05}");
    let before = target.resident_bytes();
    let begun = clock.monotonic();
    stream::iter(0..options.objects)
        .map(|number| {
            let (api, object) = (&api, objects::widget(&name(number), objects::LARGE));
            async move { api.create(&PostParams::default(), &object).await }
        })
        .buffer_unordered(IN_FLIGHT)
        .try_for_each(async |_| Ok(()))
        .await
        .map_err(|error| format!("an object was not made: {error}"))?;
    let took = clock.monotonic().saturating_sub(begun);
    clock.sleep(secs(2)).await;
    let after = target.resident_bytes();

    let mut lists = Vec::new();
    let mut list_bytes = 0;
    for _ in 0..LISTS {
        let begun = clock.monotonic();
        let request = http::Request::get(objects::path("held")).body(Vec::new()).map_err(|error| error.to_string())?;
        let text = target.client.request_text(request).await.map_err(|error| format!("a list failed: {error}"))?;
        lists.push(clock.monotonic().saturating_sub(begun));
        list_bytes = text.len();
        let listed = text.matches("\"sentAt\":").count();
        if listed != options.objects {
            return Err(format!("a list had {listed} of {} objects", options.objects));
        }
    }
    let with_watchers = target.watched("held", &name, options.watchers, options.seconds).await?;
    let millis = |time: Option<&Duration>| round(time.map_or(0.0, Duration::as_secs_f64) * 1000.0);
    Ok(Holding {
        memory_before_bytes: before,
        memory_after_bytes: after,
        memory_per_object_bytes: round(after.saturating_sub(before) as f64 / options.objects as f64),
        creates_per_s: round(options.objects as f64 / took.as_secs_f64()),
        first_list_ms: millis(lists.first()),
        list_ms: millis(lists.iter().min()),
        list_bytes,
        with_watchers,
    })
}

impl Holding {
    fn spelled(&self, who: &str) -> String {
        format!(
            "{who}: {} MB, list in {:.0} ms, {:.0} writes/s with watches",
            self.memory_after_bytes / 1_000_000,
            self.list_ms,
            self.with_watchers.writes_per_s,
        )
    }
}
