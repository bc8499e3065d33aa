//! The provisioner in the landscape: an issuer of its own, the Director and the Reconciler as simulators,
//! and agents in the clusters that connect to the former.
//!
//! The issuer's key and a token are kept in the data folder, so that what a person has copied works after
//! a restart too.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use kube_sandbox::{clock, server::Server as Kubernetes};
use secrecy::{ExposeSecret as _, SecretString};
use slipway_engine::EngineConfig;
use slipway_model::ports::{Runtimes, Storage};
use slipway_server::{
    Clock as _, Server, SystemClock,
    provisioner::{EVERY_TENANT, File, Given, LocalIssuer, ProvisionerRole, Scope},
    systems::SettingsBySystem,
};
use slipway_sim::{Systems, agent::Agents, garden::Pace, ground::CONTROL_PLANE, systems::reconciler};
use tokio::task::JoinSet;

use super::{
    UpError,
    alone::Alone,
    clusters::{Clusters, ClustersError},
    folder::{Folder, hex},
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
    pub(super) role: Alone<ProvisionerRole>,
    pub(super) address: SocketAddr,
    pub(super) token: SecretString,
    pub(super) token_file: PathBuf,
    post: Post,
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
    pub(super) file: File,
    pub(super) pace: Pace,
}

impl Provisioning {
    /// Starts it beside the server, on the same database.
    pub(super) async fn start(place: Place<'_>) -> Result<Self, UpError> {
        let Place { folder, server, clusters, systems, outside, mut file, pace } = place;
        systems.reconciler.set_pace(hurry(pace));
        systems.reconciler.keep_in(folder.path().join("reconciler.json"));
        systems.director.keep_in(folder.path().join("director.json"));
        let issuer = Arc::new(issuer(folder)?);
        let (token, token_file) = token(folder, &issuer)?;
        file.systems = outside;
        PROJECT.clone_into(&mut file.settings.project);
        KUBERNETES.clone_into(&mut file.settings.defaults.kubernetes_version);
        let mut post = Post {
            storage: server.store().storage.clone(),
            runtimes: server.store().runtimes.clone(),
            kubernetes: clusters.server.clone(),
            engine: server.engine_config().clone(),
            issuer,
            file,
        };
        let role = post.fill().await?;
        // Clients know it by the port it got.
        let address = role.look(ProvisionerRole::address).unwrap_or(post.file.listen);
        post.file.listen = address;
        let agents = Agents::new(systems.director.clone(), clock::now);
        let mut attending = JoinSet::new();
        attending.spawn(agents.attend_all(clusters.server.clone(), |name| name.starts_with("shoot--")));
        Ok(Self { role, address, token, token_file, post, _agents: attending })
    }

    /// Starts the role again, at the same place.
    pub(super) async fn start_again(&self) -> Result<(), UpError> {
        self.role.replace(self.post.fill().await?);
        Ok(())
    }
}

/// What the role is given, in each of its lives.
struct Post {
    storage: Arc<dyn Storage>,
    runtimes: Arc<dyn Runtimes>,
    kubernetes: Kubernetes,
    engine: EngineConfig,
    issuer: Arc<LocalIssuer>,
    file: File,
}

impl Post {
    async fn fill(&self) -> Result<Alone<ProvisionerRole>, UpError> {
        let Self { storage, runtimes, kubernetes, engine, issuer, file } = self;
        let (storage, runtimes, engine) = (storage.clone(), runtimes.clone(), engine.clone());
        let (kubernetes, issuers, file) = (kubernetes.clone(), vec![issuer.issuer(AUDIENCE)], file.clone());
        Alone::start(async move {
            let control_plane = kubernetes.client(CONTROL_PLANE).map_err(ClustersError::from)?;
            let given = Given { storage, runtimes, control_plane, issuers, engine, file };
            Ok(ProvisionerRole::start(given).await?)
        })
        .await
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
    let key = folder.keep("issuer-key", make)?;
    let damaged = || UpError::from(folder.damaged("issuer-key", "the key of the landscape's issuer"));
    let bytes = unhex(key.expose_secret()).ok_or_else(damaged)?;
    LocalIssuer::with_key(ISSUER, &bytes).map_err(|_| damaged())
}

/// A fresh token for the person at the keyboard, with every scope and for every tenant.
fn token(folder: &Folder, issuer: &LocalIssuer) -> Result<(SecretString, PathBuf), UpError> {
    let scopes: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    let now = SystemClock::default().wall();
    let token = issuer.token("operator", AUDIENCE, &scopes, &[EVERY_TENANT], now, LIFE);
    let token = token.map_err(|_| folder.damaged("issuer-key", "the key of the landscape's issuer"))?;
    let file = folder.write("provisioner-token", &token)?;
    Ok((token.into(), file))
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        text.chars().map(|char| char.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(|pair| pair[0] * 16 + pair[1]).collect())
}
