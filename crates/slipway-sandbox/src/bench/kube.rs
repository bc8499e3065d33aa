//! The embedded Kubernetes API beside a real kube-apiserver with its etcd, in one run.
//!
//! Both are processes of their own, both are asked over TLS by the same client, and both have every
//! write on disk before they answer. They take turns line by line, so that whatever else the machine
//! does meets both; memory is measured on fresh servers, because nobody gives memory back.

mod fan_out;
mod held;
mod objects;
mod target;
pub(super) mod watchers;
mod writes;

use std::path::Path;

pub use fan_out::{FanOut, Flow};
pub use held::{Held, Holding, Ratios};
pub use target::serve;
use target::{Landscape, Target};
pub use writes::{Load, Writes, WritesLine};

/// How much to do.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long each line is measured.
    pub seconds: f64,
    /// Objects to hold.
    pub objects: usize,
    /// Watches on one collection.
    pub watchers: usize,
    /// Whether to measure a real server too.
    pub with_real: bool,
}

/// What the figures are compared with.
#[derive(Debug, serde::Serialize)]
pub struct Real {
    /// Version of the kube-apiserver.
    pub kubernetes_version: String,
    /// Whether its etcd syncs every write, as the embedded API does.
    pub etcd_syncs: bool,
}

/// Everything, in the order it was measured.
#[derive(Debug, serde::Serialize)]
pub struct Report {
    /// Processor cores, shared by servers and clients.
    pub cores: usize,
    /// The real server, if there is one.
    pub real: Option<Real>,
    /// Why there is none.
    pub real_missing: Option<String>,
    /// Creates and merge patches, by size and requests in flight.
    pub writes: Vec<WritesLine>,
    /// Many watches on one collection.
    pub fan_out: FanOut,
    /// Many large objects.
    pub held: Held,
}

/// Measures everything. `program` is this very program; it is started again to serve the embedded API.
pub async fn run(options: &Options, program: &Path, say: &dyn Fn(&str)) -> Result<Report, String> {
    say("starting the servers");
    let mut landscape = Landscape { program, real: None, real_missing: None };
    if options.with_real {
        landscape.find_real()?;
    } else {
        landscape.real_missing = Some("switched off by --without-real".to_owned());
    }
    if let Some(why) = &landscape.real_missing {
        say(&format!("no real kube-apiserver: {why}"));
    }
    let embedded = landscape.embedded().await?;
    let real_server = landscape.real().await?;
    let real = real_server.as_ref();

    let mut lines = Vec::new();
    for load in [Load::Create, Load::MergePatch] {
        for size in [objects::SMALL, objects::LARGE] {
            for in_flight in [1, 16, 64] {
                let line = WritesLine::measure(&embedded, real, load, size, in_flight, options.seconds).await?;
                say(&line.spelled());
                lines.push(line);
            }
        }
    }
    let fan_out = fan_out::measure(&embedded, real, options.watchers, options.seconds).await?;
    say(&fan_out.spelled());
    drop((embedded, real_server));
    say(&format!("{} objects of 9 kB, on fresh servers", options.objects));
    let held = held::measure(&landscape, options, say).await?;
    Ok(Report {
        cores: std::thread::available_parallelism().map_or(0, usize::from),
        real: landscape.real,
        real_missing: landscape.real_missing,
        writes: lines,
        fan_out,
        held,
    })
}

/// Two digits behind the point.
pub(super) fn round(figure: f64) -> f64 {
    (figure * 100.0).round() / 100.0
}

/// The embedded API's figure in units of the real server's.
fn ratio(embedded: f64, real: Option<f64>) -> Option<f64> {
    real.map(|real| round(embedded / real))
}

/// `1234` or `-` for whoever watches.
fn spelled(figure: Option<f64>) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.0}"))
}
