//! What is left open is either done now or has an issue, where it is seen without reading the
//! code: a `TODO` must carry its number, as in `TODO(#12)`.

use super::Problem;
use crate::{layers::Layers, tree::Tree};

const WORD: &str = "TODO";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in &tree.files {
        let comments = match file.path.rsplit(['.', '/']).next() {
            Some("rs") => Layers::of(&file.text).comments,
            Some("toml" | "sql" | "sh" | "yaml" | "yml" | "run" | "Makefile") => file.text.clone(),
            _ => continue,
        };
        for (index, line) in comments.lines().enumerate().filter(|(_, line)| is_open(line)) {
            let wrong = format!("{} has no issue", line.trim().trim_start_matches(['/', '!', '#', '-', ' ']));
            problems.push(Problem::new(&file.path, index + 1, wrong, format!("do it, or write `{WORD}(#<issue>)`")));
        }
    }
    problems
}

/// The word stands here, not as part of another and not quoted, and no issue follows.
fn is_open(line: &str) -> bool {
    let is_boundary = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != '`');
    line.match_indices(WORD).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + WORD.len()..]);
        let has_issue = after.strip_prefix("(#").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        is_boundary(before.chars().next_back()) && is_boundary(after.chars().next()) && !has_issue && !is_quoted(before)
    })
}

/// Inside backquotes: the word is talked about.
fn is_quoted(before: &str) -> bool {
    before.matches('`').count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::{super::said_about, *};

    #[test]
    fn an_open_end_without_an_issue_is_refused() {
        let said = said_about(check, &[("a.rs", "//! x\n// TODO: later\n"), ("Makefile", "# TODO(me) later\n")]);
        assert_eq!(
            said,
            [
                "a.rs:2: TODO: later has no issue; do it, or write `TODO(#<issue>)`",
                "Makefile:1: TODO(me) later has no issue; do it, or write `TODO(#<issue>)`"
            ]
        );
    }

    #[test]
    fn an_issue_a_quotation_a_string_and_another_word_are_fine() {
        let text = "// TODO(#12): later\n// `TODO` needs an issue\nconst A: &str = \"TODO\"; // TODOS\n";
        assert_eq!(said_about(check, &[("a.rs", text)]), [""; 0]);
    }
}
