//! A page or comment that names a file of the repository names one that exists: files move, and a reader who is
//! sent to an empty place stops reading.
//!
//! What stands in backticks and begins like a path of ours is taken for one. A part in angle brackets stands for any
//! name, so only what is before it must exist.

use super::Problem;
use crate::tree::{File, Tree};

/// The top of the tree, as pages spell it.
const TOPS: &[&str] = &["crates/", "xtask/", "docs/", "deploy/", "examples/", "bench/", "providers/", "plans/"];

/// What stands below a crate.
const IN_CRATES: &[&str] = &["/src/", "/tests/", "/migrations/", "/examples/"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let pages = tree.files.iter().filter(|file| file.path.ends_with(".md") && file.path != "CHANGELOG.md");
    let comments = tree.files.iter().filter(|file| file.path.ends_with(".rs"));
    let mut problems = Vec::new();
    for file in pages.chain(comments) {
        for (line, named) in names(file) {
            if let Some(path) = path_of(&named)
                && !exists(tree, &path)
            {
                let wrong = format!("there is no {named}");
                problems.push(Problem::new(&file.path, line, wrong, "name the file that is meant"));
            }
        }
    }
    problems
}

/// What stands in backticks, on pages everywhere and in code in comments only.
fn names(file: &File) -> Vec<(usize, String)> {
    let is_page = file.path.ends_with(".md");
    let lines = file.lines().filter(|(_, text)| is_page || text.trim_start().starts_with("//"));
    lines.flat_map(|(line, text)| text.split('`').skip(1).step_by(2).map(move |it| (line, it.to_owned()))).collect()
}

/// The path from the root that must exist, if this is a path of ours.
fn path_of(named: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-<>{},".contains(c);
    if !named.chars().all(is_plain) {
        return None;
    }
    let is_of_a_crate = named.starts_with("slipway") || named.starts_with("kube-sandbox");
    let path = match named {
        _ if TOPS.iter().any(|top| named.starts_with(top)) => named.to_owned(),
        _ if is_of_a_crate && IN_CRATES.iter().any(|part| named.contains(part)) => format!("crates/{named}"),
        _ => return None,
    };
    // A name that stands for any: what is before it is a folder.
    match path.find(['<', '{']).or_else(|| path.find("NNNN")) {
        Some(open) => path[..open].rfind('/').map(|end| path[..end].to_owned()),
        None => Some(path.trim_end_matches('/').to_owned()),
    }
}

fn exists(tree: &Tree, path: &str) -> bool {
    let folder = format!("{path}/");
    tree.files.iter().any(|file| file.path == path || file.path.starts_with(&folder))
}

#[cfg(test)]
mod tests {
    use super::{super::said_about, *};

    #[test]
    fn a_path_that_leads_nowhere_is_refused_wherever_it_stands() {
        let page = "`slipway-a/src/b.rs` `slipway-a/src/<name>.rs` `crates/slipway-a` `slipway-data/` `a/b` `crates/gone.rs`\n\
                    `slipway-a/src/{x,y}/NNNN.sql` `slipway-a/src/gone/<name>.rs` `make up docs/x`\n";
        let code = "//! See `xtask/src/gone.rs`.\nlet text = \"`docs/gone.md`\";\n";
        let said = said_about(check, &[("docs/a.md", page), ("crates/slipway-a/src/b.rs", code)]);
        assert_eq!(
            said,
            [
                "docs/a.md:1: there is no crates/gone.rs; name the file that is meant",
                "docs/a.md:2: there is no slipway-a/src/gone/<name>.rs; name the file that is meant",
                "crates/slipway-a/src/b.rs:1: there is no xtask/src/gone.rs; name the file that is meant",
            ]
        );
    }
}
