//! What the tests need beside the compiler, and how it is installed where it is missing.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// One tool.
struct Tool {
    name: &'static str,
    needed_for: &'static str,
    is_there: fn() -> bool,
    from: Source,
}

/// Where a tool comes from.
#[derive(Clone, Copy)]
enum Source {
    /// A package of Debian and its relatives.
    Debian(&'static str),
    /// A component of the Rust toolchain.
    Rustup(&'static str),
}

static TOOLS: &[Tool] = &[
    Tool {
        name: "rustfmt",
        needed_for: "the format",
        is_there: || answers("cargo", "fmt"),
        from: Source::Rustup("rustfmt"),
    },
    Tool {
        name: "clippy",
        needed_for: "the lints",
        is_there: || answers("cargo", "clippy"),
        from: Source::Rustup("clippy"),
    },
    Tool { name: "cc", needed_for: "building SQLite", is_there: || on_path("cc"), from: Source::Debian("gcc") },
    Tool {
        name: "initdb",
        needed_for: "the tests on PostgreSQL, which start servers of their own",
        is_there: || on_path("initdb") || debian_initdb(Path::new("/usr/lib/postgresql")).is_some(),
        from: Source::Debian("postgresql"),
    },
];

/// Installs what is missing; says what to do where it cannot.
pub(super) fn ensure() -> Result<(), String> {
    let mut problems = Vec::new();
    for tool in TOOLS.iter().filter(|tool| !(tool.is_there)()) {
        println!("{} is missing; it is needed for {}", tool.name, tool.needed_for);
        if let Err(problem) = install(tool.from) {
            problems.push(problem);
        } else if !(tool.is_there)() {
            problems.push(format!("{} is still missing after its installation", tool.name));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

fn install(from: Source) -> Result<(), String> {
    match from {
        Source::Rustup(component) => run("rustup", &["component", "add", component]),
        Source::Debian(package) => install_debian(package),
    }
}

/// Installs a package of Debian, or says who could.
pub(crate) fn install_debian(package: &str) -> Result<(), String> {
    if !on_path("apt-get") {
        return Err(format!("there is no apt-get here: install what Debian calls `{package}` and put it on the PATH"));
    }
    if !is_root() {
        return Err(format!("only root can install it: run `sudo apt-get install {package}`"));
    }
    // A stale list names packages that the mirror no longer has.
    run("apt-get", &["update", "-qq"])?;
    run("apt-get", &["install", "-y", "-qq", "--no-install-recommends", package])
}

fn run(program: &str, args: &[&str]) -> Result<(), String> {
    println!("$ {program} {}", args.join(" "));
    let status =
        Command::new(program).args(args).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null()).status();
    super::verdict(&format!("{program} {}", args.join(" ")), status)
}

/// Whether `program command --version` works; a rustup proxy exists even where its component does not.
fn answers(program: &str, command: &str) -> bool {
    let output = Command::new(program).args([command, "--version"]).output();
    output.is_ok_and(|output| output.status.success())
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Debian keeps the server's programs off the PATH, one folder per version.
fn debian_initdb(versions: &Path) -> Option<PathBuf> {
    let versions = fs::read_dir(versions).ok()?;
    versions.flatten().map(|version| version.path().join("bin/initdb")).find(|initdb| initdb.is_file())
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_off_the_path_is_found_where_debian_keeps_it() {
        let versions = std::env::temp_dir().join(format!("xtask-postgresql-{}", std::process::id()));
        assert_eq!(debian_initdb(&versions), None);
        let bin = versions.join("15/bin");
        fs::create_dir_all(&bin).expect("folder");
        fs::write(bin.join("initdb"), "").expect("file");
        let found = debian_initdb(&versions);
        fs::remove_dir_all(&versions).expect("cleaned up");
        assert_eq!(found, Some(bin.join("initdb")));
    }

    #[test]
    fn a_program_is_found_on_the_path_or_not_at_all() {
        assert!(on_path("cargo"));
        assert!(!on_path("no-such-program"));
        assert!(!answers("cargo", "no-such-command"));
    }
}
