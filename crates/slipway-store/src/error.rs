//! Errors of the databases, sorted once, where they arrive: temporary, contradiction, unreadable;
//! and the sentences for a store that cannot be opened.

use slipway_model::ports::StoreError;
use sqlx::postgres::PgDatabaseError;

/// Why a store cannot be opened. Each sentence says what to do; none shows a password.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address makes no sense.
    #[error("the database address must look like postgres://user:password@host:5432/name: {0}")]
    BadUrl(String),
    /// Nobody answers.
    #[error("the database at {place} cannot be reached ({problem}); check the address and that the server runs")]
    Unreachable {
        /// Host, port and name, or the path.
        place: String,
        /// What the attempt met.
        problem: String,
    },
    /// The server knows the user or password otherwise.
    #[error("the database at {place} refuses user {user:?}; check the user and the password in its address")]
    Denied {
        /// Host, port and name.
        place: String,
        /// Who was refused.
        user: String,
    },
    /// The server has no such database.
    #[error("there is no such database at {0}; create it or correct the name in its address")]
    NoDatabase(String),
    /// The key of this id is another one than the data was encrypted with.
    #[error(
        "encryption key {0:?} is not the one this database was encrypted with; give the right key under this id, or \
         a new key under a new id"
    )]
    WrongKey(String),
    /// Rows are encrypted with a key that was not given.
    #[error("the database holds secrets encrypted with key {0:?}, which was not given; add that key to the keyring")]
    UnknownKey(String),
    /// A newer program has been here.
    #[error(
        "the database schema is version {found} but this program knows only up to {known}; start the newer program or \
         restore a backup"
    )]
    NewerSchema {
        /// What the database has.
        found: i64,
        /// What this program has.
        known: i64,
    },
    /// The folder of an SQLite file cannot be used.
    #[error("the database file {path} cannot be opened or written ({problem}); check the folder and its permissions")]
    NotWritable {
        /// The file.
        path: String,
        /// What the attempt met.
        problem: String,
    },
    /// Others can read an SQLite file.
    #[error("the database file {0} can be read by others; take that right away with: chmod 600 {0}")]
    TooOpen(String),
    /// No room.
    #[error("the disk of the database at {0} is full; make room and start again")]
    DiskFull(String),
    /// The file is something else.
    #[error("the file {0} is not a database of this program or is damaged; restore a backup or choose another file")]
    NotADatabase(String),
    /// Anything else.
    #[error("the database at {place} cannot be prepared: {problem}")]
    Other {
        /// Where.
        place: String,
        /// What the database said.
        problem: String,
    },
}

impl OpenError {
    pub(crate) fn postgres(fault: Fault, place: &str, user: &str) -> Self {
        let place = place.to_owned();
        let error = match fault {
            Fault::Sql(error) => error,
            other => return Self::Other { place, problem: StoreError::from(other).to_string() },
        };
        match (postgres_code(&error).as_deref(), &error) {
            (Some("28P01" | "28000"), _) => Self::Denied { place, user: user.to_owned() },
            (Some("3D000"), _) => Self::NoDatabase(place),
            (Some("53100"), _) => Self::DiskFull(place),
            (Some(_), sqlx::Error::Database(db)) => Self::Other { place, problem: db.message().to_owned() },
            (_, error) => Self::Unreachable { place, problem: sentence(error) },
        }
    }

    pub(crate) fn sqlite(fault: Fault, path: &str) -> Self {
        let path = path.to_owned();
        let error = match fault {
            Fault::Sql(error) => error,
            other => return Self::Other { place: path, problem: StoreError::from(other).to_string() },
        };
        match sqlite_code(&error) {
            Some(13) => Self::DiskFull(path),
            Some(11 | 26) => Self::NotADatabase(path),
            Some(8 | 10 | 14) | None => Self::NotWritable { path, problem: sentence(&error) },
            Some(_) => Self::Other { place: path, problem: sentence(&error) },
        }
    }
}

/// What can go wrong inside a call, before it is decided whether to try again.
#[derive(Debug)]
pub(crate) enum Fault {
    Sql(sqlx::Error),
    Store(StoreError),
    /// Somebody was faster; the same call, made anew, will see it.
    Race,
    TooSlow,
}

pub(crate) type Tried<T> = Result<T, Fault>;

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Fault {
    /// A deadlock (40P01), a serialization failure (40001), or a unique index (23505) that caught
    /// what a look before could not see. Nothing was written, and the next try sees more.
    pub(crate) fn is_race(&self) -> bool {
        match self {
            Self::Sql(error) => matches!(postgres_code(error).as_deref(), Some("40001" | "40P01" | "23505")),
            Self::Race => true,
            Self::Store(_) | Self::TooSlow => false,
        }
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Sql(error) => store_error(&error),
            Fault::Store(error) => error,
            Fault::Race => Self::Unavailable("others kept changing the same rows".to_owned()),
            Fault::TooSlow => Self::Unavailable("it did not answer in time".to_owned()),
        }
    }
}

