//! The provisioner in the landscape: an issuer of its own, the Director and the Reconciler as simulators,
//! and agents in the clusters that connect to the former.
//!
//! The issuer's key and a token are kept in the data folder, so that what a person has copied works after
//! a restart too.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use kube_sandbox::clock;
use secrecy::ExposeSecret as _;
use slipway_server::{
    Clock as _, Server, SystemClock,
    provisioner::{EVERY_TENANT, File, Given, LocalIssuer, ProvisionerRole, Scope},
    systems::SettingsBySystem,
};
use slipway_sim::{Systems, agent::Agents, garden::Pace, systems::reconciler};
use tokio::task::JoinSet;

use super::{
    UpError,
    clusters::{CONTROL_PLANE, Clusters, ClustersError},
    folder::Folder,
};

/// Whom the tokens are for.
const AUDIENCE: &str = "slipway-provisioner";
/// Who issues them.
const ISSUER: &str = "https://slipway.invalid";
/// A token of a laptop is good for a year.
const LIFE: Duration = Duration::from_secs(365 * 86_400);
/// The version that the garden of the landscape offers and its manager has as its own default.
const KUBERNETES: &str = "1.34.5";
/// The project of the landscape.
const PROJECT: &str = "dev";

/// The provisioner and what is played around it.
pub(super) struct Provisioning {
    pub(super) role: ProvisionerRole,
    pub(super) token_file: PathBuf,
    /// Ends with this.
    _agents: JoinSet<()>,
}

/// Where things are.
pub(super) struct Place<'a> {
    pub(super) folder: &'a Folder,
    pub(super) server: &'a Server,
    pub(super) clusters: &'a Clusters,
    pub(super) systems: &'a Systems,
    pub(super) outside: SettingsBySystem,
    pub(super) listen: SocketAddr,
    pub(super) pace: Pace,
}

impl Provisioning {
    /// Starts it beside the server, on the same database.
    pub(super) async fn start(place: Place<'_>) -> Result<Self, UpError> {
        let Place { folder, server, clusters, systems, outside, listen, pace } = place;
        systems.reconciler.set_pace(hurry(pace));
        systems.reconciler.keep_in(folder.path().join("reconciler.json"));
        systems.director.keep_in(folder.path().join("director.json"));
        let issuer = issuer(folder)?;
        let token_file = token(folder, &issuer)?;
        let client = clusters.server().client(CONTROL_PLANE).map_err(ClustersError::from)?;
        let mut file =
            File { listen, metrics: Some(SocketAddr::new(listen.ip(), 0)), systems: outside, ..File::default() };
        PROJECT.clone_into(&mut file.settings.project);
        KUBERNETES.clone_into(&mut file.settings.defaults.kubernetes_version);
        let given = Given {
            storage: server.store().storage.clone(),
            runtimes: server.store().runtimes.clone(),
            control_plane: client,
            issuers: vec![issuer.issuer(AUDIENCE)],
            engine: server.engine_config().clone(),
            file,
        };
        let role = ProvisionerRole::start(given).await?;
        let agents = Agents::new(systems.director.clone(), clock::now);
        let mut attending = JoinSet::new();
        attending.spawn(agents.attend_all(clusters.server().clone(), |name| name.starts_with("shoot--")));
        Ok(Self { role, token_file, _agents: attending })
    }
}

/// The Reconciler needs as long as it does, by the garden's time.
fn hurry(pace: Pace) -> reconciler::Pace {
    let reconciler::Pace { pending, reconciling } = reconciler::Pace::USUAL;
    match pace {
        Pace::Scale(scale) => {
            reconciler::Pace { pending: pending.div_f64(scale), reconciling: reconciling.div_f64(scale) }
        }
        Pace::Manual => reconciler::Pace::NONE,
    }
}

/// The issuer with the key in the data folder.
fn issuer(folder: &Folder) -> Result<LocalIssuer, UpError> {
    let make = || LocalIssuer::new_key().map(|key| hex(&key)).map_err(|error| error.to_string());
    let key = folder.kept("issuer-key", make)?;
    let damaged = || UpError::from(folder.damaged("issuer-key", "the key of the landscape's issuer"));
    let bytes = unhex(key.expose_secret()).ok_or_else(damaged)?;
    LocalIssuer::with_key(ISSUER, &bytes).map_err(|_| damaged())
}

/// A fresh token for the person at the keyboard, with every scope and for every tenant.
fn token(folder: &Folder, issuer: &LocalIssuer) -> Result<PathBuf, UpError> {
    let scopes: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    let now = SystemClock::default().wall();
    let token = issuer.token("operator", AUDIENCE, &scopes, &[EVERY_TENANT], now, LIFE);
    let token = token.map_err(|_| folder.damaged("issuer-key", "the key of the landscape's issuer"))?;
    Ok(folder.write("provisioner-token", &token)?)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        text.chars().map(|char| char.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(|pair| pair[0] * 16 + pair[1]).collect())
}
