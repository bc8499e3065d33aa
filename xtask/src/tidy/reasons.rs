//! Users meet our error reasons at the worst moment: each has a page that says what it means and
//! what to do, and no page outlives its reason.

use super::Problem;
use crate::tree::Tree;

const VOCABULARY: &str = "crates/slipway-model/src/reason.rs";
const PAGES: &str = "docs/errors/";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let reasons = reasons(tree);
    if reasons.is_empty() {
        let remedy = "list them in `reasons! { ... }`, or teach xtask/src/tidy/reasons.rs where they went";
        return vec![Problem::new(VOCABULARY, 1, "no error reasons are found", remedy)];
    }
    let mut problems = Vec::new();
    for (line, reason) in &reasons {
        let page = format!("{PAGES}{reason}.md");
        if tree.file(&page).is_none() {
            problems.push(Problem::new(VOCABULARY, *line, format!("{reason} has no page"), format!("write {page}")));
        }
    }
    for page in tree.below(PAGES) {
        let name = page.path.trim_start_matches(PAGES).trim_end_matches(".md");
        if name != "README" && !reasons.iter().any(|(_, reason)| reason == name) {
            let wrong = format!("there is no reason {name}");
            problems.push(Problem::new(
                &page.path,
                1,
                wrong,
                format!("delete the page, or add the reason to {VOCABULARY}"),
            ));
        }
    }
    problems
}

/// The texts in `reasons! { ... }`, with their lines.
fn reasons(tree: &Tree) -> Vec<(usize, String)> {
    let Some(file) = tree.file(VOCABULARY) else { return Vec::new() };
    let rows = file.lines().skip_while(|(_, line)| !line.starts_with("reasons! {"));
    let rows = rows.take_while(|(_, line)| *line != "}");
    rows.filter_map(|(line, text)| {
        let (_, literal) = text.split_once("=> \"")?;
        Some((line, literal.split('"').next()?.to_owned()))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::{super::said_about, *};

    const TWO: &str = "macro_rules! reasons {\n    ($t:literal) => {};\n}\nreasons! {\n    /// A.\n    A => \"err_a\",\n    B => \"err_b\",\n}\n";

    #[test]
    fn a_reason_without_a_page_and_a_page_without_a_reason_are_refused() {
        let said = said_about(check, &[(VOCABULARY, TWO), ("docs/errors/err_a.md", ""), ("docs/errors/err_c.md", "")]);
        assert_eq!(
            said,
            [
                "crates/slipway-model/src/reason.rs:7: err_b has no page; write docs/errors/err_b.md",
                "docs/errors/err_c.md:1: there is no reason err_c; delete the page, or add the reason to crates/slipway-model/src/reason.rs"
            ]
        );
    }

    #[test]
    fn a_vocabulary_that_cannot_be_read_is_not_taken_for_an_empty_one() {
        assert_eq!(said_about(check, &[(VOCABULARY, "enum Reason {}")]).len(), 1);
    }
}