/// The class of an error, decided here and nowhere else. Only what the caller got wrong is refused
/// and only what is damaged is unreadable; all else may be repaired by somebody, so it is temporary.
pub(crate) fn store_error(error: &sqlx::Error) -> StoreError {
    use sqlx::Error::{
        ColumnDecode, ColumnIndexOutOfBounds, ColumnNotFound, Decode, Encode, RowNotFound, TypeNotFound,
    };
    if let Some(code) = postgres_code(error) {
        return match (&code[..2], code.as_str()) {
            ("22" | "23", _) => StoreError::Refused(sentence(error)),
            (_, "XX001" | "XX002") => StoreError::Unreadable(sentence(error)),
            _ => StoreError::Unavailable(sentence(error)),
        };
    }
    if let Some(code) = sqlite_code(error) {
        return match code {
            18..=20 => StoreError::Refused(sentence(error)),
            11 | 26 => StoreError::Unreadable(sentence(error)),
            _ => StoreError::Unavailable(sentence(error)),
        };
    }
    match error {
        ColumnDecode { .. }
        | Decode(_)
        | ColumnNotFound(_)
        | ColumnIndexOutOfBounds { .. }
        | RowNotFound
        | TypeNotFound { .. } => StoreError::Unreadable(sentence(error)),
        Encode(_) => StoreError::Refused(sentence(error)),
        _ => StoreError::Unavailable(sentence(error)),
    }
}

fn sentence(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::PoolTimedOut => "no connection became free in time".to_owned(),
        sqlx::Error::PoolClosed => "the store is closed".to_owned(),
        sqlx::Error::Database(db) if sqlite_code(error) == Some(13) => format!("the disk is full ({})", db.message()),
        sqlx::Error::Database(db) if postgres_code(error).as_deref() == Some("53100") => {
            format!("the disk is full ({})", db.message())
        }
        sqlx::Error::Database(db) => db.message().to_owned(),
        sqlx::Error::Io(io) => io.to_string(),
        other => other.to_string(),
    }
}

fn postgres_code(error: &sqlx::Error) -> Option<String> {
    let code = error.as_database_error()?.try_downcast_ref::<PgDatabaseError>()?.code();
    (code.len() == 5 && code.is_ascii()).then(|| code.to_owned())
}

/// The primary result code; the extended one carries more in its upper bits.
fn sqlite_code(error: &sqlx::Error) -> Option<i32> {
    let db = error.as_database_error()?;
    db.try_downcast_ref::<sqlx::sqlite::SqliteError>()?;
    db.code()?.parse::<i32>().ok().map(|code| code & 0xff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlx::{Connection, Executor, SqliteConnection};

    #[tokio::test]
    async fn a_full_disk_is_temporary_and_a_broken_rule_is_not() {
        let mut conn = SqliteConnection::connect("sqlite::memory:").await.expect("opens");
        conn.execute("PRAGMA max_page_count = 5; CREATE TABLE t (x UNIQUE)").await.expect("fits");
        let full = conn.execute("INSERT INTO t VALUES (zeroblob(100000))").await.expect_err("does not fit");
        let error = store_error(&full);
        assert!(error.is_temporary() && error.to_string().contains("the disk is full"), "{error}");
        let opening = OpenError::sqlite(full.into(), "s.db").to_string();
        assert_eq!(opening, "the disk of the database at s.db is full; make room and start again");
        conn.execute("INSERT INTO t VALUES (1)").await.expect("fits");
        let twice = conn.execute("INSERT INTO t VALUES (1)").await.expect_err("not unique");
        assert!(matches!(store_error(&twice), StoreError::Refused(_)));
    }

    #[test]
    fn a_lost_connection_is_temporary() {
        let cut = sqlx::Error::Io(std::io::ErrorKind::ConnectionReset.into());
        for error in [cut, sqlx::Error::PoolTimedOut, sqlx::Error::PoolClosed, sqlx::Error::WorkerCrashed] {
            assert!(store_error(&error).is_temporary(), "{error}");
        }
        assert!(!Fault::TooSlow.is_race() && StoreError::from(Fault::TooSlow).is_temporary());
        assert!(matches!(store_error(&sqlx::Error::RowNotFound), StoreError::Unreadable(_)));
    }
}
