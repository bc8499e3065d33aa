//! Many watches on one collection of small objects.

use kube::api::PostParams;

use super::{Target, objects, ratio, spelled};
use crate::bench::measure::Percentiles;

/// Figures of one server while many watch and four write.
#[derive(Debug, serde::Serialize)]
pub struct Flow {
    /// Writes that arrived at every watch, per second.
    pub writes_per_s: f64,
    /// Events delivered per second, over all watches.
    pub events_per_s: f64,
    /// From sending a write to its event at a watch.
    pub delay: Percentiles,
    /// Watches the server ended, and which were begun again.
    pub watches_ended: usize,
    /// Processor time of the server in parts of one core, etcd included.
    pub server_cpu: f64,
}

/// Figures of the fan-out.
#[derive(Debug, serde::Serialize)]
pub struct FanOut {
    /// Watches.
    pub watchers: usize,
    /// Size of an object, without what the server adds.
    pub object_bytes: usize,
    /// The embedded API.
    pub embedded: Flow,
    /// The real server.
    pub real: Option<Flow>,
    /// Events per second of the first in units of the second.
    pub embedded_vs_real: Option<f64>,
}

impl FanOut {
    /// One line, for whoever watches.
    pub(super) fn spelled(&self) -> String {
        format!(
            "{} watches: {:.0} events/s, real {}/s",
            self.watchers,
            self.embedded.events_per_s,
            spelled(self.real.as_ref().map(|real| real.events_per_s)),
        )
    }
}

pub(super) async fn measure(
    embedded: &Target,
    real: Option<&Target>,
    watchers: usize,
    seconds: f64,
) -> Result<FanOut, String> {
    let embedded = flow(embedded, watchers, seconds).await?;
    let real = match real {
        Some(real) => Some(flow(real, watchers, seconds).await?),
        None => None,
    };
    let embedded_vs_real = ratio(embedded.events_per_s, real.as_ref().map(|real| real.events_per_s));
    Ok(FanOut { watchers, object_bytes: objects::SMALL, embedded, real, embedded_vs_real })
}

async fn flow(target: &Target, watchers: usize, seconds: f64) -> Result<Flow, String> {
    let api = objects::widgets(&target.client, "fan-out");
    let name = |writer: usize| format!("writer-{writer}");
    for writer in 0..4 {
        let object = objects::widget(&name(writer), objects::SMALL);
        api.create(&PostParams::default(), &object).await.map_err(|error| format!("a write failed: {error}"))?;
    }
    target.watched("fan-out", &name, watchers, seconds).await
}
