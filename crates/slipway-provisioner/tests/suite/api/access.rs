//! Whose token may do what to whose runtime: every call of the schema, by every kind of token, under every tenant, to
//! every kind of id. The calls are read from the schema, so that a new one is in the table before anybody thinks of it.

use serde_json::{Value, json};
use slipway_model::{ports::Runtimes as _, runtime_record::RuntimeId};
use slipway_provisioner::{Settings, auth::Scope};

use super::{
    bench::{Bench, cluster},
    ownership::{self, KUBECONFIG},
    status::{Seen, show},
    subscription,
};

/// Whose the runtimes are, and who would like to have them. Both have tokens.
const OWNER: &str = "acme";
const RIVAL: &str = "rival";
/// Somebody who has nothing to do with either.
const THIRD: &str = "third";

/// Calls that take the id of an operation; all others take that of a runtime.
const BY_OPERATION: [&str; 2] = ["runtimeOperationStatus", "runtimeOperationUpdated"];
/// Mutations that change only what is stored.
const STORED_ONLY: [&str; 2] = ["rollBackUpgradeOperation", "cleanupRuntimeData"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Root {
    Query,
    Mutation,
    Subscription,
}

/// A call of the schema.
#[derive(Debug, Clone)]
struct Call {
    root: Root,
    field: String,
    document: String,
    config: Value,
}

async fn calls(bench: &Bench) -> Vec<Call> {
    let part = "{ fields { name type { ...T } args { name type { ...T } } } }";
    let query = format!(
        "{{ schema: __schema {{ queryType {part} mutationType {part} subscriptionType {part} }} }}
        fragment T on __Type {{ kind name ofType {{ kind name }} }}"
    );
    let schema = bench.ask(&query).send().await.data("schema");
    let mut calls = Vec::new();
    for (root, name) in
        [(Root::Query, "queryType"), (Root::Mutation, "mutationType"), (Root::Subscription, "subscriptionType")]
    {
        for field in schema[name]["fields"].as_array().expect("fields") {
            calls.push(call(root, field));
        }
    }
    calls
}

fn call(root: Root, field: &Value) -> Call {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = text(&field["name"]);
    let (mut declared, mut given, mut config) = (Vec::new(), Vec::new(), Value::Null);
    for argument in field["args"].as_array().expect("arguments") {
        let (argument, kind) = (text(&argument["name"]), &argument["type"]);
        let is_needed = kind["kind"] == "NON_NULL";
        let kind = text(if is_needed { &kind["ofType"]["name"] } else { &kind["name"] });
        match (argument.as_str(), kind.as_str()) {
            ("id", "String") => declared.push(if is_needed { "$id: String!" } else { "$id: String" }.to_owned()),
            ("config", kind) => {
                declared.push(format!("$config: {kind}!"));
                config = match kind {
                    "ProvisionRuntimeInput" => cluster("gcp", "replaced", &[]),
                    "UpgradeRuntimeInput" => json!({"clusterConfig": {"version": "1.34.0"}}),
                    "UpgradeShootInput" => json!({"gardenerConfig": {"autoScalerMax": 7}}),
                    other => panic!("{name}: give an example of {other}"),
                };
            }
            (other, _) if is_needed => panic!("{name}: say what to give as {other}"),
            _ => continue,
        }
        given.push(format!("{argument}: ${argument}"));
    }
    assert!(given.iter().any(|given| given.starts_with("id:")), "{name} takes no id: what does it act on?");
    let kind = &field["type"];
    let kind = if kind["kind"] == "NON_NULL" { &kind["ofType"] } else { kind };
    let shown = match (kind["kind"].as_str(), kind["name"].as_str()) {
        (_, Some("RuntimeStatus")) => "{ runtimeConfiguration { kubeconfig } runtimeConnectionConfig { kubeconfig } }",
        (Some("OBJECT"), _) => "{ __typename }",
        _ => "",
    };
    let word = format!("{root:?}").to_lowercase();
    let document = format!("{word}({}) {{ result: {name}({}) {shown} }}", declared.join(", "), given.join(", "));
    Call { root, field: name, document, config }
}

/// The tokens: the subject, and what its token says about tenants. What the settings say is in [`bench`].
const TOKENS: [(&str, &[&str], &[&str]); 7] = [
    // subject, in the token, may act for
    ("ann", &[OWNER], &[OWNER]),
    ("rick", &[RIVAL], &[RIVAL]),
    ("both", &[OWNER, RIVAL], &[OWNER, RIVAL]),
    ("nobody", &[], &[]),
    ("every", &["*"], &[OWNER, RIVAL]),
    ("bound", &[], &[OWNER]),
    ("broker", &[], &[OWNER, RIVAL]),
];

async fn bench() -> Bench {
    let mut settings = Settings::default();
    settings.tenants.insert("bound".to_owned(), vec![OWNER.to_owned()]);
    Bench::with(settings, true).await
}

/// What an id is the id of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    /// A runtime of the owner's, with its Runtime and its kubeconfig.
    Runtime,
    /// One whose Runtime is somebody else's.
    Replaced,
    /// A Runtime made by kubectl. Its id is registered for the owner, so that only the control plane tells.
    Made,
    /// Nothing.
    Nothing,
    /// A registration of a third party.
    Registered,
}

