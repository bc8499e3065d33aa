//! The data folder: taken by one process at a time, and filled on the first start.
//!
//! Key and token are drawn once and kept. They are written beside and renamed into place, so that a
//! crash or a full disk leaves either the whole file or none.

use std::{
    env,
    fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use secrecy::{ExposeSecret as _, SecretString};
use slipway_server::{Entropy, SystemEntropy};
use tempfile::TempDir;

/// Why a data folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Somebody else has it.
    #[error(
        "the data folder {} is in use by another slipway up{}; stop that one or choose another folder with --data-dir",
        path.display(), by
    )]
    InUse {
        /// Which.
        path: PathBuf,
        /// By which process, as far as known.
        by: String,
    },
    /// It cannot be written.
    #[error("the data folder cannot be used: {} {what}: {problem}; check its permissions and the room on its disk", path.display())]
    Unusable {
        /// Which file or folder.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// What came of it.
        problem: io::Error,
    },
    /// A file in it is not what it was.
    #[error("{} is damaged: it must hold {expected}; restore it, or delete the data folder to start afresh", path.display())]
    Damaged {
        /// Which.
        path: PathBuf,
        /// What should be in it.
        expected: &'static str,
    },
    /// A secret, or the folder, can be read by others.
    #[error("{} can be read by others; take that right away with: chmod {mode} {}", path.display(), path.display())]
    TooOpen {
        /// Which.
        path: PathBuf,
        /// The rights it should have.
        mode: &'static str,
    },
}

/// A taken data folder. The lock ends with the process, however it ends.
pub(super) struct Folder {
    path: PathBuf,
    token_file: PathBuf,
    key: SecretString,
    _lock: File,
    /// Goes with this.
    temporary: Option<TempDir>,
}

impl Folder {
    /// Takes a folder that goes when this does.
    pub(super) fn take_temporary() -> Result<Self, FolderError> {
        let unusable = |problem| FolderError::Unusable { path: env::temp_dir(), what: "cannot be filled", problem };
        let temporary = tempfile::Builder::new().prefix("slipway-world-").tempdir().map_err(unusable)?;
        let mut folder = Self::take(temporary.path())?;
        folder.temporary = Some(temporary);
        Ok(folder)
    }

    /// Takes the folder and makes what is missing in it.
    pub(super) fn take(path: &Path) -> Result<Self, FolderError> {
        let unusable = |what: &'static str| {
            let path = path.to_owned();
            move |problem| FolderError::Unusable { path, what, problem }
        };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unusable("cannot be made"))?;
        let path = path.canonicalize().map_err(unusable("cannot be found"))?;
        let lock = lock(&path)?;
        if !path.join("key").exists() {
            // Ours from now on, whoever made it.
            fs::set_permissions(&path, Permissions::from_mode(0o700))
                .map_err(unusable("cannot be closed to others"))?;
        }
        refuse_open(&path, "700")?;
        let key = keep_digits(&path.join("key"))?;
        let token_file = path.join("token");
        keep_digits(&token_file)?;
        Ok(Self { path, token_file, key, _lock: lock, temporary: None })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn token_file(&self) -> &Path {
        &self.token_file
    }

    /// A secret of this name, made on the first start and kept.
    pub(super) fn keep(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<String, String>,
    ) -> Result<SecretString, FolderError> {
        keep(&self.path.join(name), make)
    }

    /// Writes a secret under this name, whatever was there; answers where.
    pub(super) fn write(&self, name: &str, secret: &str) -> Result<PathBuf, FolderError> {
        let path = self.path.join(name);
        let written = write_whole(&path, secret);
        written.map_err(|problem| FolderError::Unusable { path: path.clone(), what: "cannot be written", problem })?;
        Ok(path)
    }

    /// A file is not what it was.
    pub(super) fn damaged(&self, name: &str, expected: &'static str) -> FolderError {
        FolderError::Damaged { path: self.path.join(name), expected }
    }

    /// The settings that make a server use this folder.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        let database = format!("sqlite:{}", self.path.join("slipway.db").display());
        [
            ("SLIPWAY_DATABASE__URL", database),
            ("SLIPWAY_SECRETS__ACTIVE_KEY", "data-folder".to_owned()),
            ("SLIPWAY_SECRETS__KEYS__DATA-FOLDER", self.key.expose_secret().to_owned()),
            ("SLIPWAY_AUTH__TOKEN_FILE", self.token_file.display().to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }
}

