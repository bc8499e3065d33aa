//! The clusters of the landscape: the control plane `kcp`, and a garden whose Shoots have clusters of
//! their own, all on one embedded Kubernetes API.
//!
//! Its port is any free one on the first start and the same one ever after, so that a kubeconfig that
//! somebody copied goes on working; only if somebody else has taken it meanwhile is it another, and
//! the files are written anew at every start.

use std::{
    fs, io,
    net::{IpAddr, SocketAddr},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use slipway_sim::{
    garden::{self, Garden, Pace},
    kube::server::{Door, Server, ServerError, Settings},
};

/// The cluster that Slipway keeps its own resources in.
pub const CONTROL_PLANE: &str = "kcp";
/// The cluster that carries Shoots.
pub const GARDEN: &str = "garden";

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
    server: Server,
    door: Door,
    garden: Garden,
    kubeconfigs: Vec<(&'static str, PathBuf)>,
}

impl Clusters {
    /// Starts them with what is kept in the data folder, and writes the kubeconfigs into it.
    pub(super) async fn start(folder: &Path, host: IpAddr, pace: Pace, seed: u64) -> Result<Self, ClustersError> {
        let kept = folder.join("kubernetes");
        let unusable = |source| ClustersError::File { path: kept.clone(), source };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&kept).map_err(unusable)?;
        let server = Server::start(Settings { folder: Some(kept.clone()), ..Settings::default() }).await?;
        server.add_cluster(CONTROL_PLANE).await?;
        let options = garden::Options { data: Some(kept.clone()), pace, seed, ..garden::Options::default() };
        let garden = Garden::on(server.clone(), options).await?;
        let door = open(&server, host, &kept.join("port")).await?;
        let mut kubeconfigs = Vec::new();
        for cluster in [CONTROL_PLANE, GARDEN] {
            let path = folder.join(format!("kubeconfig-{cluster}.yaml"));
            write(&path, &server.kubeconfig(cluster, door.address()))?;
            kubeconfigs.push((cluster, path));
        }
        Ok(Self { server, door, garden, kubeconfigs })
    }

    /// Where all of them listen.
    pub fn address(&self) -> SocketAddr {
        self.door.address()
    }

    /// Name of a cluster and the file with its administrator's kubeconfig.
    pub fn kubeconfigs(&self) -> &[(&'static str, PathBuf)] {
        &self.kubeconfigs
    }

    /// The embedded Kubernetes API.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The garden.
    pub fn garden(&self) -> &Garden {
        &self.garden
    }
}

async fn open(server: &Server, host: IpAddr, remembered: &Path) -> Result<Door, ClustersError> {
    let before = fs::read_to_string(remembered).ok().and_then(|text| text.trim().parse::<u16>().ok());
    let mut door = None;
    if let Some(port) = before {
        door = server.listen(SocketAddr::new(host, port)).await.ok();
    }
    let door = match door {
        Some(door) => door,
        None => server.listen(SocketAddr::new(host, 0)).await?,
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
