//! The checked-in files are the types.

use std::path::PathBuf;

use super::*;

fn file(crd: &CustomResourceDefinition) -> PathBuf {
    let name = crd.metadata.name.as_deref().expect("a name");
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds").join(format!("{name}.yaml"))
}

#[test]
fn the_files_in_deploy_are_the_types() {
    for crd in all() {
        let text = format!(
            "# Generated from the types in slipway-kube: UPDATE=1 cargo test -p slipway-kube\n{}",
            serde_saphyr::to_string(&crd).expect("YAML")
        );
        let path = file(&crd);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(&path, &text).expect("written");
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(written == text, "{} is not what the types say: UPDATE=1 cargo test -p slipway-kube", path.display());
        let again: CustomResourceDefinition = serde_saphyr::from_str(&written).expect("a definition");
        assert_eq!(again, crd);
    }
}
