//! Watches: what was, what happens, and a word now and then that nothing did.
//!
//! Each watch has a cursor into the history of its kind and takes what is behind it when the bell
//! rings. A slow reader so costs nothing but its own delay; one that is slower than the history is
//! long is told that it is too late (410) and lists again.

use std::{collections::VecDeque, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{Stream, stream};
use serde_json::{Value, json};

use super::{
    listing::{self, Selection},
    media::{Answer, Shape},
    path::Query,
    table::{self, Include},
};
use crate::{
    clock,
    cluster::Cluster,
    kind::Kind,
    object::{Name, Stored},
    status::{Cause, Status},
    store::{Change, Event, frame},
};

/// How often a quiet watch hears the present version.
const BOOKMARKS: Duration = Duration::from_secs(60);

/// How long before its end a watch hears the last one: time enough to read it, and to go on from there.
const FAREWELL: Duration = Duration::from_secs(2);

/// A watch without `timeoutSeconds` ends after this; the real server picks between 30 and 60 minutes.
const PATIENCE: Duration = Duration::from_secs(45 * 60);

type Timer = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Watcher {
    cluster: Cluster,
    kind: Arc<Kind>,
    namespace: String,
    selection: Selection,
    shape: Shape,
    include: Include,
    has_bookmarks: bool,
    headed: bool,
    cursor: u64,
    bell: tokio::sync::watch::Receiver<u64>,
    pending: VecDeque<Bytes>,
    over: bool,
    deadline: Timer,
    bookmark: Timer,
    farewell: Option<Timer>,
}

/// Starts a watch.
pub fn watch(
    cluster: &Cluster,
    kind: &Arc<Kind>,
    namespace: &str,
    query: &Query,
    answer: Answer,
    only: Option<&str>,
) -> Result<impl Stream<Item = Result<Bytes, std::convert::Infallible>> + Send + 'static, Status> {
    let selection = match only {
        Some(name) => Selection::only(name),
        None => Selection::parse(kind, query)?,
    };
    let asked = listing::version(query)?;
    let send_initial = query.is("sendInitialEvents");
    check(query)?;
    let store = cluster.store();
    // The bell first: whatever happens from here on rings.
    let bell = store.bell(cluster.name(), &kind.stored_as).ok_or_else(Status::unknown_resource)?;
    let has_bookmarks = query.is("allowWatchBookmarks");
    let timeout = match listing::number(query, "timeoutSeconds")? {
        0 => PATIENCE,
        seconds => Duration::from_secs(seconds as u64),
    };
    let mut watcher = Watcher {
        cluster: cluster.clone(),
        kind: kind.clone(),
        namespace: namespace.to_owned(),
        selection,
        shape: answer.shape,
        include: Include::parse(query.get("includeObject")),
        has_bookmarks,
        headed: false,
        cursor: asked,
        bell,
        pending: VecDeque::new(),
        over: false,
        deadline: Box::pin(clock::sleep(timeout)),
        bookmark: Box::pin(clock::sleep(BOOKMARKS)),
        farewell: timeout.checked_sub(FAREWELL).map(|until| Box::pin(clock::sleep(until)) as Timer),
    };
    if asked == 0 || send_initial {
        watcher.begin(send_initial && has_bookmarks)?;
    }
    Ok(stream::unfold(watcher, |mut watcher| async move {
        let line = watcher.next().await?;
        Some((Ok(line), watcher))
    }))
}

