//! A PostgreSQL server of our own for the time of one process.
//!
//! `SLIPWAY_PG_URL` names a server to use instead; its user must be allowed to create databases.
//! Otherwise a cluster is made from Debian's packages in a temporary folder, on a spare port of the
//! loopback interface, with `fsync` on.
//!
//! A shell stands between us and the server. It reads from a pipe that only we hold: however we
//! end, even by `kill -9`, the pipe closes, and the shell stops the server and removes the folder.
//! (The kernel's parent-death signal will not do: it follows the *thread* that started the child,
//! and test threads come and go.)

use std::{
    io::{BufRead, BufReader, Read},
    net::TcpListener,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

/// Makes the cluster, starts the server, says so, and waits for the pipe to close. `$run` drops
/// root, which the server refuses. Standard output goes to the log from the server's start on, or
/// it would hold whatever pipe the test's output goes into.
const SUPERVISOR: &str = r#"
trap '' INT TERM HUP
bin=$1 dir=$2 port=$3 run=$4
mkdir -p "$dir/socket" && : >"$dir/log" && if [ -n "$run" ]; then chown -R postgres "$dir"; fi || exit 1
fail() { echo "failed"; tail -n 20 "$dir/log"; rm -rf "$dir"; exit 1; }
cd "$dir" || exit 1
$run "$bin/initdb" -D "$dir/data" -U slipway --auth=trust --no-locale -E UTF8 >>"$dir/log" 2>&1 || fail
{
  echo 'host all locked 127.0.0.1/32 scram-sha-256'
  echo 'host all all 127.0.0.1/32 trust'
  echo 'local all all trust'
} >"$dir/data/pg_hba.conf"
$run "$bin/postgres" -D "$dir/data" -p "$port" -k "$dir/socket" -c listen_addresses=127.0.0.1 \
  -c max_connections=300 -c shared_buffers=128MB -c max_wal_size=2GB >>"$dir/log" 2>&1 </dev/null &
pid=$!
tries=0
until "$bin/pg_isready" -q -h 127.0.0.1 -p "$port"; do
  kill -0 "$pid" 2>/dev/null || fail
  tries=$((tries + 1)); [ "$tries" -lt 300 ] || { kill -QUIT "$pid"; fail; }
  sleep 0.1
done
echo ready
exec >>"$dir/log" 2>&1
read -r _ || :
# At once, without writing back what is thrown away.
kill -QUIT "$pid"
wait "$pid"
rm -rf "$dir"
"#;

/// A running server. Dropping it, or the end of this process, stops it.
pub struct Postgres {
    /// `postgres://user@host:port`, without a database.
    base: String,
    databases: AtomicU64,
    /// Present when the server is ours: closing the pipe stops it.
    ours: Option<(Child, ChildStdin)>,
}

impl Postgres {
    /// The server of this process, started at the first call.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        SHARED.get_or_init(|| Self::start().unwrap_or_else(|problem| panic!("{problem}")))
    }

    /// A server of its own, or the one of `SLIPWAY_PG_URL`; or a sentence why there is none.
    pub fn start() -> Result<Self, String> {
        if let Ok(url) = std::env::var("SLIPWAY_PG_URL") {
            let scheme = url.find("://").ok_or("SLIPWAY_PG_URL must look like postgres://user@host:5432")? + 3;
            let end = url[scheme..].find(['/', '?']).map_or(url.len(), |at| scheme + at);
            return Ok(Self { base: url[..end].to_owned(), databases: AtomicU64::new(0), ours: None });
        }
        let bin = server_programs()?;
        let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).map_err(text)?.port();
        let folder = std::env::temp_dir().join(format!("slipway-postgres-{}-{port}", std::process::id()));
        let drop_root = if is_root() { "setpriv --reuid=postgres --regid=postgres --init-groups" } else { "" };
        let mut shell = Command::new("sh")
            .args(["-c", SUPERVISOR, "supervisor"])
            .args([&bin, &folder])
            .args([port.to_string().as_str(), drop_root])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // A group of its own: an interrupt at the terminal must not keep it from tidying up.
            .process_group(0)
            .spawn()
            .map_err(|error| format!("no shell for the PostgreSQL server: {error}"))?;
        let (Some(stdin), Some(stdout)) = (shell.stdin.take(), shell.stdout.take()) else {
            return Err("the shell for the PostgreSQL server has no pipes".to_owned());
        };
        let mut output = BufReader::new(stdout);
        let mut first = String::new();
        output.read_line(&mut first).map_err(text)?;
        if first.trim() != "ready" {
            output.read_to_string(&mut first).map_err(text)?;
            return Err(format!("the PostgreSQL server for tests does not start: {first}"));
        }
        let base = format!("postgres://slipway@127.0.0.1:{port}");
        Ok(Self { base, databases: AtomicU64::new(0), ours: Some((shell, stdin)) })
    }

    /// `postgres://user@host:port`, without a database.
    pub fn base_url(&self) -> &str {
        &self.base
    }

    /// A new empty database, and its address.
    pub async fn fresh_database(&self) -> Result<String, sqlx::Error> {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("slipway_{}_{number}", std::process::id());
        self.run("postgres", &format!("CREATE DATABASE {name}")).await?;
        Ok(format!("{}/{name}", self.base))
    }

    /// Runs statements on a database, as a test's own hand in it.
    pub async fn run(&self, database: &str, sql: &str) -> Result<(), sqlx::Error> {
        let mut conn = PgConnection::connect(&format!("{}/{database}", self.base)).await?;
        conn.execute(AssertSqlSafe(sql)).await?;
        conn.close().await
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some((mut shell, stdin)) = self.ours.take() {
            drop(stdin);
            // It stops the server and ends; if it does not, there is nobody left to tell.
            shell.wait().ok();
        }
    }
}

fn text(error: std::io::Error) -> String {
    error.to_string()
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

/// The folder of the newest installed server. Debian's packages are installed when we may.
fn server_programs() -> Result<PathBuf, String> {
    if let Some(found) = installed() {
        return Ok(found);
    }
    if is_root() {
        let install = "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y postgresql";
        Command::new("sh").args(["-c", install]).stdout(Stdio::null()).stderr(Stdio::null()).status().map_err(text)?;
    }
    installed().ok_or_else(|| {
        "there is no PostgreSQL server under /usr/lib/postgresql; install the package `postgresql`, or name a server \
         in SLIPWAY_PG_URL"
            .to_owned()
    })
}

fn installed() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut bins: Vec<PathBuf> = versions.flatten().map(|version| version.path().join("bin")).collect();
    bins.retain(|bin: &PathBuf| ["initdb", "postgres", "pg_isready"].iter().all(|name| Path::exists(&bin.join(name))));
    bins.sort_by_key(|bin| bin.parent().and_then(Path::file_name).and_then(|name| name.to_str()?.parse::<u32>().ok()));
    bins.pop()
}
