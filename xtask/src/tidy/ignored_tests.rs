//! A test that is switched off protects nothing and looks as if it did.

use super::Problem;
use crate::{layers::Layers, tree::Tree};

/// In two pieces, so that a search for the attribute finds only its uses.
const SWITCHED_OFF: &str = concat!("#[", "ignore");

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.files.iter().filter(|file| file.is_rust()) {
        for (index, line) in Layers::of(&file.text).code.lines().enumerate() {
            let in_condition = line.contains("#[cfg_attr(") && line.contains("ignore");
            if line.contains(SWITCHED_OFF) || in_condition {
                let remedy = "delete it, or assert what the code does today and say in its name that this is wrong";
                problems.push(Problem::new(&file.path, index + 1, "the test is switched off", remedy));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::{super::said_about, *};

    #[test]
    fn a_test_that_is_switched_off_is_refused_but_its_mention_is_not() {
        let text = format!(
            "// {SWITCHED_OFF}] is banned\n#[test]\n{SWITCHED_OFF} = \"slow\"]\nfn a() {{}}\n\
             #[cfg_attr(miri, ignore)]\nfn b() {{}}\n"
        );
        let quoted = format!("const A: &str = \"{SWITCHED_OFF}]\";");
        let said = said_about(check, &[("a.rs", &text), ("b.rs", &quoted)]);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("a.rs:3: ") && said[1].starts_with("a.rs:5: "), "{said:?}");
    }
}
