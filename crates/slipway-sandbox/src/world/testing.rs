//! What a test says to the landscape, in the words of its story: ask by GraphQL as users do, and look up what came of
//! it where it must have arrived.
//!
//! Nothing here waits for a time: a test waits for what should come true, and patience only ends one that has failed
//! anyway. What a test cannot go on without panics.

use std::{sync::Arc, time::Duration};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube_sandbox::{clock, cluster::Cluster};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use slipway_clients::{
    HttpTransport,
    provisioner::{
        Client, Owner,
        wire::{LastError, OperationStatus, RuntimeStatus, State},
    },
};
use slipway_model::time::{millis, secs};
use slipway_server::provisioner::File;
use slipway_sim::{garden::landscape, systems::reconciler};

use super::{Options, Pace, Plan, World};

/// Whose clusters they are.
pub const TENANT: &str = "acme";

const OWNER: Owner<'static> = Owner { tenant: TENANT, sub_account: Some("shop-department") };

/// Longer than anything takes, even beside other tests on a slow machine.
const PATIENCE: Duration = secs(120);

impl Options {
    /// In a folder that goes with it, on free ports of this machine, and with a garden in which a cluster takes a
    /// fraction of a second.
    pub fn for_tests() -> Self {
        let any = ([127, 0, 0, 1], 0).into();
        let mut provisioner = File { listen: any, metrics: Some(any), ..File::default() };
        provisioner.settings.compat.allow_unknown_clouds = true;
        let pace = Pace::Scale(3_000.0);
        Self { data_dir: None, listen: any, provisioner, pace, seed: 1, environment: Vec::new() }
    }
}

/// A cluster that somebody asks for.
#[derive(Debug, Clone)]
pub struct NewCluster {
    config: Value,
}

/// A cluster on Google Cloud.
pub fn gcp(name: &str) -> NewCluster {
    cluster_on("gcp", name)
}

/// A cluster on any cloud that the garden of the landscape knows: in the first region of its profile, paid by its
/// account, and with the provisioner's defaults for all the rest.
pub fn cluster_on(cloud: &str, name: &str) -> NewCluster {
    let objects = landscape::objects();
    let find = |kind: &str, cloud_at: &str| {
        let is_it = |object: &&Value| object["kind"] == kind && object.pointer(cloud_at) == Some(&json!(cloud));
        objects.iter().find(is_it).unwrap_or_else(|| panic!("the garden has no {kind} of {cloud}"))
    };
    let (profile, binding) = (find("CloudProfile", "/spec/type"), find("CredentialsBinding", "/provider/type"));
    let mut gardener = json!({
        "name": name, "provider": cloud, "region": profile["spec"]["regions"][0]["name"],
        "targetSecret": binding["metadata"]["name"],
    });
    if cloud == "openstack" {
        // The only cloud whose profile a client may name; its own default is that of another garden.
        let block = json!({"cloudProfileName": profile["metadata"]["name"]});
        gardener["providerSpecificConfig"] = json!({ "openStackConfig": block });
    }
    NewCluster {
        config: json!({
            "runtimeInput": {"name": name, "labels": {"broker_instance_id": format!("instance-{name}")}},
            "clusterConfig": {"administrators": ["ann@example.com"], "gardenerConfig": gardener},
        }),
    }
}

impl NewCluster {
    /// The same with another value of a field of `gardenerConfig`.
    pub fn with(mut self, field: &str, value: Value) -> Self {
        self.config["clusterConfig"]["gardenerConfig"][field] = value;
        self
    }

    /// The same with Kyma in it, and so with an agent.
    pub fn with_kyma(mut self) -> Self {
        self.config["kymaConfig"] = json!({"version": "2.20.5"});
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.config["runtimeInput"]["name"].as_str().unwrap_or_default()
    }
}

impl World {
    /// Starts one and waits until it is at work.
    pub async fn start(options: Options) -> Self {
        let plan = Plan::make(options).await.unwrap_or_else(|error| panic!("no landscape: {error:?}"));
        let world = plan.start().await.unwrap_or_else(|error| panic!("the landscape does not start: {error:?}"));
        world.until_ready().await;
        // Nobody tells when the Reconciler is done, and the next look is half a minute away.
        world.systems.reconciler.set_pace(reconciler::Pace::NONE);
        world
    }

    /// The provisioner, as a service beside it talks to it.
    pub fn ask(&self) -> Client {
        let base = format!("http://{}/graphql", self.provisioner()).parse().expect("an address is one");
        let transport = HttpTransport::new().expect("a transport");
        Client::new(Arc::new(transport), base, Some(self.provisioning.token.clone()))
    }

    /// Asks for a cluster.
    pub async fn provision(&self, new: NewCluster) -> LiveCluster<'_> {
        let asked = self.ask().provision(OWNER, &new.config).await;
        let OperationStatus { id, runtime_id, .. } = asked.unwrap_or_else(|error| panic!("{}: {error}", new.name()));
        let provisioning = OngoingOperation { world: self, id };
        LiveCluster { world: self, id: runtime_id, name: new.name().to_owned(), provisioning }
    }

    /// Waits until there is something; asks again and again.
    pub async fn until<T>(&self, what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
        let found = clock::within(PATIENCE, poll(look)).await;
        found.unwrap_or_else(|| panic!("it did not come true that {what}\n{}", self.clusters.describe()))
    }
}

