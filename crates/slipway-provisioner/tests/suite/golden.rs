//! Files that are made from code, checked in, and compared.

use std::{env, fs, path::PathBuf};

/// A path from the top of the repository.
pub(crate) fn at(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The file must say this. With `UPDATE=1` it is made to.
pub(crate) fn assert_same(path: &str, wanted: &str) {
    let file = at(path);
    if env::var_os("UPDATE").is_some() {
        fs::create_dir_all(file.parent().expect("a file is in a folder")).expect("the folder can be made");
        fs::write(&file, wanted).expect("the file can be written");
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == wanted,
        "{path} is not what the code says; `UPDATE=1 cargo test -p slipway-provisioner` rewrites it"
    );
}