/// The ids of a target: of the runtime, and of its operation.
#[derive(Debug, Clone)]
struct Ids {
    runtime: String,
    operation: String,
}

struct Ground {
    bench: Bench,
    count: usize,
}

impl Ground {
    fn name(&mut self) -> String {
        self.count += 1;
        format!("c{}", self.count)
    }

    fn config(&mut self) -> Value {
        let name = self.name();
        let mut config = cluster("gcp", &name, &[]);
        config["runtimeInput"]["name"] = name.into();
        config
    }

    async fn make(&mut self, target: Target) -> Ids {
        let unknown = "6f1de04b-4b5a-4a1c-8b0a-2f9a3c1d0b6a".to_owned();
        match target {
            Target::Runtime | Target::Replaced => {
                let config = self.config();
                let runtime = self.bench.living(&config).await;
                let seen = Seen { facts: json!({}), kubeconfig: Some(KUBECONFIG), egress_filter: false };
                show(&self.bench, &runtime, seen).await;
                if target == Target::Replaced {
                    ownership::unmark(&self.bench, &runtime).await;
                }
                let id: RuntimeId = runtime.parse().expect("an id");
                let operation = self.bench.store.runtime_operations(id, None, 1).await.expect("read")[0].id.to_string();
                Ids { runtime, operation }
            }
            Target::Made => {
                let beside = Bench::beside(&self.bench).await;
                let runtime = beside.living(&self.config()).await;
                show(&beside, &runtime, Seen { facts: json!({}), kubeconfig: Some(KUBECONFIG), egress_filter: false })
                    .await;
                let name = self.name();
                self.bench.director.as_ref().expect("a Director").adopt(&runtime, OWNER, &name, json!({}));
                Ids { runtime, operation: unknown }
            }
            Target::Nothing => Ids { runtime: unknown.clone(), operation: unknown },
            Target::Registered => {
                let name = self.name();
                let runtime = self.bench.director.as_ref().expect("a Director").register(THIRD, &name, json!({}));
                Ids { runtime, operation: unknown }
            }
        }
    }
}

/// What must come of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Refused(u64, &'static str),
    /// Let in; what it then meets is not about whose it is.
    Through,
}

fn expected(call: &Call, subject: &str, acts_for: &[&str], tenant: &str, target: Target) -> Expected {
    const MISMATCH: Expected = Expected::Refused(403, "err_tenant_mismatch");
    let provisions = call.field == "provisionRuntime";
    match target {
        _ if !acts_for.contains(&tenant) => MISMATCH,
        // Ids are taken once, and only by whom they are registered for.
        _ if provisions => Expected::Refused(400, "err_validation"),
        Target::Made | Target::Nothing | Target::Registered if call.field == "cleanupRuntimeData" => Expected::Through,
        Target::Made | Target::Nothing | Target::Registered => Expected::Refused(404, "err_db_not_found"),
        Target::Runtime | Target::Replaced if tenant != OWNER && subject != "broker" => MISMATCH,
        Target::Replaced if call.root == Root::Mutation && !STORED_ONLY.contains(&call.field.as_str()) => MISMATCH,
        Target::Runtime | Target::Replaced => Expected::Through,
    }
}

async fn ask(bench: &Bench, call: &Call, token: &str, tenant: &str, id: &str) -> Value {
    let variables = json!({ "id": id, "config": call.config });
    match call.root {
        Root::Query | Root::Mutation => {
            let ask = bench.ask(&call.document).variables(variables).tenant(Some(tenant)).token(Some(token));
            ask.send().await.body
        }
        Root::Subscription => {
            let mut socket = subscription::signed_in(bench, token, tenant).await;
            let payload = json!({"query": call.document, "variables": variables});
            subscription::say(&mut socket, json!({"id": "1", "type": "subscribe", "payload": payload})).await;
            subscription::hear(&mut socket).await["payload"].clone()
        }
    }
}

