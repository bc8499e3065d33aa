//! A file opens with why it exists: what the code cannot say of itself.

use super::Problem;
use crate::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let without = tree.files.iter().filter(|file| file.is_rust()).filter(|file| {
        let first = file.text.lines().next().unwrap_or_default();
        first.strip_prefix("//!").is_none_or(|doc| doc.trim().is_empty())
    });
    let remedy = "begin it with `//!` and why it exists, what it refuses to do, what would break if it changed";
    without.map(|file| Problem::new(&file.path, 1, "the file does not say why it exists", remedy)).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::said_about, *};

    #[test]
    fn a_file_that_does_not_begin_with_its_reason_is_refused() {
        let said = said_about(
            check,
            &[("a.rs", "//! The reason.\n"), ("b.rs", "use x;\n//! Late.\n"), ("c.rs", "//!\n"), ("d.sh", "echo")],
        );
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("b.rs:1: ") && said[1].starts_with("c.rs:1: "), "{said:?}");
    }
}
