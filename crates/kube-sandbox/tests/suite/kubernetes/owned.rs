//! What a client cannot write: the fields of the metadata that belong to the server.

use kube_sandbox::contract::{Answer, Case, Cx, Patch, cases, config_map};
use serde_json::{Value, json};

use crate::kubernetes::crd::Crd;

pub(super) static CASES: &[Case] = cases![
    deletion_does_not_begin_with_a_write,
    deletion_that_has_begun_keeps_its_time_and_its_grace,
    an_empty_uid_is_no_wish,
    what_the_server_keeps_is_put_back,
    the_prefix_of_a_name_is_the_clients,
    a_new_object_is_not_being_deleted,
];

/// An object that is kept by a finalizer, and its path: one of a built-in kind and one of a custom one.
async fn kept(cx: &Cx) -> [(String, Value); 2] {
    let widgets = Crd::simple(cx).create().await;
    let objects =
        [(cx.core("configmaps"), config_map("a", json!({}))), (widgets.path(""), widgets.widget("a", json!({})))];
    for (path, object) in &objects {
        let mut object = object.clone();
        object["metadata"]["finalizers"] = json!(["example.com/kept"]);
        cx.post(path, &object).await.created();
    }
    objects.map(|(path, object)| (format!("{path}/a"), object))
}

/// Writes a field of the metadata in each way there is.
async fn write(cx: &Cx, path: &str, object: &Value, field: &str, value: &Value) -> [Answer; 3] {
    let mut put = cx.get(path).await.ok();
    put["metadata"][field] = value.clone();
    let put = cx.put(path, &put).await;
    let mut applied = json!({ "apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": {} });
    applied["metadata"][field] = value.clone();
    [
        put,
        cx.patch(path, Patch::Merge, &json!({ "metadata": applied["metadata"] })).await,
        cx.apply(path, "me", "&force=true", &applied).await,
    ]
}

async fn deletion_does_not_begin_with_a_write(cx: Cx) {
    for (path, object) in kept(&cx).await {
        for (field, value) in
            [("deletionTimestamp", json!("2030-01-01T00:00:00Z")), ("deletionGracePeriodSeconds", json!(5))]
        {
            for answer in write(&cx, &path, &object, field, &value).await {
                let part = format!("metadata.{field}: Invalid value: {value}: field is immutable");
                answer.refused_with(422, "Invalid", &part);
            }
        }
    }
}

async fn deletion_that_has_begun_keeps_its_time_and_its_grace(cx: Cx) {
    for (path, object) in kept(&cx).await {
        let begun = cx.delete(&path).await.ok();
        for value in [json!("2030-01-01T00:00:00Z"), Value::Null] {
            for answer in write(&cx, &path, &object, "deletionTimestamp", &value).await {
                assert_eq!(answer.ok()["metadata"]["deletionTimestamp"], begun["metadata"]["deletionTimestamp"]);
            }
        }
        for answer in write(&cx, &path, &object, "deletionGracePeriodSeconds", &Value::Null).await {
            assert_eq!(answer.ok()["metadata"]["deletionGracePeriodSeconds"], 0);
        }
        for answer in write(&cx, &path, &object, "deletionGracePeriodSeconds", &json!(5)).await {
            let part = "metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable";
            answer.refused_with(422, "Invalid", part);
        }
    }
}

async fn an_empty_uid_is_no_wish(cx: Cx) {
    for (path, object) in kept(&cx).await {
        let uid = cx.get(&path).await.ok()["metadata"]["uid"].clone();
        for answer in write(&cx, &path, &object, "uid", &json!("")).await {
            assert_eq!(answer.ok()["metadata"]["uid"], uid);
        }
    }
}

async fn what_the_server_keeps_is_put_back(cx: Cx) {
    for (path, object) in kept(&cx).await {
        let before = cx.get(&path).await.ok();
        for (field, value) in [
            ("creationTimestamp", json!("2020-01-01T00:00:00Z")),
            ("creationTimestamp", Value::Null),
            ("generation", json!(77)),
        ] {
            for answer in write(&cx, &path, &object, field, &value).await {
                assert_eq!(answer.ok()["metadata"][field], before["metadata"][field], "{field}");
            }
        }
    }
}

async fn the_prefix_of_a_name_is_the_clients(cx: Cx) {
    for (path, object) in kept(&cx).await {
        for answer in write(&cx, &path, &object, "generateName", &json!("b-")).await {
            assert_eq!(answer.ok()["metadata"]["generateName"], "b-");
        }
    }
}

async fn a_new_object_is_not_being_deleted(cx: Cx) {
    let mut object = config_map("a", json!({}));
    object["metadata"]["deletionTimestamp"] = json!("2030-01-01T00:00:00Z");
    object["metadata"]["deletionGracePeriodSeconds"] = json!(5);
    let made = cx.post(&cx.core("configmaps"), &object).await.created();
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
        assert_eq!(made["metadata"].get(field), None);
    }
}
