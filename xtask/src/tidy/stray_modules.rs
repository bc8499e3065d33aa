//! A file without a `mod` line is never compiled: its tests do not run and nobody is told.

use std::collections::BTreeSet;

use super::Problem;
use crate::{
    layers::Layers,
    tree::{File, Tree},
};

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for folder in tree.crates() {
        let files: Vec<&File> = tree.below(&folder).filter(|file| file.is_rust()).collect();
        let mut reached = BTreeSet::new();
        let mut open: Vec<(&File, bool)> =
            files.iter().filter(|file| is_root(&file.path[folder.len()..])).map(|file| (*file, true)).collect();
        while let Some((file, is_root)) = open.pop() {
            if !reached.insert(&file.path) {
                continue;
            }
            let code = Layers::of(&file.text).code;
            if let Some((index, _)) = code.lines().enumerate().find(|(_, line)| line.contains("#[path")) {
                let wrong = "the module is not where its name says";
                problems.push(Problem::new(&file.path, index + 1, wrong, "name the file after the module"));
            }
            for path in declared(&code, &home(&file.path, is_root)) {
                open.extend(tree.file(&path).map(|file| (file, false)));
            }
        }
        for file in files.iter().filter(|file| !reached.contains(&file.path)) {
            let wrong = "no `mod` line leads to this file, so it is not compiled";
            problems.push(Problem::new(&file.path, 1, wrong, "add the `mod` line, or delete the file"));
        }
    }
    problems
}

/// Where Cargo begins: `path` is inside the crate.
fn is_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(
        parts.as_slice(),
        ["build.rs"]
            | ["src", "lib.rs" | "main.rs"]
            | ["src", "bin", _]
            | ["src", "bin", _, "main.rs"]
            | ["tests" | "benches" | "examples", _]
            | ["tests" | "benches" | "examples", _, "main.rs"]
    )
}

/// The folder in which a file's modules live.
fn home(path: &str, is_root: bool) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name {
        "mod.rs" => folder.to_owned(),
        _ if is_root => folder.to_owned(),
        _ => path.trim_end_matches(".rs").to_owned(),
    }
}

/// Every path that a `mod name;` in this code may mean, those inside `mod name { ... }` included.
fn declared(code: &str, home: &str) -> Vec<String> {
    let spaced = code.replace('{', " { ").replace('}', " } ").replace(';', " ; ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (mut paths, mut inside, mut depth) = (Vec::new(), Vec::<(&str, usize)>::new(), 0);
    for (at, word) in words.iter().enumerate() {
        match *word {
            "{" => {
                depth += 1;
                if let [.., "mod", name] = words[..at] {
                    inside.push((name, depth));
                }
            }
            "}" => {
                inside.retain(|(_, from)| *from < depth);
                depth = depth.saturating_sub(1);
            }
            ";" => {
                if let [.., "mod", name] = words[..at] {
                    let outer: String = inside.iter().map(|(outer, _)| format!("{outer}/")).collect();
                    let name = name.trim_start_matches("r#");
                    paths.push(format!("{home}/{outer}{name}.rs"));
                    paths.push(format!("{home}/{outer}{name}/mod.rs"));
                }
            }
            _ => {}
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::{super::said_about, *};

    const CRATE: (&str, &str) = ("crates/a/Cargo.toml", "");

    #[test]
    fn a_file_without_a_mod_line_is_refused() {
        let said = said_about(
            check,
            &[
                CRATE,
                ("crates/a/src/lib.rs", "mod b; // mod d;\n"),
                ("crates/a/src/b.rs", "pub(crate) mod c;\n"),
                ("crates/a/src/b/c.rs", ""),
                ("crates/a/src/d.rs", ""),
                ("crates/a/src/b/e.rs", ""),
            ],
        );
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("crates/a/src/d.rs:1: no `mod` line leads to this file"), "{said:?}");
        assert!(said[1].starts_with("crates/a/src/b/e.rs:1: "), "{said:?}");
    }

    #[test]
    fn suites_programs_and_modules_inside_modules_are_followed() {
        let said = said_about(
            check,
            &[
                CRATE,
                ("crates/a/src/main.rs", "fn f() { }\nmod x { mod y; }\nmod z;"),
                ("crates/a/src/x/y.rs", ""),
                ("crates/a/src/z.rs", ""),
                ("crates/a/src/bin/tool.rs", ""),
                ("crates/a/tests/suite/main.rs", "mod story;"),
                ("crates/a/tests/suite/story.rs", ""),
                ("crates/a/build.rs", ""),
            ],
        );
        assert_eq!(said, [""; 0]);
    }

    #[test]
    fn a_story_that_its_suite_does_not_name_is_refused() {
        let said = said_about(
            check,
            &[CRATE, ("crates/a/tests/suite/main.rs", "//! x"), ("crates/a/tests/suite/story.rs", "")],
        );
        assert_eq!(said.len(), 1, "{said:?}");
    }

    #[test]
    fn a_module_that_is_elsewhere_than_its_name_says_is_refused() {
        let said = said_about(check, &[CRATE, ("crates/a/src/lib.rs", "#[path = \"b.rs\"]\nmod c;\n")]);
        assert_eq!(
            said,
            ["crates/a/src/lib.rs:1: the module is not where its name says; name the file after the module"]
        );
    }
}
