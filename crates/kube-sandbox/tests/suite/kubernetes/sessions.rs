//! `kubectl` sessions that look and make: what a user types and what they read.

use kube_sandbox::contract::{Case, Cx, Shell, cases, table};
use serde_json::json;

use crate::kubernetes::crd::Crd;

pub(super) static CASES: &[Case] = cases![
    get_lists_namespaces,
    get_says_when_there_is_nothing,
    get_shows_more_when_wide,
    get_knows_short_names_and_formats,
    get_follows_changes,
    create_makes_the_everyday_kinds,
    create_says_what_exists_already,
    create_makes_roles_and_bindings,
    explain_tells_of_fields,
    explain_tells_of_custom_fields,
    auth_answers_what_may_be_done,
    auth_tells_who_one_is,
    describe_tells_an_object_and_its_events,
    api_resources_lists_what_there_is,
    a_token_is_made_and_used,
    errors_read_as_they_should,
    a_user_without_rights_is_told_so,
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
        let line = kube_sandbox::clock::within(std::time::Duration::from_millis(500), events.next()).await;
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

async fn explain_tells_of_fields(cx: Cx) {
    let printed = Shell::new(&cx).ok("explain configmap.data").await;
    let lines = table(&printed);
    assert_eq!(lines[0], "KIND: ConfigMap");
    assert_eq!(lines[1], "VERSION: v1");
    assert!(printed.contains("FIELD: data <map[string]string>"), "{printed}");
}

async fn explain_tells_of_custom_fields(cx: Cx) {
    let crd = Crd::of(
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
    let ann = Shell::of(&cx, &cx.target.logins.user(&format!("ann-{}", cx.ns), &[]));
    let printed = ann.run("auth can-i create configmaps").await;
    assert_eq!((printed.code, printed.out.as_str()), (1, "no\n"));
    assert!(shell.ok("auth can-i --list").await.contains("*.*"));
}

async fn auth_tells_who_one_is(cx: Cx) {
    let ann = Shell::of(&cx, &cx.target.logins.user("ann", &["team"]));
    let lines = table(&ann.ok("auth whoami").await);
    assert_eq!(lines[..3], ["ATTRIBUTE VALUE", "Username ann", "Groups [team system:authenticated]"]);
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
    let robot = Shell::of(&cx, &cx.target.logins.token(token.trim()));
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
    let ann = Shell::of(&cx, &cx.target.logins.user("ann", &[]));
    assert_eq!(
        ann.fails("get cm").await,
        format!(
            "Error from server (Forbidden): configmaps is forbidden: User \"ann\" cannot list resource \"configmaps\" in API \
             group \"\" in the namespace \"{}\"",
            cx.ns
        )
    );
    let nobody = Shell::of(&cx, &cx.target.logins.token("made-up"));
    let complaint = nobody.fails("get cm").await;
    assert!(complaint.contains("error: You must be logged in to the server ("), "{complaint}");
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
