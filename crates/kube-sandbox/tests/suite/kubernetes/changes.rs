//! `kubectl` sessions that change, wait and delete: what a user types and what they read.

use kube_sandbox::contract::{Case, Cx, Shell, cases};
use serde_json::json;

use crate::kubernetes::crd::Crd;

pub(super) static CASES: &[Case] = cases![
    apply_creates_changes_and_leaves_alone,
    apply_removes_what_the_file_no_longer_says,
    apply_refuses_what_the_schema_does_not_know,
    apply_on_the_server_tells_of_conflicts,
    apply_on_the_server_takes_over_from_apply_on_the_client,
    apply_takes_a_definition_and_its_objects,
    apply_tries_without_doing,
    diff_shows_what_would_change,
    patch_knows_three_types,
    patch_writes_the_status,
    label_and_annotate_add_change_and_remove,
    delete_waits_until_it_is_gone,
    delete_waits_for_finalizers,
    delete_takes_selectors_and_files,
    wait_returns_when_a_condition_is_met,
    wait_gives_up_in_time,
    wait_sees_a_value_and_a_deletion,
    replace_swaps_the_whole_object,
    edit_sends_what_the_editor_left,
    scale_sets_a_custom_resource,
];

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n";

async fn apply_creates_changes_and_leaves_alone(cx: Cx) {
    let shell = Shell::new(&cx);
    shell.file("map.yaml", MAP);
    assert_eq!(shell.ok("apply -f map.yaml").await, "configmap/a created\n");
    assert_eq!(shell.ok("apply -f map.yaml").await, "configmap/a unchanged\n");
    shell.file("map.yaml", &MAP.replace("k: v", "k: w"));
    assert_eq!(shell.ok("apply -f map.yaml").await, "configmap/a configured\n");
    assert_eq!(shell.ok("get cm a -o jsonpath={.data}").await, "{\"k\":\"w\"}");
    let printed = shell.pipe("apply -f -", &MAP.replace("name: a", "name: b")).await;
    assert_eq!(printed.out, "configmap/b created\n", "{}", printed.err);
}

async fn apply_removes_what_the_file_no_longer_says(cx: Cx) {
    let shell = Shell::new(&cx);
    shell.file("map.yaml", &format!("{MAP}  l: w\n"));
    shell.ok("apply -f map.yaml").await;
    shell.ok("patch cm a --type=merge -p {\"data\":{\"theirs\":\"x\"}}").await;
    shell.file("map.yaml", MAP);
    shell.ok("apply -f map.yaml").await;
    assert_eq!(shell.ok("get cm a -o jsonpath={.data}").await, "{\"k\":\"v\",\"theirs\":\"x\"}");
}

async fn apply_refuses_what_the_schema_does_not_know(cx: Cx) {
    let shell = Shell::new(&cx);
    shell.file("map.yaml", &MAP.replace("\ndata:", "\ndate:"));
    let complaint = shell.fails("apply -f map.yaml").await;
    assert_eq!(
        complaint,
        "Error from server (BadRequest): error when creating \"map.yaml\": ConfigMap in version \"v1\" cannot be handled as \
         a ConfigMap: strict decoding error: unknown field \"date\""
    );
}

async fn apply_on_the_server_tells_of_conflicts(cx: Cx) {
    let shell = Shell::new(&cx);
    shell.file("map.yaml", MAP);
    let printed = shell.ok("apply --server-side -f map.yaml").await;
    assert_eq!(printed, "configmap/a serverside-applied\n");
    shell.file("map.yaml", &MAP.replace("k: v", "k: w"));
    let complaint = shell.fails("apply --server-side --field-manager=other -f map.yaml").await;
    assert!(
        complaint.starts_with("error: Apply failed with 1 conflict: conflict with \"kubectl\": .data.k\nPlease review"),
        "{complaint}"
    );
    shell.ok("apply --server-side --field-manager=other --force-conflicts -f map.yaml").await;
    assert_eq!(shell.ok("get cm a -o jsonpath={.data.k}").await, "w");
}

