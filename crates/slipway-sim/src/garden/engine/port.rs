//! Where the engine reads and writes: an embedded cluster, or a real one over its API.
//!
//! Few verbs, the same for both. Writes are merge patches: several actors write one Shoot, and a patch
//! of what is ours leaves the rest alone.

use std::sync::Arc;

use futures::{Stream, StreamExt as _, stream};
use kube::{
    api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
    runtime::watcher::{self, Event},
};
use kube_sandbox::{
    cluster::{Cluster, Place},
    delete::Options,
    object::{Name, Stored},
    status::Status,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::protection::{Binding, binding_of, used_by};
use crate::garden::{
    problems::CORE,
    value::{name, namespace, text},
};

/// A resource: group, version, kind, plural.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resource(pub &'static str, pub &'static str, pub &'static str, pub &'static str);

/// Shoots.
pub const SHOOTS: Resource = Resource(CORE, "v1beta1", "Shoot", "shoots");
/// Seeds.
pub const SEEDS: Resource = Resource(CORE, "v1beta1", "Seed", "seeds");
/// Projects.
pub const PROJECTS: Resource = Resource(CORE, "v1beta1", "Project", "projects");
/// Cloud profiles.
pub const PROFILES: Resource = Resource(CORE, "v1beta1", "CloudProfile", "cloudprofiles");
/// Cloud profiles of a project.
pub const OWN_PROFILES: Resource = Resource(CORE, "v1beta1", "NamespacedCloudProfile", "namespacedcloudprofiles");
/// What outlives the engine.
pub const STATES: Resource = Resource(CORE, "v1beta1", "ShootState", "shootstates");
/// Client CAs.
pub const INTERNAL_SECRETS: Resource = Resource(CORE, "v1beta1", "InternalSecret", "internalsecrets");
/// Cluster CAs.
pub const CONFIG_MAPS: Resource = Resource("", "v1", "ConfigMap", "configmaps");
/// Credentials.
pub const SECRETS: Resource = Resource("", "v1", "Secret", "secrets");
/// Events.
pub const EVENTS: Resource = Resource("", "v1", "Event", "events");
/// Bindings.
pub const BINDINGS: Resource =
    Resource("security.gardener.cloud", "v1alpha1", "CredentialsBinding", "credentialsbindings");
/// Their predecessors.
pub const SECRET_BINDINGS: Resource = Resource(CORE, "v1beta1", "SecretBinding", "secretbindings");

/// As much of a Shoot as its change must tell; whoever works on it reads it anew.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Glimpse {
    /// Namespace and name.
    pub key: (String, String),
    /// Which Shoot of this name.
    pub uid: String,
    /// The Seed it is on, or empty.
    pub seed: String,
    /// The binding it uses.
    pub binding: Option<Binding>,
    /// Its resource version; 0 where that is no number.
    pub version: u64,
}

/// The fields of a Glimpse where they stand in a Shoot. To read these alone costs a fraction of reading it all, and
/// the engine sees every change of every Shoot.
#[derive(Deserialize)]
struct Sketch {
    #[serde(default)]
    spec: SketchOfSpec,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct SketchOfSpec {
    seed_name: String,
    credentials_binding_name: String,
    secret_binding_name: String,
}

impl Glimpse {
    /// Of a Shoot.
    pub fn of(shoot: &Value) -> Self {
        Self {
            key: (namespace(shoot).to_owned(), name(shoot).to_owned()),
            uid: text(shoot, "metadata.uid").to_owned(),
            seed: text(shoot, "spec.seedName").to_owned(),
            binding: used_by(shoot),
            version: version_of(shoot),
        }
    }

