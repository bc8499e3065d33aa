//! `kubectl` sessions: what a user types and what they read.

use serde_json::json;

use crate::{
    contract::{Case, cases},
    cx::Cx,
    kubectl::{Shell, table},
    kubernetes::crd::Crd,
};

pub(super) static CASES: &[Case] = cases![
    get_lists_namespaces,
    get_says_when_there_is_nothing,
    get_shows_more_when_wide,
    get_knows_short_names_and_formats,
    get_follows_changes,
    create_makes_the_everyday_kinds,
    create_says_what_exists_already,
    create_makes_roles_and_bindings,
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
    explain_tells_of_fields,
    explain_tells_of_custom_fields,
    auth_answers_what_may_be_done,
    auth_tells_who_one_is,
    wait_returns_when_a_condition_is_met,
    wait_gives_up_in_time,
    wait_sees_a_value_and_a_deletion,
    describe_tells_an_object_and_its_events,
    replace_swaps_the_whole_object,
    edit_sends_what_the_editor_left,
    api_resources_lists_what_there_is,
    a_token_is_made_and_used,
    errors_read_as_they_should,
    a_user_without_rights_is_told_so,
    scale_sets_a_custom_resource,
    events_are_listed,
    version_and_health_can_be_asked,
];

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n";

async fn get_lists_namespaces(cx: Cx) {
    let shell = Shell::new(&cx);
    let printed = shell.ok("get ns").await;
    let lines = table(&printed);
    assert_eq!(lines[0], "NAME STATUS AGE");
    assert!(lines.iter().any(|line| line.starts_with(&format!("{} Active ", cx.ns))), "{printed}");
    assert!(lines.iter().any(|line| line.starts_with("kube-system Active ")), "{printed}");
}

async fn get_says_when_there_is_nothing(cx: Cx) {
    let printed = Shell::new(&cx).run("get configmaps").await;
    assert_eq!((printed.code, printed.out.as_str()), (0, ""));
    assert_eq!(printed.err.trim_end(), format!("No resources found in {} namespace.", cx.ns));
}

async fn get_shows_more_when_wide(cx: Cx) {
    let shell = Shell::new(&cx);
    shell.ok("create rolebinding a --clusterrole=view --user=ann").await;
    assert_eq!(table(&shell.ok("get rolebindings").await)[0], "NAME ROLE AGE");
    let wide = table(&shell.ok("get rolebindings -o wide").await);
    assert_eq!(wide[0], "NAME ROLE AGE USERS GROUPS SERVICEACCOUNTS");
    assert!(wide[1].starts_with("a ClusterRole/view ") && wide[1].ends_with(" ann"), "{wide:?}");
}

async fn get_knows_short_names_and_formats(cx: Cx) {
    let shell = Shell::new(&cx);
    shell.ok("create configmap a --from-literal=k=v").await;
    assert_eq!(shell.ok("get cm a -o jsonpath={.data.k}").await, "v");
    assert_eq!(shell.ok("get cm -o name").await, "configmap/a\n");
    assert_eq!(table(&shell.ok("get cm -o custom-columns=N:.metadata.name,K:.data.k").await), ["N K", "a v"]);
    assert!(shell.ok("get cm a -o yaml").await.starts_with("apiVersion: v1\ndata:\n  k: v\nkind: ConfigMap\n"));
    assert_eq!(table(&shell.ok("get cm a --no-headers").await)[0].split(' ').next(), Some("a"));
    assert!(shell.ok("get cm -A --show-labels").await.contains(&cx.ns));
    assert_eq!(table(&shell.ok("get cm,secrets").await)[0], "NAME DATA AGE");
}