fn check(query: &Query) -> Result<(), Status> {
    let matching = query.get("resourceVersionMatch");
    let why = if !query.get("sendInitialEvents").is_empty() {
        (matching != "NotOlderThan")
            .then_some("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
    } else {
        (!matching.is_empty())
            .then_some("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
    };
    match why {
        None => Ok(()),
        Some(why) => {
            let cause = Cause::forbidden("resourceVersionMatch", why);
            Err(Status::invalid("meta.k8s.io", "ListOptions", "", vec![cause]))
        }
    }
}

impl Watcher {
    /// What is there now, as if it had just been added.
    fn begin(&mut self, tell_end: bool) -> Result<(), Status> {
        let listed = self.cluster.store().list(self.cluster.name(), &self.kind.stored_as, &self.namespace, None, 0);
        let listed = listed.map_err(|old| Status::expired(old.to_string()))?;
        if self.cursor > listed.version {
            return Err(Status::version_too_large(self.cursor, listed.version));
        }
        self.cursor = listed.version;
        for (name, object) in listed.objects {
            if self.selection.matches(&self.kind, &name, &object) {
                let line = self.line(Change::Added, &object, None);
                self.pending.push_back(line);
            }
        }
        if tell_end {
            let line = self.bookmark(true);
            self.pending.push_back(line);
        }
        Ok(())
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(line) = self.pending.pop_front() {
                return Some(line);
            }
            if self.over {
                return None;
            }
            self.bell.mark_unchanged();
            match self.cluster.store().changes(self.cluster.name(), &self.kind.stored_as, self.cursor) {
                Err(old) => {
                    let status = Status::expired(old.to_string()).to_json();
                    self.over = true;
                    self.pending.push_back(json_line("ERROR", &status));
                }
                Ok((events, up_to)) => {
                    self.cursor = up_to;
                    for event in events {
                        if let Some(line) = self.seen(&event) {
                            self.pending.push_back(line);
                        }
                    }
                }
            }
            if self.pending.is_empty() {
                self.wait().await;
            }
        }
    }

    async fn wait(&mut self) {
        tokio::select! {
            changed = self.bell.changed() => self.over = changed.is_err(),
            () = &mut self.deadline => self.over = true,
            () = &mut self.bookmark => {
                self.bookmark = Box::pin(clock::sleep(BOOKMARKS));
                self.tell_version();
            }
            () = due(&mut self.farewell) => {
                self.farewell = None;
                self.tell_version();
            }
        }
    }

    fn tell_version(&mut self) {
        if self.has_bookmarks {
            let line = self.bookmark(false);
            self.pending.push_back(line);
        }
    }

    /// A change as this watch sees it: an object that begins to fit its selector is added, one that ends is deleted.
    fn seen(&mut self, event: &Event) -> Option<Bytes> {
        if !self.namespace.is_empty() && *event.name.namespace != *self.namespace {
            return None;
        }
        if self.selection.is_all() {
            return Some(self.line(event.change, &event.object, Some(event)));
        }
        let fits = |name: &Name, object: &Stored| self.selection.matches(&self.kind, name, object);
        let was = event.before.as_ref().is_some_and(|before| fits(&event.name, before));
        let is = event.change != Change::Deleted && fits(&event.name, &event.object);
        match (was, is) {
            (false, false) => None,
            (false, true) => Some(self.line(Change::Added, &event.object, Some(event))),
            (true, true) => Some(self.line(Change::Modified, &event.object, Some(event))),
            // Its last state that did fit, with the version of the change.
            (true, false) => {
                let before = event.before.as_ref()?;
                Some(self.line(Change::Deleted, &before.gone(event.version()), None))
            }
        }
    }

    fn line(&mut self, change: Change, object: &Stored, event: Option<&Event>) -> Bytes {
        if self.shape == Shape::Whole && listing::is_raw(&self.kind, object) {
            return match event.filter(|event| event.change == change) {
                Some(event) => event.wire(),
                None => frame(change.as_str(), object),
            };
        }
        let value = self.kind.from_stored(object.value());
        json_line(change.as_str(), &self.shaped(value))
    }

    fn shaped(&mut self, value: Value) -> Value {
        match self.shape {
            Shape::Whole => value,
            Shape::Metadata => table::partial(&value),
            Shape::Table => {
                let metadata = json!({ "resourceVersion": value["metadata"]["resourceVersion"] });
                let mut table = table::table(&self.kind, &[value], metadata, self.include, self.cluster.now());
                // The headings are needed once.
                if self.headed {
                    table["columnDefinitions"] = Value::Null;
                }
                self.headed = true;
                table
            }
        }
    }

    /// Nothing but the version up to which this watch has seen everything.
    fn bookmark(&mut self, is_initial_end: bool) -> Bytes {
        let mut metadata = json!({ "resourceVersion": self.cursor.to_string() });
        if is_initial_end {
            metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        let object = match self.shape {
            Shape::Whole => {
                json!({ "kind": self.kind.kind, "apiVersion": self.kind.api_version(), "metadata": metadata })
            }
            Shape::Metadata => {
                json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata })
            }
            Shape::Table => json!({
                "kind": "Table", "apiVersion": "meta.k8s.io/v1",
                "metadata": { "resourceVersion": self.cursor.to_string() },
                "columnDefinitions": null,
                "rows": [{ "cells": [], "object": {
                    "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
                } }],
            }),
        };
        json_line("BOOKMARK", &object)
    }
}

/// When the timer is; never without one.
async fn due(timer: &mut Option<Timer>) {
    match timer {
        Some(timer) => timer.await,
        None => std::future::pending().await,
    }
}

fn json_line(change: &str, object: &Value) -> Bytes {
    format!("{{\"type\":\"{change}\",\"object\":{object}}}\n").into()
}
