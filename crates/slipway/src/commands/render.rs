//! `slipway render`: a Runtime in, its Shoot out, without any cluster.

mod line_diff;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use slipway_server::shoots::{Files, Loaded, projection, render};

use crate::failure::Failure;

const EXIT_CODES: &str = "Exit codes:
  0  rendered
  1  the Runtime cannot be rendered; the field and what to do are told
  2  the command, a file or the configuration is wrong";

/// Show the Shoot that a Runtime leads to.
///
/// Reads files only and writes nothing. With --shoot the next form of a Shoot that lives is shown, as
/// it would be sent: the fields that are ours, and no others.
#[derive(Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Render {
    #[command(flatten)]
    files: RenderFiles,
    /// The Shoot as it is
    #[arg(long, value_name = "FILE")]
    shoot: Option<PathBuf>,
    /// As what to show it; `diff` needs --shoot
    #[arg(short, long, value_enum, default_value_t = Output::Yaml)]
    output: Output,
}

/// The files that both commands read.
#[derive(Args)]
pub(super) struct RenderFiles {
    /// The Runtime, as YAML or JSON
    #[arg(long, value_name = "FILE")]
    runtime: PathBuf,
    /// The converter configuration; without it, one for the landscape of `slipway up`
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The audit tenants
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    /// The maintenance windows
    #[arg(long, value_name = "FILE")]
    windows: Option<PathBuf>,
}

impl RenderFiles {
    /// Reads them, and tells what is odd.
    pub(super) fn read(self, shoot: Option<PathBuf>) -> Result<Loaded, Failure> {
        let Self { runtime, config, audit, windows } = self;
        let loaded = Loaded::read(&Files { runtime, shoot, config, audit, windows }).map_err(Failure::usage)?;
        for warning in loaded.warnings() {
            eprintln!("slipway: {warning}");
        }
        Ok(loaded)
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    Yaml,
    Json,
    Diff,
}

impl Render {
    pub(super) fn run(self) -> Result<(), Failure> {
        let loaded = self.files.read(self.shoot)?;
        let document = render(&loaded.input()).map_err(Failure::failed)?;
        for note in document.notes() {
            eprintln!("slipway: {}: {}", note.path, note.message);
        }
        match self.output {
            Output::Json => println!("{}", serde_json::to_string_pretty(document.value()).map_err(Failure::failed)?),
            Output::Yaml => print!("{}", yaml(document.value())?),
            Output::Diff => {
                let missing = || Failure::usage(anyhow::anyhow!("-o diff compares with a Shoot; name it with --shoot"));
                let before = projection(loaded.existing().ok_or_else(missing)?, document.value());
                print!("{}", line_diff::between(&yaml(&before)?, &yaml(document.value())?));
            }
        }
        Ok(())
    }
}

fn yaml(value: &serde_json::Value) -> Result<String, Failure> {
    serde_saphyr::to_string(value).map_err(Failure::failed)
}
