//! What the store promises: order, no lost acknowledged write, a history that says when it ends.

use serde_json::json;

use super::*;

fn draft(name: &str, n: usize) -> Draft {
    Draft::of(&json!({ "metadata": { "name": name, "uid": name }, "data": { "n": n } }))
}

async fn open(folder: Option<&std::path::Path>, history: usize) -> Store {
    let settings = Settings { folder: folder.map(Into::into), history };
    let store = Store::open(settings).await.expect("a store");
    store.add_cluster("c").await.expect("a cluster");
    store
}

fn versions(events: &[Arc<Event>]) -> Vec<(Change, u64)> {
    events.iter().map(|event| (event.change, event.version())).collect()
}

#[tokio::test]
async fn changes_come_in_order_and_old_ones_are_refused() {
    let store = open(None, 3).await;
    let name = Name::new("", "a");
    let mut at = store.put("c", "things", name.clone(), Expect::Absent, draft("a", 0)).await.expect("new").version;
    let first = at;
    for n in 1..4 {
        at = store.put("c", "things", name.clone(), Expect::Version(at), draft("a", n)).await.expect("change").version;
    }
    let gone = store.remove("c", "things", name.clone(), at).await.expect("removed").version;
    let (seen, up_to) = store.changes("c", "things", at - 1).expect("in the history");
    assert_eq!(versions(&seen), [(Change::Modified, at), (Change::Deleted, gone)]);
    assert_eq!(up_to, gone);
    assert!(store.changes("c", "things", first).is_err(), "five changes do not fit a history of three");
    assert!(store.get("c", "things", &name).is_none());
}

#[tokio::test]
async fn a_write_on_a_stale_version_is_refused() {
    let store = open(None, 9).await;
    let name = Name::new("n", "a");
    let at = store.put("c", "things", name.clone(), Expect::Absent, draft("a", 0)).await.expect("new").version;
    let again = store.put("c", "things", name.clone(), Expect::Absent, draft("a", 1)).await;
    assert!(matches!(again, Err(WriteError::Conflict(Some(found))) if found == at));
    let stale = store.put("c", "things", name, Expect::Version(at - 1), draft("a", 1)).await;
    assert!(matches!(stale, Err(WriteError::Conflict(Some(_)))));
    let nowhere = store.put("other", "things", Name::new("", "a"), Expect::Absent, draft("a", 1)).await;
    assert!(matches!(nowhere, Err(WriteError::NoCluster)));
}

#[tokio::test]
async fn a_list_of_the_past_shows_that_moment() {
    let store = open(None, 100).await;
    for name in ["a", "b", "c"] {
        store.put("c", "things", Name::new("", name), Expect::Absent, draft(name, 0)).await.expect("new");
    }
    let then = store.version();
    let b = store.get("c", "things", &Name::new("", "b")).expect("b");
    store.remove("c", "things", Name::new("", "b"), b.version).await.expect("removed");
    store.put("c", "things", Name::new("", "bb"), Expect::Absent, draft("bb", 0)).await.expect("new");
    let names = |listed: Listed| listed.objects.iter().map(|(name, _)| name.name.to_string()).collect::<Vec<_>>();
    let behind = Name::new("", "a");
    assert_eq!(names(store.list("c", "things", "", Some(&behind), then).expect("then")), ["b", "c"]);
    assert_eq!(names(store.list("c", "things", "", Some(&behind), 0).expect("now")), ["bb", "c"]);
}

#[tokio::test]
async fn everything_acknowledged_is_there_after_a_crash() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut acknowledged, mut newest) = (Vec::new(), 0);
    {
        let store = open(Some(folder.path()), 100).await;
        let writes = (0..200).map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                let name = Name::new("n", &format!("o{n}"));
                store.put("c", "things", name, Expect::Absent, draft(&format!("o{n}"), n)).await
            })
        });
        for write in futures::future::join_all(writes).await {
            let stored = write.expect("no panic").expect("written");
            newest = newest.max(stored.version);
            acknowledged.push(stored.value());
        }
        let last = store.get("c", "things", &Name::new("n", "o7")).expect("o7");
        newest = store.remove("c", "things", Name::new("n", "o7"), last.version).await.expect("removed").version;
        store.set_note("c", "key", b"note").await.expect("a note");
        // What a crash leaves: the files as they are now, while the store is still open.
        let copy = folder.path().join("crashed");
        std::fs::create_dir(&copy).expect("a folder");
        for file in std::fs::read_dir(folder.path()).expect("files").flatten().filter(|file| file.path().is_file()) {
            std::fs::copy(file.path(), copy.join(file.file_name())).expect("a copy");
        }
    }
    let store = open(Some(&folder.path().join("crashed")), 100).await;
    assert!(store.version() >= newest, "versions never go back, even behind a deletion");
    assert_eq!(store.count("c", "things"), 199);
    assert_eq!(store.note("c", "key").as_deref(), Some(&b"note"[..]));
    for object in acknowledged.iter().filter(|object| object["metadata"]["name"] != "o7") {
        let name = Name::new("n", object["metadata"]["name"].as_str().expect("a name"));
        assert_eq!(store.get("c", "things", &name).expect("kept").value(), *object);
    }
    let (uid_of, _) = store.by_uid("c", "o8").expect("indexes are rebuilt");
    assert_eq!(*uid_of, *"things");
}

#[tokio::test]
async fn a_dropped_cluster_takes_everything_along() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(Some(folder.path()), 100).await;
    store.put("c", "things", Name::new("", "a"), Expect::Absent, draft("a", 0)).await.expect("new");
    let mut bell = store.bell("c", "things").expect("a bell");
    bell.mark_unchanged();
    store.drop_cluster("c").await.expect("dropped");
    assert!(bell.changed().await.is_err(), "watches end");
    assert!(!store.has_cluster("c"));
    store.add_cluster("c").await.expect("again");
    assert_eq!(store.count("c", "things"), 0);
}
