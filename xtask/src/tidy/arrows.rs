//! Which crate may know which. The arrows keep the domain free of I/O, the engine free of SQL and
//! the simulators independent of what they judge; `ARCHITECTURE.md` gives the reasons.

use super::Problem;
use crate::{
    manifest::{Use, dependencies},
    tree::Tree,
};

/// A crate and those of our crates that it may use.
struct Arrow {
    from: &'static str,
    product: &'static [&'static str],
    /// In tests also these.
    tests: &'static [&'static str],
}

/// Stands for all our crates but the ones named [`ENDS`].
const ANY: &str = "*";

/// Nothing builds on these: the programs.
const ENDS: [&str; 2] = ["slipway", "xtask"];

static ARROWS: &[Arrow] = &[
    arrow("slipway-model", &[], &[]),
    arrow("slipway-engine", &["slipway-model"], &["slipway-store"]),
    arrow("slipway-store", &["slipway-model"], &[]),
    arrow("slipway-clients", &["slipway-model"], &["slipway-sim", "slipway-store"]),
    arrow("slipway-kube", &["slipway-model"], &[]),
    arrow("slipway-broker", SERVICE, &["slipway-sim", "slipway-store"]),
    arrow("slipway-provisioner", SERVICE, LANDSCAPE),
    arrow("slipway-manager", &["slipway-model", "slipway-kube"], LANDSCAPE),
    arrow("slipway-dashboard", &["slipway-model", "slipway-clients"], &[]),
    arrow("slipway-server", SERVER, &["slipway-sim"]),
    arrow("kube-sandbox", &[], &[]),
    arrow("slipway-sim", &["kube-sandbox"], &[]),
    // Beside the product as a whole, asked as its users ask, the sandbox judges and measures the engine and the stores alone.
    arrow(
        "slipway-sandbox",
        &[
            "slipway-server",
            "slipway-sim",
            "kube-sandbox",
            "slipway-engine",
            "slipway-store",
            "slipway-model",
            "slipway-clients",
        ],
        &[ANY],
    ),
    arrow("slipway", &["slipway-server", "slipway-sandbox", "slipway-clients"], &["slipway-sim"]),
    arrow("xtask", &[], &[]),
];

const SERVICE: &[&str] = &["slipway-model", "slipway-engine", "slipway-clients", "slipway-kube"];

/// What services that live between clusters are tested in.
const LANDSCAPE: &[&str] = &["slipway-sim", "kube-sandbox", "slipway-store"];

const SERVER: &[&str] = &[
    "slipway-model",
    "slipway-engine",
    "slipway-store",
    "slipway-clients",
    "slipway-kube",
    "slipway-broker",
    "slipway-provisioner",
    "slipway-manager",
    "slipway-dashboard",
];

const fn arrow(from: &'static str, product: &'static [&'static str], tests: &'static [&'static str]) -> Arrow {
    Arrow { from, product, tests }
}

impl Arrow {
    fn allows(&self, to: &str, used_in: Use) -> bool {
        let in_tests = || self.tests.contains(&to) || (self.tests.contains(&ANY) && !ENDS.contains(&to));
        self.product.contains(&to) || (used_in == Use::Tests && in_tests())
    }

    /// What it may use, for the message.
    fn spelled(&self, used_in: Use) -> String {
        let mut names = self.product.to_vec();
        if used_in == Use::Tests {
            names.extend(self.tests);
        }
        if names.is_empty() { "none of our crates".to_owned() } else { format!("only {}", names.join(", ")) }
    }
}

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for folder in tree.crates() {
        let Some(manifest) = tree.file(&format!("{folder}Cargo.toml")) else { continue };
        let name = folder.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let Some(arrow) = ARROWS.iter().find(|arrow| arrow.from == name) else {
            let remedy = "give it a row in xtask/src/tidy/arrows.rs and a decision in docs/adr/";
            problems.push(Problem::new(&manifest.path, 1, format!("the map does not know the crate {name}"), remedy));
            continue;
        };
        for dependency in dependencies(manifest) {
            let to = dependency.name.as_str();
            let is_ours = to.starts_with("slipway") || ARROWS.iter().any(|arrow| arrow.from == to);
            if is_ours && to != name && !arrow.allows(to, dependency.used_in) {
                let wrong = match dependency.used_in {
                    Use::Product => format!("{name} must not depend on {to}"),
                    Use::Tests => format!("tests of {name} must not use {to}"),
                };
                let remedy = format!("{name} may use {}", arrow.spelled(dependency.used_in));
                problems.push(Problem::new(&manifest.path, dependency.line, wrong, remedy));
            }
        }
        if name == "xtask" {
            for dependency in dependencies(manifest) {
                let wrong = format!("xtask must not depend on {}", dependency.name);
                problems.push(Problem::new(&manifest.path, dependency.line, wrong, "use the standard library"));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::{super::said_about, *};

    #[test]
    fn an_engine_that_names_a_database_is_refused() {
        let said = said_about(
            check,
            &[(
                "crates/slipway-engine/Cargo.toml",
                "[dependencies]\nslipway-model.workspace = true\nslipway-store.workspace = true\n",
            )],
        );
        assert_eq!(
            said,
            [
                "crates/slipway-engine/Cargo.toml:3: slipway-engine must not depend on slipway-store; slipway-engine may use only slipway-model"
            ]
        );
    }

    #[test]
    fn tests_may_use_what_the_map_adds_for_them_and_no_more() {
        let dev = |krate: &str, to: &str| {
            said_about(
                check,
                &[(&format!("crates/{krate}/Cargo.toml"), &format!("[dev-dependencies]\n{to}.workspace = true\n"))],
            )
        };
        assert!(dev("slipway-engine", "slipway-store").is_empty());
        assert!(dev("slipway-broker", "slipway-sim").is_empty());
        assert!(dev("slipway-sandbox", "slipway-broker").is_empty());
        assert_eq!(dev("slipway-engine", "slipway-broker").len(), 1);
        assert_eq!(dev("slipway-sim", "slipway-model").len(), 1);
        assert_eq!(dev("kube-sandbox", "slipway-sim").len(), 1);
        assert_eq!(dev("slipway-engine", "kube-sandbox").len(), 1);
        assert_eq!(dev("slipway-sandbox", "slipway").len(), 1);
    }

    #[test]
    fn a_crate_without_a_row_is_refused() {
        let said = said_about(check, &[("crates/slipway-utils/Cargo.toml", "[package]\n")]);
        assert!(said[0].contains("does not know the crate slipway-utils"), "{said:?}");
    }

    #[test]
    fn the_workshop_uses_the_standard_library_only() {
        assert_eq!(said_about(check, &[("xtask/Cargo.toml", "[dependencies]\nanyhow.workspace = true\n")]).len(), 1);
    }

    #[test]
    fn the_map_has_no_circle() {
        fn depth(name: &str, left: usize) -> usize {
            let left = left.checked_sub(1).expect("the map has a circle");
            let arrow = ARROWS.iter().find(|arrow| arrow.from == name).expect("every end of an arrow has a row");
            arrow.product.iter().map(|to| 1 + depth(to, left)).max().unwrap_or(0)
        }
        for arrow in ARROWS {
            depth(arrow.from, ARROWS.len());
        }
    }
}
