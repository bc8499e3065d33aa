//! Files a reader can hold in mind. Most of ours have 100 to 150 lines; above 500 a file is either
//! two files or has a reason, which stands here where a reviewer sees it change.

use super::Problem;
use crate::tree::Tree;

/// More lines than this need a reason.
const LIMIT: usize = 500;

/// Files above the limit: path, and why it is better whole.
const ALLOWED: &[(&str, &str)] = &[(
    "crates/slipway-store/src/memory.rs",
    "the description of the storage port: every call beside the rules it shares with the others",
)];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    check_against(tree, ALLOWED)
}

fn check_against(tree: &Tree, allowed: &[(&str, &str)]) -> Vec<Problem> {
    let too_long = tree.files.iter().filter(|file| file.is_rust()).filter_map(|file| {
        let lines = file.text.lines().count();
        let is_allowed = allowed.iter().any(|(path, _)| *path == file.path);
        (lines > LIMIT && !is_allowed).then(|| {
            let wrong = format!("the file has {lines} lines, more than {LIMIT}");
            Problem::new(&file.path, LIMIT + 1, wrong, "split it by what a reader looks for")
        })
    });
    too_long.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_is_refused_unless_it_has_a_reason() {
        let (long, short) = ("x\n".repeat(LIMIT + 1), "x\n".repeat(LIMIT));
        let tree = Tree::of(&[("a.rs", &long), ("b.rs", &short), ("c.md", &long), ("d.rs", &long)]);
        let said: Vec<String> = check_against(&tree, &[("d.rs", "why")]).iter().map(ToString::to_string).collect();
        assert_eq!(said, ["a.rs:501: the file has 501 lines, more than 500; split it by what a reader looks for"]);
    }
}
