//! `slipway up`: everything on this machine.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;
use slipway_sandbox::world::{CONTROL_PLANE, GARDEN, Options, Pace, Plan, UpError, World};
use slipway_server::{Signals, log, provisioner::File};

use super::environment;
use crate::failure::{EXIT_CODES, Failure};

/// Start the whole landscape on this machine, with simulated outside systems.
///
/// Everything is kept in the data folder: the database, the key it is encrypted with, the token of the
/// API, the objects of the clusters and the kubeconfigs for them. Stop it with Ctrl-C, or kill it: the next start goes on where it was. Settings can be
/// changed by SLIPWAY_ variables, as for `slipway serve`.
#[derive(Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Up {
    /// Where everything is kept; made if it is not there
    #[arg(long, value_name = "FOLDER", default_value = "slipway-data")]
    data_dir: PathBuf,
    /// Where the API listens; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Where the provisioner's GraphQL listens; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3000")]
    provisioner_listen: SocketAddr,
    /// How many times faster time passes in the garden; a cluster takes eight minutes of it
    ///
    /// The kubeconfigs that the garden hands out expire by the same time.
    #[arg(long, value_name = "FACTOR", default_value = "60", value_parser = factor)]
    time_scale: f64,
    /// All chance of the garden comes from this number
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if (0.001..=100_000.0).contains(&factor) => Ok(factor),
        _ => Err("it must be a number from 0.001 to 100000".to_owned()),
    }
}

impl Up {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let mut signals = Signals::catch().map_err(Failure::failed)?;
        let options = Options {
            data_dir: Some(self.data_dir),
            listen: self.listen,
            provisioner: File {
                listen: self.provisioner_listen,
                metrics: Some(SocketAddr::new(self.provisioner_listen.ip(), 0)),
                ..File::default()
            },
            pace: Pace::Scale(self.time_scale),
            seed: self.seed,
            environment: environment(),
        };
        let plan = Plan::make(options).await.map_err(failure)?;
        log::start(&plan.settings().log);
        let world = plan.start().await.map_err(failure)?;
        tokio::select! {
            biased;
            signal = signals.next() => return stop(world, signals, signal).await,
            () = world.until_ready() => {}
        }
        tell(&world);
        let signal = signals.next().await;
        stop(world, signals, signal).await
    }
}

async fn stop(world: World, signals: Signals, signal: &str) -> Result<(), Failure> {
    eprintln!("{signal}: stopping; a second one ends at once");
    signals.end_at_next();
    world.stop().await;
    Ok(())
}

fn failure(error: UpError) -> Failure {
    if error.is_configuration() { Failure::usage(error) } else { Failure::failed(error) }
}

/// Facts to standard output, for programs too; advice to standard error.
fn tell(world: &World) {
    let (address, token_file, folder) = (world.address(), world.token_file(), world.data_dir());
    let provisioner = world.provisioner();
    println!("address: http://{address}");
    println!("token-file: {}", token_file.display());
    println!("provisioner: http://{}", world.provisioner());
    if let Some(address) = world.provisioner_metrics() {
        println!("provisioner-metrics: http://{address}/metrics");
    }
    println!("provisioner-token-file: {}", world.provisioner_token_file().display());
    println!("data-folder: {}", folder.display());
    for (name, url) in world.simulators() {
        println!("simulator {name}: {url}");
    }
    for open in world.clusters().open() {
        println!("kubeconfig {}: {}", open.cluster, open.kubeconfig.display());
    }
    let kubeconfig = |name| {
        let found = world.clusters().open().iter().find(|open| open.cluster == name);
        found.map(|open| open.kubeconfig.display().to_string()).unwrap_or_default()
    };
    // As it was called, so that the commands can be pasted.
    let slipway = std::env::args().next().unwrap_or_else(|| "slipway".to_owned());
    eprintln!(
        "\nSlipway is up. Try, in another terminal:\n\n  \
         export SLIPWAY_API_URL=http://{address} SLIPWAY_API_TOKEN_FILE='{}'\n  \
         curl -s $SLIPWAY_API_URL/readyz\n  \
         {slipway} operations start --process hello --instance my-first\n  \
         {slipway} operations list\n  \
         {slipway} operations show ID        # each step, and what it waits for\n  \
         {slipway} operations records ID     # every attempt, wait and call\n  \
         {slipway} operations retry-now ID --by me --why 'I cannot wait'\n\n\
         A cluster by GraphQL, also from the page at http://{provisioner}/ (token and tenant go under Headers):\n\n  \
         curl -s http://{provisioner}/graphql -H \"Authorization: Bearer $(cat '{}')\" -H 'tenant: me' -H 'content-type: application/json' \\\n    \
         -d '{{\"query\": \"mutation {{ provisionRuntime(config: {{ runtimeInput: {{ name: \\\"shop\\\" }}, clusterConfig: {{ gardenerConfig: {{ name: \\\"shop\\\", provider: \\\"gcp\\\", region: \\\"europe-west3\\\", targetSecret: \\\"gcp\\\" }} }} }}) {{ id runtimeID }} }}\"}}'\n\n\
         The control plane and the garden, with kubectl:\n\n  \
         kubectl --kubeconfig '{}' apply -f examples/runtime-aws.yaml\n  \
         kubectl --kubeconfig '{}' -n kcp-system get runtimes,gardenerclusters,secrets\n  \
         kubectl --kubeconfig '{}' -n garden-dev get shoots\n\n\
         Ctrl-C stops it; the data stays in {}.",
        token_file.display(),
        world.provisioner_token_file().display(),
        kubeconfig(CONTROL_PLANE),
        kubeconfig(CONTROL_PLANE),
        kubeconfig(GARDEN),
        folder.display(),
    );
}
