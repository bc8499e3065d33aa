//! The clusters of the landscape: the control plane `kcp`, and a garden whose Shoots have clusters of
//! their own, all on one embedded Kubernetes API.
//!
//! Each has a port of its own, because `kubectl --raw` knows no path before the server's. It is any free
//! one on the first start and the same one ever after, so that a kubeconfig that somebody copied goes
//! on working; only if somebody else has taken it meanwhile is it another, and the files are written
//! anew at every start.

use std::{
    fs, io,
    net::{IpAddr, SocketAddr},
    ops::Deref,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use kube_sandbox::server::{Door, Server, ServerError};
use slipway_server::manager::definitions;
use slipway_sim::{
    Ground,
    garden::{self, Pace},
    ground::{CONTROL_PLANE, GARDEN},
};

/// Why the clusters do not start.
#[derive(Debug, thiserror::Error)]
pub enum ClustersError {
    /// The embedded Kubernetes API.
    #[error("the embedded Kubernetes API does not start")]
    Kubernetes(#[from] ServerError),
    /// The garden.
    #[error("the garden simulator does not start")]
    Garden(#[from] garden::Error),
    /// A file of theirs.
    #[error("{} cannot be written; check its permissions and the room on its disk", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The running clusters.
pub struct Clusters {
    ground: Ground,
    open: Vec<Open>,
}

impl Deref for Clusters {
    type Target = Ground;

    fn deref(&self) -> &Ground {
        &self.ground
    }
}

/// A cluster that can be reached.
pub struct Open {
    /// Its name.
    pub cluster: &'static str,
    /// The file with its administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    door: Door,
}

impl Open {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.door.address()
    }
}

impl Clusters {
    /// Starts them with what is kept in the data folder, and writes the kubeconfigs into it.
    pub async fn start(folder: &Path, host: IpAddr, pace: Pace, seed: u64) -> Result<Self, ClustersError> {
        let kept = folder.join("kubernetes");
        let unusable = |source| ClustersError::File { path: kept.clone(), source };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&kept).map_err(unusable)?;
        let options = garden::Options { data: Some(kept.clone()), pace, seed, ..garden::Options::default() };
        let ground = Ground::start(definitions(), options).await?;
        let server = &ground.server;
        let mut open = Vec::new();
        for cluster in [CONTROL_PLANE, GARDEN] {
            let door = expose(server, cluster, host, &kept.join(format!("port-{cluster}"))).await?;
            let kubeconfig = folder.join(format!("kubeconfig-{cluster}.yaml"));
            write(&kubeconfig, &server.admin_kubeconfig(cluster, &format!("https://{}", door.address())))?;
            open.push(Open { cluster, kubeconfig, door });
        }
        Ok(Self { ground, open })
    }

    /// Those that can be reached.
    pub fn open(&self) -> &[Open] {
        &self.open
    }
}

/// Certificates are made anew at every start.
const LIFE: Duration = Duration::from_secs(365 * 86_400);

async fn expose(server: &Server, cluster: &str, host: IpAddr, remembered: &Path) -> Result<Door, ClustersError> {
    let names = [host.to_string(), "localhost".to_owned(), "127.0.0.1".to_owned()];
    let certificate = server.sign_server(&names, LIFE)?;
    let at = |port| server.expose(cluster, &certificate, server.ca(), SocketAddr::new(host, port));
    let before = fs::read_to_string(remembered).ok().and_then(|text| text.trim().parse::<u16>().ok());
    let kept = match before {
        Some(port) => at(port).await.ok(),
        None => None,
    };
    let door = match kept {
        Some(door) => door,
        None => at(0).await?,
    };
    write(remembered, &format!("{}\n", door.address().port()))?;
    Ok(door)
}

/// Written beside and renamed, so that a reader sees the old file or the new one.
fn write(path: &Path, text: &str) -> Result<(), ClustersError> {
    let problem = |source| ClustersError::File { path: path.to_owned(), source };
    let beside = path.with_extension("new");
    let _ = fs::remove_file(&beside);
    let mut options = fs::OpenOptions::new();
    let file = options.create_new(true).write(true).mode(0o600).open(&beside);
    io::Write::write_all(&mut file.map_err(problem)?, text.as_bytes()).map_err(problem)?;
    fs::rename(&beside, path).map_err(problem)
}
