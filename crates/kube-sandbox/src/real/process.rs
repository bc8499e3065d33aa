//! A server process that never outlives the one who started it.
//!
//! A test program may be killed at any moment, and statics are not dropped when it ends. Linux could
//! be asked to kill children with their parent, but only by a call that Rust marks unsafe. So each
//! server runs under a shell that holds the reading end of a pipe from us: whatever happens to us,
//! the pipe closes, and the shell kills the server. The shell ends with the server's own status, so a
//! server that dies early is noticed too. Shell and server are a group of their own, so that a signal to
//! the test program's group does not take the shell away from its server.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
};

/// The shell's part. A word on the pipe is the signal to send; the end of the pipe means KILL. The
/// server gets neither the pipe nor a terminal.
const SUPERVISE: &str = r#"
exec 3<&0 </dev/null
"$@" 3<&- & server=$!
{ read -r signal <&3; kill -s "${signal:-KILL}" $server; read -r signal <&3; kill -s KILL $server; } 2>/dev/null & watcher=$!
exec 3<&-
wait $server; status=$?
kill $watcher 2>/dev/null
exit $status
"#;

/// A running server.
#[derive(Debug)]
pub struct Process {
    program: &'static str,
    shell: Child,
    pipe: Option<ChildStdin>,
    log: PathBuf,
}

impl Process {
    /// Starts a program. Its output goes to `<folder>/<program>.log`.
    pub(super) fn start(
        program: &'static str,
        path: &Path,
        folder: &Path,
        args: &[String],
        environment: &[(&str, &str)],
    ) -> io::Result<Self> {
        let log = folder.join(format!("{program}.log"));
        // Appended: a server that is started again keeps the story of its first life.
        let output = File::options().create(true).append(true).open(&log)?;
        let mut command = Command::new("sh");
        command.args(["-c", SUPERVISE, program]).arg(path).args(args);
        command.envs(environment.iter().copied()).current_dir(folder);
        // A group of its own: whoever signals the test program's, as `timeout` and a terminal do, would end the
        // shell, and a server that is slow to end by a mere TERM would have nobody left to kill it.
        command.process_group(0);
        let mut shell = command.stdin(Stdio::piped()).stdout(output.try_clone()?).stderr(output).spawn()?;
        let pipe = shell.stdin.take();
        Ok(Self { program, shell, pipe, log })
    }

    /// The program's name.
    pub(super) fn program(&self) -> &'static str {
        self.program
    }

    /// Its process id: the shell's first child. Only Linux tells.
    pub(super) fn id(&self) -> Option<u32> {
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.shell.id())).ok()?;
        children.split_whitespace().next()?.parse().ok()
    }

    /// How it ended, if it has.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.shell.try_wait().ok().flatten()
    }

    /// Asks it to end in its own time, and waits. Only for tests of just that: it takes seconds.
    pub(super) fn terminate(&mut self) {
        if let Some(pipe) = &mut self.pipe {
            let _ = pipe.write_all(b"TERM\n");
        }
        let _ = self.shell.wait();
    }

    /// Kills it, as a power cut would, and waits until it is gone.
    pub(super) fn kill(&mut self) {
        self.pipe = None;
        let _ = self.shell.wait();
    }

    /// The last lines it wrote.
    pub(super) fn end_of_log(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(script: &str, folder: &Path) -> Process {
        let args = ["-c".to_owned(), script.to_owned()];
        Process::start("server", Path::new("/bin/sh"), folder, &args, &[("GREETING", "hello")]).expect("sh is there")
    }

    /// Until the script has written its process id.
    fn pid(folder: &Path) -> String {
        loop {
            let pid = fs::read_to_string(folder.join("pid")).unwrap_or_default();
            if pid.ends_with('\n') {
                return pid.trim().to_owned();
            }
            std::thread::yield_now();
        }
    }

    fn is_alive(pid: &str) -> bool {
        Path::new("/proc").join(pid).exists()
    }

    const SLEEPER: &str = "echo $$ >pid; exec sleep 60";

    #[test]
    fn a_server_is_gone_when_its_owner_drops_it() {
        let folder = tempfile::tempdir().expect("folder");
        let server = start(SLEEPER, folder.path());
        let pid = pid(folder.path());
        assert!(is_alive(&pid));
        assert_eq!(server.id().map(|id| id.to_string()), Some(pid.clone()));
        drop(server);
        assert!(!is_alive(&pid));
    }

    #[test]
    fn a_server_is_gone_when_its_owner_is_killed() {
        let folder = tempfile::tempdir().expect("folder");
        // Another process starts the server and is killed itself: nothing of ours runs any more.
        let mut owner = Command::new("sh")
            .args(["-c", "sleep 60 | sh -c \"$0\" sh sh -c 'echo $$ >pid; exec sleep 60'", SUPERVISE])
            .current_dir(folder.path())
            .spawn()
            .expect("sh is there");
        let pid = pid(folder.path());
        assert!(is_alive(&pid));
        // The writing end of the pipe is the first `sleep`; it dies as a test program would.
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", owner.id())).expect("children");
        let writer = children.split_whitespace().next().expect("the sleep");
        Command::new("kill").args(["-KILL", writer]).status().expect("kill");
        owner.wait().expect("ends");
        assert!(!is_alive(&pid));
    }

    #[test]
    fn a_signal_to_our_group_does_not_take_the_shell_from_its_server() {
        let folder = tempfile::tempdir().expect("folder");
        let server = start("trap '' TERM; echo $$ >pid; while :; do sleep 0.05; done", folder.path());
        let pid = pid(folder.path());
        let group = |pid: &str| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("stat");
            let fields = stat.rsplit(") ").next().expect("fields").to_owned();
            fields.split(' ').nth(2).expect("a group").to_owned()
        };
        let ours = group(&std::process::id().to_string());
        let shell = server.shell.id().to_string();
        assert_eq!((group(&pid), group(&shell)), (shell.clone(), shell));
        assert_ne!(ours, group(&pid));
        drop(server);
        assert!(!is_alive(&pid), "although it does not listen to TERM");
    }

    #[test]
    fn a_server_that_ends_by_itself_is_noticed_with_its_status_and_its_last_words() {
        let folder = tempfile::tempdir().expect("folder");
        let mut server = start("echo $GREETING; exit 7", folder.path());
        server.shell.wait().expect("ends");
        assert_eq!(server.ended().and_then(|status| status.code()), Some(7));
        assert_eq!(server.end_of_log(), "hello");
    }

    #[test]
    fn a_server_may_be_asked_to_end_in_its_own_time() {
        let folder = tempfile::tempdir().expect("folder");
        let script = "trap 'echo bye; exit 0' TERM; echo $$ >pid; while :; do sleep 0.05; done";
        let mut server = start(script, folder.path());
        pid(folder.path());
        server.terminate();
        assert_eq!(server.ended().and_then(|status| status.code()), Some(0));
        assert_eq!(server.end_of_log(), "bye");
    }
}
