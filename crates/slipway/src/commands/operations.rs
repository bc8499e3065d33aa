//! `slipway operations`: see operations and steer them, through the public API only.

mod tables;

use std::{path::PathBuf, sync::Arc};

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand, ValueEnum};
use secrecy::SecretString;
use serde::Serialize;
use slipway_clients::{
    BaseUrl, HttpTransport,
    broker::{
        Client, Error, Filter,
        wire::{Act, StartOperation},
    },
};

use crate::failure::{EXIT_CODES, Failure};

/// See operations and steer them.
#[derive(Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Operations {
    /// Address of the server
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "SLIPWAY_API_URL",
        hide_env_values = true,
        default_value = "http://127.0.0.1:8080"
    )]
    url: BaseUrl,
    /// File with the token of the API
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "SLIPWAY_API_TOKEN_FILE",
        hide_env_values = true,
        default_value = "slipway-data/token"
    )]
    token_file: PathBuf,
    /// What to print: a table for people, or one JSON document
    #[arg(short, long, global = true, value_enum, default_value_t = Output::Table)]
    output: Output,
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Table,
    Json,
}

#[derive(Subcommand)]
enum Command {
    /// List operations, newest first
    List(List),
    /// Show one operation and its steps
    Show { id: String },
    /// Show everything that happened to an operation, in order
    Records(Records),
    /// Start an operation
    Start(Start),
    /// Look again at once instead of when the timer says
    RetryNow(Steer),
    /// Give up the step that waits or is being tried again, and go on
    SkipStep(SkipStep),
    /// End the operation at its next step boundary or wait
    Cancel(Steer),
    /// Take no further step until resumed
    Pause(Steer),
    /// Go on after a pause
    Resume(Steer),
}

#[derive(Args)]
struct List {
    /// Only in these states, separated by commas, for example: pending,in progress
    #[arg(long, value_name = "STATES")]
    state: Option<String>,
    /// Only of this instance
    #[arg(long, value_name = "ID")]
    instance: Option<String>,
    /// Only those older than this one; the next page after its last row
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    /// At most this many, up to 1000
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    limit: usize,
}

#[derive(Args)]
struct Records {
    id: String,
    /// Only what came after this entry
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    after: u64,
    /// At most this many, up to 2000
    #[arg(long, value_name = "COUNT", default_value_t = 200)]
    limit: usize,
}

#[derive(Args)]
struct Start {
    /// The process, for example: hello
    #[arg(long, value_name = "NAME")]
    process: String,
    /// The instance to work on
    #[arg(long, value_name = "ID")]
    instance: String,
    /// A UUID of your choice; the same one again finds the first operation instead of making a second
    #[arg(long, value_name = "UUID")]
    operation_id: Option<String>,
    /// Who asks, for the record
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// A file with one JSON object of values that are stored encrypted and shown to nobody
    #[arg(long, value_name = "FILE")]
    secrets_file: Option<PathBuf>,
}

#[derive(Args)]
struct Steer {
    id: String,
    /// Who acts; goes on record
    #[arg(long, value_name = "NAME")]
    by: String,
    /// Why; goes on record
    #[arg(long, value_name = "SENTENCE")]
    why: String,
}

#[derive(Args)]
struct SkipStep {
    #[command(flatten)]
    steer: Steer,
    /// The step to give up
    #[arg(long, value_name = "NAME")]
    step: String,
}

impl Operations {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let (client, output) = (self.client()?, self.output);
        match self.command {
            Command::List(List { state, instance, before, limit }) => {
                let filter = Filter { state, instance_id: instance, before, limit: Some(limit) };
                let list = client.operations(&filter).await.map_err(failure)?;
                print(output, &list, || tables::operations(&list.operations))?;
                if let (Some(next), Output::Table) = (&list.next_before, output) {
                    eprintln!("there are more: --before {next}");
                }
            }
            Command::Show { id } => {
                let details = client.operation(&id).await.map_err(failure)?;
                print(output, &details, || tables::details(&details))?;
            }
            Command::Records(Records { id, after, limit }) => {
                let list = client.records(&id, after, Some(limit)).await.map_err(failure)?;
                print(output, &list, || tables::records(&list.records))?;
                if let (Some(next), Output::Table) = (list.next_after, output) {
                    eprintln!("there are more: --after {next}");
                }
            }
            Command::Start(start) => {
                let started = client.start(&start.body()?).await.map_err(failure)?;
                print(output, &started, || started.id.clone())?;
            }
            Command::RetryNow(steer) => steer.send(&client, output, "retry_now", None).await?,
            Command::SkipStep(SkipStep { steer, step }) => steer.send(&client, output, "skip_step", Some(step)).await?,
            Command::Cancel(steer) => steer.send(&client, output, "cancel", None).await?,
            Command::Pause(steer) => steer.send(&client, output, "pause", None).await?,
            Command::Resume(steer) => steer.send(&client, output, "resume", None).await?,
        }
        Ok(())
    }

    fn client(&self) -> Result<Client, Failure> {
        let path = &self.token_file;
        let token = std::fs::read_to_string(path)
            .with_context(|| format!("the token file {} cannot be read; give one with --token-file", path.display()))
            .map_err(Failure::Usage)?;
        let transport = HttpTransport::new().map_err(Failure::failed)?;
        Ok(Client::new(Arc::new(transport), self.url.clone(), SecretString::from(token.trim())))
    }
}

impl Start {
    fn body(self) -> Result<StartOperation, Failure> {
        let Self { process, instance, operation_id, by, secrets_file } = self;
        let secrets = secrets_file.map(|path| {
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("the secrets file {} cannot be read", path.display()))?;
            // Not the parser's own words: they would repeat a part of the file.
            serde_json::from_str(&text)
                .map_err(|_| anyhow!("the secrets file {} is not one JSON object", path.display()))
        });
        let secrets = secrets.transpose().map_err(Failure::Usage)?;
        Ok(StartOperation { process, instance_id: instance, operation_id, by, secrets })
    }
}

impl Steer {
    async fn send(self, client: &Client, output: Output, action: &str, step: Option<String>) -> Result<(), Failure> {
        let Self { id, by, why } = self;
        let act = Act { action: action.to_owned(), step, by, why };
        let operation = client.act(&id, &act).await.map_err(failure)?;
        print(output, &operation, || tables::operations(std::slice::from_ref(&operation)))
    }
}

fn print(output: Output, value: &impl Serialize, table: impl FnOnce() -> String) -> Result<(), Failure> {
    match output {
        Output::Table => println!("{}", table()),
        Output::Json => println!("{}", serde_json::to_string_pretty(value).map_err(Failure::failed)?),
    }
    Ok(())
}

fn failure(error: Error) -> Failure {
    match error {
        Error::NotFound(_) => Failure::NotFound(error.into()),
        Error::Unauthorized | Error::Refused(_) | Error::Unavailable(_) | Error::Garbled(_) | Error::Unreachable(_) => {
            Failure::failed(error)
        }
    }
}