async fn get_follows_changes(cx: Cx) {
    let shell = Shell::new(&cx);
    shell.ok("create configmap a --from-literal=k=v").await;
    let mut following = shell.follow("get configmaps --watch");
    assert_eq!(following.next().await, "NAME DATA AGE");
    assert!(following.next().await.starts_with("a 1 "));
    shell.ok("create configmap b").await;
    assert!(following.next().await.starts_with("b 0 "));
    shell.ok("patch configmap b --type=merge -p {\"data\":{\"x\":\"y\"}}").await;
    assert!(following.next().await.starts_with("b 1 "));
    let mut events = shell.follow("get configmaps --watch-only --output-watch-events");
    // The watch may begin before or after the deletion is asked for; a later one is always seen.
    shell.ok("delete configmap a").await;
    assert!(following.next().await.starts_with("a 1 "));
    drop(following);
    let mut seen = String::new();
    for number in 0..100 {
        shell.ok(&format!("create configmap c{number}")).await;
        let line = slipway_sim::clock::within(std::time::Duration::from_millis(500), events.next()).await;
        if let Some(line) = line {
            seen = line;
            break;
        }
    }
    assert_eq!(seen, "EVENT NAME DATA AGE");
}

async fn create_makes_the_everyday_kinds(cx: Cx) {
    let shell = Shell::new(&cx);
    let ns = format!("{:.50}-x", cx.ns);
    assert_eq!(shell.ok(&format!("create namespace {ns}")).await, format!("namespace/{ns} created\n"));
    assert_eq!(shell.ok("create configmap a --from-literal=k=v").await, "configmap/a created\n");
    assert_eq!(shell.ok("create secret generic b --from-literal=k=v").await, "secret/b created\n");
    assert_eq!(shell.ok("create serviceaccount c").await, "serviceaccount/c created\n");
    assert_eq!(shell.ok("get secret b -o jsonpath={.data.k}").await, "dg==");
    shell.ok(&format!("get namespace {ns}")).await;
    shell.ok("get serviceaccount c").await;
}

async fn create_says_what_exists_already(cx: Cx) {
    let shell = Shell::new(&cx);
    shell.ok("create configmap a").await;
    let complaint = shell.fails("create configmap a").await;
    assert_eq!(complaint, "error: failed to create configmap: configmaps \"a\" already exists");
}

async fn create_makes_roles_and_bindings(cx: Cx) {
    let shell = Shell::new(&cx);
    let printed = shell.ok("create role r --verb=get,list --resource=configmaps").await;
    assert_eq!(printed, "role.rbac.authorization.k8s.io/r created\n");
    let printed = shell.ok("create rolebinding r --role=r --user=ann").await;
    assert_eq!(printed, "rolebinding.rbac.authorization.k8s.io/r created\n");
    let name = format!("{:.50}-r", cx.ns);
    let printed = shell.ok(&format!("create clusterrole {name} --verb=get --resource=namespaces")).await;
    assert_eq!(printed, format!("clusterrole.rbac.authorization.k8s.io/{name} created\n"));
    assert_eq!(shell.run("auth can-i list configmaps --as ann").await.out, "yes\n");
}

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
        slipway_sim::clock::sleep(std::time::Duration::from_secs(2)).await;
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

async fn explain_tells_of_fields(cx: Cx) {
    let printed = Shell::new(&cx).ok("explain configmap.data").await;
    let lines = table(&printed);
    assert_eq!(lines[0], "KIND: ConfigMap");
    assert_eq!(lines[1], "VERSION: v1");
    assert!(printed.contains("FIELD: data <map[string]string>"), "{printed}");
}

async fn explain_tells_of_custom_fields(cx: Cx) {
    let crd = Crd::new(
        &cx,
        json!({ "spec": {
        "type": "object", "description": "What is wanted.",
        "properties": { "size": { "type": "integer", "description": "How big it is." } },
    } }),
    )
    .create()
    .await;
    cx.until(&format!("/openapi/v3/apis/{}/v1", crd.group), |answer| answer.code == 200).await;
    let kind = format!("widgets.{}", crd.group);
    let printed = Shell::new(&cx).ok(&format!("explain {kind}.spec")).await;
    let lines = table(&printed);
    assert_eq!(lines[0], format!("GROUP: {}", crd.group));
    assert_eq!(lines[1], "KIND: Widget");
    for text in ["FIELD: spec <Object>", "What is wanted.", "size\t<integer>", "How big it is."] {
        assert!(printed.contains(text), "{text}: {printed}");
    }
}

