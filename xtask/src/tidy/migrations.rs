//! PostgreSQL and SQLite get the same migrations under the same names, numbered without a gap, so
//! that "at migration 7" means one thing.

use super::Problem;
use crate::tree::Tree;

const FOLDER: &str = "crates/slipway-store/migrations/";
const DATABASES: [&str; 2] = ["postgres", "sqlite"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let names = |database: &str| -> Vec<String> {
        let folder = format!("{FOLDER}{database}/");
        tree.below(&folder).map(|file| file.path[folder.len()..].to_owned()).collect()
    };
    let mut problems = Vec::new();
    for (here, there) in [(0, 1), (1, 0)].map(|(a, b)| (DATABASES[a], DATABASES[b])) {
        let others = names(there);
        for (index, name) in names(here).iter().enumerate() {
            let path = format!("{FOLDER}{here}/{name}");
            if !others.contains(name) {
                let remedy = format!("write {FOLDER}{there}/{name}");
                problems.push(Problem::new(&path, 1, format!("{there} does not have this migration"), remedy));
            }
            let number = format!("{:04}_", index + 1);
            if !name.starts_with(&number) || !name.ends_with(".sql") {
                let remedy = format!("name it {number}<what>.sql");
                problems.push(Problem::new(&path, 1, "its number does not follow the one before", remedy));
            }
        }
    }
    for file in tree.below(FOLDER) {
        let database = file.path[FOLDER.len()..].split('/').next().unwrap_or_default();
        if !DATABASES.contains(&database) {
            let remedy = format!("move it to one of: {}", DATABASES.join(", "));
            problems.push(Problem::new(&file.path, 1, "no database reads this", remedy));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::{super::said_about, *};

    fn said(names: &[&str]) -> Vec<String> {
        let files: Vec<(String, &str)> = names.iter().map(|name| (format!("{FOLDER}{name}"), "")).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        said_about(check, &files)
    }

    #[test]
    fn a_migration_of_one_database_only_is_refused() {
        assert_eq!(
            said(&["postgres/0001_a.sql", "postgres/0002_b.sql", "sqlite/0001_a.sql"]),
            ["crates/slipway-store/migrations/postgres/0002_b.sql:1: sqlite does not have this migration; \
              write crates/slipway-store/migrations/sqlite/0002_b.sql"]
        );
    }

    #[test]
    fn a_gap_and_a_stray_file_are_refused() {
        assert_eq!(said(&["postgres/0002_a.sql", "sqlite/0002_a.sql"]).len(), 2);
        assert_eq!(said(&["0001_a.sql"]).len(), 1);
        assert_eq!(said(&["postgres/0001_a.sql", "sqlite/0001_a.sql"]), [""; 0]);
    }
}
