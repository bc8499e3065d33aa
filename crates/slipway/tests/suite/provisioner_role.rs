//! The provisioner as a process of its own, beside a manager of its own: it knows its issuer by a file, and no Director.

use std::{
    fs,
    net::{SocketAddr, TcpListener},
    process::Command,
};

use serde_json::{Value, json};
use slipway_server::provisioner::{LocalIssuer, Scope};
use slipway_sim::raw_http;
use tokio::runtime::Runtime as Tokio;

use crate::{
    landscape::{Landscape, Process},
    processes::{Running, ended, serve, slipway, until, up},
};

const ISSUER: &str = "https://issuer.example.com";

const PROVISION: &str = "mutation { provisionRuntime(config: { runtimeInput: { name: \"shop\" }, clusterConfig: { \
    gardenerConfig: { name: \"shop\", provider: \"gcp\", region: \"europe-west3\", targetSecret: \"gcp\" } } }) { id runtimeID } }";

/// A provisioner that can be started again at the same place.
struct Provisioner<'a> {
    landscape: &'a Landscape,
    address: SocketAddr,
    token: String,
}

impl<'a> Provisioner<'a> {
    fn new(landscape: &'a Landscape) -> Self {
        let key = LocalIssuer::new_key().expect("a key");
        let issuer = LocalIssuer::with_key(ISSUER, &key).expect("the key");
        fs::write(landscape.file("keys.json"), issuer.jwks().to_string()).expect("written");
        let scopes = Scope::ALL.map(Scope::as_str);
        let until_2100 = 4_102_444_800_u64;
        let claims = json!({"iss": ISSUER, "sub": "tester", "aud": "slipway", "scope": scopes.join(" "),
            "tenants": "me", "exp": until_2100});
        let token = issuer.sign(&claims).expect("a token");
        // Taken and given back: nobody else gets it in this moment.
        let address = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
        let file = json!({
            "listen": address, "metrics": null,
            "issuers": [{"name": ISSUER, "audience": "slipway", "jwks_file": landscape.file("keys.json")}],
            "settings": {"project": "dev", "defaults": {"kubernetes_version": "1.34.5"}},
        });
        fs::write(landscape.file("provisioner.yaml"), file.to_string()).expect("written");
        Self { landscape, address, token }
    }

    fn command(&self) -> Command {
        let mut command = serve(&format!("sqlite:{}", self.landscape.file("slipway.db").display()), "");
        command.env_remove("SLIPWAY_HELLO__URL").args(["--role", "provisioner"]);
        command.arg("--provisioner-config").arg(self.landscape.file("provisioner.yaml"));
        command.arg("--provisioner-kubeconfig").arg(self.landscape.file("kubeconfig-kcp.yaml"));
        command
    }

    fn start(&self) -> Process {
        Process::start(self.command(), &self.landscape.file("provisioner-stderr"))
    }

    /// Asks for a cluster: the ids of the operation and of the runtime.
    fn provision(&self) -> (String, String) {
        let asked = until("somebody answers", || self.ask(PROVISION));
        let said = &asked["data"]["provisionRuntime"];
        let (operation, runtime) = (text(&said["id"]), text(&said["runtimeID"]));
        assert!(!operation.is_empty() && !runtime.is_empty(), "{asked}\n{}", self.said());
        (operation, runtime)
    }

    /// The answer's data and errors; none while nobody listens.
    fn ask(&self, document: &str) -> Option<Value> {
        let lines = format!("authorization: Bearer {}\r\ntenant: me\r\n", self.token);
        let body = json!({"query": document}).to_string();
        let answer = raw_http::send_with(self.address, "POST", "/graphql", &lines, &body).ok()?;
        serde_json::from_str(&answer.body).ok()
    }

    fn said(&self) -> String {
        fs::read_to_string(self.landscape.file("provisioner-stderr")).unwrap_or_default()
    }

