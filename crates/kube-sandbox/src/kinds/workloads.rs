//! Kinds that stand for things that run. Nothing runs here: they are kept, printed, and scaled on paper.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::cells;
use crate::kind::{Cell, Column, Generation, Kind, Naming, Subresource};

/// The rows.
pub(super) fn kinds() -> Vec<Kind> {
    let core = |kind: &str, plural: &str| Kind::new("", "v1", kind, plural);
    let age = || Column::of("Age", "string", cells::age);
    let replicas = || Subresource::Scale {
        spec: ".spec.replicas".to_owned(),
        status: ".status.replicas".to_owned(),
        selector: None,
    };
    let apps = |kind: &str, plural: &str| {
        Kind::new("apps", "v1", kind, plural)
            .namespaced()
            .categories(&["all"])
            .generation(Generation::Spec)
            .below(Subresource::Status)
    };
    let pod_fields = [
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ];
    vec![
        core("Node", "nodes").short(&["no"]).below(Subresource::Status).selectable(&["spec.unschedulable"]).columns(
            vec![
                Column::of("Status", "string", node_status),
                Column::of("Roles", "string", node_roles),
                age(),
                Column::path("Version", ".status.nodeInfo.kubeletVersion"),
                Column::of("Internal-IP", "string", |node, _| address(node, "InternalIP")).wide(),
                Column::of("External-IP", "string", |node, _| address(node, "ExternalIP")).wide(),
                known("OS-Image", ".status.nodeInfo.osImage"),
                known("Kernel-Version", ".status.nodeInfo.kernelVersion"),
                known("Container-Runtime", ".status.nodeInfo.containerRuntimeVersion"),
            ],
        ),
        core("Pod", "pods")
            .namespaced()
            .short(&["po"])
            .categories(&["all"])
            .below(Subresource::Status)
            .selectable(&pod_fields)
            .columns(vec![
                Column::of("Ready", "string", pod_ready),
                Column::path("Status", ".status.phase"),
                Column::of("Restarts", "string", pod_restarts),
                age(),
                Column::path("IP", ".status.podIP").wide(),
                Column::path("Node", ".spec.nodeName").wide(),
            ]),
        core("Service", "services")
            .namespaced()
            .short(&["svc"])
            .categories(&["all"])
            .naming(Naming::LabelWithLetter)
            .below(Subresource::Status)
            .columns(vec![
                Column::path("Type", ".spec.type"),
                Column::of("Cluster-IP", "string", |service, _| text_or_none(&service["spec"]["clusterIP"])),
                Column::of("External-IP", "string", external_ip),
                Column::of("Port(s)", "string", ports),
                age(),
                Column::of("Selector", "string", |service, _| pairs(&service["spec"]["selector"])).wide(),
            ]),
        core("Endpoints", "endpoints").namespaced().short(&["ep"]).columns(vec![age()]),
        core("PersistentVolumeClaim", "persistentvolumeclaims").namespaced().short(&["pvc"]).columns(vec![age()]),
        core("ResourceQuota", "resourcequotas")
            .namespaced()
            .short(&["quota"])
            .below(Subresource::Status)
            .columns(vec![age()]),
        apps("Deployment", "deployments").short(&["deploy"]).below(replicas()).columns(vec![
            Column::of("Ready", "string", ready),
            Column::of("Up-to-date", "string", |object, _| number(object, "updatedReplicas")),
            Column::of("Available", "string", |object, _| number(object, "availableReplicas")),
            age(),
            Column::of("Containers", "string", |object, _| containers(object, "name")).wide(),
            Column::of("Images", "string", |object, _| containers(object, "image")).wide(),
            Column::of("Selector", "string", |object, _| pairs(&object["spec"]["selector"]["matchLabels"])).wide(),
        ]),
        apps("StatefulSet", "statefulsets")
            .short(&["sts"])
            .below(replicas())
            .columns(vec![Column::of("Ready", "string", ready), age()]),
        apps("DaemonSet", "daemonsets").short(&["ds"]).columns(vec![age()]),
        apps("ReplicaSet", "replicasets").short(&["rs"]).below(replicas()).columns(vec![age()]),
        Kind::new("apiregistration.k8s.io", "v1", "APIService", "apiservices")
            .categories(&["api-extensions"])
            .below(Subresource::Status)
            .columns(vec![age()]),
    ]
}