async fn poll<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = look().await {
            return found;
        }
        clock::sleep(millis(10)).await;
    }
}

/// An operation that was begun.
pub struct OngoingOperation<'w> {
    world: &'w World,
    id: String,
}

impl OngoingOperation<'_> {
    /// Waits for its end; a provisioner that is away meanwhile does not matter.
    pub async fn until_ended(&self) -> OperationStatus {
        let ask = self.world.ask();
        let ended = async || {
            let status = match ask.operation(OWNER, &self.id).await {
                Err(error) if error.is_temporary() => return None,
                status => status.unwrap_or_else(|error| panic!("operation {}: {error}", self.id)),
            };
            matches!(status.state, State::Succeeded | State::Failed).then_some(status)
        };
        self.world.until(&format!("operation {} ends", self.id), ended).await
    }

    /// Waits for its good end.
    pub async fn until_succeeded(&self) -> OperationStatus {
        let status = self.until_ended().await;
        assert_eq!(status.state, State::Succeeded, "{status:?}\n{}", self.world.clusters.describe());
        status
    }

    /// Waits for its bad end; answers why it failed.
    pub async fn until_failed(&self) -> LastError {
        let status = self.until_ended().await;
        assert_eq!(status.state, State::Failed, "{status:?}");
        status.error().cloned().expect("a failed operation says why")
    }
}

/// A cluster that was asked for.
pub struct LiveCluster<'w> {
    world: &'w World,
    /// The runtime's id.
    pub id: String,
    /// The name of the Shoot, and of the registration in the Director.
    pub name: String,
    /// The operation that makes it.
    pub provisioning: OngoingOperation<'w>,
}

impl<'w> LiveCluster<'w> {
    /// Waits until it is made.
    pub async fn until_ready(&self) {
        self.provisioning.until_succeeded().await;
    }

    /// Asks for a change of fields of `gardenerConfig`.
    pub async fn upgrade(&self, gardener_config: Value) -> OngoingOperation<'w> {
        self.upgrade_whole(json!({ "gardenerConfig": gardener_config })).await
    }

    /// Asks for other administrators.
    pub async fn set_administrators(&self, people: &[&str]) -> OngoingOperation<'w> {
        self.upgrade_whole(json!({ "gardenerConfig": {}, "administrators": people })).await
    }

    async fn upgrade_whole(&self, config: Value) -> OngoingOperation<'w> {
        self.begun(self.world.ask().upgrade_shoot(OWNER, &self.id, &config).await.map(|status| status.id))
    }

    /// Asks for its sleep.
    pub async fn hibernate(&self) -> OngoingOperation<'w> {
        self.begun(self.world.ask().hibernate(OWNER, &self.id).await.map(|status| status.id))
    }

    /// Asks for its awakening.
    pub async fn wake_up(&self) -> OngoingOperation<'w> {
        self.begun(self.world.ask().wake_up(OWNER, &self.id).await.map(|status| status.id))
    }

    /// Asks for another connection of its agent.
    pub async fn reconnect_agent(&self) -> OngoingOperation<'w> {
        self.begun(self.world.ask().reconnect_agent(OWNER, &self.id).await)
    }

    /// Asks for its end.
    pub async fn deprovision(&self) -> OngoingOperation<'w> {
        self.begun(self.world.ask().deprovision(OWNER, &self.id).await)
    }

    fn begun(&self, id: Result<String, slipway_clients::provisioner::Error>) -> OngoingOperation<'w> {
        let id = id.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        OngoingOperation { world: self.world, id }
    }

    /// What the provisioner says of it.
    pub async fn status(&self) -> RuntimeStatus {
        self.world.ask().runtime(OWNER, &self.id).await.unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// Its Runtime in the control plane.
    pub fn runtime(&self) -> Option<Value> {
        self.world.clusters.runtime(&self.id)
    }

    /// Its Shoot in the garden.
    pub fn shoot(&self) -> Option<Value> {
        self.world.clusters.shoot(&self.name)
    }

    /// Whether the Director knows it.
    pub fn is_registered(&self) -> bool {
        self.world.systems.director.runtimes().iter().any(|runtime| runtime.name == self.name)
    }

    /// The cluster itself, seen from inside.
    pub fn inside(&self) -> Option<Cluster> {
        self.world.clusters.server.cluster(&format!("shoot--dev--{}", self.name))
    }

    /// A client of it by the kubeconfig that its owner is given: over a socket, with certificates.
    pub async fn client(&self) -> kube::Client {
        let configuration = self.status().await.runtime_configuration.expect("a runtime has a configuration");
        let text = configuration.kubeconfig.expect("a cluster that is ready has a kubeconfig");
        let kubeconfig = Kubeconfig::from_yaml(text.expose_secret()).expect("the kubeconfig is one");
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        kube::Client::try_from(config.expect("the kubeconfig is complete")).expect("a client")
    }
}