    fn of_stored(called: &Name, stored: &Stored) -> Self {
        let sketch: Result<Sketch, _> = serde_json::from_slice(stored.text().0);
        let spec = sketch.map(|shoot| shoot.spec).unwrap_or_default();
        Self {
            key: (called.namespace.to_string(), called.name.to_string()),
            uid: stored.facts().uid.to_string(),
            seed: spec.seed_name,
            binding: binding_of(&called.namespace, &spec.credentials_binding_name, &spec.secret_binding_name),
            version: stored.version,
        }
    }
}

/// The resource version as the number it is, or 0.
pub fn version_of(object: &Value) -> u64 {
    text(object, "metadata.resourceVersion").parse().unwrap_or_default()
}

/// A change of a Shoot.
#[derive(Debug, Clone)]
pub enum Change {
    /// It is there, and this is what it is.
    Now(Glimpse),
    /// It is gone.
    Gone(Glimpse),
    /// Changes were missed: these are all there are now.
    All(Vec<Glimpse>),
}

/// Where the engine reads and writes.
pub trait Port: Clone + Send + Sync + 'static {
    /// One object.
    fn get(
        &self,
        what: Resource,
        place: &str,
        called: &str,
    ) -> impl Future<Output = Result<Option<Value>, Status>> + Send;
    /// All objects.
    fn list(&self, what: Resource, place: &str) -> impl Future<Output = Result<Vec<Value>, Status>> + Send;
    /// All objects of a kind that is read much more often than it is written.
    fn consult(&self, what: Resource) -> impl Future<Output = Result<Arc<Vec<Value>>, Status>> + Send {
        async move { Ok(Arc::new(self.list(what, "").await?)) }
    }
    /// Makes an object.
    fn create(&self, what: Resource, object: Value) -> impl Future<Output = Result<Value, Status>> + Send;
    /// Merge patch of an object or a part of it.
    fn patch(
        &self,
        what: Resource,
        place: &str,
        called: &str,
        part: &str,
        patch: Value,
    ) -> impl Future<Output = Result<Value, Status>> + Send;
    /// Deletes an object; it is fine if it is gone.
    fn delete(&self, what: Resource, place: &str, called: &str) -> impl Future<Output = Result<(), Status>> + Send;
    /// Hosts a Shoot on a Seed.
    fn bind(&self, place: &str, called: &str, seed: &str) -> impl Future<Output = Result<Value, Status>> + Send;
    /// Shoots as they are and as they change, for ever.
    fn shoots(&self) -> impl Stream<Item = Change> + Send + 'static;
}

impl Port for Cluster {
    async fn get(&self, what: Resource, place: &str, called: &str) -> Result<Option<Value>, Status> {
        Ok(Self::get(self, what.0, what.3, place, called))
    }

    async fn list(&self, what: Resource, place: &str) -> Result<Vec<Value>, Status> {
        Ok(Self::list(self, what.0, what.3, place))
    }

    async fn consult(&self, what: Resource) -> Result<Arc<Vec<Value>>, Status> {
        Ok(Self::consult(self, what.0, what.3))
    }

    async fn create(&self, _: Resource, object: Value) -> Result<Value, Status> {
        Self::create(self, object).await
    }

    async fn patch(
        &self,
        what: Resource,
        place: &str,
        called: &str,
        part: &str,
        patch: Value,
    ) -> Result<Value, Status> {
        let place = Place { group: what.0, plural: what.3, namespace: place, name: called, subresource: part };
        self.update(&place, |object| json_patch::merge(object, &patch)).await
    }

    async fn delete(&self, what: Resource, place: &str, called: &str) -> Result<(), Status> {
        let place = Place { group: what.0, plural: what.3, namespace: place, name: called, subresource: "" };
        match Self::delete(self, &place, &Options::default()).await {
            Err(status) if status.code != 404 => Err(status),
            _ => Ok(()),
        }
    }

    async fn bind(&self, place: &str, called: &str, seed: &str) -> Result<Value, Status> {
        let place = Place { group: CORE, plural: "shoots", namespace: place, name: called, subresource: "binding" };
        self.update(&place, |shoot| crate::garden::value::set(shoot, "spec.seedName", seed)).await
    }

    fn shoots(&self) -> impl Stream<Item = Change> + Send + 'static {
        let cluster = self.clone();
        // The watch begins before the list, so that nothing falls between the two.
        let watch = self.watch(CORE, "shoots", None).ok();
        let present: Vec<Change> =
            Self::list(self, CORE, "shoots", "").into_iter().map(|shoot| Change::Now(Glimpse::of(&shoot))).collect();
        let changes = stream::unfold(watch, move |watch| {
            let cluster = cluster.clone();
            async move {
                let mut watch = watch?;
                let changes = match watch.next().await? {
                    Ok(event) => {
                        let object = Glimpse::of_stored(&event.name, &event.object);
                        let gone = matches!(event.change, kube_sandbox::store::Change::Deleted);
                        vec![if gone { Change::Gone(object) } else { Change::Now(object) }]
                    }
                    // Too slow: what is there now says as much.
                    Err(_) => {
                        vec![Change::All(cluster.list(CORE, "shoots", "").iter().map(Glimpse::of).collect())]
                    }
                };
                Some((changes, Some(watch)))
            }
        });
        stream::iter(present).chain(changes.flat_map(stream::iter))
    }
}

/// A real cluster, over its API.
#[derive(Clone)]
pub struct Remote(pub kube::Client);

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a cluster over its API")
    }
}

/// Gardener's and Kubernetes' own refusals come as they are; everything else is trouble on the way.
fn to_status(error: kube::Error) -> Status {
    match error {
        kube::Error::Api(status) => Status::new(status.code, "", status.message.clone()),
        error => Status::new(503, "ServiceUnavailable", error.to_string()),
    }
}

