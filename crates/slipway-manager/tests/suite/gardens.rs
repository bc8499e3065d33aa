//! Gardens to write Shoots into: the simulator, and the real servers where they are built.

use std::time::Duration;

use kube::{
    Client,
    api::{Api, ApiResource, DynamicObject, Patch, PatchParams, ValidationDirective},
    core::GroupVersionKind,
};
use kube_sandbox::clock;
use serde_json::{Value, json};
use slipway_sim::{
    garden::{Driver, Garden, Options, landscape},
    real,
};

/// The namespace of the landscape's project.
pub(crate) const NAMESPACE: &str = "garden-dev";

/// A garden. It ends when this is dropped.
pub(crate) struct Ground {
    pub(crate) client: Client,
    _servers: Box<dyn std::any::Any>,
}

impl Ground {
    /// The simulator.
    pub(crate) async fn simulated() -> Self {
        let garden = Garden::start(Options::default()).await.expect("a garden");
        Self { client: garden.client().expect("a client"), _servers: Box::new(garden) }
    }

    /// The real servers, with the engine of the simulator as their gardenlets, if the machine has them.
    pub(crate) async fn real() -> Option<Self> {
        let garden = real_server(real::Garden::start(&landscape::objects()).await)?;
        let options = Options { landscape: false, ..Options::default() };
        let driver = Driver::start(garden.kubeconfig(), options).await.expect("a driver");
        Some(Self { client: garden.client(), _servers: Box::new((driver, garden)) })
    }

    fn api(&self, kind: &str) -> Api<DynamicObject> {
        let resource = match kind {
            "Shoot" | "SecretBinding" => {
                ApiResource::from_gvk(&GroupVersionKind::gvk("core.gardener.cloud", "v1beta1", kind))
            }
            _ => ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", kind)),
        };
        Api::namespaced_with(self.client.clone(), NAMESPACE, &resource)
    }

    /// Changes a Shoot by a JSON patch.
    pub(crate) async fn operate(&self, name: &str, operations: Value) -> Result<Value, kube::Error> {
        let operations = serde_json::from_value(operations).expect("operations");
        let changed = self.api("Shoot").patch(name, &PatchParams::default(), &Patch::<()>::Json(operations)).await?;
        Ok(serde_json::to_value(changed).expect("JSON"))
    }

    /// Puts an object beside the Shoots.
    pub(crate) async fn put(&self, object: &Value) {
        let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
        let api = self.api(&kind);
        api.patch(&name, &PatchParams::apply("test").force(), &Patch::Apply(object)).await.expect("taken");
    }

    /// Applies a Shoot as the manager does, but strictly: an unknown field is an error. Admission may
    /// not have seen a new object beside the Shoot yet, and the gardenlet may be faster: then it is asked again.
    pub(crate) async fn apply(&self, shoot: &Value) -> Result<Value, kube::Error> {
        self.apply_as("kim", shoot, false).await
    }

    /// Applies a Shoot under any name.
    pub(crate) async fn apply_as(&self, manager: &str, shoot: &Value, dry_run: bool) -> Result<Value, kube::Error> {
        let params = PatchParams {
            dry_run,
            force: true,
            field_manager: Some(manager.to_owned()),
            field_validation: Some(ValidationDirective::Strict),
        };
        let name = text(shoot, "/metadata/name");
        let mut attempts = 0;
        loop {
            let answer = self.api("Shoot").patch(&name, &params, &Patch::Apply(shoot)).await;
            attempts += 1;
            match answer {
                Err(kube::Error::Api(status)) if attempts < 50 && (status.code == 409 || is_late(&status.message)) => {
                    clock::sleep(Duration::from_millis(100)).await;
                }
                answer => return answer.map(|object| serde_json::to_value(object).expect("JSON")),
            }
        }
    }

    pub(crate) async fn shoot(&self, name: &str) -> Value {
        serde_json::to_value(self.api("Shoot").get(name).await.expect("a Shoot")).expect("JSON")
    }

    /// The Shoot, once it has a Seed: from then on more rules hold.
    pub(crate) async fn scheduled(&self, name: &str) -> Value {
        for _ in 0..300 {
            let shoot = self.shoot(name).await;
            if shoot.pointer("/spec/seedName").is_some() && shoot.pointer("/spec/dns/domain").is_some() {
                return shoot;
            }
            clock::sleep(Duration::from_millis(100)).await;
        }
        panic!("{name} is not scheduled: {}", self.shoot(name).await);
    }

    /// What a Shoot refers to.
    pub(crate) async fn put_secret(&self, name: &str) {
        self.put(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": NAMESPACE },
            "data": { "accessKeyID": "c2lt", "secretAccessKey": "c2lt" },
        }))
        .await;
    }
}

fn is_late(message: &str) -> bool {
    message.contains("not yet ready") || message.contains("not found") || message.contains("could not find")
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// What the environment says about a real server that did not come: a loud line, or a failure.
pub(crate) fn real_server<T>(started: Result<T, real::Error>) -> Option<T> {
    match (started, real::Mode::from_env()) {
        (Ok(server), _) => Some(server),
        (Err(error @ real::Error::Off), _) | (Err(error @ real::Error::NotBuilt), real::Mode::Auto) => {
            eprintln!("SKIPPED: {error}; nothing was tried on a real server");
            None
        }
        (Err(error), _) => panic!("{error}: {:?}", std::error::Error::source(&error)),
    }
}
