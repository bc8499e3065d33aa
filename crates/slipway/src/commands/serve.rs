//! `slipway serve`: the roles of production.

use std::{net::SocketAddr, path::PathBuf};

use anyhow::anyhow;
use clap::Args;
use slipway_server::{
    Server, Signals, Sources, StartError, config, log,
    manager::{ManagerRole, RoleError},
    provisioner::{self, ProvisionerRole},
};

use super::{environment, manager_flags::ManagerFlags};
use crate::failure::{EXIT_CODES, Failure};

/// The roles that exist.
const ROLES: [&str; 3] = ["broker", "manager", "provisioner"];

/// Run roles of production against a real database and real systems.
///
/// After the start the database may go away: the process stays, /readyz says 503 and why, and work
/// goes on by itself when it is back. SIGTERM stops in good order, a second one at once.
#[derive(Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Serve {
    #[command(flatten)]
    from: From,
    /// Which roles to run, separated by commas: broker, manager, provisioner
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "broker")]
    role: Vec<String>,
    #[command(flatten)]
    provisioner: ProvisionerFlags,
    #[command(flatten)]
    manager: ManagerFlags,
}

/// What the role `provisioner` needs.
#[derive(Args)]
#[command(next_help_heading = "Provisioner")]
struct ProvisionerFlags {
    /// The YAML file of the provisioner: its address, issuers of tokens, Director and installer
    #[arg(long, value_name = "FILE")]
    provisioner_config: Option<PathBuf>,
    /// The kubeconfig of the control plane that holds the Runtimes; the pod's service account if there is none
    #[arg(long, value_name = "FILE")]
    provisioner_kubeconfig: Option<PathBuf>,
}

impl ProvisionerFlags {
    fn file(&self) -> Result<provisioner::File, Failure> {
        let Some(path) = &self.provisioner_config else {
            return Err(Failure::usage(anyhow!("the role provisioner needs --provisioner-config FILE")));
        };
        provisioner::File::load(path).map_err(Failure::usage)
    }

    /// Starts the role on the server's database; its operations are seen in the server's API.
    async fn start(&self, file: provisioner::File, server: &Server) -> Result<ProvisionerRole, Failure> {
        let control_plane = provisioner::control_plane(self.provisioner_kubeconfig.as_deref()).await;
        let given = provisioner::Given {
            storage: server.store().storage.clone(),
            runtimes: server.store().runtimes.clone(),
            control_plane: control_plane.map_err(provisioner_failure)?,
            issuers: Vec::new(),
            engine: server.engine_config().clone(),
            file,
        };
        let role = ProvisionerRole::start(given).await.map_err(provisioner_failure)?;
        server.supervise(role.supervisor());
        Ok(role)
    }
}

/// Where the configuration comes from.
#[derive(Args)]
pub(super) struct From {
    /// The YAML file with the configuration; docs/configuration.md lists its keys
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the API listens; wins over the configuration
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Any key that is not secret; wins over file and environment
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
}

impl From {
    pub(super) fn sources(self) -> Sources {
        let mut flags = self.set;
        flags.extend(self.listen.map(|listen| ("listen".to_owned(), listen.to_string())));
        Sources { file: self.config, environment: environment(), flags }
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.to_owned()))
}

impl Serve {
    pub(super) async fn run(self) -> Result<(), Failure> {
        check_roles(&self.role)?;
        let has = |role: &str| self.role.iter().any(|other| other == role);
        let (broker, manager, provisioner) = (has("broker"), has("manager"), has("provisioner"));
        let file = if provisioner { Some(self.provisioner.file()?) } else { None };
        let settings = if broker || provisioner {
            Some(config::load(&self.from.sources()).map_err(Failure::usage)?)
        } else {
            None
        };
        let role = if manager { Some(self.manager.role().map_err(Failure::usage)?) } else { None };
        let mut signals = Signals::catch().map_err(Failure::failed)?;
        // The manager alone has no configuration file: it logs as its flags say.
        log::start(&settings.as_ref().map_or_else(|| self.manager.log(), |settings| settings.log.clone()));
        let starting = async {
            let server = match settings {
                Some(settings) if broker => Some(Server::start(settings).await.map_err(failure)?),
                Some(settings) => Some(Server::start_without_broker(settings).await.map_err(failure)?),
                None => None,
            };
            let provisioner = match (file, &server) {
                (Some(file), Some(server)) => Some(self.provisioner.start(file, server).await?),
                _ => None,
            };
            let role = match role {
                Some(role) => Some(ManagerRole::start(role).await.map_err(role_failure)?),
                None => None,
            };
            Ok::<_, Failure>((server, provisioner, role))
        };
        let (server, provisioner, role) = tokio::select! {
            biased;
            // Nothing runs yet, so nothing has to be stopped in order.
            _ = signals.next() => return Ok(()),
            started = starting => started?,
        };
        if let Some(server) = &server {
            println!("address: http://{}", server.address());
        }
        if let Some(provisioner) = &provisioner {
            println!("provisioner: http://{}", provisioner.address());
        }
        let signal = signals.next().await;
        eprintln!("{signal}: stopping; a second one ends at once");
        signals.end_at_next();
        if let Some(role) = role {
            role.stop().await;
        }
        if let Some(provisioner) = provisioner {
            provisioner.stop().await;
        }
        if let Some(server) = server {
            server.stop().await;
        }
        Ok(())
    }
}

fn role_failure(error: RoleError) -> Failure {
    match error {
        RoleError::Files(_) | RoleError::Connect { .. } => Failure::usage(error),
        RoleError::Listen { .. } => Failure::failed(error),
    }
}

fn provisioner_failure(error: provisioner::RoleError) -> Failure {
    match error {
        provisioner::RoleError::File(_) | provisioner::RoleError::Connect(_) => Failure::usage(error),
        provisioner::RoleError::Listen { .. }
        | provisioner::RoleError::Transport(_)
        | provisioner::RoleError::Table(_) => Failure::failed(error),
    }
}

fn check_roles(roles: &[String]) -> Result<(), Failure> {
    match roles.iter().find(|role| !ROLES.contains(&role.as_str())) {
        None => Ok(()),
        Some(role) => {
            Err(Failure::usage(anyhow!("there is no role {role:?} in this version; choose from: {}", ROLES.join(", "))))
        }
    }
}

fn failure(error: StartError) -> Failure {
    if error.is_configuration() { Failure::usage(error) } else { Failure::failed(error) }
}