async fn auth_answers_what_may_be_done(cx: Cx) {
    let shell = Shell::new(&cx);
    assert_eq!(shell.ok("auth can-i delete configmaps").await, "yes\n");
    let printed = shell.run("auth can-i get secrets --as ann").await;
    assert_eq!((printed.code, printed.out.as_str()), (1, "no\n"));
    let ann = Shell::of(&cx, &cx.target.user(&format!("ann-{}", cx.ns), &[]));
    let printed = ann.run("auth can-i create configmaps").await;
    assert_eq!((printed.code, printed.out.as_str()), (1, "no\n"));
    assert!(shell.ok("auth can-i --list").await.contains("*.*"));
}

async fn auth_tells_who_one_is(cx: Cx) {
    let ann = Shell::of(&cx, &cx.target.user("ann", &["team"]));
    let lines = table(&ann.ok("auth whoami").await);
    assert_eq!(lines[..3], ["ATTRIBUTE VALUE", "Username ann", "Groups [team system:authenticated]"]);
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
        cx.patch(&crd.path("/a/status"), crate::cx::Patch::Merge, &status).await.ok();
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
    cx.patch(&crd.path("/a/status"), crate::cx::Patch::Merge, &status).await.ok();
    shell.ok(&format!("wait {kind}/a --for=jsonpath={{.status.phase}}=Done --timeout=20s")).await;
    let line = format!("wait {kind}/a --for=delete --timeout=25s");
    let (printed, ()) = futures::join!(shell.ok(&line), async {
        cx.delete(&crd.path("/a")).await.ok();
    });
    assert!(printed.is_empty() || printed == format!("widget.{}/a condition met\n", crd.group), "{printed}");
}

async fn describe_tells_an_object_and_its_events(cx: Cx) {
    let shell = Shell::new(&cx);
    shell.ok("create cm a --from-literal=k=v").await;
    let map = cx.get(&cx.core("configmaps/a")).await.ok();
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": { "name": "e" }, "type": "Normal", "reason": "Tried",
        "message": "It was tried.", "source": { "component": "suite" },
        "involvedObject": { "kind": "ConfigMap", "name": "a", "namespace": cx.ns, "uid": map["metadata"]["uid"] },
    });
    cx.post(&cx.core("events"), &event).await.created();
    let printed = shell.ok("describe cm a").await;
    let lines = table(&printed);
    assert_eq!(lines[..2], ["Name: a".to_owned(), format!("Namespace: {}", cx.ns)]);
    assert!(printed.contains("\nData\n====\nk:\n----\nv\n"), "{printed}");
    assert!(lines.iter().any(|line| line.ends_with("suite It was tried.")), "{printed}");
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

async fn api_resources_lists_what_there_is(cx: Cx) {
    let crd = Crd::simple(&cx).create().await;
    let shell = Shell::new(&cx);
    let lines = table(&shell.ok("api-resources").await);
    assert_eq!(lines[0], "NAME SHORTNAMES APIVERSION NAMESPACED KIND");
    for line in [
        "configmaps cm v1 true ConfigMap",
        "namespaces ns v1 false Namespace",
        "leases coordination.k8s.io/v1 true Lease",
        "customresourcedefinitions crd,crds apiextensions.k8s.io/v1 false CustomResourceDefinition",
    ] {
        assert!(lines.contains(&line.to_owned()), "{line}");
    }
    assert!(shell.ok("api-versions").await.lines().any(|line| line == "rbac.authorization.k8s.io/v1"));
    // A new kind shows once the list of groups has followed.
    cx.until("/apis", |answer| answer.text.contains(&crd.group)).await;
}

