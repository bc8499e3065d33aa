//! The Go compiler: the one that is there, or one from the package registries.
//!
//! A machine without Go gets Debian's, which is too old for the servers but can fetch any Go
//! toolchain as a module, by name and checked against Go's checksum database. That toolchain then
//! builds. A machine with a Go since 1.21 does the same by itself (`GOTOOLCHAIN=auto`).

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Fetched where the machine has no Go, or one too old to fetch a newer one by itself. At least the
/// version in `testbins/go.mod`.
const TOOLCHAIN: &str = "1.26.8";

/// The first Go that looks after its own version.
const SELF_UPDATING: (u32, u32) = (1, 21);

/// A Go compiler that can build the servers.
pub(super) struct Go(PathBuf);

impl Go {
    pub(super) fn find_or_install() -> Result<Self, String> {
        if let Some(go) = present()
            && version_of(&go).is_some_and(|version| version >= SELF_UPDATING)
        {
            return Ok(Self(go));
        }
        if present().is_none() {
            crate::ci::tools::install_debian("golang-go")?;
        }
        let go = present().ok_or("Go is still missing after its installation")?;
        fetch_toolchain(&go).map(Self)
    }

    /// What `go version` says inside the module, which is the toolchain that will build.
    pub(super) fn version(&self, module: &Path) -> Result<String, String> {
        let output = self.command(module).arg("version").output();
        let output = output.map_err(|error| format!("`go version` could not be started: {error}"))?;
        if !output.status.success() {
            return Err(format!("`go version`: {}", String::from_utf8_lossy(&output.stderr)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Builds one package. At the lowest priority: in CI it runs beside cargo, which people wait for.
    pub(super) fn build(&self, module: &Path, args: &[String], output: &Path) -> Result<(), String> {
        let mut go = self.command(module);
        go.arg("build").arg("-o").arg(output).args(args);
        let mut nice = Command::new("nice");
        nice.args(["-n", "19"]).arg(go.get_program()).args(go.get_args()).current_dir(module);
        nice.envs(go.get_envs().filter_map(|(name, value)| Some((name, value?)))).stdin(Stdio::null());
        crate::ci::verdict(&format!("go build {}", args.join(" ")), nice.status())
    }

    fn command(&self, module: &Path) -> Command {
        let mut command = Command::new(&self.0);
        command.current_dir(module);
        command.env("GOTOOLCHAIN", "auto").env("GOWORK", "off").env("GOFLAGS", "-mod=readonly");
        // Static binaries: no C compiler needed, and they run on any machine that shares the cache.
        command.env("CGO_ENABLED", "0");
        command
    }
}

/// Go on the PATH, or where its own installer puts it.
fn present() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain([PathBuf::from("/usr/local/go/bin")]);
    folders.map(|folder| folder.join("go")).find(|go| go.is_file())
}

fn version_of(go: &Path) -> Option<(u32, u32)> {
    // Outside any module: inside one, a newer Go would answer for the module's toolchain.
    let output = Command::new(go).arg("version").current_dir(env::temp_dir()).env("GOTOOLCHAIN", "local").output();
    parse_version(&String::from_utf8_lossy(&output.ok()?.stdout))
}

/// `go version go1.26.8 linux/amd64`, `go version go1.19 linux/amd64`.
fn parse_version(text: &str) -> Option<(u32, u32)> {
    let number = text.split_whitespace().find_map(|word| word.strip_prefix("go1."))?;
    let minor = number.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((1, minor.parse().ok()?))
}

/// Downloads the toolchain module with any Go and answers its `go`.
fn fetch_toolchain(go: &Path) -> Result<PathBuf, String> {
    let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let module = format!("golang.org/toolchain@v0.0.1-go{TOOLCHAIN}.linux-{arch}");
    eprintln!("fetching Go {TOOLCHAIN}");
    let output = Command::new(go).args(["mod", "download", "-json", &module]).current_dir(env::temp_dir()).output();
    let output = output.map_err(|error| format!("`go mod download` could not be started: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let folder = json_field(&text, "Dir").ok_or_else(|| format!("Go {TOOLCHAIN} could not be fetched: {text}"))?;
    make_executable(&folder)?;
    Ok(folder.join("bin/go"))
}

/// A string field of the flat JSON that `go mod download -json` prints.
fn json_field(json: &str, name: &str) -> Option<PathBuf> {
    let field = format!("\"{name}\": \"");
    json.lines().find_map(|line| Some(line.trim().strip_prefix(&field)?.trim_end_matches(['"', ',']).into()))
}

/// Go's module cache drops the right to execute, and the right to change it too.
fn make_executable(toolchain: &Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut folders = vec![toolchain.join("bin"), toolchain.join("pkg/tool")];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                let executable = fs::Permissions::from_mode(0o555);
                fs::set_permissions(&path, executable)
                    .map_err(|error| format!("cannot make {} executable: {error}", path.display()))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_go_prints() {
        assert_eq!(parse_version("go version go1.26.8 linux/amd64"), Some((1, 26)));
        assert_eq!(parse_version("go version go1.19 linux/amd64"), Some((1, 19)));
        assert_eq!(parse_version("go version go1.27rc1 linux/arm64"), Some((1, 27)));
        assert_eq!(parse_version("not go at all"), None);
    }

    #[test]
    fn the_folder_is_read_from_what_a_download_prints() {
        let json =
            "{\n\t\"Path\": \"golang.org/toolchain\",\n\t\"Dir\": \"/cache/toolchain\",\n\t\"Sum\": \"h1:x\"\n}\n";
        assert_eq!(json_field(json, "Dir"), Some(PathBuf::from("/cache/toolchain")));
        assert_eq!(json_field(json, "Missing"), None);
    }
}
