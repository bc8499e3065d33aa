//! Where the programs are: a folder that the environment names, as other tools for testing operators expect it too.

use std::{env, path::PathBuf, process::Command};

use super::Error;

/// The variable that names the folder with `etcd`, `kube-apiserver` and `kubectl`.
pub const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// A folder with all the programs.
#[derive(Clone, Debug)]
pub struct Binaries {
    folder: PathBuf,
}

impl Binaries {
    /// Those in the folder that `KUBEBUILDER_ASSETS` names.
    pub fn from_env() -> Result<Self, Error> {
        Self::in_folder(env::var_os(ASSETS).ok_or(Error::NotFound)?.into())
    }

    /// Those in this folder.
    pub fn in_folder(folder: PathBuf) -> Result<Self, Error> {
        let found = Self { folder };
        let is_there = |program| found.path(program).is_file();
        if is_there("etcd") && is_there("kube-apiserver") { Ok(found) } else { Err(Error::NotFound) }
    }

    /// The version of Kubernetes, such as `1.36.4`, as kube-apiserver tells it.
    pub fn kubernetes_version(&self) -> String {
        let output = Command::new(self.path("kube-apiserver")).arg("--version").output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        text.split_whitespace().last().map_or("unknown", |version| version.trim_start_matches('v')).to_owned()
    }

    /// Where a program is.
    pub fn path(&self, program: &str) -> PathBuf {
        self.folder.join(program)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_folder_counts_only_with_both_servers_in_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let found = || Binaries::in_folder(folder.path().to_owned());
        std::fs::write(folder.path().join("etcd"), "").expect("a file");
        assert!(matches!(found(), Err(Error::NotFound)));
        let apiserver = folder.path().join("kube-apiserver");
        std::fs::write(&apiserver, "#!/bin/sh\necho Kubernetes v1.2.3\n").expect("a file");
        std::fs::set_permissions(&apiserver, std::fs::Permissions::from_mode(0o755)).expect("executable");
        let found = found().expect("both");
        assert_eq!(found.path("kubectl"), folder.path().join("kubectl"));
        assert_eq!(found.kubernetes_version(), "1.2.3");
    }
}