async fn apply_on_the_server_takes_over_from_apply_on_the_client(cx: Cx) {
    let shell = Shell::new(&cx);
    shell.file("map.yaml", &format!("{MAP}  l: w\n"));
    shell.ok("apply -f map.yaml").await;
    shell.file("map.yaml", MAP);
    shell.ok("apply --server-side -f map.yaml").await;
    assert_eq!(shell.ok("get cm a -o jsonpath={.data}").await, "{\"k\":\"v\"}");
    let managers = shell.ok("get cm a --show-managed-fields -o jsonpath={.metadata.managedFields[*].manager}").await;
    assert_eq!(managers, "kubectl-last-applied kubectl");
}

async fn apply_takes_a_definition_and_its_objects(cx: Cx) {
    let shell = Shell::new(&cx);
    let draft = Crd::simple(&cx);
    let definition = draft.definition();
    shell.file("crd.json", &definition.to_string());
    let name = definition["metadata"]["name"].as_str().expect("a name").to_owned();
    let printed = shell.ok("apply -f crd.json").await;
    assert_eq!(printed, format!("customresourcedefinition.apiextensions.k8s.io/{name} created\n"));
    shell.ok(&format!("wait --for=condition=Established crd/{name} --timeout=20s")).await;
    let group = definition["spec"]["group"].as_str().expect("a group");
    let widget = |size: u32| {
        format!("apiVersion: {group}/v1\nkind: Widget\nmetadata: {{name: a}}\nspec: {{size: {size}, color: red}}\n")
    };
    cx.until(&format!("/apis/{group}/v1/widgets"), |answer| answer.code == 200).await;
    shell.file("widget.yaml", &widget(1));
    assert_eq!(shell.ok("apply -f widget.yaml").await, format!("widget.{group}/a created\n"));
    shell.file("widget.yaml", &widget(2));
    assert_eq!(shell.ok("apply -f widget.yaml").await, format!("widget.{group}/a configured\n"));
    assert_eq!(shell.ok(&format!("get widget.{group} a -o jsonpath={{.spec.size}}")).await, "2");
    shell.file("widget.yaml", &widget(2).replace("size", "weight"));
    let complaint = shell.fails("apply -f widget.yaml").await;
    assert!(complaint.contains("strict decoding error: unknown field \"spec.weight\""), "{complaint}");
}

async fn apply_tries_without_doing(cx: Cx) {
    let shell = Shell::new(&cx);
    shell.file("map.yaml", MAP);
    assert_eq!(shell.ok("apply --dry-run=server -f map.yaml").await, "configmap/a created (server dry run)\n");
    let printed = shell.ok("apply --server-side --dry-run=server -f map.yaml").await;
    assert_eq!(printed, "configmap/a serverside-applied (server dry run)\n");
    assert_eq!(shell.ok("get cm -o name").await, "");
}

async fn diff_shows_what_would_change(cx: Cx) {
    let shell = Shell::new(&cx);
    shell.file("map.yaml", MAP);
    shell.ok("apply -f map.yaml").await;
    assert_eq!(shell.ok("diff -f map.yaml").await, "");
    shell.file("map.yaml", &MAP.replace("k: v", "k: w"));
    let printed = shell.run("diff -f map.yaml").await;
    assert_eq!(printed.code, 1, "{}", printed.err);
    assert!(printed.out.contains("\n-  k: v\n") && printed.out.contains("\n+  k: w\n"), "{}", printed.out);
    let printed = shell.run("diff --server-side --force-conflicts -f map.yaml").await;
    assert_eq!(printed.code, 1, "{}", printed.err);
    assert_eq!(shell.ok("get cm a -o jsonpath={.data.k}").await, "v");
}

async fn patch_knows_three_types(cx: Cx) {
    let shell = Shell::new(&cx);
    shell.ok("create cm a --from-literal=k=v").await;
    assert_eq!(shell.ok("patch cm a -p {\"data\":{\"k\":\"w\"}}").await, "configmap/a patched\n");
    assert_eq!(shell.ok("patch cm a -p {\"data\":{\"k\":\"w\"}}").await, "configmap/a patched (no change)\n");
    shell.ok("patch cm a --type=merge -p {\"data\":{\"k\":null,\"l\":\"x\"}}").await;
    shell.ok("patch cm a --type=json -p [{\"op\":\"add\",\"path\":\"/data/m\",\"value\":\"y\"}]").await;
    assert_eq!(shell.ok("get cm a -o jsonpath={.data}").await, "{\"l\":\"x\",\"m\":\"y\"}");
    let complaint = shell.fails("patch cm none -p {}").await;
    assert_eq!(complaint, "Error from server (NotFound): configmaps \"none\" not found");
}

