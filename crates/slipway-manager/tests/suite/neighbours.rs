//! Nobody touches what is not theirs: copies, thieves and strangers beside a neighbour whose objects stay as they are, to
//! the byte.
//!
//! Every right that the manager has is a row with a twin that would misuse it. A hook stands at every call: none may go to an
//! object of the neighbour, and none may change or delete anything without naming the object that it means.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, OnceLock},
};

use kube_sandbox::cluster::{Cluster, Place};
use serde_json::{Value, json};
use slipway_kube::{
    access::{Ask, Calls, Error, Verb, Verdict},
    annotations, labels,
};
use slipway_model::ports::BoxFuture;
use slipway_sim::garden::Pace;

use crate::{
    sweep::snapshot::difference,
    world::{NAMESPACE, PROJECT, RUNTIMES, SHOOTS, With, World, runtime},
};

/// Kinds whose objects somebody owns, on which cluster.
const OWNED: [(&str, &str, &str); 7] = [
    ("kcp", RUNTIMES, "runtimes"),
    ("kcp", RUNTIMES, "gardenerclusters"),
    ("kcp", "", "secrets"),
    ("kcp", "", "configmaps"),
    ("garden", SHOOTS, "shoots"),
    ("garden", "", "configmaps"),
    ("garden", "", "secrets"),
];

/// Stands at every call.
#[derive(Default)]
struct Witness {
    clusters: OnceLock<(Cluster, Cluster)>,
    /// Objects that nobody may touch, once it is set: cluster, kind, name.
    spared: Mutex<BTreeSet<(String, String, String)>>,
    complaints: Mutex<Vec<String>>,
}

impl Witness {
    fn judge(&self, cluster: &str, ask: &Ask) -> Option<String> {
        let (_, group, plural) =
            *OWNED.iter().find(|(at, _, plural)| *at == cluster && *plural == ask.resource.plural)?;
        if !ask.verb.is_write() {
            return None;
        }
        let call = format!("{} {cluster} {plural}/{}/{}", ask.verb.as_str(), ask.name, ask.subresource);
        if self.spared.lock().expect("lock").contains(&(cluster.into(), plural.into(), ask.name.clone())) {
            return Some(format!("{call} is about a neighbour's"));
        }
        let body = ask.body().cloned().unwrap_or_default();
        let names_it = match ask.verb {
            // A server takes no second one of a name.
            Verb::Create => true,
            Verb::Delete => body["preconditions"]["uid"].is_string(),
            _ if body.is_array() => body[0]["path"] == "/metadata/resourceVersion",
            _ => body["metadata"]["uid"].is_string() || body["metadata"]["resourceVersion"].is_string(),
        };
        let (kcp, garden) = self.clusters.get().expect("clusters");
        let at = if cluster == "kcp" { kcp } else { garden };
        let is_there = at.get(group, plural, &ask.namespace, &ask.name).is_some();
        (is_there && !names_it).then(|| format!("{call} does not say which object it means: {body}"))
    }
}

impl Calls for Witness {
    fn before<'a>(&'a self, cluster: &'static str, ask: &'a Ask) -> BoxFuture<'a, Verdict> {
        if let Some(complaint) = self.judge(cluster, ask) {
            self.complaints.lock().expect("lock").push(complaint);
        }
        Box::pin(async { Verdict::Pass })
    }

    fn after<'a>(&'a self, _: &'static str, _: &'a Ask, _: Option<&'a Error>) -> BoxFuture<'a, Verdict> {
        Box::pin(async { Verdict::Pass })
    }
}

struct Street {
    world: World,
    witness: Arc<Witness>,
}

impl Street {
    /// A neighbour, ready and at rest; the garden's time stands still from now on.
    async fn with_a_neighbour() -> Self {
        let witness = Arc::new(Witness::default());
        let world = World::without_manager(With { calls: Some(witness.clone()), ..With::default() }).await;
        witness.clusters.set((world.kcp.clone(), world.garden.cluster().clone())).expect("once");
        world.begin();
        world.apply(runtime("shop")).await;
        world.until_state("shop", "Ready").await;
        world.until_idle().await;
        world.garden.clock().set_pace(Pace::Manual);
        world.until_idle().await;
        Self { world, witness }
    }