fn known(name: &str, path: &str) -> Column {
    Column { cell: Cell::Path(path.to_owned()), ..Column::path(name, path) }.wide()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text_or_none(value: &Value) -> Value {
    json!(value.as_str().filter(|text| !text.is_empty()).unwrap_or("<none>"))
}

fn node_status(node: &Value, _: Timestamp) -> Value {
    let ready = list(&node["status"]["conditions"]).find(|condition| condition["type"] == "Ready");
    let mut said = match ready.and_then(|condition| condition["status"].as_str()) {
        Some("True") => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if node["spec"]["unschedulable"] == json!(true) {
        said.push_str(",SchedulingDisabled");
    }
    json!(said)
}

fn node_roles(node: &Value, _: Timestamp) -> Value {
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    let roles: Vec<&str> = labels
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) if !role.is_empty() => Some(role),
            Some(_) | None => (key == "kubernetes.io/role").then(|| value.as_str()).flatten(),
        })
        .collect();
    json!(if roles.is_empty() { "<none>".to_owned() } else { roles.join(",") })
}

fn address(node: &Value, kind: &str) -> Value {
    let found = list(&node["status"]["addresses"]).find(|address| address["type"] == kind);
    found.map_or(json!("<none>"), |address| address["address"].clone())
}

fn pod_ready(pod: &Value, _: Timestamp) -> Value {
    let ready = list(&pod["status"]["containerStatuses"]).filter(|status| status["ready"] == json!(true)).count();
    json!(format!("{ready}/{}", list(&pod["spec"]["containers"]).count()))
}

fn pod_restarts(pod: &Value, _: Timestamp) -> Value {
    let restarts = list(&pod["status"]["containerStatuses"]).filter_map(|status| status["restartCount"].as_i64());
    json!(restarts.sum::<i64>().to_string())
}

fn external_ip(service: &Value, _: Timestamp) -> Value {
    let points = list(&service["status"]["loadBalancer"]["ingress"]);
    let points: Vec<&str> = points.filter_map(|one| one["ip"].as_str().or_else(|| one["hostname"].as_str())).collect();
    match service["spec"]["type"].as_str() {
        Some("LoadBalancer") if points.is_empty() => json!("<pending>"),
        Some("ExternalName") => text_or_none(&service["spec"]["externalName"]),
        _ if points.is_empty() => json!("<none>"),
        _ => json!(points.join(",")),
    }
}

fn ports(service: &Value, _: Timestamp) -> Value {
    let said = list(&service["spec"]["ports"]).map(|port| {
        let node = port["nodePort"].as_i64().map(|node| format!(":{node}")).unwrap_or_default();
        format!("{}{node}/{}", port["port"], port["protocol"].as_str().unwrap_or("TCP"))
    });
    let said: Vec<String> = said.collect();
    json!(if said.is_empty() { "<none>".to_owned() } else { said.join(",") })
}

fn pairs(labels: &Value) -> Value {
    let labels = labels.as_object().into_iter().flatten();
    let said: Vec<String> =
        labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    json!(if said.is_empty() { "<none>".to_owned() } else { said.join(",") })
}

fn ready(object: &Value, _: Timestamp) -> Value {
    let wanted = object["spec"]["replicas"].as_i64().unwrap_or(1);
    json!(format!("{}/{wanted}", object["status"]["readyReplicas"].as_i64().unwrap_or(0)))
}

fn number(object: &Value, field: &str) -> Value {
    json!(object["status"][field].as_i64().unwrap_or(0))
}

fn containers(object: &Value, field: &str) -> Value {
    let said = list(&object["spec"]["template"]["spec"]["containers"]).filter_map(|one| one[field].as_str());
    json!(said.collect::<Vec<_>>().join(","))
}