async fn patch_writes_the_status(cx: Cx) {
    let crd = Crd::simple(&cx).with_status().create().await;
    cx.post(&crd.path(""), &crd.widget("a", json!({ "size": 1 }))).await.created();
    let shell = Shell::new(&cx);
    let kind = format!("widgets.{}", crd.group);
    shell
        .ok(&format!("patch {kind} a --subresource=status --type=merge -p {{\"status\":{{\"phase\":\"Ready\"}}}}"))
        .await;
    assert_eq!(shell.ok(&format!("get {kind} a -o jsonpath={{.status.phase}}")).await, "Ready");
}

async fn label_and_annotate_add_change_and_remove(cx: Cx) {
    let shell = Shell::new(&cx);
    shell.ok("create cm a").await;
    assert_eq!(shell.ok("label cm a team=red").await, "configmap/a labeled\n");
    let complaint = shell.fails("label cm a team=blue").await;
    assert_eq!(complaint, "error: 'team' already has a value (red), and --overwrite is false");
    shell.ok("label cm a team=blue --overwrite").await;
    assert_eq!(shell.ok("get cm -l team=blue -o name").await, "configmap/a\n");
    assert_eq!(shell.ok("label cm a team-").await, "configmap/a unlabeled\n");
    assert_eq!(shell.ok("annotate cm a note=hello").await, "configmap/a annotated\n");
    assert_eq!(shell.ok("get cm a -o jsonpath={.metadata.annotations.note}").await, "hello");
    assert_eq!(shell.ok("get cm -l team -o name").await, "");
}

async fn delete_waits_until_it_is_gone(cx: Cx) {
    let shell = Shell::new(&cx);
    shell.ok("create cm a").await;
    assert_eq!(shell.ok("delete cm a").await, format!("configmap \"a\" deleted from {} namespace\n", cx.ns));
    let complaint = shell.fails("delete cm a").await;
    assert_eq!(complaint, "Error from server (NotFound): configmaps \"a\" not found");
    shell.ok("delete cm a --ignore-not-found").await;
}

async fn delete_waits_for_finalizers(cx: Cx) {
    let shell = Shell::new(&cx);
    shell.ok("create cm a").await;
    shell.ok("patch cm a -p {\"metadata\":{\"finalizers\":[\"example.com/kept\"]}}").await;
    shell.ok("delete cm a --wait=false").await;
    assert!(!shell.ok("get cm a -o jsonpath={.metadata.deletionTimestamp}").await.is_empty());
    let (deleted, patched) = futures::join!(shell.run("delete cm a"), async {
        // Until the other has begun to wait; nothing it does can be seen from outside.
        kube_sandbox::clock::sleep(std::time::Duration::from_secs(2)).await;
        shell.ok("patch cm a --type=merge -p {\"metadata\":{\"finalizers\":null}}").await
    });
    let deleted = format!("{}{}", deleted.out, deleted.err);
    assert!(deleted.starts_with("configmap \"a\" deleted"), "{deleted}");
    assert_eq!(patched, "configmap/a patched\n");
}

async fn delete_takes_selectors_and_files(cx: Cx) {
    let shell = Shell::new(&cx);
    shell.file("map.yaml", MAP);
    shell.ok("apply -f map.yaml").await;
    shell.ok("create cm b").await;
    shell.ok("create cm c").await;
    shell.ok("label cm b team=red").await;
    shell.ok("delete cm -l team=red").await;
    assert_eq!(shell.ok("get cm -o name").await, "configmap/a\nconfigmap/c\n");
    shell.ok("delete -f map.yaml").await;
    shell.ok("delete cm --all").await;
    assert_eq!(shell.ok("get cm -o name").await, "");
}

