//! Builds the real servers that the contract suites judge by: etcd, kube-apiserver,
//! gardener-apiserver, and the `kubectl` that talks to them.
//!
//! They are `tool` lines of one Go module, `testbins/go.mod`, so they are built as any Go project
//! builds its tools: by name, from the module registry, checked against `go.sum`. One module and not
//! one per server, because both API servers stand on the same Kubernetes libraries, and in one module
//! those are of one version and compiled once.
//!
//! Binaries live outside the tree, in `${SLIPWAY_TESTBINS:-$HOME/.cache/slipway-testbins}/<key>/`,
//! and are shared by all checkouts. A folder is filled under another name and renamed, so one that
//! exists is whole. The test harness knows nothing of keys: `target/testbins` is a link to the folder that
//! belongs to these sources, and `.cargo/config.toml` names it to whatever cargo runs.

mod go;
mod key;

use std::{
    env,
    fs::{self, File},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use self::{go::Go, key::Key};

/// One program.
struct Binary {
    name: &'static str,
    package: &'static str,
    /// The module whose version it reports; clients parse `/version` and complain without it.
    stamped: Option<&'static str>,
}

static BINARIES: &[Binary] = &[
    Binary { name: "etcd", package: "go.etcd.io/etcd/server/v3", stamped: None },
    Binary {
        name: "kube-apiserver",
        package: "k8s.io/kubernetes/cmd/kube-apiserver",
        stamped: Some("k8s.io/kubernetes"),
    },
    // Not the machine's own: texts differ between versions, and the suites compare them.
    Binary { name: "kubectl", package: "k8s.io/kubernetes/cmd/kubectl", stamped: Some("k8s.io/kubernetes") },
    Binary {
        name: "gardener-apiserver",
        package: "github.com/gardener/gardener/cmd/gardener-apiserver",
        stamped: Some("github.com/gardener/gardener"),
    },
];

/// Whether the real servers are wanted, as `SLIPWAY_REAL` says; the harness reads the same variable.
pub(crate) fn are_off() -> bool {
    env::var("SLIPWAY_REAL").is_ok_and(|value| value == "off")
}

/// Builds what is missing and prints the folder; the command `cargo xtask testbins`.
pub(crate) fn run(root: &Path) -> bool {
    match ensure(root) {
        Ok(folder) => {
            println!("{}", folder.display());
            true
        }
        Err(problem) => {
            eprintln!("the real servers could not be built: {problem}");
            false
        }
    }
}

/// Where the harness looks for the binaries, from the root.
pub(crate) const LINK: &str = "target/testbins";

/// The folder with all binaries, built if it is not there, and linked.
pub(crate) fn ensure(root: &Path) -> Result<PathBuf, String> {
    let folder = build(root)?;
    link(&folder, &root.join(LINK))?;
    Ok(folder)
}

/// Points the link to this folder, whatever it pointed to.
fn link(folder: &Path, link: &Path) -> Result<(), String> {
    if fs::read_link(link).is_ok_and(|now| now == folder) {
        return Ok(());
    }
    let _ = fs::remove_file(link);
    let made = fs::create_dir_all(link.parent().unwrap_or(link)).and_then(|()| symlink(folder, link));
    made.map_err(|error| format!("cannot link {}: {error}", link.display()))
}

fn build(root: &Path) -> Result<PathBuf, String> {
    let module = root.join("testbins");
    let go_mod = read(&module.join("go.mod"))?;
    let go_sum = read(&module.join("go.sum"))?;
    let go = Go::find_or_install()?;
    let builds: Vec<Build> = BINARIES.iter().map(|binary| Build::new(binary, &go_mod)).collect();

    let mut key = Key::default();
    for part in [go_mod.as_str(), &go_sum, &go.version(&module)?] {
        key.add(part);
    }
    builds.iter().flat_map(|build| &build.args).for_each(|arg| key.add(arg));

    let cache = cache()?;
    let folder = cache.join(key.to_string());
    // Held to the end: a second caller waits and then finds the folder.
    let lock = File::create(cache.join("lock")).map_err(|error| format!("cannot create the lock: {error}"))?;
    lock.lock().map_err(|error| format!("cannot lock {}: {error}", cache.display()))?;
    if folder.is_dir() {
        return Ok(folder);
    }

    let unfinished = cache.join("unfinished");
    // Of a run that was interrupted: nobody else is here, the lock is ours.
    let _ = fs::remove_dir_all(&unfinished);
    fs::create_dir_all(&unfinished).map_err(|error| format!("cannot create {}: {error}", unfinished.display()))?;
    for build in &builds {
        eprintln!("building {} (once; about ten minutes of CPU for all from an empty cache)", build.name);
        go.build(&module, &build.args, &unfinished.join(build.name))?;
    }
    // For whoever wonders what is in the folder.
    fs::write(unfinished.join("go.mod"), &go_mod).map_err(|error| format!("cannot write go.mod: {error}"))?;
    fs::rename(&unfinished, &folder).map_err(|error| format!("cannot name {}: {error}", folder.display()))?;
    Ok(folder)
}

/// How one binary is built.
struct Build {
    name: &'static str,
    args: Vec<String>,
}

impl Build {
    fn new(binary: &Binary, go_mod: &str) -> Self {
        let version = binary.stamped.and_then(|module| required(go_mod, module));
        let args = vec![
            "-trimpath".to_owned(), // the compiled packages then serve every checkout
            "-ldflags".to_owned(),
            format!("-s -w{}", version.map(stamps).unwrap_or_default()),
            binary.package.to_owned(),
        ];
        Self { name: binary.name, args }
    }
}

/// The version of a module in the `require` lines.
fn required<'a>(go_mod: &'a str, module: &str) -> Option<&'a str> {
    go_mod.lines().find_map(|line| {
        let mut words = line.trim().trim_start_matches("require ").split_whitespace();
        (words.next() == Some(module)).then(|| words.next()).flatten().filter(|version| version.starts_with('v'))
    })
}

