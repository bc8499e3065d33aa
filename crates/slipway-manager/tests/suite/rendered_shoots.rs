//! Every example, rendered, is taken by Gardener: as a new Shoot and through the usual changes.

use serde_json::{Value, json};
use slipway_kube::Runtime;
use slipway_manager::{
    AclAddresses, AuditData, ConverterConfig, RenderInput, TimeWindow,
    config::{AuditTenants, MaintenanceWindows},
    plan::{Effect, plan},
    render, structured_auth_config,
};

use crate::gardens::{Ground, NAMESPACE};

const PROVIDERS: [&str; 5] = ["aws", "azure", "gcp", "openstack", "alicloud"];

fn example(path: &str) -> String {
    let path = format!("{}/../../examples/{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// An example with a landscape's files.
struct Case {
    runtime: Value,
    config: ConverterConfig,
    audit: Option<AuditData>,
    window: Option<TimeWindow>,
}

impl Case {
    fn new(provider: &str, landscape: &str) -> Self {
        let runtime: Value = serde_saphyr::from_str(&example(&format!("runtime-{provider}.yaml"))).expect("YAML");
        let mut file: Value =
            serde_json::from_str(&example(&format!("config/{landscape}/converter_config.json"))).expect("JSON");
        // All landscapes meet in the one project there is, with its cloud profiles.
        file["converter"]["gardener"]["projectName"] = json!("dev");
        file["converter"]["provider"]["cloudProfiles"] = json!({ "openstack": "openstack" });
        let (config, unknown) = ConverterConfig::parse(&file.to_string()).expect("a configuration");
        assert_eq!(unknown, Vec::<String>::new());
        let tenants =
            AuditTenants::parse(&example(&format!("config/{landscape}/audit_tenants.json"))).expect("tenants");
        let windows = MaintenanceWindows::parse(&example(&format!("config/{landscape}/maintenance_windows.json")));
        let mut case = Self { runtime, config, audit: None, window: None };
        let shoot = case.typed().spec.shoot;
        case.audit = tenants.find(shoot.provider.provider_type, &shoot.region).cloned();
        case.window = windows.expect("windows").find(&shoot.region).cloned();
        case
    }

    /// Under another name, so that several fit into one garden.
    fn named(mut self, name: &str) -> Self {
        self.runtime["spec"]["shoot"]["name"] = json!(name);
        self
    }

    fn typed(&self) -> Runtime {
        serde_json::from_value(self.runtime.clone()).expect("a Runtime")
    }

    fn name(&self) -> String {
        self.typed().spec.shoot.name
    }

    fn provider(&mut self) -> &mut Value {
        &mut self.runtime["spec"]["shoot"]["provider"]
    }

    fn with_input<T>(&self, existing: Option<&Value>, then: impl FnOnce(&RenderInput<'_>) -> T) -> T {
        then(&RenderInput {
            runtime: &self.typed(),
            config: &self.config,
            audit: self.audit.as_ref(),
            window: self.window.as_ref(),
            acl: &AclAddresses::default(),
            registry_secrets: &[],
            existing,
        })
    }

    fn render(&self, existing: Option<&Value>) -> Value {
        let document = self.with_input(existing, render).unwrap_or_else(|error| panic!("{}: {error}", self.name()));
        assert_eq!(document.notes(), []);
        document.into_value()
    }

    /// Puts what the Shoot refers to, and the Shoot; waits until it has a Seed.
    async fn create(&self, ground: &Ground) -> Value {
        let (name, content) = structured_auth_config(&self.typed(), &self.config).expect("a login");
        ground
            .put(&json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": NAMESPACE },
                "data": { "config.yaml": content },
            }))
            .await;
        for secret in self.audit.iter().map(|audit| &audit.secret_name).chain([&self.config.converter.dns.secret_name])
        {
            if !secret.is_empty() {
                ground.put_secret(secret).await;
            }
        }
        let made = ground.apply(&self.render(None)).await;
        let made = made.unwrap_or_else(|error| panic!("{} is refused: {error}", self.name()));
        assert_eq!(made["metadata"]["generation"], 1);
        ground.scheduled(&self.name()).await
    }

    /// Renders anew on the Shoot as it is, applies, and answers what was stored.
    async fn update(&self, ground: &Ground, what: &str) -> Value {
        let before = ground.shoot(&self.name()).await;
        let planned = self.with_input(Some(&before), plan);
        assert!(!planned.changes.is_empty() && planned.worst() < Some(Effect::Recreates), "{what}: {planned:?}");
        let document = self.render(Some(&before));
        let after = ground.apply(&document).await;
        let after = after.unwrap_or_else(|error| panic!("{}, {what}, is refused: {error}", self.name()));
        assert!(generation(&after) > generation(&before), "{}: {what} changed nothing", self.name());
        // The same once more is no change: what is rendered from a Shoot is that Shoot.
        let again = ground.apply(&self.render(Some(&after))).await.expect("taken");
        assert_eq!(generation(&again), generation(&after), "{}: {what} is not at rest", self.name());
        let planned = self.with_input(Some(&again), plan);
        assert_eq!(planned.changes, [], "{}: {what} leaves a difference", self.name());
        again
    }
}

fn generation(shoot: &Value) -> i64 {
    shoot["metadata"]["generation"].as_i64().expect("a generation")
}

fn pools(shoot: &Value) -> Vec<(&str, u64)> {
    let pools = shoot["spec"]["provider"]["workers"].as_array().expect("pools");
    pools
        .iter()
        .map(|pool| (pool["name"].as_str().unwrap_or_default(), pool["zones"].as_array().map_or(0, Vec::len) as u64))
        .collect()
}

/// One example through its life: created with two zones, then everything that usually changes.
async fn live(ground: &Ground, provider: &str) {
    let mut case = Case::new(provider, "dev");
    let zones = case.provider()["workers"][0]["zones"].clone();
    case.provider()["workers"][0]["zones"].as_array_mut().expect("zones").pop();
    case.provider().as_object_mut().expect("an object").remove("additionalWorkers");
    let made = case.create(ground).await;
    assert_eq!(pools(&made), [("cpu-worker-0", 2)]);

    case.provider()["workers"][0]["maximum"] = json!(21);
    let after = case.update(ground, "a greater maximum").await;
    assert_eq!(after["spec"]["provider"]["workers"][0]["maximum"], 21);

    case.provider()["workers"][0]["zones"] = zones.clone();
    let after = case.update(ground, "a new zone").await;
    assert_eq!(after["spec"]["provider"]["workers"][0]["zones"], zones);
    let of_cloud = &after["spec"]["provider"]["infrastructureConfig"]["networks"]["zones"];
    assert!(of_cloud.as_array().is_none_or(|list| list.len() == 3), "{of_cloud}");

    let mut pool = case.provider()["workers"][0].clone();
    pool["name"] = json!("more");
    pool["minimum"] = json!(0);
    case.provider()["additionalWorkers"] = json!([pool]);
    let after = case.update(ground, "a new pool").await;
    assert_eq!(pools(&after), [("cpu-worker-0", 3), ("more", 3)]);

    case.provider()["additionalWorkers"] = json!([]);
    let after = case.update(ground, "a pool less").await;
    assert_eq!(pools(&after), [("cpu-worker-0", 3)], "a pool that is no longer applied goes");

    case.runtime["spec"]["shoot"]["kubernetes"]["version"] = json!("1.35.2");
    let after = case.update(ground, "a higher version").await;
    assert_eq!(after["spec"]["kubernetes"]["version"], "1.35.2");
}

/// All examples, as they are and with the files of each landscape.
async fn examples(ground: &Ground) {
    for provider in PROVIDERS {
        live(ground, provider).await;
        Case::new(provider, "stage").named(&format!("s-{provider}")).create(ground).await;
        let prod = Case::new(provider, "prod").named(&format!("p-{provider}"));
        let shoot = prod.create(ground).await;
        assert_eq!(shoot["spec"]["dns"]["domain"], format!("p-{provider}.kyma-prod.example.com"));
        assert!(shoot["spec"]["resources"].as_array().is_some_and(|list| list[0]["name"] == "auditlog-credentials"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_example_is_taken_by_the_garden_simulator_for_create_and_update() {
    examples(&Ground::simulated().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_example_is_taken_by_a_real_gardener_apiserver_for_create_and_update() {
    let Some(ground) = Ground::real().await else { return };
    examples(&ground).await;
}
