//! A page nobody can reach from the README is not documentation, and a link that leads nowhere
//! costs the reader's trust. A link to a folder reaches every file in it.

use std::collections::BTreeSet;

use super::Problem;
use crate::tree::{File, Tree};

const START: &str = "README.md";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for page in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        for (line, target) in links(page) {
            if !exists(tree, &target) {
                let wrong = format!("there is no {target}");
                problems.push(Problem::new(&page.path, line, wrong, "mend or remove the link"));
            }
        }
    }
    let reached = reachable(tree);
    for file in tree.below("docs/").filter(|file| !reached.contains(file.path.as_str())) {
        let wrong = "no page leads here";
        problems.push(Problem::new(&file.path, 1, wrong, "link it from docs/README.md, or delete it"));
    }
    problems
}

fn reachable(tree: &Tree) -> BTreeSet<&str> {
    let mut reached: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&File> = tree.file(START).into_iter().collect();
    while let Some(page) = open.pop() {
        if reached.insert(&page.path) && page.path.ends_with(".md") {
            open.extend(links(page).iter().flat_map(|(_, target)| reached_by(tree, target)));
        }
    }
    reached
}

fn exists(tree: &Tree, target: &str) -> bool {
    let folder = format!("{target}/");
    target.is_empty() || tree.files.iter().any(|file| file.path == target || file.path.starts_with(&folder))
}

/// The file of this path, or the files that lie directly in this folder.
fn reached_by<'a>(tree: &'a Tree, target: &str) -> Vec<&'a File> {
    let folder_of = |path: &'a str| path.rsplit_once('/').map_or("", |(folder, _)| folder);
    tree.files.iter().filter(|file| file.path == target || folder_of(&file.path) == target).collect()
}

/// Links to files of the repository: lines and paths from the root.
fn links(page: &File) -> Vec<(usize, String)> {
    let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut is_code = false;
    let mut found = Vec::new();
    for (line, text) in page.lines() {
        is_code ^= text.trim_start().starts_with("```");
        if is_code {
            continue;
        }
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split([')', '#', ' ']).next().unwrap_or_default();
            let is_outside = target.contains(':');
            if !is_outside && !target.is_empty() {
                found.push((line, resolved(folder, target)));
            }
        }
    }
    found
}

fn resolved(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::{super::said_about, *};

    #[test]
    fn a_page_nobody_links_to_is_refused() {
        let said = said_about(
            check,
            &[
                (START, "[docs](docs/README.md)"),
                ("docs/README.md", "[one](one.md#part), [errors](errors/)"),
                ("docs/one.md", "[home](../README.md)"),
                ("docs/two.md", "[one](one.md)"),
                ("docs/errors/err_a.md", ""),
            ],
        );
        assert_eq!(said, ["docs/two.md:1: no page leads here; link it from docs/README.md, or delete it"]);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_refused_except_in_code_and_outside() {
        let text = "[x](https://example.com/x)\n[a](#part)\n```text\n[b](nowhere.md)\n```\n[c](gone.md)\n";
        assert_eq!(said_about(check, &[(START, text)]), ["README.md:6: there is no gone.md; mend or remove the link"]);
    }
}