fn is_as(expected: Expected, answer: &Value) -> bool {
    let error = &answer["errors"][0]["extensions"];
    match expected {
        Expected::Refused(code, reason) => {
            error["error_code"] == code && error["error_reason"] == reason && answer["data"]["result"].is_null()
        }
        Expected::Through => error["error_code"] != 403 && error["error_code"] != 404,
    }
}

#[tokio::test]
async fn every_call_is_let_through_for_whom_it_may_and_refused_to_all_others() {
    let mut ground = Ground { bench: bench().await, count: 0 };
    let calls = calls(&ground.bench).await;
    let (mut wrong, mut cells) = (Vec::new(), 0);
    for target in [Target::Runtime, Target::Replaced, Target::Made, Target::Nothing, Target::Registered] {
        let shared = ground.make(target).await;
        let before = ownership::version_if(&ground.bench, &shared.runtime).await;
        for (subject, claimed, acts_for) in TOKENS {
            let token = ground.bench.token_for(subject, &Scope::ALL, claimed);
            for tenant in [OWNER, RIVAL] {
                for call in &calls {
                    let expected = expected(call, subject, acts_for, tenant, target);
                    let changes = call.root == Root::Mutation && expected == Expected::Through;
                    let is_stored = matches!(target, Target::Runtime | Target::Replaced);
                    let ids = if changes && is_stored { ground.make(target).await } else { shared.clone() };
                    let mut call = call.clone();
                    if call.field == "provisionRuntime" {
                        call.config = ground.config();
                    }
                    let id = if BY_OPERATION.contains(&call.field.as_str()) { &ids.operation } else { &ids.runtime };
                    let answer = ask(&ground.bench, &call, &token, tenant, id).await;
                    let cell = format!("{subject} as {tenant}: {} of {target:?}", call.field);
                    if !is_as(expected, &answer) {
                        wrong.push(format!("{cell} should be {expected:?}: {answer}"));
                    }
                    let shows =
                        call.field == "runtimeStatus" && expected == Expected::Through && target == Target::Runtime;
                    if answer.to_string().contains("system:masters") != shows {
                        wrong.push(format!("{cell}: the kubeconfig, {answer}"));
                    }
                    cells += 1;
                }
            }
        }
        if ownership::version_if(&ground.bench, &shared.runtime).await != before {
            wrong.push(format!("the Runtime of {target:?} was touched"));
        }
        let record = ground.bench.store.runtime(shared.runtime.parse().expect("an id")).await.expect("read");
        let is_stored = matches!(target, Target::Runtime | Target::Replaced);
        if record.as_ref().map(|record| record.tenant.as_str()) != is_stored.then_some(OWNER) {
            wrong.push(format!("{target:?} has another owner: {record:?}"));
        }
        if let Some(record) = record {
            let operations = ground.bench.store.runtime_operations(record.id, None, 10).await.expect("read");
            if operations.len() != 1 {
                wrong.push(format!("{} operations on {target:?}", operations.len()));
            }
        }
    }
    assert_eq!(cells, 5 * TOKENS.len() * 2 * calls.len());
    assert!(wrong.is_empty(), "{} of {cells}:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test]
async fn a_new_runtime_is_made_for_tenants_that_the_token_may_act_for_and_for_no_other() {
    let mut ground = Ground { bench: bench().await, count: 0 };
    let calls = calls(&ground.bench).await;
    let call = calls.iter().find(|call| call.field == "provisionRuntime").expect("there");
    for (subject, claimed, acts_for) in TOKENS {
        for tenant in [OWNER, RIVAL, THIRD] {
            let token = ground.bench.token_for(subject, &Scope::ALL, claimed);
            let variables = json!({ "config": ground.config() });
            let ask = ground.bench.ask(&call.document).variables(variables).tenant(Some(tenant)).token(Some(&token));
            let reply = ask.send().await;
            if acts_for.contains(&tenant) || ["every", "broker"].contains(&subject) {
                reply.data("result");
            } else {
                assert_eq!(reply.error(), (403, "err_tenant_mismatch".to_owned()), "{subject} as {tenant}");
            }
        }
    }
}
