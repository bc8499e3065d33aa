//! The folder a cluster works in: certificates, etcd's data, logs; and the ports it listens on.
//!
//! It is removed with the cluster, unless the thread is panicking: a failed test keeps its logs. A
//! shared cluster is never dropped, so each start also sweeps what ended processes have left.

use std::{
    env, fs, io,
    net::TcpListener,
    path::{Path, PathBuf},
    process, thread,
};

const PREFIX: &str = "kube-sandbox-real-";

/// A folder of our own.
#[derive(Debug)]
pub(super) struct Workplace(PathBuf);

impl Workplace {
    pub(super) fn new() -> io::Result<Self> {
        sweep(&env::temp_dir());
        // Numbered by a port, which no other cluster of this process has at the same time.
        let folder = env::temp_dir().join(format!("{PREFIX}{}-{}", process::id(), spare_port()?));
        fs::create_dir_all(folder.join("certificates"))?;
        Ok(Self(folder))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        if !thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// A port that was free a moment ago. Another process may take it before the server does; the server
/// then ends at once and says so.
pub fn spare_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Removes the folders of processes that are no more.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir_all(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_ended_processes_left_is_swept() {
        let folder = tempfile::tempdir().expect("folder");
        let ours = folder.path().join(format!("{PREFIX}{}-1", process::id()));
        let left = folder.path().join(format!("{PREFIX}999999999-1"));
        let other = folder.path().join("somebody-elses");
        for path in [&ours, &left, &other] {
            fs::create_dir(path).expect("folder");
        }
        sweep(folder.path());
        assert_eq!([&ours, &left, &other].map(|path| path.exists()), [true, false, true]);
    }

    #[test]
    fn a_folder_goes_with_its_cluster() {
        let workplace = Workplace::new().expect("folder");
        let path = workplace.path().to_owned();
        assert!(path.join("certificates").is_dir());
        drop(workplace);
        assert!(!path.exists());
    }
}
