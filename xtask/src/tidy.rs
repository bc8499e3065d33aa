//! The house rules that neither the compiler nor clippy knows.
//!
//! A rule that is only written down is forgotten; one that is checked is kept. Each check is a file
//! in this folder and a row in [`CHECKS`].

mod arrows;
mod ignored_tests;
mod kube_door;
mod links;
mod machine_paths;
mod migrations;
mod module_docs;
mod named_paths;
mod reasons;
mod size;
mod stray_modules;
mod todos;
mod versions;

use std::{fmt, path::Path};

use crate::tree::Tree;

/// One rule.
struct Check {
    name: &'static str,
    rule: &'static str,
    run: fn(&Tree) -> Vec<Problem>,
}

static CHECKS: &[Check] = &[
    check("arrows", "crates depend on each other only along the arrows", arrows::check),
    check("kube_door", "the product reaches Kubernetes through one door", kube_door::check),
    check("versions", "every dependency takes its version from the workspace", versions::check),
    check("size", "files stay small enough to read", size::check),
    check("module_docs", "every file says why it exists", module_docs::check),
    check("stray_modules", "every file is compiled", stray_modules::check),
    check("ignored_tests", "no test is switched off", ignored_tests::check),
    check("todos", "what is left open has an issue", todos::check),
    check("machine_paths", "no path of one machine", machine_paths::check),
    check("reasons", "every error reason has its page", reasons::check),
    check("migrations", "both databases have the same migrations", migrations::check),
    check("named_paths", "a file that a page or comment names exists", named_paths::check),
    check("links", "every page can be found, and every link leads somewhere", links::check),
];

const fn check(name: &'static str, rule: &'static str, run: fn(&Tree) -> Vec<Problem>) -> Check {
    Check { name, rule, run }
}

/// A broken rule: where, what is wrong, and what to do.
#[derive(Debug, PartialEq, Eq)]
struct Problem {
    path: String,
    line: usize,
    wrong: String,
    remedy: String,
}

impl Problem {
    fn new(path: impl Into<String>, line: usize, wrong: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { path: path.into(), line, wrong: wrong.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.path, self.line, self.wrong, self.remedy)
    }
}

/// Runs every check, prints what is wrong, and answers whether all is well.
pub(crate) fn run(root: &Path) -> bool {
    let tree = match Tree::load(root) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("tidy: the repository cannot be read: {error}");
            return false;
        }
    };
    let mut broken = 0;
    for check in CHECKS {
        let problems = (check.run)(&tree);
        if !problems.is_empty() {
            broken += problems.len();
            println!("{}: {}", check.name, check.rule);
            problems.iter().for_each(|problem| println!("  {problem}"));
        }
    }
    match broken {
        0 => println!("tidy: {} files, {} checks, nothing to mend", tree.files.len(), CHECKS.len()),
        1 => println!("tidy: 1 thing to mend"),
        _ => println!("tidy: {broken} things to mend"),
    }
    broken == 0
}

/// What a check says about a made-up tree, one line per problem.
#[cfg(test)]
fn said_about(check: fn(&Tree) -> Vec<Problem>, files: &[(&str, &str)]) -> Vec<String> {
    check(&Tree::of(files)).iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_a_name_of_its_own_and_the_name_of_its_file() {
        let tree = Tree::load(&crate::root()).expect("own repository");
        let mut files: Vec<&str> = tree
            .below("xtask/src/tidy/")
            .filter_map(|file| file.path.strip_prefix("xtask/src/tidy/")?.strip_suffix(".rs"))
            .collect();
        let mut names: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
        files.sort_unstable();
        names.sort_unstable();
        assert_eq!(names, files);
    }

    #[test]
    fn an_empty_repository_breaks_no_rule_but_the_missing_vocabulary() {
        let broken: Vec<&str> =
            CHECKS.iter().filter(|c| !(c.run)(&Tree::default()).is_empty()).map(|c| c.name).collect();
        assert_eq!(broken, ["reasons"]);
    }
}
