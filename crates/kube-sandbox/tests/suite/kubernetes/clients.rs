//! What `kube`, the library operators in Rust are built on, makes of the server.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{ConfigMap, Secret},
};
use kube::{
    Api, Resource as _, ResourceExt as _,
    api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    core::{GroupVersionKind, PartialObjectMeta},
    discovery::{Discovery, Scope},
    runtime::{
        WatchStreamExt as _,
        controller::{Action, Controller},
        finalizer::{Event as Finalize, finalizer},
        reflector, watcher,
    },
};
use kube_sandbox::{
    clock,
    contract::{Case, Cx, PATIENCE, cases},
};
use serde_json::json;

use crate::kubernetes::crd::Crd;

pub(super) static CASES: &[Case] = cases![
    typed_objects_come_back_as_they_went,
    an_error_carries_the_status_of_the_server,
    a_watcher_sees_what_is_there_and_what_comes,
    a_streaming_watcher_sees_the_same,
    a_reflector_keeps_a_mirror,
    a_list_is_read_page_by_page,
    a_dynamic_object_is_applied_and_patched,
    the_kinds_are_discovered,
    a_finalizer_runs_before_its_object_goes,
    a_controller_reconciles_all_of_many_objects,
    one_of_two_wins_a_lease,
    get_or_nothing,
    a_metadata_watcher_sees_names_only,
];

fn map(name: &str, value: &str) -> ConfigMap {
    let data = BTreeMap::from([("k".to_owned(), value.to_owned())]);
    let mut map = ConfigMap { data: Some(data), ..ConfigMap::default() };
    map.meta_mut().name = Some(name.to_owned());
    map
}

fn maps(cx: &Cx) -> Api<ConfigMap> {
    Api::namespaced(cx.client.clone(), &cx.ns)
}

async fn in_time<T>(work: impl Future<Output = T>) -> T {
    clock::within(PATIENCE, work).await.expect("it takes no longer than anything here")
}

async fn typed_objects_come_back_as_they_went(cx: Cx) {
    let secrets: Api<Secret> = Api::namespaced(cx.client.clone(), &cx.ns);
    let mut secret = Secret { type_: Some("team/one".to_owned()), ..Secret::default() };
    secret.meta_mut().name = Some("a".to_owned());
    secret.data = Some(BTreeMap::from([("k".to_owned(), k8s_openapi::ByteString(b"\x00\xff".to_vec()))]));
    let made = secrets.create(&PostParams::default(), &secret).await.expect("created");
    assert_eq!((made.data, made.type_), (secret.data, secret.type_));
    let deleted = secrets.delete("a", &DeleteParams::default()).await.expect("deleted");
    assert!(deleted.is_right(), "gone at once");
    assert!(secrets.get_opt("a").await.expect("an answer").is_none());
}

async fn an_error_carries_the_status_of_the_server(cx: Cx) {
    let api = maps(&cx);
    let Err(kube::Error::Api(status)) = api.get("none").await else { panic!("it is not there") };
    assert!(status.is_not_found());
    assert_eq!(status.message, "configmaps \"none\" not found");
    let mut made = api.create(&PostParams::default(), &map("a", "1")).await.expect("created");
    api.patch("a", &PatchParams::default(), &Patch::Merge(json!({ "data": { "k": "2" } }))).await.expect("patched");
    made.data = None;
    let Err(kube::Error::Api(status)) = api.replace("a", &PostParams::default(), &made).await else { panic!("stale") };
    assert!(status.is_conflict());
}

async fn names_of(cx: &Cx, config: watcher::Config) {
    let api = maps(cx);
    api.create(&PostParams::default(), &map("a", "1")).await.expect("created");
    let mut events = watcher(api.clone(), config).applied_objects().boxed();
    let first = in_time(events.try_next()).await.expect("an event").expect("an object");
    assert_eq!(first.name_any(), "a");
    api.create(&PostParams::default(), &map("b", "1")).await.expect("created");
    let second = in_time(events.try_next()).await.expect("an event").expect("an object");
    assert_eq!(second.name_any(), "b");
}

async fn a_watcher_sees_what_is_there_and_what_comes(cx: Cx) {
    names_of(&cx, watcher::Config::default()).await;
}

async fn a_streaming_watcher_sees_the_same(cx: Cx) {
    names_of(&cx, watcher::Config::default().streaming_lists()).await;
}

