//! A path of one machine works on that machine only.

use super::Problem;
use crate::tree::Tree;

/// First parts of paths that belong to one machine or one person.
const OWNED: [&str; 5] = ["root", "home", "Users", "work", "farm"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.files.iter().filter(|file| !file.path.ends_with(".lock")) {
        for (line, text) in file.lines() {
            if let Some(owned) = OWNED.iter().find(|owned| names_path_below(text, owned)) {
                let wrong = format!("a path below /{owned} exists on one machine only");
                problems.push(Problem::new(&file.path, line, wrong, "make it relative, or a setting"));
            }
        }
    }
    problems
}

/// Whether the text has an absolute path that begins with this folder. In a longer path or an
/// address the folder is somebody else's.
fn names_path_below(text: &str, folder: &str) -> bool {
    let path = format!("/{folder}/");
    text.match_indices(&path).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && !".-_}>*~/".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::{super::said_about, *};

    /// Put together here, because this file is checked too.
    fn path(parts: &[&str]) -> String {
        format!("/{}", parts.join("/"))
    }

    #[test]
    fn a_path_of_one_machine_is_refused() {
        let text = format!("fine\nsee {}\n", path(&["root", "x"]));
        let said = said_about(check, &[("a.md", &text), ("Cargo.lock", &text)]);
        assert_eq!(said, ["a.md:2: a path below /root exists on one machine only; make it relative, or a setting"]);
    }

    #[test]
    fn a_folder_inside_another_path_is_somebody_elses() {
        let address = format!("https://example.com{}", path(&["home", "x"]));
        assert_eq!(said_about(check, &[("a.md", &address)]), [""; 0]);
    }
}
