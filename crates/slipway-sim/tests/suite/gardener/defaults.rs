//! What the server adds to what a client wrote, and what it accepts.

use kube_sandbox::contract::{Case, Cx, Json as _, cases};
use serde_json::{Value, json};

use super::shoots::{CORE, bind, create, me, name, path, remove, set, settled, shoot};

pub(super) static CASES: &[Case] = cases![
    a_shoot_of_every_cloud_is_accepted,
    a_shoot_is_filled_in,
    who_created_it_is_written_down,
    labels_tell_which_extensions_it_needs,
    a_version_without_its_patch_is_completed,
    an_image_without_its_version_is_completed,
    networks_and_domain_come_with_the_seed,
    a_workerless_shoot_needs_no_credentials,
    an_unknown_field_is_told,
    a_missing_audit_policy_is_left_to_others,
    a_table_of_shoots_shows_how_they_are,
    a_shoot_without_a_project_is_refused,
    a_domain_of_another_is_refused,
];

async fn tried(cx: &Cx, shoot: &Value) -> Value {
    let path = path(cx, "?dryRun=All");
    settled(|| cx.post(&path, shoot)).await.created()
}

async fn a_shoot_of_every_cloud_is_accepted(cx: Cx) {
    for (profile, cloud) in
        [("aws", "aws"), ("az", "azure"), ("gcp", "gcp"), ("openstack", "openstack"), ("alicloud", "alicloud")]
    {
        let offered = cx.get(&format!("/apis/{CORE}/cloudprofiles/{profile}")).await.ok();
        let mut shoot = shoot("shop");
        set(&mut shoot, "spec.cloudProfile.name", profile);
        set(&mut shoot, "spec.provider.type", cloud);
        set(&mut shoot, "spec.credentialsBindingName", cloud);
        set(&mut shoot, "spec.region", offered["spec"]["regions"][0]["name"].clone());
        let pool = &mut shoot["spec"]["provider"]["workers"][0];
        pool["machine"]["type"] = offered["spec"]["machineTypes"][0]["name"].clone();
        pool["zones"] = json!([offered["spec"]["regions"][0]["zones"][0]["name"]]);
        pool["volume"]["type"] = offered["spec"]["volumeTypes"][0]["name"].clone();
        if cloud == "openstack" {
            pool.as_object_mut().expect("a pool").remove("volume");
        }
        let made = tried(&cx, &shoot).await;
        assert_eq!(made["spec"]["provider"]["type"], cloud);
    }
}

async fn a_shoot_is_filled_in(cx: Cx) {
    let made = tried(&cx, &shoot("shop")).await;
    let spec = &made["spec"];
    for (field, value) in [
        ("/purpose", json!("evaluation")),
        ("/schedulerName", json!("default-scheduler")),
        ("/networking/ipFamilies", json!(["IPv4"])),
        ("/maintenance/autoUpdate", json!({ "kubernetesVersion": true, "machineImageVersion": true })),
        ("/provider/workersSettings/sshAccess/enabled", json!(true)),
        ("/provider/workers/0/cri/name", json!("containerd")),
        ("/provider/workers/0/updateStrategy", json!("AutoRollingUpdate")),
        ("/provider/workers/0/maxSurge", json!(1)),
        ("/provider/workers/0/maxUnavailable", json!(0)),
        ("/provider/workers/0/systemComponents/allow", json!(true)),
        ("/provider/workers/0/machine/architecture", json!("amd64")),
        ("/kubernetes/kubeAPIServer/requests", json!({ "maxNonMutatingInflight": 400, "maxMutatingInflight": 200 })),
        ("/kubernetes/kubeAPIServer/eventTTL", json!("1h0m0s")),
        ("/kubernetes/kubeControllerManager/nodeCIDRMaskSize", json!(24)),
        ("/kubernetes/kubeControllerManager/nodeMonitorGracePeriod", json!("40s")),
        ("/kubernetes/kubeProxy/mode", json!("IPTables")),
        ("/kubernetes/kubeScheduler/profile", json!("balanced")),
        ("/kubernetes/verticalPodAutoscaler/enabled", json!(true)),
        ("/systemComponents/coreDNS/autoscaling/mode", json!("horizontal")),
    ] {
        assert_eq!(spec.pointer(field), Some(&value), "{field}");
    }
    assert_eq!(made["metadata"]["generation"], 1);
}

async fn who_created_it_is_written_down(cx: Cx) {
    let made = tried(&cx, &shoot("shop")).await;
    let me = me(&cx).await;
    assert_eq!(made["metadata"]["annotations"]["gardener.cloud/created-by"], me);
    let mut forged = shoot("shop");
    forged["metadata"]["annotations"]["gardener.cloud/created-by"] = json!("somebody");
    assert_eq!(tried(&cx, &forged).await["metadata"]["annotations"]["gardener.cloud/created-by"], me);
}

async fn labels_tell_which_extensions_it_needs(cx: Cx) {
    let mut shoot = shoot("shop");
    set(&mut shoot, "spec.extensions", json!([{ "type": "shoot-dns-service" }]));
    let made = tried(&cx, &shoot).await;
    for label in [
        "provider.extensions.gardener.cloud/aws",
        "networking.extensions.gardener.cloud/calico",
        "operatingsystemconfig.extensions.gardener.cloud/gardenlinux",
        "extensions.extensions.gardener.cloud/shoot-dns-service",
    ] {
        assert_eq!(made["metadata"]["labels"][label], "true", "{label}");
    }
}

