//! The provisioner as a process of its own, beside a manager of its own: it knows its issuer by a file, and no Director.

use std::{
    fs,
    net::{SocketAddr, TcpListener},
};

use serde_json::{Value, json};
use slipway_sandbox::world::{CONTROL_PLANE, GARDEN};
use slipway_server::provisioner::{LocalIssuer, Scope};
use tokio::runtime::Runtime as Tokio;

use crate::{
    landscape::{Landscape, PROJECT, Process},
    processes::{serve, until},
    raw_http,
};

const ISSUER: &str = "https://issuer.example.com";

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

    fn start(&self) -> Process {
        let mut command = serve(&format!("sqlite:{}", self.landscape.file("slipway.db").display()), "");
        command.env_remove("SLIPWAY_HELLO__URL").args(["--role", "provisioner"]);
        command.arg("--provisioner-config").arg(self.landscape.file("provisioner.yaml"));
        command.arg("--provisioner-kubeconfig").arg(self.landscape.file("kubeconfig-kcp.yaml"));
        Process::start(command, &self.landscape.file("provisioner-stderr"))
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
    let asked = until("somebody answers", || {
        provisioner.ask(
            "mutation { provisionRuntime(config: { runtimeInput: { name: \"shop\" }, clusterConfig: { gardenerConfig: \
             { name: \"shop\", provider: \"gcp\", region: \"europe-west3\", targetSecret: \"gcp\" } } }) { id runtimeID } }",
        )
    });
    let operation = text(&asked["data"]["provisionRuntime"]["id"]);
    let runtime = text(&asked["data"]["provisionRuntime"]["runtimeID"]);
    assert!(!operation.is_empty() && !runtime.is_empty(), "{asked}\n{}", provisioner.said());
    until("the Runtime is written", || landscape.runtime(&runtime)["metadata"]["uid"].as_str().map(str::to_owned));
    first.kill();

    let second = provisioner.start();
    provisioner.until_ended(&operation);
    let status = format!("{{ runtimeStatus(id: \"{runtime}\") {{ runtimeConfiguration {{ kubeconfig }} }} }}");
    let status = provisioner.ask(&status).expect("an answer");
    let kubeconfig = text(&status["data"]["runtimeStatus"]["runtimeConfiguration"]["kubeconfig"]);
    assert!(kubeconfig.contains("clusters:"), "{status}");
    let shoots = landscape.list(GARDEN, ("core.gardener.cloud", "shoots"), PROJECT);
    assert_eq!(shoots.len(), 1, "one, although it was begun twice");

    let removed = format!("mutation {{ deprovisionRuntime(id: \"{runtime}\") }}");
    let removal = text(&provisioner.ask(&removed).expect("an answer")["data"]["deprovisionRuntime"]);
    second.kill();
    let third = provisioner.start();
    provisioner.until_ended(&removal);
    assert!(landscape.list(GARDEN, ("core.gardener.cloud", "shoots"), PROJECT).is_empty());
    let group = "infrastructuremanager.kyma-project.io";
    assert!(landscape.list(CONTROL_PLANE, (group, "runtimes"), "kcp-system").is_empty());
    let said = provisioner.said();
    assert!(!said.contains(&provisioner.token) && !said.contains(kubeconfig.trim()), "no secret in the log");
    assert_eq!(third.stop(), Some(0), "{said}");
}
