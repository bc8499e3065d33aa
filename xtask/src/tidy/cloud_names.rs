//! A cloud is one file: whoever else names one has to be edited when the next one comes, and is
//! forgotten. The names are those of the clouds' files in `slipway-kube`.

use std::collections::BTreeSet;

use super::Problem;
use crate::{layers::Layers, tree::Tree};

/// Where a cloud's file is, and the table that has a row for each.
const PROVIDERS: &str = "crates/slipway-kube/src/providers";

/// Crates that simulate, measure or only show: their clouds are examples.
const EXAMPLES: [&str; 4] =
    ["crates/kube-sandbox/", "crates/slipway-sim/", "crates/slipway-sandbox/", "crates/slipway/"];

/// Files that may name clouds, and why.
const ALLOWED: [(&str, &str); 2] = [
    ("crates/slipway-provisioner/src/graphql/clouds.rs", "a schema is a list of types, so each cloud has its own"),
    ("crates/slipway-provisioner/src/settings.rs", "the switch for the oldest clients' block is named after it"),
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let folder = format!("{PROVIDERS}/");
    let is_cloud = |name: &&str| !name.contains('/') && *name != "tests";
    let clouds: Vec<&str> = (tree.below(&folder))
        .filter_map(|file| file.path.strip_prefix(&folder)?.strip_suffix(".rs"))
        .filter(is_cloud)
        .collect();
    let tests = test_modules(tree);
    let mut problems = Vec::new();
    for file in tree.below("crates/").filter(|file| file.is_rust() && file.path.contains("/src/")) {
        let is_exempt = file.path.starts_with(PROVIDERS)
            || EXAMPLES.iter().any(|folder| file.path.starts_with(folder))
            || ALLOWED.iter().any(|(path, _)| file.path == *path)
            || tests
                .iter()
                .any(|module| file.path == format!("{module}.rs") || file.path.starts_with(&format!("{module}/")));
        if is_exempt {
            continue;
        }
        let comments = Layers::of(&file.text).comments;
        let mut comments = comments.lines();
        for (line, text) in file.lines() {
            if text.trim() == "#[cfg(test)]" {
                break;
            }
            // Names and contents of strings, but not what is said about them.
            let said = comments.next().unwrap_or_default();
            if let Some(cloud) = clouds.iter().find(|cloud| count(text, cloud) > count(said, cloud)) {
                let wrong = format!("{cloud} is named outside of its file");
                let remedy = format!("ask `Cloud` for what differs, and say it in {folder}{cloud}.rs");
                problems.push(Problem::new(&file.path, line, wrong, remedy));
            }
        }
    }
    problems
}

/// The paths of modules that are compiled for tests only, without `.rs`.
fn test_modules(tree: &Tree) -> BTreeSet<String> {
    let mut modules = BTreeSet::new();
    for file in tree.files.iter().filter(|file| file.is_rust()) {
        let folder = file.path.trim_end_matches(".rs").trim_end_matches("/lib").trim_end_matches("/main");
        let lines: Vec<&str> = file.text.lines().collect();
        for pair in lines.windows(2).filter(|pair| pair[0].trim() == "#[cfg(test)]") {
            let name = pair[1].trim().strip_suffix(';').and_then(|line| line.rsplit_once("mod "));
            modules.extend(name.map(|(_, name)| format!("{folder}/{name}")));
        }
    }
    modules
}

/// How often a line has the name as a word of an identifier. Long names also count inside of one:
/// nobody writes them by chance.
fn count(line: &str, name: &str) -> usize {
    let identifiers = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    identifiers
        .filter(|identifier| {
            let whole = identifier.replace('_', "").to_lowercase();
            words(identifier).any(|word| word == name) || (name.len() > 4 && whole.contains(name))
        })
        .count()
}

/// The words of an identifier, in lower case: `AWSZone` has two.
fn words(identifier: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let letters: Vec<char> = identifier.chars().collect();
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| letters[at]);
        let follows_small = before.is_some_and(char::is_lowercase);
        let begins_word = before.is_some() && letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        if *letter == '_' || (letter.is_uppercase() && (follows_small || begins_word)) {
            words.push(String::new());
        }
        words.last_mut().expect("one at least").extend(letter.to_lowercase().filter(|c| *c != '_'));
    }
    words.into_iter()
}

#[cfg(test)]
mod tests {
    use super::{super::said_about, *};

    const CLOUDS: [(&str, &str); 2] =
        [("crates/slipway-kube/src/providers/gcp.rs", ""), ("crates/slipway-kube/src/providers/openstack.rs", "")];

    fn said(path: &str, text: &str) -> usize {
        let [gcp, openstack] = CLOUDS;
        said_about(check, &[gcp, openstack, (path, text)]).len()
    }

    #[test]
    fn a_cloud_is_named_in_its_file_only() {
        let path = "crates/slipway-manager/src/render.rs";
        for text in [
            "if provider == ProviderType::Gcp {",
            "\"gcp\" => 1,",
            "let GCPZone = 1;",
            "openStackConfig",
            "open_stack_config",
        ] {
            assert_eq!(said(path, text), 1, "{text}");
            assert_eq!(said("crates/slipway-kube/src/providers/gcp.rs", text), 0);
            assert_eq!(said("crates/slipway-sim/src/garden.rs", text), 0);
            assert_eq!(said("crates/slipway-manager/tests/suite/main.rs", text), 0);
        }
        for text in ["// as on gcp", "/// openstack has none", "let xgcpx = 1;", "#[cfg(test)]\nmod tests { Gcp }"] {
            assert_eq!(said(path, text), 0, "{text}");
        }
    }

    #[test]
    fn modules_of_tests_may_name_clouds() {
        let [gcp, openstack] = CLOUDS;
        let files = [
            gcp,
            openstack,
            ("crates/slipway-manager/src/render.rs", "#[cfg(test)]\npub(crate) mod trial;\n"),
            ("crates/slipway-manager/src/render/trial.rs", "Gcp"),
            ("crates/slipway-manager/src/render/trial/more.rs", "Gcp"),
            ("crates/slipway-manager/src/render/other.rs", "Gcp"),
        ];
        let said = said_about(check, &files);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("crates/slipway-manager/src/render/other.rs:1: gcp is named"), "{said:?}");
    }
}