/// Linker flags that write a version such as `v1.36.4` where all these servers read theirs.
fn stamps(version: &str) -> String {
    let mut numbers = version.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    [("gitVersion", version), ("gitMajor", major), ("gitMinor", minor)]
        .iter()
        .map(|(name, value)| format!(" -X k8s.io/component-base/version.{name}={value}"))
        .collect()
}

fn cache() -> Result<PathBuf, String> {
    let cache = match (env::var_os("SLIPWAY_TESTBINS"), env::var_os("HOME")) {
        (Some(cache), _) => PathBuf::from(cache),
        (None, Some(home)) => Path::new(&home).join(".cache/slipway-testbins"),
        (None, None) => return Err("neither SLIPWAY_TESTBINS nor HOME says where to keep them".to_owned()),
    };
    fs::create_dir_all(&cache).map_err(|error| format!("cannot create {}: {error}", cache.display()))?;
    Ok(cache)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GO_MOD: &str = "module m\n\nrequire (\n\texample.com/other v1.2.3\n\tk8s.io/kubernetes v1.36.4\n)\n\
                          replace (\n\tk8s.io/api => k8s.io/api v0.36.4\n)\n";

    #[test]
    fn a_server_reports_the_version_that_the_module_file_requires() {
        let binary = Binary { name: "b", package: "k8s.io/kubernetes/cmd/b", stamped: Some("k8s.io/kubernetes") };
        let build = Build::new(&binary, GO_MOD);
        let stamp = "k8s.io/component-base/version";
        assert_eq!(
            build.args[2],
            format!("-s -w -X {stamp}.gitVersion=v1.36.4 -X {stamp}.gitMajor=1 -X {stamp}.gitMinor=36")
        );
    }

    #[test]
    fn a_replaced_module_is_no_required_one() {
        assert_eq!(required(GO_MOD, "k8s.io/api"), None);
        assert_eq!(required(GO_MOD, "k8s.io/kubernetes"), Some("v1.36.4"));
    }

    #[test]
    fn the_link_follows_the_sources() {
        let place = env::temp_dir().join(format!("xtask-testbins-{}", std::process::id()));
        let at = place.join("target/testbins");
        for folder in ["one", "one", "another"] {
            link(Path::new(folder), &at).expect("linked");
            assert_eq!(fs::read_link(&at).expect("a link"), Path::new(folder));
        }
        fs::remove_dir_all(&place).expect("cleaned up");
    }

    #[test]
    fn every_binary_is_a_tool_of_the_committed_module() {
        let go_mod = read(&crate::root().join("testbins/go.mod")).expect("committed");
        for binary in BINARIES {
            assert!(go_mod.lines().any(|line| line.trim() == binary.package), "{} is no tool line", binary.package);
            assert!(binary.stamped.is_none_or(|module| required(&go_mod, module).is_some()), "{}", binary.name);
        }
    }
}
