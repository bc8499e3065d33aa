//! `slipway plan`: what a change of a Runtime would do to its cluster, before it does.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use comfy_table::{Table, presets};
use serde_json::Value;
use slipway_server::shoots::{Change, Effect, Plan as Planned, plan};

use super::render::RenderFiles;
use crate::failure::Failure;

const EXIT_CODES: &str = "Exit codes:
  0   nothing would change
  1   the garden does not answer
  2   the command, a file or the configuration is wrong
  10  changes in place, or a new cluster
  11  at least one change rolls nodes
  12  at least one wish needs another cluster
  13  at least one wish is refused; the rest may be applied";

/// Show what a Runtime would change in its cluster, each field with what it costs.
///
/// Compares with a Shoot from a file, or with the one in a garden. Without either a new cluster is
/// planned. Writes nothing.
#[derive(Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Plan {
    #[command(flatten)]
    files: RenderFiles,
    /// The Shoot as it is, from a file
    #[arg(long, value_name = "FILE", conflicts_with = "kubeconfig_garden")]
    shoot: Option<PathBuf>,
    /// The kubeconfig of the garden to ask for the Shoot
    #[arg(long, value_name = "FILE")]
    kubeconfig_garden: Option<PathBuf>,
    /// As what to show it
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    Text,
    Json,
}

impl Plan {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let mut loaded = self.files.read(self.shoot)?;
        if let Some(kubeconfig) = &self.kubeconfig_garden {
            loaded = loaded.ask_garden(kubeconfig).await.map_err(Failure::failed)?;
        }
        let planned = plan(&loaded.input());
        match self.output {
            Output::Json => println!("{}", serde_json::to_string_pretty(&planned).map_err(Failure::failed)?),
            Output::Text => println!("{}", tell(&planned)),
        }
        verdict(&planned)
    }
}

fn verdict(planned: &Planned) -> Result<(), Failure> {
    match planned.worst() {
        None if !planned.creates => Ok(()),
        None | Some(Effect::InPlace) => Err(Failure::Verdict(10)),
        Some(Effect::RollsNodes) => Err(Failure::Verdict(11)),
        Some(Effect::Recreates) => Err(Failure::Verdict(12)),
        Some(Effect::Refused) => Err(Failure::Verdict(13)),
    }
}

fn tell(planned: &Planned) -> String {
    let head = match (planned.creates, planned.changes.is_empty()) {
        (true, true) => return "a new cluster is created".to_owned(),
        (false, true) => return "nothing changes".to_owned(),
        (true, false) => "a new cluster cannot be created",
        (false, false) => "",
    };
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["EFFECT", "FIELD", "CHANGE", "REASON"]);
    for change in &planned.changes {
        table.add_row([change.effect.to_string(), change.path.clone(), change_of(change), change.reason.clone()]);
    }
    let table = table.to_string();
    let lines: Vec<_> = table.lines().map(str::trim_end).collect();
    format!("{head}{}{}", if head.is_empty() { "" } else { "\n" }, lines.join("\n"))
}

fn change_of(change: &Change) -> String {
    match (&change.before, &change.after) {
        (Some(before), Some(after)) => format!("{} -> {}", short(before), short(after)),
        (None, Some(after)) => format!("+ {}", short(after)),
        (Some(before), None) => format!("- {}", short(before)),
        (None, None) => String::new(),
    }
}

/// On one line, and not all of it.
fn short(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
