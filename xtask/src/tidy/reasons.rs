//! Users meet our error reasons at the worst moment: each has a page that says what it means and
//! what to do, and no page outlives its reason. Reasons and components are spelled in one place; a second
//! spelling would drift.

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
    problems.extend(strays(tree));
    problems
}

/// Literals of reasons, and of components that can be told by their blank from names of systems and roles,
/// in the code of the crates outside the vocabulary. Tests may spell out what a contract says.
fn strays(tree: &Tree) -> Vec<Problem> {
    let components = rows(tree, "spelled! {");
    let components: Vec<_> =
        components.iter().map(|(_, text)| format!("\"{text}\"")).filter(|t| t.contains(' ')).collect();
    let mut problems = Vec::new();
    let is_code = |path: &str| path.starts_with("crates/") && path.contains("/src/") && !path.ends_with("/tests.rs");
    for file in tree.files.iter().filter(|file| file.is_rust() && file.path != VOCABULARY && is_code(&file.path)) {
        for (line, text) in file.lines().take_while(|(_, text)| text.trim() != "#[cfg(test)]") {
            let is_comment = text.trim_start().starts_with("//");
            if !is_comment && (text.contains("\"err_") || components.iter().any(|literal| text.contains(literal))) {
                let remedy = format!("use the variant in {VOCABULARY}");
                problems.push(Problem::new(&file.path, line, "a reason or component is spelled here", remedy));
            }
        }
    }
    problems
}

/// The texts in `reasons! { ... }`, with their lines.
fn reasons(tree: &Tree) -> Vec<(usize, String)> {
    rows(tree, "reasons! {")
}

/// The texts in a macro's table, with their lines.
fn rows(tree: &Tree, begin: &str) -> Vec<(usize, String)> {
    let Some(file) = tree.file(VOCABULARY) else { return Vec::new() };
    let rows = file.lines().skip_while(|(_, line)| !line.starts_with(begin));
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
    fn a_reason_or_component_is_spelled_in_the_vocabulary_only() {
        let words =
            format!("spelled! {{\n    C {{\n        D => \"db - x\",\n        E => \"edp\",\n    }}\n}}\n{TWO}");
        let code = "// \"err_a\"\nlet name = \"edp\";\nfail(\"err_a\");\nblame(\"db - x\");\n#[cfg(test)]\n\"err_a\"\n";
        let pages = [("docs/errors/err_a.md", ""), ("docs/errors/err_b.md", "")];
        let tree = [
            &[(VOCABULARY, words.as_str()), ("crates/a/src/lib.rs", code), ("crates/a/src/tests.rs", code)],
            &pages[..],
        ];
        let said = said_about(check, &tree.concat());
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(
            said[0].starts_with("crates/a/src/lib.rs:3: ") && said[1].starts_with("crates/a/src/lib.rs:4: "),
            "{said:?}"
        );
    }

    #[test]
    fn a_vocabulary_that_cannot_be_read_is_not_taken_for_an_empty_one() {
        assert_eq!(said_about(check, &[(VOCABULARY, "enum Reason {}")]).len(), 1);
    }
}