/// A widget with a status, and the words to name its kind.
async fn waited_for(cx: &Cx) -> (Crd, String) {
    let crd = Crd::simple(cx).with_status().create().await;
    cx.post(&crd.path(""), &crd.widget("a", json!({}))).await.created();
    let kind = format!("widgets.{}", crd.group);
    (crd, kind)
}

async fn wait_returns_when_a_condition_is_met(cx: Cx) {
    let (crd, kind) = waited_for(&cx).await;
    let shell = Shell::new(&cx);
    let line = format!("wait {kind}/a --for=condition=Ready --timeout=25s");
    let (printed, ()) = futures::join!(shell.ok(&line), async {
        let status = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
        cx.patch(&crd.path("/a/status"), kube_sandbox::contract::Patch::Merge, &status).await.ok();
    });
    assert_eq!(printed, format!("widget.{}/a condition met\n", crd.group));
}

async fn wait_gives_up_in_time(cx: Cx) {
    let (crd, kind) = waited_for(&cx).await;
    let complaint = Shell::new(&cx).fails(&format!("wait {kind}/a --for=condition=Ready --timeout=1s")).await;
    // Kubernetes shortens neither group nor name here.
    assert!(
        complaint.starts_with("error: timed out waiting for the condition on widgets/a"),
        "{complaint} {}",
        crd.group
    );
}

async fn wait_sees_a_value_and_a_deletion(cx: Cx) {
    let (crd, kind) = waited_for(&cx).await;
    let shell = Shell::new(&cx);
    let status = json!({ "status": { "phase": "Done" } });
    cx.patch(&crd.path("/a/status"), kube_sandbox::contract::Patch::Merge, &status).await.ok();
    shell.ok(&format!("wait {kind}/a --for=jsonpath={{.status.phase}}=Done --timeout=20s")).await;
    let line = format!("wait {kind}/a --for=delete --timeout=25s");
    let (printed, ()) = futures::join!(shell.ok(&line), async {
        cx.delete(&crd.path("/a")).await.ok();
    });
    assert!(printed.is_empty() || printed == format!("widget.{}/a condition met\n", crd.group), "{printed}");
}

async fn replace_swaps_the_whole_object(cx: Cx) {
    let shell = Shell::new(&cx);
    shell.ok("create cm a --from-literal=old=v").await;
    shell.file("map.yaml", MAP);
    assert_eq!(shell.ok("replace -f map.yaml").await, "configmap/a replaced\n");
    assert_eq!(shell.ok("get cm a -o jsonpath={.data}").await, "{\"k\":\"v\"}");
    shell.file("map.yaml", &MAP.replace("name: a", "name: none"));
    let complaint = shell.fails("replace -f map.yaml").await;
    assert_eq!(
        complaint,
        "Error from server (NotFound): error when replacing \"map.yaml\": configmaps \"none\" not found"
    );
}

async fn edit_sends_what_the_editor_left(cx: Cx) {
    let shell = Shell::new(&cx);
    shell.ok("create cm a --from-literal=k=v").await;
    shell.editor("sed -i 's/k: v/k: edited/' \"$1\"");
    assert_eq!(shell.ok("edit cm a").await, "configmap/a edited\n");
    assert_eq!(shell.ok("get cm a -o jsonpath={.data.k}").await, "edited");
    shell.editor("true");
    let printed = shell.run("edit cm a").await;
    assert_eq!(printed.code, 0, "{}", printed.err);
    assert!(format!("{}{}", printed.out, printed.err).contains("Edit cancelled, no changes made."), "{printed:?}");
}

async fn scale_sets_a_custom_resource(cx: Cx) {
    let scale = json!({ "specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size" });
    let crd = Crd::simple(&cx).set("subresources", json!({ "status": {}, "scale": scale })).create().await;
    cx.post(&crd.path(""), &crd.widget("a", json!({ "size": 2 }))).await.created();
    let printed = Shell::new(&cx).ok(&format!("scale widgets.{}/a --replicas=4", crd.group)).await;
    assert_eq!(printed, format!("widget.{}/a scaled\n", crd.group));
    assert_eq!(cx.get(&crd.path("/a")).await.ok()["spec"]["size"], 4);
}
