//! Watches under load: order, nothing twice, nothing missing, and an honest end.

use std::collections::BTreeMap;

use futures::{StreamExt as _, TryStreamExt as _};
use kube::{
    api::{Patch, PatchParams, WatchEvent, WatchParams},
    runtime::{WatchStreamExt as _, watcher},
};

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn every_watcher_sees_every_change_in_order() {
    let (server, _) = server().await;
    let client = server.client("c").expect("a client");
    let maps = Api::<ConfigMap>::namespaced(client.clone(), "default");
    let start = maps.list(&Default::default()).await.expect("a list").metadata.resource_version.expect("a version");
    let watch = async |maps: Api<ConfigMap>, start: String| {
        let mut seen: BTreeMap<String, u64> = BTreeMap::new();
        let (mut newest, mut count) = (0, 0);
        let mut events = maps.watch(&WatchParams::default(), &start).await.expect("a watch").boxed();
        while let Some(event) = events.try_next().await.expect("an event") {
            let (WatchEvent::Added(map) | WatchEvent::Modified(map)) = event else { panic!("{event:?}") };
            let version: u64 = map.metadata.resource_version.expect("a version").parse().expect("a number");
            assert!(version > newest, "order");
            newest = version;
            let n: u64 = map.data.expect("data")["n"].parse().expect("a number");
            let before = seen.insert(map.metadata.name.expect("a name"), n);
            assert_eq!(before.map_or(0, |before| before + 1), n, "no change is left out");
            count += 1;
            if count == 400 {
                return;
            }
        }
    };
    let watchers: Vec<_> = (0..20).map(|_| tokio::spawn(watch(maps.clone(), start.clone()))).collect();
    let writers = (0..20).map(|writer| {
        let maps = maps.clone();
        tokio::spawn(async move {
            for n in 0..20 {
                let patch = json!({
                    "apiVersion": "v1", "kind": "ConfigMap", "data": { "n": n.to_string() },
                });
                let name = format!("m{writer}");
                maps.patch(&name, &PatchParams::apply("t"), &Patch::Apply(patch)).await.expect("applied");
            }
        })
    });
    for writer in writers {
        writer.await.expect("written");
    }
    for watcher in watchers {
        clock::within(PATIENCE, watcher).await.expect("in time").expect("all seen");
    }
}

#[tokio::test]
async fn a_watch_from_too_long_ago_is_told_so() {
    let server = Server::start(Settings { history: 3, ..Settings::default() }).await.expect("a server");
    server.add_cluster("c").await.expect("a cluster");
    let maps = Api::<ConfigMap>::namespaced(server.client("c").expect("a client"), "default");
    let start = maps.list(&Default::default()).await.expect("a list").metadata.resource_version.expect("a version");
    for n in 0..5 {
        maps.create(&PostParams::default(), &config_map(&format!("m{n}"))).await.expect("made");
    }
    let mut events = maps.watch(&WatchParams::default(), &start).await.expect("a watch").boxed();
    let event = events.try_next().await.expect("an event").expect("one");
    assert!(matches!(&event, WatchEvent::Error(status) if status.code == 410), "{event:?}");
    assert!(events.next().await.is_none(), "and the watch is over");
}

#[tokio::test]
async fn a_streaming_list_ends_with_its_bookmark() {
    let (server, _) = server().await;
    let maps = Api::<ConfigMap>::namespaced(server.client("c").expect("a client"), "default");
    for name in ["a", "b"] {
        maps.create(&PostParams::default(), &config_map(name)).await.expect("made");
    }
    let mut events = watcher(maps.clone(), watcher::Config::default().streaming_lists()).default_backoff().boxed();
    let mut seen = Vec::new();
    while let Some(event) = events.try_next().await.expect("an event") {
        match event {
            watcher::Event::InitApply(map) => seen.push(map.metadata.name.expect("a name")),
            watcher::Event::InitDone => break,
            watcher::Event::Init => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen, ["a", "b"]);
}
