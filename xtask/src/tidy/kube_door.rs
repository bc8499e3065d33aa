//! One door to Kubernetes: who could name the library's `Api`, watcher or kubeconfig reader would sooner or later call
//! a cluster past budget, limits and error classes, or run a program that a Secret names. So the product cannot.

use super::Problem;
use crate::{
    manifest::{Use, dependencies},
    tree::Tree,
};

/// The door itself, and those who play or measure the other side.
const MAY: [&str; 4] = ["slipway-kube", "kube-sandbox", "slipway-sim", "slipway-sandbox"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for folder in tree.crates() {
        if MAY.iter().any(|name| folder.trim_end_matches('/').ends_with(&format!("/{name}"))) {
            continue;
        }
        let Some(manifest) = tree.file(&format!("{folder}Cargo.toml")) else { continue };
        let product = dependencies(manifest).into_iter().filter(|it| it.used_in == Use::Product);
        for dependency in product.filter(|it| it.name == "kube") {
            problems.push(Problem::new(
                &manifest.path,
                dependency.line,
                "the product calls Kubernetes only through slipway-kube",
                "use slipway_kube::access: Access and Ask for calls, Cache for watches, from_secret_text and \
                 from_operators_file for kubeconfigs; in tests, kube may be a dev-dependency",
            ));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::{super::said_about, *};

    #[test]
    fn the_library_is_refused_in_the_product_and_not_in_tests_nor_behind_the_door() {
        let product = "[dependencies]\nkube.workspace = true\n";
        let tests = "[dependencies]\nhttp.workspace = true\n\n[dev-dependencies]\nkube.workspace = true\n";
        let said = said_about(
            check,
            &[
                ("crates/slipway-kube/Cargo.toml", product),
                ("crates/slipway-manager/Cargo.toml", tests),
                ("crates/slipway-server/Cargo.toml", product),
            ],
        );
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].starts_with("crates/slipway-server/Cargo.toml:2: the product calls Kubernetes only"),
            "{said:?}"
        );
    }
}
