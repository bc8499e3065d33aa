//! `kill -9` in the middle of writing: what was acknowledged is there, and work goes on.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use super::*;

/// Where the child keeps its data; without it, the child's test does nothing.
const FOLDER: &str = "KUBE_SANDBOX_CRASH_FOLDER";

/// The child: writes as fast as it can and says what was acknowledged, until it is killed.
#[tokio::test(flavor = "multi_thread")]
async fn a_child_writes_until_it_is_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let settings = Settings { folder: Some(folder.into()), ..Settings::default() };
    let server = Server::start(settings).await.expect("a server");
    server.add_cluster("c").await.expect("a cluster");
    let maps = Api::<ConfigMap>::namespaced(server.client("c").expect("a client"), "default");
    let writers = (0..8).map(|writer| {
        let maps = maps.clone();
        tokio::spawn(async move {
            for n in 0.. {
                let made = maps.create(&PostParams::default(), &config_map(&format!("m{writer}-{n}"))).await;
                let version = made.expect("made").metadata.resource_version.expect("a version");
                println!("\nmade m{writer}-{n} {version}");
            }
        })
    });
    futures::future::join_all(writers).await;
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_by_kill_9() {
    let folder = tempfile::tempdir().expect("a folder");
    let child = std::env::current_exe().expect("this program");
    let mut child = Command::new(child)
        .args(["--exact", "server::tests::crash::a_child_writes_until_it_is_killed", "--nocapture"])
        .env(FOLDER, folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let made = |line: String| {
        let mut words = line.strip_prefix("made ")?.split(' ').map(ToOwned::to_owned).collect::<Vec<_>>().into_iter();
        Some((words.next()?, words.next()?.parse::<u64>().ok()?))
    };
    let mut acknowledged: Vec<(String, u64)> = lines.filter_map(made).take(300).collect();
    child.kill().expect("killed");
    child.wait().expect("ended");
    // A line may have been cut in the middle of its number by the kill; the last few are not to be trusted.
    acknowledged.truncate(290);
    assert_eq!(acknowledged.len(), 290);

    let settings = Settings { folder: Some(folder.path().to_owned()), ..Settings::default() };
    let server = Server::start(settings).await.expect("it starts again");
    let cluster = server.cluster("c").expect("with its cluster");
    for (name, version) in &acknowledged {
        let found = cluster.get("", "configmaps", "default", name).unwrap_or_else(|| panic!("{name} is lost"));
        assert_eq!(found["metadata"]["resourceVersion"], version.to_string());
    }
    let newest = acknowledged.iter().map(|(_, version)| *version).max().expect("some");
    assert!(cluster.store().version() >= newest, "versions never go back");
    cluster
        .create(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "n" } }))
        .await
        .expect("made");
}
