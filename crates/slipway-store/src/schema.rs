//! The migrations, and which of them a database still needs.
//!
//! They are part of the program and run when a store is opened, in one transaction under a lock,
//! because several replicas start at once. A database that a newer program has changed is not
//! touched: this one would not know what it breaks.

use crate::error::OpenError;

/// One change of the schema.
pub(crate) struct Migration {
    pub(crate) version: i64,
    pub(crate) name: &'static str,
    pub(crate) sql: &'static str,
}

/// Declares the lists of both databases: their files have the same names.
macro_rules! migrations {
    ($($version:literal $name:literal,)+) => {
        pub(crate) const POSTGRES: &[Migration] = &[$(Migration {
            version: $version,
            name: $name,
            sql: include_str!(concat!("../migrations/postgres/", $name, ".sql")),
        },)+];
        pub(crate) const SQLITE: &[Migration] = &[$(Migration {
            version: $version,
            name: $name,
            sql: include_str!(concat!("../migrations/sqlite/", $name, ".sql")),
        },)+];
    };
}

migrations! {
    1 "0001_ground",
    2 "0002_operations_of_an_instance_by_state",
    3 "0003_runtimes",
    4 "0004_what_replicas_know",
}

/// The table of what has been done, the same in both databases.
pub(crate) const CREATE_TABLE: &str = "CREATE TABLE schema_migrations (\
    version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)";

/// What is missing in a database of version `found`; zero is an empty one.
pub(crate) fn missing(list: &'static [Migration], found: i64) -> Result<&'static [Migration], OpenError> {
    let known = list.last().map_or(0, |newest| newest.version);
    if found > known {
        return Err(OpenError::NewerSchema { found, known });
    }
    let next = list.iter().position(|migration| migration.version > found).unwrap_or(list.len());
    Ok(&list[next..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_are_numbered_in_order() {
        for (at, migration) in POSTGRES.iter().enumerate() {
            assert_eq!(migration.version, i64::try_from(at + 1).expect("few"));
            assert!(migration.name.starts_with(&format!("{:04}_", migration.version)));
        }
    }

    #[test]
    fn a_newer_schema_is_refused_with_what_to_do() {
        let error = missing(POSTGRES, 7).err().expect("newer").to_string();
        let known = POSTGRES.len();
        assert_eq!(
            error,
            format!(
                "the database schema is version 7 but this program knows only up to {known}; start the newer program \
                 or restore a backup"
            )
        );
        assert_eq!(missing(POSTGRES, 0).expect("empty").len(), POSTGRES.len());
    }
}
