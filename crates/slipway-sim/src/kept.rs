//! What a simulator keeps on disk, where it is told to: a landscape that was killed goes on where it was,
//! and so must the systems around it.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use serde::{Serialize, de::DeserializeOwned};

/// What was saved last; none if there is nothing, or nothing that can be read.
pub(crate) fn load<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Saves it: written beside and renamed, so that a crash leaves the old or the new. A disk that is full
/// costs what is new, not the simulator.
pub(crate) fn save<T: Serialize>(path: &Path, state: &T) {
    let write = || -> io::Result<()> {
        let beside = path.with_extension("new");
        let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(&serde_json::to_vec(state)?)?;
        fs::rename(&beside, path)
    };
    if let Err(error) = write() {
        tracing::warn!(%error, path = %path.display(), "a simulator cannot keep its state");
    }
}
