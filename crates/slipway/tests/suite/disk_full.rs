//! A disk that fills up: told at the start, survived while running.

use std::{
    fs,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use crate::processes::{Running, ended, slipway, until, up};

/// A small disk; taken down when dropped.
struct Disk(PathBuf);

impl Disk {
    /// None where mounting is not allowed.
    fn mount(at: &Path, size: &str) -> Option<Self> {
        fs::DirBuilder::new().mode(0o700).create(at).expect("a folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size},mode=700"), "tmpfs"]).arg(at);
        mount.output().is_ok_and(|output| output.status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Best effort: the folder is temporary. Lazily, because a process may just be ending there.
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

#[test]
fn a_full_disk_is_told_at_the_start_and_the_next_start_works() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("disk");
    let disk = Disk::mount(&data, "64k");
    let command = match &disk {
        Some(_) => up(&data),
        // The nearest thing without a mount: no file may be larger than 32 blocks.
        None => {
            let mut command = Command::new("sh");
            let limited = "ulimit -f 32; trap '' XFSZ; exec \"$@\"";
            command.args(["-c", limited, "sh"]).arg(slipway().get_program());
            command
                .args(["up", "--listen", "127.0.0.1:0", "--provisioner-listen", "127.0.0.1:0", "--data-dir"])
                .arg(&data);
            command
        }
    };
    let (code, _, said) = ended(command);
    let sentence = said.lines().find(|line| line.starts_with("slipway: ")).unwrap_or_default();
    assert_eq!(code, Some(1), "{said}");
    match &disk {
        Some(_) => assert!(sentence.contains("is full; make room and start again"), "{said}"),
        None => assert!(sentence.contains("cannot be"), "{said}"),
    }
    if disk.is_some() {
        let grown = Command::new("mount").args(["-o", "remount,size=16m"]).arg(&data).status().expect("mount");
        assert!(grown.success());
    }
    Running::start(up(&data)).until_readyz(200);
}

#[test]
fn a_disk_that_fills_up_while_running_loses_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("disk");
    // Only root can make a disk; for others there is nothing to fill.
    let Some(_disk) = Disk::mount(&data, "4m") else { return };
    let running = Running::start(up(&data));
    let id = running.begin("before");
    running.until_step(&id, "Hello_Answer", "running");

    let filler = data.join("filler");
    // Ends when there is no room left, whatever else is written meanwhile.
    let _ = fs::write(&filler, vec![1; 8 * 1024 * 1024]);
    let mut accepted = vec![id];
    let refused = until("a request that is refused", || {
        let id = format!("0198c0de-0000-7000-8000-{:012}", accepted.len());
        let body = format!(r#"{{"process":"hello","instance_id":"i-{id}","operation_id":"{id}"}}"#);
        let answer = running.send("POST", "/operations", &body).expect("an answer");
        if answer.status != 202 {
            return Some(answer);
        }
        accepted.push(id);
        None
    });
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.header("retry-after").is_some() && refused.body.contains("disk is full"), "{refused:?}");
    assert_eq!(running.send("GET", "/livez", "").expect("an answer").status, 200);

    fs::remove_file(&filler).expect("removed");
    running.until_readyz(200);
    for id in &accepted {
        let wake = format!(r#"{{"key":"hello/{id}","cause":"a test"}}"#);
        until("the end of an accepted operation", || {
            running.send("POST", "/wake", &wake).ok()?;
            let answer = running.send("GET", &format!("/operations/{id}"), "").ok().filter(|a| a.status == 200)?;
            answer.body.contains("\"state\":\"succeeded\"").then_some(())
        });
    }
}
