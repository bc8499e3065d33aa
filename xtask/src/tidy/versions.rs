//! Versions stand once, in the workspace manifest: two crates with two versions of one library
//! would build it twice and could not exchange its types.

use super::Problem;
use crate::{manifest::dependencies, tree::Tree};

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for folder in tree.crates() {
        let Some(manifest) = tree.file(&format!("{folder}Cargo.toml")) else { continue };
        for dependency in dependencies(manifest).into_iter().filter(|dependency| !dependency.from_workspace) {
            let name = dependency.name;
            problems.push(Problem::new(
                &manifest.path,
                dependency.line,
                format!("{name} has a version or path of its own"),
                format!("list it in the root Cargo.toml and write `{name}.workspace = true`"),
            ));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::{super::said_about, *};

    #[test]
    fn a_version_in_a_crate_is_refused_and_one_of_the_workspace_is_not() {
        let manifest = "[dependencies]\nserde.workspace = true\nhttp = \"1\"\n";
        let said = said_about(
            check,
            &[("Cargo.toml", "[workspace.dependencies]\nhttp = \"1\"\n"), ("crates/a/Cargo.toml", manifest)],
        );
        assert_eq!(
            said,
            [
                "crates/a/Cargo.toml:3: http has a version or path of its own; list it in the root Cargo.toml and write `http.workspace = true`"
            ]
        );
    }
}