    /// Everything that is there; from now on nobody may touch it.
    fn spare_all(&self) -> BTreeMap<(String, String, String), Value> {
        let there = self.look();
        *self.witness.spared.lock().expect("lock") = there.keys().cloned().collect();
        there
    }

    fn look(&self) -> BTreeMap<(String, String, String), Value> {
        let mut all = BTreeMap::new();
        for (cluster, group, plural) in OWNED {
            let (at, namespace) = match cluster {
                "kcp" => (&self.world.kcp, NAMESPACE),
                _ => (self.world.garden.cluster(), PROJECT),
            };
            for object in at.list(group, plural, namespace) {
                let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                all.insert((cluster.to_owned(), plural.to_owned(), name), object);
            }
        }
        all
    }

    fn check(&self, before: &BTreeMap<(String, String, String), Value>, who: &str) {
        let complaints = self.witness.complaints.lock().expect("lock");
        assert!(complaints.is_empty(), "{who}: {complaints:#?}");
        let now = self.look();
        for (key, object) in before {
            let there = now.get(key).cloned().unwrap_or_default();
            assert!(there == *object, "{who} touched {key:?}: {:#?}", difference(object, &there));
        }
    }

    async fn put(&self, object: Value) {
        let at = if object["apiVersion"] == "core.gardener.cloud/v1beta1" || object["metadata"]["namespace"] == PROJECT
        {
            self.world.garden.cluster()
        } else {
            &self.world.kcp
        };
        let (kind, name) = (object["kind"].clone(), object["metadata"]["name"].as_str().unwrap_or_default().to_owned());
        at.create(object).await.expect("made");
        if kind == "Shoot" {
            until_taken_up(&self.world, &name).await;
        }
    }

    /// Applies a Runtime that must be refused, and waits until it is told why.
    async fn refused(&self, twin: Value, of: &str, told: &str) {
        let name = twin["metadata"]["name"].as_str().expect("a name").to_owned();
        self.world.apply(twin).await;
        self.world.until(&format!("{name} is told {told}"), || self.world.message(&name, of).contains(told)).await;
        self.world.until_idle().await;
    }

    /// The condition of a GardenerCluster.
    fn cluster_says(&self, name: &str) -> String {
        let cluster = self.world.gardener_cluster(name).unwrap_or_default();
        cluster["status"]["conditions"][0]["message"].as_str().unwrap_or_default().to_owned()
    }
}

/// Gardener binds a new Shoot at once and then stands still, as its time does.
pub(crate) async fn until_taken_up(world: &World, name: &str) {
    let is_taken_up = || {
        let shoot = world.shoot(name).unwrap_or_default();
        // What a Shoot refers to is protected by a second finalizer.
        let refers = shoot["spec"]["kubernetes"]["kubeAPIServer"].get("structuredAuthentication").is_some();
        let finalizers = shoot["metadata"]["finalizers"].as_array().map_or(0, Vec::len);
        shoot["status"]["observedGeneration"] == shoot["metadata"]["generation"]
            && shoot["status"]["lastOperation"]["state"].is_string()
            && finalizers > usize::from(refers)
            && shoot["metadata"]["labels"].get("shoot.gardener.cloud/status").is_some()
    };
    world.until("the Shoot is taken up", is_taken_up).await;
}

/// A Runtime of this name that means the neighbour's Shoot.
pub(crate) fn twin(name: &str) -> Value {
    let mut twin = runtime(name);
    twin["spec"]["shoot"]["name"] = json!("shop");
    twin["spec"]["shoot"]["provider"]["workers"][0]["maximum"] = json!(99);
    twin
}