fn lock(folder: &Path) -> Result<File, FolderError> {
    let path = folder.join("lock");
    let unusable = |problem| FolderError::Unusable { path: path.clone(), what: "cannot be locked", problem };
    let mut options = OpenOptions::new();
    let mut file =
        options.create(true).read(true).write(true).truncate(false).mode(0o600).open(&path).map_err(unusable)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut by = String::new();
            let known = file.read_to_string(&mut by).is_ok() && !by.trim().is_empty();
            let by = if known { format!(" (process {})", by.trim()) } else { String::new() };
            return Err(FolderError::InUse { path: folder.to_owned(), by });
        }
        Err(TryLockError::Error(problem)) => return Err(unusable(problem)),
    }
    // Only for the message above.
    let written = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    written.map_err(unusable)?;
    Ok(file)
}

/// Nobody but the owner may see what is kept here.
fn refuse_open(path: &Path, mode: &'static str) -> Result<(), FolderError> {
    let unreadable = |problem| FolderError::Unusable { path: path.to_owned(), what: "cannot be read", problem };
    let is_open = fs::metadata(path).map_err(unreadable)?.permissions().mode() & 0o077 != 0;
    if is_open { Err(FolderError::TooOpen { path: path.to_owned(), mode }) } else { Ok(()) }
}

/// The secret in this file, made on the first start.
fn keep(path: &Path, make: impl FnOnce() -> Result<String, String>) -> Result<SecretString, FolderError> {
    let unusable = |what, problem| FolderError::Unusable { path: path.to_owned(), what, problem };
    match fs::read_to_string(path) {
        Ok(text) => {
            refuse_open(path, "600")?;
            Ok(SecretString::from(text.trim()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = make().map_err(|problem| unusable("cannot be drawn", io::Error::other(problem)))?;
            write_whole(path, &made).map_err(|problem| unusable("cannot be written", problem))?;
            Ok(SecretString::from(made))
        }
        Err(error) => Err(unusable("cannot be read", error)),
    }
}

/// The secret in this file: 64 hexadecimal digits.
fn keep_digits(path: &Path) -> Result<SecretString, FolderError> {
    let entropy: &dyn Entropy = &SystemEntropy;
    let secret = keep(path, || Ok(hex(&entropy.draw::<32>())))?;
    let text = secret.expose_secret();
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(FolderError::Damaged { path: path.to_owned(), expected: "64 hexadecimal digits" });
    }
    Ok(secret)
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write_whole(path: &Path, secret: &str) -> io::Result<()> {
    let beside = path.with_extension("new");
    let written = (|| {
        let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&beside)?;
        writeln!(file, "{secret}")?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        // The name must be on the disk too before anything is encrypted with the key.
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    })();
    if written.is_err() {
        // Best effort: the error that matters is on its way.
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_and_token_are_drawn_once_kept_and_readable_by_the_owner_only() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("deep/data");
        let first = Folder::take(&path).expect("taken");
        let (key, token) = (fs::read(path.join("key")).expect("key"), fs::read(path.join("token")).expect("token"));
        assert_ne!(key, token);
        for name in ["key", "token"] {
            assert_eq!(fs::metadata(path.join(name)).expect(name).permissions().mode() & 0o777, 0o600);
        }
        drop(first);
        Folder::take(&path).expect("taken again");
        assert_eq!(
            (fs::read(path.join("key")).expect("key"), fs::read(path.join("token")).expect("token")),
            (key, token)
        );
    }

    #[test]
    fn two_cannot_have_one_folder() {
        let dir = tempfile::tempdir().expect("a folder");
        let _first = Folder::take(dir.path()).expect("taken");
        let error = Folder::take(dir.path()).err().expect("in use").to_string();
        assert!(error.contains("is in use by another slipway up (process "), "{error}");
    }

    #[test]
    fn a_damaged_key_and_what_others_can_read_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        drop(Folder::take(dir.path()).expect("taken"));
        let key = dir.path().join("key");
        for (path, open, closed) in [(key.as_path(), 0o644, 0o600), (dir.path(), 0o750, 0o700)] {
            fs::set_permissions(path, Permissions::from_mode(open)).expect("mode");
            let error = Folder::take(dir.path()).err().expect("others can read it").to_string();
            assert!(error.ends_with(&format!("chmod {closed:o} {}", path.display())), "{error}");
            fs::set_permissions(path, Permissions::from_mode(closed)).expect("mode");
        }
        let folder = Folder::take(dir.path()).expect("taken");
        folder.keep("issuer-key", || Ok("aa".to_owned())).expect("made");
        fs::set_permissions(dir.path().join("issuer-key"), Permissions::from_mode(0o640)).expect("mode");
        let refused = folder.keep("issuer-key", || Ok("bb".to_owned()));
        assert!(matches!(refused, Err(FolderError::TooOpen { .. })), "every secret is looked at");
        drop(folder);
        fs::write(&key, "short").expect("written");
        assert!(matches!(Folder::take(dir.path()), Err(FolderError::Damaged { .. })));
    }
}