async fn a_token_is_made_and_used(cx: Cx) {
    let shell = Shell::new(&cx);
    shell.ok("create serviceaccount robot").await;
    let token = shell.ok("create token robot --duration=20m").await;
    let robot = Shell::of(&cx, &cx.target.token(token.trim()));
    let lines = table(&robot.ok("auth whoami").await);
    assert_eq!(lines[1], format!("Username system:serviceaccount:{}:robot", cx.ns));
}

async fn errors_read_as_they_should(cx: Cx) {
    let shell = Shell::new(&cx);
    assert_eq!(shell.fails("get nonsense").await, "error: the server doesn't have a resource type \"nonsense\"");
    assert_eq!(shell.fails("get cm none").await, "Error from server (NotFound): configmaps \"none\" not found");
    shell.file("map.yaml", &MAP.replace("name: a", "name: Not_Good"));
    let complaint = shell.fails("create -f map.yaml").await;
    assert!(
        complaint.starts_with("The ConfigMap \"Not_Good\" is invalid: metadata.name: Invalid value: \"Not_Good\": "),
        "{complaint}"
    );
    shell.file("map.yaml", &MAP.replace("kind: ConfigMap", "kind: Nonsense"));
    let complaint = shell.fails("apply -f map.yaml").await;
    assert_eq!(
        complaint,
        "error: resource mapping not found for name: \"a\" namespace: \"\" from \"map.yaml\": no matches for kind \
         \"Nonsense\" in version \"v1\"\nensure CRDs are installed first"
    );
}

async fn a_user_without_rights_is_told_so(cx: Cx) {
    let ann = Shell::of(&cx, &cx.target.user("ann", &[]));
    assert_eq!(
        ann.fails("get cm").await,
        format!(
            "Error from server (Forbidden): configmaps is forbidden: User \"ann\" cannot list resource \"configmaps\" in API \
             group \"\" in the namespace \"{}\"",
            cx.ns
        )
    );
    let nobody = Shell::of(&cx, &cx.target.token("made-up"));
    let complaint = nobody.fails("get cm").await;
    assert!(complaint.contains("error: You must be logged in to the server ("), "{complaint}");
}

async fn scale_sets_a_custom_resource(cx: Cx) {
    let scale = json!({ "specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size" });
    let crd = Crd::simple(&cx).set("subresources", json!({ "status": {}, "scale": scale })).create().await;
    cx.post(&crd.path(""), &crd.widget("a", json!({ "size": 2 }))).await.created();
    let printed = Shell::new(&cx).ok(&format!("scale widgets.{}/a --replicas=4", crd.group)).await;
    assert_eq!(printed, format!("widget.{}/a scaled\n", crd.group));
    assert_eq!(cx.get(&crd.path("/a")).await.ok()["spec"]["size"], 4);
}

async fn events_are_listed(cx: Cx) {
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": { "name": "e" }, "type": "Warning", "reason": "Tried",
        "message": "It was tried.", "lastTimestamp": "2026-01-02T03:04:05Z",
        "involvedObject": { "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": cx.ns },
    });
    cx.post(&cx.core("events"), &event).await.created();
    let shell = Shell::new(&cx);
    let lines = table(&shell.ok("get events").await);
    assert_eq!(lines[0], "LAST SEEN TYPE REASON OBJECT MESSAGE");
    assert!(lines[1].ends_with(" Warning Tried configmap/a It was tried."), "{lines:?}");
    let lines = table(&shell.ok("events --for configmap/a").await);
    assert!(lines[1].ends_with(" Warning Tried ConfigMap/a It was tried."), "{lines:?}");
}

async fn version_and_health_can_be_asked(cx: Cx) {
    let shell = Shell::new(&cx);
    assert!(shell.ok("version").await.contains("Server Version: v1."));
    assert_eq!(shell.ok("get --raw /readyz").await, "ok");
    assert!(shell.ok("cluster-info").await.contains("Kubernetes control plane"), "it names the server");
}