async fn a_version_without_its_patch_is_completed(cx: Cx) {
    let mut shoot = shoot("shop");
    set(&mut shoot, "spec.kubernetes.version", "1.35");
    assert_eq!(tried(&cx, &shoot).await["spec"]["kubernetes"]["version"], "1.35.2", "the newest that is supported");
}

async fn an_image_without_its_version_is_completed(cx: Cx) {
    let mut shoot = shoot("shop");
    remove(&mut shoot, "spec.provider.workers.0.machine.image");
    let image = tried(&cx, &shoot).await["spec"]["provider"]["workers"][0]["machine"]["image"].clone();
    assert_eq!(image, json!({ "name": "gardenlinux", "version": "1877.9.0" }), "the newest that is no preview");
}

async fn networks_and_domain_come_with_the_seed(cx: Cx) {
    let name = name("networks_and_domain_come_with_the_seed");
    let made = create(&cx, &shoot(&name)).await;
    assert_eq!((&made["spec"]["networking"]["pods"], &made["spec"]["dns"]), (&json!(null), &json!(null)));
    let bound = bind(&cx, &made, "aws-eu1").await;
    assert_eq!(bound["spec"]["networking"]["pods"], "100.96.0.0/11");
    assert_eq!(bound["spec"]["networking"]["services"], "100.64.0.0/13");
    assert_eq!(bound["spec"]["dns"]["domain"], format!("{name}.dev.shoots.example"));
}

async fn a_workerless_shoot_needs_no_credentials(cx: Cx) {
    let mut shoot = shoot("shop");
    set(&mut shoot, "spec.provider", json!({ "type": "aws" }));
    remove(&mut shoot, "spec.credentialsBindingName");
    remove(&mut shoot, "spec.networking");
    tried(&cx, &shoot).await;
}

async fn an_unknown_field_is_told(cx: Cx) {
    let mut shoot = shoot("shop");
    set(&mut shoot, "spec.kubernetes.enableStaticTokenKubeconfig", false);
    let answer = cx.post(&path(&cx, "?dryRun=All&fieldValidation=Strict"), &shoot).await;
    answer.refused_with(
        400,
        "BadRequest",
        "strict decoding error: unknown field \"spec.kubernetes.enableStaticTokenKubeconfig\"",
    );
    let answer = cx.post(&path(&cx, "?dryRun=All"), &shoot).await;
    assert!(answer.warnings().iter().any(|warning| warning.contains("unknown field")), "{:?}", answer.warnings());
    answer.created();
}

async fn a_missing_audit_policy_is_left_to_others(cx: Cx) {
    // Gardener's admission controller, a webhook, looks it up; its API server does not.
    let mut shoot = shoot("shop");
    let reference = json!({ "auditPolicy": { "configMapRef": { "name": "none" } } });
    set(&mut shoot, "spec.kubernetes.kubeAPIServer.auditConfig", reference);
    tried(&cx, &shoot).await;
}

async fn a_table_of_shoots_shows_how_they_are(cx: Cx) {
    let table = cx.get_as(&path(&cx, ""), "application/json;as=Table;v=v1;g=meta.k8s.io").await.ok();
    let columns = table.texts("/columnDefinitions", "/name");
    let first = [
        "Name",
        "CloudProfile",
        "Provider",
        "Region",
        "Seed",
        "K8S Version",
        "Hibernation",
        "Last Operation",
        "Status",
    ];
    assert_eq!(columns[..first.len()], first);
}

async fn a_shoot_without_a_project_is_refused(cx: Cx) {
    let mut shoot = shoot("shop");
    set(&mut shoot, "metadata.namespace", "default");
    let answer = cx.post(&path(&cx, "?dryRun=All").replace("/garden-dev/", "/default/"), &shoot).await;
    // One plug-in's internal error, told by another as its own refusal.
    answer.refused_with(403, "Forbidden", "Internal error occurred: could not find referenced project: ");
}

async fn a_domain_of_another_is_refused(cx: Cx) {
    let mut taken = shoot(&name("a_domain_of_another_is_refused"));
    set(&mut taken, "spec.dns.domain", "taken.example.org");
    create(&cx, &taken).await;
    for (domain, part) in [
        ("taken.example.org", "spec.dns.domain: Duplicate value: \"taken.example.org\""),
        ("below.taken.example.org", "the domain is already used by another shoot or it is a subdomain"),
    ] {
        let mut shoot = shoot("shop");
        set(&mut shoot, "spec.dns.domain", domain);
        // The server asks its cache, which may be a moment behind.
        let mut answer = cx.post(&path(&cx, "?dryRun=All"), &shoot).await;
        for _ in 0..50 {
            if answer.code == 403 {
                break;
            }
            kube_sandbox::clock::sleep(std::time::Duration::from_millis(100)).await;
            answer = cx.post(&path(&cx, "?dryRun=All"), &shoot).await;
        }
        answer.refused_with(403, "Forbidden", part);
    }
}