async fn a_reflector_keeps_a_mirror(cx: Cx) {
    let api = maps(&cx);
    for name in ["a", "b"] {
        api.create(&PostParams::default(), &map(name, "1")).await.expect("created");
    }
    let (reader, writer) = reflector::store();
    let stream = reflector(writer, watcher(api.clone(), watcher::Config::default())).default_backoff();
    let following = tokio::spawn(async move {
        let mut stream = stream.boxed();
        while stream.next().await.is_some() {}
    });
    in_time(reader.wait_until_ready()).await.expect("ready");
    assert_eq!(reader.len(), 2);
    api.delete("a", &DeleteParams::default()).await.expect("deleted");
    in_time(async {
        while reader.len() != 1 {
            clock::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    following.abort();
}

async fn a_list_is_read_page_by_page(cx: Cx) {
    let api = maps(&cx);
    for number in 0..5 {
        api.create(&PostParams::default(), &map(&format!("m{number}"), "1")).await.expect("created");
    }
    let first = api.list(&ListParams::default().limit(3)).await.expect("a page");
    assert_eq!(first.items.len(), 3);
    let token = first.metadata.continue_.expect("more");
    let second = api.list(&ListParams::default().limit(3).continue_token(&token)).await.expect("a page");
    assert_eq!(second.items.len(), 2);
    assert_eq!(second.metadata.continue_.unwrap_or_default(), "");
}

async fn a_dynamic_object_is_applied_and_patched(cx: Cx) {
    let crd = Crd::simple(&cx).with_status().create().await;
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(&crd.group, "v1", "Widget"), "widgets");
    let api: Api<DynamicObject> = Api::namespaced_with(cx.client.clone(), &cx.ns, &resource);
    let widget = DynamicObject::new("a", &resource).data(json!({ "spec": { "size": 1 } }));
    let made = api.patch("a", &PatchParams::apply("suite"), &Patch::Apply(&widget)).await.expect("applied");
    assert_eq!(made.data["spec"]["size"], 1);
    let status = json!({ "status": { "phase": "Ready" } });
    let patched = api.patch_status("a", &PatchParams::default(), &Patch::Merge(&status)).await.expect("patched");
    assert_eq!(patched.data["status"]["phase"], "Ready");
    assert_eq!(patched.metadata.generation, Some(1));
}

async fn the_kinds_are_discovered(cx: Cx) {
    let crd = Crd::simple(&cx).create().await;
    let found = async {
        loop {
            let discovery = Discovery::new(cx.client.clone()).filter(&[&crd.group, ""]).run().await;
            if let Ok(discovery) = discovery
                && let Some((resource, capabilities)) =
                    discovery.resolve_gvk(&GroupVersionKind::gvk(&crd.group, "v1", "Widget"))
            {
                return (resource, capabilities);
            }
            clock::sleep(Duration::from_millis(50)).await;
        }
    };
    let (resource, capabilities) = in_time(found).await;
    assert_eq!(resource.plural, "widgets");
    assert_eq!(capabilities.scope, Scope::Namespaced);
}

async fn a_finalizer_runs_before_its_object_goes(cx: Cx) {
    let api = maps(&cx);
    let object = Arc::new(api.create(&PostParams::default(), &map("a", "1")).await.expect("created"));
    let run = async |object: Arc<ConfigMap>| {
        let outcome = finalizer(&api, "suite.example.com/cleanup", object, |event| async move {
            Ok::<_, std::io::Error>(match event {
                Finalize::Apply(_) => Action::await_change(),
                Finalize::Cleanup(_) => Action::requeue(Duration::from_secs(1)),
            })
        });
        outcome.await.expect("the finalizer runs")
    };
    run(object).await;
    let object = api.get("a").await.expect("there");
    assert_eq!(object.finalizers(), ["suite.example.com/cleanup"]);
    api.delete("a", &DeleteParams::default()).await.expect("deleted");
    let object = Arc::new(api.get("a").await.expect("still there"));
    run(object).await;
    assert!(api.get_opt("a").await.expect("an answer").is_none());
}

async fn a_controller_reconciles_all_of_many_objects(cx: Cx) {
    let api = maps(&cx);
    for number in 0..30 {
        api.create(&PostParams::default(), &map(&format!("m{number}"), "1")).await.expect("created");
    }
    let writes = api.clone();
    let controller = Controller::new(api.clone(), watcher::Config::default()).run(
        move |object, _| {
            let api = writes.clone();
            async move {
                let seen =
                    json!({ "metadata": { "annotations": { "seen": object.data.as_ref().map(|d| d["k"].clone()) } } });
                api.patch(&object.name_any(), &PatchParams::default(), &Patch::Merge(seen)).await?;
                Ok::<_, kube::Error>(Action::await_change())
            }
        },
        |_, _, _| Action::requeue(Duration::from_millis(100)),
        Arc::new(()),
    );
    let running = tokio::spawn(controller.for_each(|_| std::future::ready(())));
    in_time(async {
        loop {
            let all = api.list(&ListParams::default()).await.expect("a list");
            if all.iter().all(|object| object.annotations().get("seen").is_some_and(|seen| seen == "1")) {
                return;
            }
            clock::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    running.abort();
}

async fn one_of_two_wins_a_lease(cx: Cx) {
    let api: Api<Lease> = Api::namespaced(cx.client.clone(), &cx.ns);
    let lease = |holder: &str| -> Lease {
        serde_json::from_value(json!({ "metadata": { "name": "leader" }, "spec": { "holderIdentity": holder } }))
            .expect("a lease")
    };
    let made = api.create(&PostParams::default(), &lease("nobody")).await.expect("created");
    let take = async |holder: &'static str| {
        let mut lease = made.clone();
        lease.spec.get_or_insert_default().holder_identity = Some(holder.to_owned());
        api.replace("leader", &PostParams::default(), &lease).await
    };
    let (one, two) = futures::join!(take("one"), take("two"));
    assert_eq!(usize::from(one.is_ok()) + usize::from(two.is_ok()), 1, "{one:?} {two:?}");
}

async fn get_or_nothing(cx: Cx) {
    assert!(maps(&cx).get_opt("none").await.expect("an answer").is_none());
    let metadata = maps(&cx).get_metadata_opt("none").await.expect("an answer");
    assert!(metadata.is_none());
}

async fn a_metadata_watcher_sees_names_only(cx: Cx) {
    maps(&cx).create(&PostParams::default(), &map("a", "1")).await.expect("created");
    let api: Api<PartialObjectMeta<ConfigMap>> = Api::namespaced(cx.client.clone(), &cx.ns);
    let mut events = watcher(api, watcher::Config::default()).applied_objects().boxed();
    let first = in_time(events.try_next()).await.expect("an event").expect("an object");
    assert_eq!(first.name_any(), "a");
}
