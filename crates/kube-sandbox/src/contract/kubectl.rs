//! `kubectl` as a user types it.

use std::{path::PathBuf, process::Stdio};

use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

use super::cx::{Cx, PATIENCE};
use crate::clock;

/// A shell of one user: a home folder with a kubeconfig, files and `kubectl`'s own cache.
pub struct Shell {
    home: TempDir,
    kubectl: PathBuf,
    ns: String,
}

/// What a command printed and how it ended.
#[derive(Debug)]
pub struct Printed {
    /// Its exit status; -1 if a signal ended it.
    pub code: i32,
    /// Its output.
    pub out: String,
    /// Its complaints.
    pub err: String,
}

impl Shell {
    /// The administrator's, in the namespace of the case.
    pub fn new(cx: &Cx) -> Self {
        Self::of(cx, &cx.target.logins.admin())
    }

    /// Another user's.
    pub fn of(cx: &Cx, kubeconfig: &str) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        std::fs::write(home.path().join("kubeconfig"), kubeconfig).expect("a file");
        Self { home, kubectl: cx.target.kubectl.clone(), ns: cx.ns.clone() }
    }

    /// Writes a file into the folder commands run in.
    pub fn file(&self, name: &str, text: &str) {
        std::fs::write(self.home.path().join(name), text).expect("a file");
    }

    /// An editor for `kubectl edit` that runs this script with the file as `$1`.
    pub fn editor(&self, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.home.path().join("editor");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(&self.kubectl);
        // Nothing of the machine's own settings: no other kubeconfig, no colours, no proxies.
        command.env_clear().env("HOME", self.home.path()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
            .env("KUBECONFIG", self.home.path().join("kubeconfig"))
            .env("KUBE_EDITOR", self.home.path().join("editor"));
        command.arg("--namespace").arg(&self.ns).args(words(line));
        command.current_dir(self.home.path()).stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    /// Runs `kubectl` with these words; single quotes keep words together.
    pub async fn run(&self, line: &str) -> Printed {
        let output = clock::within(PATIENCE, self.command(line).output()).await;
        let output = output.unwrap_or_else(|| panic!("kubectl {line}: did not end")).expect("kubectl is there");
        Printed {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Runs it with a text on standard input.
    pub async fn pipe(&self, line: &str, input: &str) -> Printed {
        let mut command = self.command(line);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("kubectl");
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(input.as_bytes()).await.expect("written");
        drop(stdin);
        let output = clock::within(PATIENCE, child.wait_with_output()).await.expect("it ends").expect("kubectl");
        Printed {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Runs it and expects success; answers what it printed.
    pub async fn ok(&self, line: &str) -> String {
        let printed = self.run(line).await;
        assert_eq!(printed.code, 0, "kubectl {line}: {}{}", printed.out, printed.err);
        printed.out
    }

    /// Runs it and expects a failure; answers what it complained.
    pub async fn fails(&self, line: &str) -> String {
        let printed = self.run(line).await;
        assert_eq!(printed.code, 1, "kubectl {line}: {}{}", printed.out, printed.err);
        printed.err.trim_end().to_owned()
    }

    /// Starts one that goes on printing, such as `get -w`.
    pub fn follow(&self, line: &str) -> Following {
        let mut child = self.command(line).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("kubectl");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        Following { line: line.to_owned(), lines, _child: child }
    }
}

/// A command that goes on. It is killed when this is dropped.
pub struct Following {
    line: String,
    lines: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Following {
    /// The next line it prints, with single spaces between columns.
    pub async fn next(&mut self) -> String {
        let line = clock::within(PATIENCE, self.lines.next_line()).await;
        let line = line.unwrap_or_else(|| panic!("kubectl {}: prints nothing", self.line)).expect("text");
        columns(&line.unwrap_or_else(|| panic!("kubectl {}: ended", self.line)))
    }
}

/// A line of a table with single spaces between its columns.
pub fn columns(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A table without its widths, which depend on the names in it.
pub fn table(text: &str) -> Vec<String> {
    text.lines().map(columns).collect()
}

/// Splits as a shell would, as far as these sessions need it.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("one at least").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