fn gardener_cluster(name: &str, shoot: &str, secret: &str, owner: Option<&Value>) -> Value {
    let owners: Vec<Value> = owner
        .map(|uid| json!({"apiVersion": format!("{RUNTIMES}/v1"), "kind": "Runtime", "name": "shop", "uid": uid}))
        .into_iter()
        .collect();
    json!({"apiVersion": format!("{RUNTIMES}/v1"), "kind": "GardenerCluster",
        "metadata": {"name": name, "namespace": NAMESPACE, "ownerReferences": owners},
        "spec": {"shoot": {"name": shoot},
            "kubeconfig": {"secret": {"name": secret, "namespace": NAMESPACE, "key": "config"}}}})
}

/// The neighbour's Shoot under another name, with these marks.
fn shoot(world: &World, name: &str, marks: Value) -> Value {
    let there = world.shoot("shop").expect("there");
    let mut spec = there["spec"].clone();
    spec["dns"] = json!(null);
    for given_later in ["dns", "seedName"] {
        spec.as_object_mut().expect("a spec").remove(given_later);
    }
    json!({"apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot", "spec": spec,
        "metadata": {"name": name, "namespace": PROJECT, "annotations": marks}})
}

/// Who tries what, and on which rights of `deploy/`.
#[derive(Debug, Clone, Copy)]
enum Twin {
    Copy,
    CopyWithFinalizer,
    Thief,
    ThiefWithConfirmation,
    Cluster,
    ClusterWithOwner,
    ClusterWithForeignSecret,
    ForeignUid,
    NoMark,
    ForeignCluster,
    ForeignSecret,
    ForeignLogin,
    Orphan,
}