    /// Waits for the end of an operation.
    fn until_ended(&self, id: &str) {
        let document = format!("{{ runtimeOperationStatus(id: \"{id}\") {{ state message }} }}");
        let state = until("the end of the operation", || {
            let status = self.ask(&document)?["data"]["runtimeOperationStatus"].clone();
            let state = status["state"].as_str().unwrap_or_default().to_owned();
            (!["", "Pending", "InProgress"].contains(&state.as_str())).then_some(status)
        });
        assert_eq!(state["state"], "Succeeded", "{state}\n{}", self.said());
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_provisioner_of_its_own_goes_on_after_its_death_and_leaves_nothing_behind() {
    let tokio = Tokio::new().expect("a runtime");
    let landscape = tokio.block_on(Landscape::start());
    let _manager = landscape.manager();
    let provisioner = Provisioner::new(&landscape);
    let first = provisioner.start();
    let (operation, runtime) = provisioner.provision();
    until("the Runtime is written", || landscape.clusters.runtime(&runtime));
    first.kill();

    let second = provisioner.start();
    provisioner.until_ended(&operation);
    let status = format!("{{ runtimeStatus(id: \"{runtime}\") {{ runtimeConfiguration {{ kubeconfig }} }} }}");
    let status = provisioner.ask(&status).expect("an answer");
    let kubeconfig = text(&status["data"]["runtimeStatus"]["runtimeConfiguration"]["kubeconfig"]);
    assert!(kubeconfig.contains("clusters:"), "{status}");
    assert_eq!(landscape.clusters.garden.shoots().len(), 1, "one, although it was begun twice");

    let removed = format!("mutation {{ deprovisionRuntime(id: \"{runtime}\") }}");
    let removal = text(&provisioner.ask(&removed).expect("an answer")["data"]["deprovisionRuntime"]);
    second.kill();
    let third = provisioner.start();
    provisioner.until_ended(&removal);
    assert!(landscape.clusters.garden.shoots().is_empty() && landscape.clusters.runtime(&runtime).is_none());
    let said = provisioner.said();
    assert!(!said.contains(&provisioner.token) && !said.contains(kubeconfig.trim()), "no secret in the log");
    assert_eq!(third.stop(), Some(0), "{said}");
}

/// Nobody makes the cluster here, so the operation waits until somebody steers it.
#[test]
fn operators_see_and_steer_the_operations_of_a_provisioner_that_runs_alone() {
    let tokio = Tokio::new().expect("a runtime");
    let landscape = tokio.block_on(Landscape::start());
    let provisioner = Provisioner::new(&landscape);
    let running = Running::start(provisioner.command());
    running.until_readyz(200);
    let (id, _) = provisioner.provision();
    running.until_step(&id, "Wait_For_Cluster_Domain", "running");

    let (url, token_file) = (format!("http://{}", running.address), running.token_file());
    let operations = |arguments: &[&str]| {
        let mut command = slipway();
        command.args(["operations", "-o", "json", "--url", &url, "--token-file"]).arg(&token_file).args(arguments);
        let (code, said, problem) = ended(command);
        assert_eq!(code, Some(0), "{arguments:?}: {problem}\n{}", running.stderr());
        serde_json::from_str::<Value>(&said).expect("JSON")
    };
    let steer =
        |action: &str, more: &[&str]| operations(&[&[action, &id, "--by", "ann", "--why", "a test"], more].concat());
    let step = |name: &str| {
        let details = operations(&["show", &id]);
        let steps = details["steps"].as_array().expect("a ledger").clone();
        steps.into_iter().find(|row| row["step"] == name).unwrap_or_default()
    };

    let list = operations(&["list"]);
    assert_eq!((&list["operations"][0]["id"], list["operations"].as_array().map(Vec::len)), (&json!(id), Some(1)));
    let looks = step("Wait_For_Cluster_Domain")["attempts"].as_u64().expect("runs");
    steer("retry-now", &[]);
    until("it looks again", || (step("Wait_For_Cluster_Domain")["attempts"].as_u64()? > looks).then_some(()));
    assert_eq!(steer("pause", &[])["pause"]["by"], "ann");
    assert!(steer("resume", &[])["pause"].is_null());
    steer("skip-step", &["--step", "Wait_For_Cluster_Domain"]);
    running.until_step(&id, "Wait_For_Cluster_Creation", "running");
    assert_eq!(step("Wait_For_Cluster_Domain")["reason"], "skipped by ann: a test");
    steer("cancel", &[]);
    let ended = running.until_ended(&id);
    assert_eq!(ended["operation"]["description"], "operation canceled by ann: a test");

    let refused =
        running.send("POST", "/operations", r#"{"process":"hello","instance_id":"shop"}"#).expect("an answer");
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("the broker runs elsewhere"), "{refused:?}");
    let stranger = raw_http::send(running.address, "GET", "/operations", None, "").expect("an answer");
    assert_eq!(stranger.status, 401);
}

#[test]
fn in_a_landscape_one_api_shows_and_steers_the_operations_of_both_roles() {
    let folder = tempfile::tempdir().expect("a folder");
    let running = Running::start(up(folder.path()));
    running.until_readyz(200);
    let said = running.stdout();
    let value = |name: &str| said.lines().find_map(|line| line.strip_prefix(name)).expect("a fact").to_owned();
    let address: SocketAddr = value("provisioner: http://").parse().expect("an address");
    let token = fs::read_to_string(value("provisioner-token-file: ")).expect("a token");
    let hello = running.begin("shop");
    let lines = format!("authorization: Bearer {}\r\ntenant: me\r\n", token.trim());
    let asked = raw_http::send_with(address, "POST", "/graphql", &lines, &json!({"query": PROVISION}).to_string());
    let asked: Value = serde_json::from_str(&asked.expect("an answer").body).expect("JSON");
    let cluster = text(&asked["data"]["provisionRuntime"]["id"]);

    let act = r#"{"action":"cancel","by":"ann","why":"a test"}"#;
    let canceled = running.send("POST", &format!("/operations/{cluster}/actions"), act).expect("an answer");
    assert_eq!(canceled.status, 200, "{canceled:?} {asked}");
    let ended = running.until_ended(&cluster);
    assert_eq!(ended["operation"]["description"], "operation canceled by ann: a test");
    let list = running.json("/operations");
    let ids: Vec<_> = list["operations"].as_array().expect("a list").iter().map(|op| text(&op["id"])).collect();
    assert_eq!(ids, [cluster, hello], "newest first");
}