impl Remote {
    fn api(&self, what: Resource, place: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(what.0, what.1, what.2);
        let resource = ApiResource::from_gvk_with_plural(&kind, what.3);
        if place.is_empty() {
            Api::all_with(self.0.clone(), &resource)
        } else {
            Api::namespaced_with(self.0.clone(), place, &resource)
        }
    }
}

fn value(object: DynamicObject) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

impl Port for Remote {
    async fn get(&self, what: Resource, place: &str, called: &str) -> Result<Option<Value>, Status> {
        Ok(self.api(what, place).get_opt(called).await.map_err(to_status)?.map(value))
    }

    async fn list(&self, what: Resource, place: &str) -> Result<Vec<Value>, Status> {
        let found = self.api(what, place).list(&ListParams::default()).await.map_err(to_status)?;
        Ok(found.items.into_iter().map(value).collect())
    }

    async fn create(&self, what: Resource, object: Value) -> Result<Value, Status> {
        let place = namespace(&object).to_owned();
        let object: DynamicObject = serde_json::from_value(object).map_err(Status::internal)?;
        Ok(value(self.api(what, &place).create(&PostParams::default(), &object).await.map_err(to_status)?))
    }

    async fn patch(
        &self,
        what: Resource,
        place: &str,
        called: &str,
        part: &str,
        patch: Value,
    ) -> Result<Value, Status> {
        let (api, params) = (self.api(what, place), PatchParams::apply("gardenlet"));
        let params = PatchParams { force: false, ..params };
        let patch = Patch::Merge(patch);
        let done = match part {
            "" => api.patch(called, &params, &patch).await,
            part => api.patch_subresource(part, called, &params, &patch).await,
        };
        Ok(value(done.map_err(to_status)?))
    }

    async fn delete(&self, what: Resource, place: &str, called: &str) -> Result<(), Status> {
        match self.api(what, place).delete(called, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(to_status(error)),
            Ok(_) => Ok(()),
        }
    }

    async fn bind(&self, place: &str, called: &str, seed: &str) -> Result<Value, Status> {
        let api = self.api(SHOOTS, place);
        let mut shoot = value(api.get(called).await.map_err(to_status)?);
        crate::garden::value::set(&mut shoot, "spec.seedName", seed);
        let shoot: DynamicObject = serde_json::from_value(shoot).map_err(Status::internal)?;
        let done = api.replace_subresource("binding", called, &PostParams::default(), &shoot).await;
        Ok(value(done.map_err(to_status)?))
    }

    fn shoots(&self) -> impl Stream<Item = Change> + Send + 'static {
        let watch = watcher::watcher(self.api(SHOOTS, ""), watcher::Config::default()).boxed();
        stream::unfold((watch, Vec::new()), |(mut watch, mut listed)| async move {
            loop {
                let change = match watch.next().await? {
                    Ok(Event::Apply(object)) => Change::Now(Glimpse::of(&value(object))),
                    Ok(Event::Delete(object)) => Change::Gone(Glimpse::of(&value(object))),
                    Ok(Event::Init) => {
                        listed.clear();
                        continue;
                    }
                    Ok(Event::InitApply(object)) => {
                        listed.push(Glimpse::of(&value(object)));
                        continue;
                    }
                    // Whoever went while the watch was broken is told by its absence.
                    Ok(Event::InitDone) => Change::All(std::mem::take(&mut listed)),
                    Err(error) => {
                        // The watcher goes on by itself; without a pause it would do so at once.
                        tracing::debug!(%error, "the watch of Shoots broke");
                        crate::clock::sleep(std::time::Duration::from_millis(500)).await;
                        continue;
                    }
                };
                return Some((change, (watch, listed)));
            }
        })
    }
}

/// Writes all objects of a landscape, each if it is not there yet, its status after it.
pub async fn seed<P: Port>(port: &P, objects: Vec<Value>) -> Result<(), Status> {
    for mut object in objects {
        let status = object.as_object_mut().and_then(|object| object.remove("status"));
        let version = text(&object, "apiVersion").to_owned();
        let (group, version) = version.split_once('/').unwrap_or(("", &version));
        let kind = text(&object, "kind").to_owned();
        let plural = crate::garden::landscape::plural(&kind);
        // A resource is named by static text; a landscape has a dozen kinds, once per process.
        let leak = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
        let what = Resource(leak(group), leak(version), leak(&kind), leak(&plural));
        let (place, called) = (namespace(&object).to_owned(), name(&object).to_owned());
        if port.get(what, &place, &called).await?.is_none() {
            port.create(what, object).await?;
        }
        if let Some(status) = status {
            port.patch(what, &place, &called, "status", json!({ "status": status })).await?;
        }
    }
    Ok(())
}
