//! The kinds around Shoots.

use kube_sandbox::contract::{Case, Cx, Json as _, Patch, cases};
use serde_json::json;

use super::shoots::{CORE, me, refused};

pub(super) static CASES: &[Case] = cases![
    the_groups_of_gardener_are_discovered,
    credentials_stay_what_they_are,
    credentials_need_a_secret_that_is_there,
    a_cloud_profile_is_filled_in,
    a_cloud_profile_needs_its_parts,
    a_project_gets_an_owner,
    a_project_needs_a_namespace_of_its_own_kind,
    seeds_tell_whether_they_are_ready,
    an_internal_secret_is_kept_apart,
    an_exposure_class_stays_what_it_is,
];

const SECURITY: &str = "security.gardener.cloud/v1alpha1";

async fn the_groups_of_gardener_are_discovered(cx: Cx) {
    let list = cx.get(&format!("/apis/{CORE}")).await.ok();
    let names = list.texts("/resources", "/name");
    for name in [
        "shoots",
        "shoots/status",
        "shoots/binding",
        "shoots/adminkubeconfig",
        "shoots/viewerkubeconfig",
        "seeds",
        "projects",
        "cloudprofiles",
        "secretbindings",
        "quotas",
        "controllerregistrations",
        "exposureclasses",
        "internalsecrets",
        "namespacedcloudprofiles",
    ] {
        assert!(names.contains(&name.to_owned()), "{name}");
    }
    let names = cx.get(&format!("/apis/{SECURITY}")).await.ok().texts("/resources", "/name");
    assert!(names.contains(&"credentialsbindings".to_owned()));
}

async fn credentials_stay_what_they_are(cx: Cx) {
    let path = cx.group(SECURITY, "credentialsbindings/aws?dryRun=All");
    let answer = cx.patch(&path, Patch::Merge, &json!({ "provider": { "type": "gcp" } })).await;
    refused(answer, 422, "provider: Invalid value");
    let answer = cx.patch(&path, Patch::Merge, &json!({ "credentialsRef": { "name": "other" } })).await;
    refused(answer, 422, "credentialsRef: Invalid value");
}

async fn credentials_need_a_secret_that_is_there(cx: Cx) {
    let binding = json!({
        "apiVersion": SECURITY, "kind": "CredentialsBinding", "metadata": { "name": "none" }, "provider": { "type": "aws" },
        "credentialsRef": { "apiVersion": "v1", "kind": "Secret", "namespace": cx.ns, "name": "none" },
    });
    let answer = cx.post(&cx.group(SECURITY, "credentialsbindings?dryRun=All"), &binding).await;
    refused(answer, 403, "secrets \"none\" not found");
}

async fn a_cloud_profile_is_filled_in(cx: Cx) {
    let profile = json!({
        "apiVersion": CORE, "kind": "CloudProfile", "metadata": { "name": "tried" },
        "spec": {
            "type": "aws", "kubernetes": { "versions": [{ "version": "1.34.5" }] },
            "machineImages": [{ "name": "gardenlinux", "versions": [{ "version": "1.2.3" }] }],
            "machineTypes": [{ "name": "m", "cpu": "2", "gpu": "0", "memory": "8Gi" }],
            "regions": [{ "name": "r" }],
        },
    });
    let made = cx.post(&format!("/apis/{CORE}/cloudprofiles?dryRun=All"), &profile).await.created();
    let image = &made["spec"]["machineImages"][0];
    assert_eq!(image["updateStrategy"], "major");
    assert_eq!(image["versions"][0]["cri"], json!([{ "name": "containerd" }]));
    assert_eq!(image["versions"][0]["architectures"], json!(["amd64"]));
    let machine = &made["spec"]["machineTypes"][0];
    assert_eq!((&machine["usable"], &machine["architecture"]), (&json!(true), &json!("amd64")));
}

async fn a_cloud_profile_needs_its_parts(cx: Cx) {
    let profile = json!({
        "apiVersion": CORE, "kind": "CloudProfile", "metadata": { "name": "tried" },
        "spec": {
            "type": "", "kubernetes": { "versions": [] }, "machineImages": [], "machineTypes": [], "regions": [],
        },
    });
    let answer = cx.post(&format!("/apis/{CORE}/cloudprofiles?dryRun=All"), &profile).await;
    let status = answer.refused_with(422, "Invalid", "");
    let fields = status.texts("/details/causes", "/field");
    for field in ["spec.type", "spec.kubernetes.versions", "spec.machineImages", "spec.machineTypes", "spec.regions"] {
        assert!(fields.contains(&field.to_owned()), "{field}: {fields:?}");
    }
}

async fn a_project_gets_an_owner(cx: Cx) {
    let project = json!({
        "apiVersion": CORE, "kind": "Project", "metadata": { "name": "tried" }, "spec": { "namespace": "garden-tried" },
    });
    let made = cx.post(&format!("/apis/{CORE}/projects?dryRun=All"), &project).await.created();
    let me = me(&cx).await;
    for field in ["owner", "createdBy"] {
        assert_eq!(
            made["spec"][field],
            json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": me }),
            "{field}"
        );
    }
}

async fn a_project_needs_a_namespace_of_its_own_kind(cx: Cx) {
    let project = |namespace: &str| {
        json!({
            "apiVersion": CORE, "kind": "Project", "metadata": { "name": "tried" }, "spec": { "namespace": namespace },
        })
    };
    let answer = cx.post(&format!("/apis/{CORE}/projects?dryRun=All"), &project("elsewhere")).await;
    refused(answer, 422, "spec.namespace: Invalid value: \"elsewhere\": must start with garden-");
    let answer = cx.post(&format!("/apis/{CORE}/projects?dryRun=All"), &project("garden-dev")).await;
    assert_eq!(answer.code, 403, "{}", answer.text);
}

async fn seeds_tell_whether_they_are_ready(cx: Cx) {
    let seed = cx.get(&format!("/apis/{CORE}/seeds/aws-eu1")).await.ok();
    let conditions = seed["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let ready = conditions.iter().find(|condition| condition["type"] == "GardenletReady").expect("the condition");
    assert_eq!(ready["status"], "True");
    assert_eq!(seed["spec"]["settings"]["scheduling"]["visible"], true);
}

async fn an_internal_secret_is_kept_apart(cx: Cx) {
    let secret = json!({
        "apiVersion": CORE, "kind": "InternalSecret", "metadata": { "name": "tried" }, "stringData": { "k": "v" },
    });
    let made = cx.post(&cx.group(CORE, "internalsecrets"), &secret).await.created();
    assert_eq!(made["data"]["k"], "dg==");
    cx.get(&cx.core("secrets/tried")).await.refused_with(404, "NotFound", "secrets \"tried\" not found");
}

async fn an_exposure_class_stays_what_it_is(cx: Cx) {
    let path = format!("/apis/{CORE}/exposureclasses/internet?dryRun=All");
    let answer = cx.patch(&path, Patch::Merge, &json!({ "handler": "other" })).await;
    refused(answer, 422, "handler: Invalid value: \"internet\": field is immutable");
}
