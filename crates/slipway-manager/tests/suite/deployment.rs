//! `deploy/` on a real API server: it is accepted whole, and the manager's account may do what it must and no more.

use std::{path::Path, process::Command};

use kube_sandbox::clock;
use slipway_manager::{blueprints::Files, config::Switches};
use slipway_sim::real;

use crate::gardens::real_server;

const ACCOUNT: &str = "system:serviceaccount:kcp-system:infrastructure-manager";

/// Verb, resource, and whether the account may do it in its namespace.
#[rustfmt::skip]
const RIGHTS: &[(&str, &str, bool)] = &[
    ("list",   "runtimes.infrastructuremanager.kyma-project.io",               true),
    ("patch",  "runtimes.infrastructuremanager.kyma-project.io/status",        true),
    ("delete", "runtimes.infrastructuremanager.kyma-project.io",               false),
    ("create", "gardenerclusters.infrastructuremanager.kyma-project.io",       true),
    ("delete", "gardenerclusters.infrastructuremanager.kyma-project.io",       true),
    ("patch",  "secrets",                                                      true),
    ("create", "configmaps",                                                   false),
    ("patch",  "leases.coordination.k8s.io",                                   true),
    ("create", "events",                                                       true),
    ("create", "pods",                                                         false),
    ("list",   "nodes",                                                        false),
];

/// A file with a Runtime of this name and label.
fn runtime_with_label(name: &str, label: &str, folder: &Path) -> String {
    let mut runtime = crate::world::runtime(name);
    runtime["metadata"]["labels"]["kyma-project.io/runtime-id"] = serde_json::json!(label);
    let path = folder.join(format!("{name}.json"));
    std::fs::write(&path, runtime.to_string()).expect("written");
    path.display().to_string()
}

#[tokio::test]
async fn every_landscape_is_accepted_and_its_account_is_kept_short() {
    let Some(server) = real_server(real::start_kube().await) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, server.kubeconfig()).expect("written");
    let kubectl = |words: &[&str]| {
        let mut command = Command::new(server.binaries().path("kubectl"));
        let output = command.arg("--kubeconfig").arg(&kubeconfig).args(words).output().expect("kubectl");
        let told = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.success(), told(&output.stdout), told(&output.stderr))
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    for landscape in ["dev", "stage", "prod"] {
        let overlay = root.join("manager/overlays").join(landscape);
        let (taken, _, problem) = kubectl(&["apply", "--server-side", "-k", &overlay.display().to_string()]);
        assert!(taken, "{landscape}: {problem}");
    }
    let refused = runtime_with_label("copy", "shop", folder.path());
    // The server takes a moment to put a policy in force.
    let mut answer = (true, String::new(), String::new());
    for _ in 0..100 {
        answer = kubectl(&["create", "--dry-run=server", "-f", &refused]);
        if !answer.0 {
            break;
        }
        clock::sleep(std::time::Duration::from_millis(100)).await;
    }
    let told = "the label kyma-project.io/runtime-id is shop, and the Runtime is copy";
    assert!(!answer.0 && answer.2.contains(told), "{answer:?}");
    let (taken, _, problem) = kubectl(&["create", "-f", &runtime_with_label("shop", "shop", folder.path())]);
    assert!(taken, "{problem}");
    let (key, of) = ("kyma-project.io/runtime-id=other", "runtime/shop");
    let (taken, _, problem) = kubectl(&["label", "--overwrite", "-n", "kcp-system", of, key]);
    assert!(!taken && problem.contains("set the label to the name"), "{problem}");
    for (verb, resource, may) in RIGHTS {
        let (_, answer, problem) = kubectl(&["auth", "can-i", verb, resource, "-n", "kcp-system", "--as", ACCOUNT]);
        assert_eq!(answer.trim() == "yes", *may, "{verb} {resource}: {answer}{problem}");
    }
    let garden = root.join("garden/rbac.yaml").display().to_string();
    let (taken, _, problem) = kubectl(&["apply", "--server-side", "-n", "default", "-f", &garden]);
    assert!(taken, "{problem}");
}

#[test]
fn the_files_of_every_landscape_are_read_from_where_they_stand() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/config");
    for landscape in ["dev", "stage", "prod"] {
        let switches = Switches { network_restriction: true, api_server_acl: false };
        let files = Files::load(&folder.join(landscape).join("converter_config.json"), switches);
        let files = files.unwrap_or_else(|error| panic!("{landscape}: {error}"));
        let config = folder.join(landscape).join("converter_config.json");
        let watched = files.paths(&config);
        assert!(
            watched.len() > 1 && watched.iter().all(|path| path.is_file()),
            "whatever the working directory: {watched:?}"
        );
    }
}
