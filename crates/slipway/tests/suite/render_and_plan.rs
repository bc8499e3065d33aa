//! `slipway render` and `slipway plan`: offline, the same every time, with the answer in the exit code.

use std::{fs, path::PathBuf, process::Command};

use serde_json::{Value, json};

use crate::processes::{Running, ended, slipway, up};

fn examples() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Files of one test.
struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    fn write(&self, name: &str, content: &Value) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content.to_string()).expect("written");
        path
    }

    /// The example for AWS, changed.
    fn runtime(&self, edit: impl FnOnce(&mut Value)) -> PathBuf {
        let text = fs::read_to_string(examples().join("runtime-aws.yaml")).expect("an example");
        let mut runtime: Value = serde_saphyr::from_str(&text).expect("YAML");
        edit(&mut runtime["spec"]["shoot"]);
        self.write("runtime.json", &runtime)
    }

    /// The Shoot of the example, as it lives.
    fn shoot(&self) -> PathBuf {
        let (code, stdout, stderr) = ended(render(&examples().join("runtime-aws.yaml"), &["-o", "json"]));
        assert_eq!(code, Some(0), "{stderr}");
        let mut shoot: Value = serde_json::from_str(&stdout).expect("JSON");
        shoot["spec"]["seedName"] = json!("aws-eu1");
        shoot["spec"]["dns"] = json!({ "domain": "c-aws.dev.shoots.example" });
        self.write("shoot.json", &shoot)
    }
}

fn render(runtime: &PathBuf, more: &[&str]) -> Command {
    let mut command = slipway();
    command.arg("render").arg("--runtime").arg(runtime).args(more);
    command
}

fn plan(runtime: &PathBuf, shoot: &PathBuf, more: &[&str]) -> Command {
    let mut command = slipway();
    command.arg("plan").arg("--runtime").arg(runtime).arg("--shoot").arg(shoot).args(more);
    command
}

#[test]
fn every_example_is_rendered_in_every_landscape_and_always_the_same() {
    for provider in ["aws", "azure", "gcp", "openstack", "alicloud"] {
        let runtime = examples().join(format!("runtime-{provider}.yaml"));
        for landscape in ["dev", "stage", "prod"] {
            let file = |name: &str| examples().join("config").join(landscape).join(name).display().to_string();
            let (config, audit) = (file("converter_config.json"), file("audit_tenants.json"));
            let windows = file("maintenance_windows.json");
            let more = ["--config", &config, "--audit", &audit, "--windows", &windows];
            let (code, stdout, stderr) = ended(render(&runtime, &more));
            assert_eq!(code, Some(0), "{stderr}");
            let shoot: Value = serde_saphyr::from_str(&stdout).expect("YAML");
            assert_eq!(shoot["metadata"]["namespace"], format!("garden-{landscape}"));
            let has_audit_log = shoot["spec"]["resources"].as_array().is_some_and(|list| !list.is_empty());
            assert_eq!(has_audit_log, landscape != "dev", "{stderr}");
            assert_eq!(stderr.contains("there is no audit tenant"), landscape == "dev", "{stderr}");
            assert_eq!(ended(render(&runtime, &more)).1, stdout);
        }
    }
}

/// Who plans sees only the Shoot: the Secrets that it names are those in use, and no change.
#[test]
fn credentials_of_registry_caches_are_no_change() {
    let files = Files::new();
    let read = |path: &PathBuf| -> Value {
        serde_saphyr::from_str(&fs::read_to_string(path).expect("a file")).expect("a document")
    };
    let mut runtime = read(&examples().join("runtime-aws.yaml"));
    let config = json!({"upstream": "my.example", "secretReferenceName": "mine"});
    runtime["spec"]["imageRegistryCache"] = json!([{"name": "a", "namespace": "n", "uid": "u1", "config": config}]);
    let runtime = files.write("cached.json", &runtime);
    let mut shoot = read(&files.shoot());
    let name = "reg-cache-1";
    let caches = json!([{"upstream": "my.example", "secretReferenceName": name}]);
    let config = json!({"apiVersion": "registry.extensions.gardener.cloud/v1alpha3", "kind": "RegistryConfig", "caches": caches});
    let extension = json!({"type": "registry-cache", "disabled": false, "providerConfig": config});
    shoot["spec"]["extensions"].as_array_mut().expect("a list").push(extension);
    shoot["spec"]["resources"] =
        json!([{"name": name, "resourceRef": {"apiVersion": "v1", "kind": "Secret", "name": name}}]);
    let (code, stdout, stderr) = ended(plan(&runtime, &files.write("living.json", &shoot), &[]));
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
}

