//! Finds the programs that `cargo xtask testbins` has built.
//!
//! The cache holds one folder per build. Which one is ours? The one that was built from the module
//! file this crate was compiled beside; each folder carries a copy of its own.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use super::Error;

/// The module file that names the servers and their versions.
const GO_MOD: &str = include_str!("../../../../testbins/go.mod");

/// What `SLIPWAY_REAL` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Never start a real server.
    Off,
    /// Use them where they are built; what a plain `cargo test` does.
    Auto,
    /// A suite without them has failed; what `make test` does.
    Required,
}

impl Mode {
    /// Reads the environment. An unknown word is as strict as can be: it was meant to say something.
    pub fn from_env() -> Self {
        match env::var("SLIPWAY_REAL").as_deref() {
            Ok("off") => Self::Off,
            Ok("auto") | Err(_) => Self::Auto,
            Ok(_) => Self::Required,
        }
    }
}

/// A folder with all the programs.
#[derive(Clone, Debug)]
pub struct Binaries {
    folder: PathBuf,
}

impl Binaries {
    /// Finds them.
    pub fn find() -> Result<Self, Error> {
        if Mode::from_env() == Mode::Off {
            return Err(Error::Off);
        }
        let cache = cache().ok_or(Error::NotBuilt)?;
        find_in(&cache, GO_MOD).map(|folder| Self { folder }).ok_or(Error::NotBuilt)
    }

    /// Where a program is.
    pub fn path(&self, program: &str) -> PathBuf {
        self.folder.join(program)
    }

    /// The version of Kubernetes, such as `1.36.4`.
    pub fn kubernetes_version(&self) -> &'static str {
        required("k8s.io/kubernetes")
    }

    /// The version of Gardener, such as `1.150.0`.
    pub fn gardener_version(&self) -> &'static str {
        required("github.com/gardener/gardener")
    }
}

fn cache() -> Option<PathBuf> {
    let own = env::var_os("SLIPWAY_TESTBINS").map(PathBuf::from);
    own.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cache/slipway-testbins")))
}

fn find_in(cache: &Path, go_mod: &str) -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = fs::read_dir(cache).ok()?.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    folders.into_iter().find(|folder| {
        let whole = folder.file_name().is_some_and(|name| name != "unfinished");
        whole && fs::read_to_string(folder.join("go.mod")).is_ok_and(|text| text == go_mod)
    })
}

fn required(module: &str) -> &'static str {
    let version = GO_MOD.lines().find_map(|line| line.trim().strip_prefix(module)?.strip_prefix(" v"));
    version.and_then(|rest| rest.split_whitespace().next()).unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_that_was_built_from_our_module_file_is_found() {
        let cache = tempfile::tempdir().expect("folder");
        assert_eq!(find_in(cache.path(), "ours"), None);
        for (folder, go_mod) in [("1111", "another"), ("2222", "ours"), ("unfinished", "ours")] {
            fs::create_dir(cache.path().join(folder)).expect("folder");
            fs::write(cache.path().join(folder).join("go.mod"), go_mod).expect("file");
        }
        assert_eq!(find_in(cache.path(), "ours"), Some(cache.path().join("2222")));
        assert_eq!(find_in(cache.path(), "a third"), None);
    }

    #[test]
    fn versions_are_those_of_the_module_file() {
        for version in [required("k8s.io/kubernetes"), required("github.com/gardener/gardener")] {
            assert!(version.starts_with("1."), "{version}");
        }
    }
}