type Right = (&'static str, &'static str, &'static str);

#[rustfmt::skip]
const TWINS: &[(Twin, &[Right])] = &[
    (Twin::Copy,                     &[("kcp", "runtimes", "patch"), ("kcp", "runtimes", "update"), ("garden", "shoots", "patch"), ("garden", "shoots", "delete")]),
    (Twin::CopyWithFinalizer,        &[("kcp", "runtimes/finalizers", "patch"), ("kcp", "runtimes/finalizers", "update"), ("garden", "configmaps", "delete")]),
    (Twin::Thief,                    &[("kcp", "runtimes/status", "patch"), ("kcp", "runtimes/status", "update"), ("garden", "shoots", "update"), ("garden", "configmaps", "patch"), ("garden", "configmaps", "update")]),
    (Twin::ThiefWithConfirmation,    &[("garden", "shoots", "patch")]),
    (Twin::Cluster,                  &[("garden", "shoots/adminkubeconfig", "create"), ("kcp", "gardenerclusters/status", "patch"), ("kcp", "gardenerclusters/status", "update")]),
    (Twin::ClusterWithOwner,         &[("garden", "shoots/adminkubeconfig", "create"), ("kcp", "gardenerclusters/finalizers", "patch"), ("kcp", "gardenerclusters/finalizers", "update")]),
    (Twin::ClusterWithForeignSecret, &[("kcp", "secrets", "patch"), ("kcp", "secrets", "update")]),
    (Twin::ForeignUid,               &[("garden", "shoots", "patch"), ("garden", "shoots", "delete"), ("garden", "shoots", "create")]),
    (Twin::NoMark,                   &[("garden", "shoots", "patch"), ("garden", "shoots", "delete")]),
    (Twin::ForeignCluster,           &[("kcp", "gardenerclusters", "create"), ("kcp", "gardenerclusters", "patch"), ("kcp", "gardenerclusters", "update"), ("kcp", "gardenerclusters", "delete")]),
    (Twin::ForeignSecret,            &[("kcp", "secrets", "create"), ("kcp", "secrets", "delete"), ("garden", "secrets", "delete"), ("garden", "secrets", "patch"), ("garden", "secrets", "update"), ("garden", "secrets", "create")]),
    (Twin::ForeignLogin,             &[("garden", "configmaps", "create"), ("garden", "configmaps", "delete")]),
    (Twin::Orphan,                   &[("kcp", "secrets", "delete")]),
];

/// What belongs to nobody in particular.
const NOBODYS: [&str; 2] = ["events", "leases"];

async fn try_it(street: &Street, twin_of: Twin) {
    let world = &street.world;
    let neighbour = world.runtime("shop").expect("there")["metadata"]["uid"].clone();
    let shoot_uid = world.shoot("shop").expect("there")["metadata"]["uid"].clone();
    match twin_of {
        Twin::Copy | Twin::CopyWithFinalizer => {
            let name = if matches!(twin_of, Twin::Copy) { "copy" } else { "copy-with-finalizer" };
            let mut copy = twin(name);
            copy["metadata"]["labels"][labels::RUNTIME_ID] = json!("shop");
            if matches!(twin_of, Twin::CopyWithFinalizer) {
                copy["metadata"]["finalizers"] =
                    world.runtime("shop").expect("there")["metadata"]["finalizers"].clone();
            }
            street.refused(copy, "Provisioned", "kyma-project.io/runtime-id is shop").await;
            world.delete(name).await;
            world.until_gone(name).await;
        }
        Twin::Thief => {
            street.refused(twin("thief"), "Provisioned", "belongs to Runtime shop").await;
            world.delete("thief").await;
            world.until_gone("thief").await;
        }
        Twin::ThiefWithConfirmation => {
            let mut thief = twin("confirmed-thief");
            thief["metadata"]["annotations"] = json!({annotations::ADOPT_SHOOT: shoot_uid});
            street.refused(thief, "Provisioned", "belongs to Runtime shop").await;
            world.delete("confirmed-thief").await;
            world.until_gone("confirmed-thief").await;
        }
        Twin::Cluster | Twin::ClusterWithOwner | Twin::ClusterWithForeignSecret => {
            let (name, secret, owner) = match twin_of {
                Twin::Cluster => ("evil-cluster", "kubeconfig-evil-cluster", None),
                Twin::ClusterWithOwner => ("owned-cluster", "kubeconfig-owned-cluster", Some(&neighbour)),
                _ => ("greedy-cluster", "kubeconfig-shop", None),
            };
            street.put(gardener_cluster(name, "shop", secret, owner)).await;
            world.until("it is told", || !street.cluster_says(name).is_empty()).await;
            let said = street.cluster_says(name);
            assert!(["belongs to", "is gone", "must name"].iter().any(|word| said.contains(word)), "{said}");
            assert!(world.secret(name).is_none(), "a kubeconfig of the neighbour was issued");
        }
        Twin::ForeignUid => {
            let marks = json!({annotations::RUNTIME_UID: "another", annotations::RUNTIME_ID: "marked"});
            street.put(shoot(world, "marked", marks)).await;
            let before = street.spare_all();
            street.refused(runtime("marked"), "Provisioned", annotations::ADOPT_SHOOT).await;
            world.delete("marked").await;
            let told = || world.message("marked", "Deprovisioned").contains(annotations::ADOPT_SHOOT);
            world.until("it stays, because nobody else would look after the Shoot", told).await;
            world.until_idle().await;
            street.check(&before, "a Runtime of the same name");
        }
        Twin::NoMark => {
            street.put(shoot(world, "bare", json!({}))).await;
            let before = street.spare_all();
            street.refused(runtime("bare"), "Provisioned", "carries no mark").await;
            world.delete("bare").await;
            world.until_gone("bare").await;
            street.check(&before, "a Runtime of the Shoot's name");
        }
        Twin::ForeignCluster => {
            world.apply(runtime("taken")).await;
            world.until("its Shoot is made", || world.shoot("taken").is_some()).await;
            until_taken_up(world, "taken").await;
            street.put(gardener_cluster("taken", "taken", "kubeconfig-taken", Some(&neighbour))).await;
            world.until("it is told", || street.cluster_says("taken").contains("is gone")).await;
            world.until_idle().await;
            let mut before = street.spare_all();
            for ours in [("kcp", "runtimes", "taken"), ("garden", "shoots", "taken")] {
                let ours = (ours.0.to_owned(), ours.1.to_owned(), ours.2.to_owned());
                before.remove(&ours);
                street.witness.spared.lock().expect("lock").remove(&ours);
            }
            world.delete("taken").await;
            let going = || world.shoot("taken").is_some_and(|it| it["metadata"].get("deletionTimestamp").is_some());
            world.until("its Shoot is going", going).await;
            street.check(&before, "a Runtime of the GardenerCluster's name");
        }
        Twin::ForeignSecret => {
            let secret = json!({"apiVersion": "v1", "kind": "Secret", "data": {"config": "eA=="},
                "metadata": {"name": "kubeconfig-keyed", "namespace": NAMESPACE}});
            street.put(secret).await;
            let before = street.spare_all();
            world.apply(runtime("keyed")).await;
            world.until("its Shoot is made", || world.shoot("keyed").is_some()).await;
            street.put(gardener_cluster("keyed", "keyed", "kubeconfig-keyed", None)).await;
            let place =
                Place { group: SHOOTS, plural: "shoots", namespace: PROJECT, name: "keyed", subresource: "status" };
            let address = json!([{"name": "external", "url": "https://api.keyed.example.com"}]);
            let with_address = |it: &mut Value| it["status"]["advertisedAddresses"] = address.clone();
            world.garden.cluster().update(&place, with_address).await.expect("an address");
            world.until("it is told", || street.cluster_says("keyed").contains("is not ours")).await;
            world.delete("keyed").await;
            let going = || world.shoot("keyed").is_some_and(|it| it["metadata"].get("deletionTimestamp").is_some());
            world.until("its Shoot is going", going).await;
            street.check(&before, "a Runtime of the Secret's name");
        }
        Twin::ForeignLogin => {
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"config.yaml": "theirs"},
                "metadata": {"name": "structured-auth-config-login", "namespace": PROJECT,
                    "annotations": {annotations::RUNTIME_UID: "another"}}});
            street.put(map).await;
            let before = street.spare_all();
            street.refused(runtime("login"), "Provisioned", "structured-auth-config-login").await;
            world.delete("login").await;
            world.until_gone("login").await;
            street.check(&before, "a Runtime of the ConfigMap's name");
        }
        Twin::Orphan => {
            let marks = json!({labels::MANAGED_BY: labels::MANAGED_BY_US, labels::CLUSTER_NAME: "nobody"});
            let secret = json!({"apiVersion": "v1", "kind": "Secret", "data": {},
                "metadata": {"name": "others-secret", "namespace": NAMESPACE, "labels": marks}});
            street.put(secret).await;
            let before = street.spare_all();
            world.kill();
            world.begin();
            world.until_idle().await;
            street.check(&before, "a start");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_tries_whatever_the_objects_of_a_neighbour_stay_as_they_are() {
    let street = Street::with_a_neighbour().await;
    for (twin, _) in TWINS {
        let before = street.spare_all();
        try_it(&street, *twin).await;
        street.world.until_idle().await;
        street.check(&before, &format!("{twin:?}"));
    }
    assert_eq!(street.world.state("shop"), "Ready");
}

/// Every right of `deploy/` that writes has a twin that would misuse it.
#[test]
fn no_right_is_without_a_twin() {
    let tried: BTreeSet<Right> = TWINS.iter().flat_map(|(_, rights)| *rights).copied().collect();
    let roles = [
        ("kcp", include_str!("../../../../deploy/manager/base/rbac.yaml")),
        ("garden", include_str!("../../../../deploy/garden/rbac.yaml")),
    ];
    for (cluster, text) in roles {
        let role = text.split("\n---\n").find(|part| part.contains("kind: Role\n")).expect("a role");
        let role: Value = serde_saphyr::from_str(role).expect("YAML");
        for rule in role["rules"].as_array().expect("rules") {
            let texts = |key: &str| rule[key].as_array().expect("a list").iter().filter_map(Value::as_str);
            for (resource, verb) in texts("resources").flat_map(|it| texts("verbs").map(move |verb| (it, verb))) {
                if ["get", "list", "watch"].contains(&verb) || NOBODYS.contains(&resource) {
                    continue;
                }
                let has = tried.iter().any(|right| *right == (cluster, resource, verb));
                assert!(has, "{verb} {resource} on {cluster}: write a twin");
            }
        }
    }
}
