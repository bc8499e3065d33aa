//! The outside systems, connected as the configuration says.
//!
//! The layers of the wire, from the caller outward: the flight recorder, the limits and breakers, HTTP. The
//! recorder is the outermost, so a call that is held back stands in the record too, as one that was never
//! sent, with the reason; and the time it waited for a free place counts as its own.

use std::{fmt, sync::Arc};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder},
    metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge},
};
pub use slipway_clients::{
    ConnectionSettings, Credentials, Login, OutsideSystem, SYSTEMS, SettingsBySystem, UsedBy, oauth::ClientCredentials,
};
use slipway_clients::{Connections, Guard, Health, HealthBook, HttpTransport, guard::BreakerState};
use slipway_engine::RecordingTransport;
use slipway_model::ports::{Clock, Transport, TransportError};

/// The outside systems of one role.
pub(crate) struct Outside {
    /// A connection to each.
    pub(crate) connections: Connections,
    /// The wire they use, for what is no system of its own.
    pub(crate) wire: Arc<dyn Transport>,
    /// How they are, as our calls see it.
    pub(crate) health: HealthBook,
}

impl Outside {
    /// Connects them; nothing is sent yet.
    pub(crate) fn connect(settings: &SettingsBySystem, clock: &Arc<dyn Clock>) -> Result<Self, TransportError> {
        let guard = Guard::new(HttpTransport::new()?, SYSTEMS, settings, clock.clone());
        let health = guard.health();
        let wire: Arc<dyn Transport> = Arc::new(RecordingTransport::new(guard, clock.clone()));
        let connections = Connections::new(SYSTEMS, settings, &wire, clock);
        Ok(Self { connections, wire, health })
    }
}

/// The health of the systems as figures, counted where the calls are made and read at each look.
#[derive(Debug)]
pub(crate) struct HealthFigures(pub(crate) HealthBook);

impl Collector for HealthFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let systems = self.0.look();
        let gauge = MetricType::Gauge;
        let mut figure = encoder.encode_descriptor("external_in_flight", "Calls under way", None, gauge)?;
        for Health { system, in_flight, .. } in &systems {
            let count = ConstGauge::new(i64::try_from(*in_flight).unwrap_or(i64::MAX));
            count.encode(figure.encode_family(&[("system", *system)])?)?;
        }
        let about = "1 while calls are held back since too many failed in a row";
        let mut figure = encoder.encode_descriptor("external_breaker_open", about, None, gauge)?;
        for Health { system, state, .. } in &systems {
            let is_open = !matches!(state, BreakerState::Closed { .. });
            ConstGauge::new(i64::from(is_open)).encode(figure.encode_family(&[("system", *system)])?)?;
        }
        let about = "Calls by what became of them: answered, failed (no answer, or 5xx), held_back";
        let mut figure = encoder.encode_descriptor("external_calls", about, None, MetricType::Counter)?;
        for Health { system, answered, failed, held_back, .. } in &systems {
            for (result, count) in [("answered", answered), ("failed", failed), ("held_back", held_back)] {
                count_as(*count, figure.encode_family(&[("system", *system), ("result", result)])?)?;
            }
        }
        Ok(())
    }
}

fn count_as(count: u64, encoder: MetricEncoder<'_>) -> fmt::Result {
    ConstCounter::new(count).encode(encoder)
}