#[test]
fn the_exit_code_of_a_plan_says_the_worst() {
    let files = Files::new();
    let shoot = files.shoot();
    type Edit = fn(&mut Value);
    let cases: &[(i32, Edit, &str)] = &[
        (0, |_| (), "nothing changes"),
        (10, |shoot| shoot["provider"]["workers"][0]["maximum"] = json!(21), "20 -> 21"),
        (
            11,
            |shoot| shoot["provider"]["workers"][0]["machine"]["type"] = json!("m6i.xlarge"),
            "m6i.large -> m6i.xlarge",
        ),
        (11, |shoot| shoot["kubernetes"]["version"] = json!("1.35.2"), "1.34.5 -> 1.35.2"),
        (12, |shoot| shoot["region"] = json!("us-east-1"), "cannot change from eu-central-1 to us-east-1"),
        (13, |shoot| shoot["kubernetes"]["version"] = json!("1.33.9"), "1.33.9 is lower than 1.34.5"),
        (13, |shoot| shoot["provider"]["workers"][0]["minimum"] = json!(99), "99 is greater than the maximum of 20"),
    ];
    for (code, edit, said) in cases {
        let runtime = files.runtime(edit);
        let (ended_with, stdout, stderr) = ended(plan(&runtime, &shoot, &[]));
        assert_eq!((ended_with, stderr.as_str()), (Some(*code), ""), "{stdout}");
        assert!(stdout.contains(said), "{stdout}");
        let (ended_with, stdout, _) = ended(plan(&runtime, &shoot, &["-o", "json"]));
        assert_eq!(ended_with, Some(*code));
        let document: Value = serde_json::from_str(&stdout).expect("one document");
        assert_eq!(document["changes"].as_array().map(Vec::is_empty), Some(*code == 0));
    }
}

#[test]
fn a_diff_shows_the_lines_that_change() {
    let files = Files::new();
    let shoot = files.shoot().display().to_string();
    let runtime = files.runtime(|shoot| shoot["provider"]["workers"][0]["maximum"] = json!(21));
    let (code, stdout, _) = ended(render(&runtime, &["--shoot", &shoot, "-o", "diff"]));
    assert_eq!(code, Some(0));
    assert!(stdout.contains("-      maximum: 20\n+      maximum: 21\n"), "{stdout}");
    assert!(!stdout.contains("seedName"), "what is not ours is not shown: {stdout}");
    let (code, stdout, stderr) = ended(render(&runtime, &["-o", "diff"]));
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    assert!(stderr.contains("name it with --shoot"), "{stderr}");
}

#[test]
fn bad_files_are_told_with_file_field_and_what_to_do() {
    let files = Files::new();
    let good = examples().join("runtime-aws.yaml");
    let wrong = files.runtime(|shoot| drop(shoot.as_object_mut().expect("an object").remove("region")));
    let no_runtime = files.write("pod.json", &json!({ "kind": "Pod" }));
    let config = files.write("config.json", &json!({ "cluster": {}, "converter": {} })).display().to_string();
    for (runtime, more, code, said) in [
        (&PathBuf::from("nowhere.yaml"), vec![], 2, "nowhere.yaml cannot be read"),
        (&wrong, vec![], 2, "region"),
        (&no_runtime, vec![], 2, "there is no Runtime in it"),
        (&good, vec!["--config", &config], 2, "converter.gardener.projectName: is missing; it must have a value"),
        (&good, vec!["-o", "xml"], 2, "yaml, json, diff"),
    ] {
        let (ended_with, stdout, stderr) = ended(render(runtime, &more));
        assert_eq!((ended_with, stdout.as_str()), (Some(code), ""), "{stderr}");
        assert!(stderr.contains(said), "{stderr}");
    }
    let overlapping = files.runtime(|shoot| shoot["networking"]["pods"] = json!("10.250.0.0/17"));
    let (code, stdout, stderr) = ended(render(&overlapping, &[]));
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.contains("spec.shoot.networking.pods: 10.250.0.0/17 overlaps the nodes network"), "{stderr}");
}

#[test]
fn a_plan_asks_a_garden_for_the_shoot() {
    let folder = tempfile::tempdir().expect("a folder");
    let _running = Running::start(up(folder.path()));
    let kubeconfig = folder.path().join("kubeconfig-garden.yaml").display().to_string();
    let planned = |more: [&str; 2]| {
        let mut command = slipway();
        command.arg("plan").arg("--runtime").arg(examples().join("runtime-gcp.yaml")).args(more);
        ended(command)
    };
    let (code, stdout, stderr) = planned(["--kubeconfig-garden", &kubeconfig]);
    assert_eq!((code, stdout.as_str()), (Some(10), "a new cluster is created\n"), "{stderr}");
    let (code, _, stderr) = planned(["--kubeconfig-garden", "nowhere.yaml"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("the kubeconfig nowhere.yaml is of no use"), "{stderr}");
}
