//! Caches of image registries: asked for inside a cluster, found in its Shoot, with credentials that are nowhere else.

use std::{collections::BTreeMap, sync::Arc};

use kube_sandbox::{
    cluster::{Cluster, Place},
    delete::Options as Deletion,
    http::Trouble,
    status::Status,
};
use serde_json::{Value, json};
use slipway_kube::access::Verb;
use slipway_manager::Settings;
use slipway_model::time::{hours, secs};

use crate::{
    sweep::hook::{Blow, Hook, How, Key, Plan, Site},
    world::{PROJECT, With, World, runtime},
};

const GROUP: &str = "core.kyma-project.io";
const PLURAL: &str = "registrycacheconfigs";

/// What stands in an example.
fn documents(text: &str) -> Vec<Value> {
    text.split("\n---\n").map(|part| serde_saphyr::from_str(part).expect("an example")).collect()
}

fn often() -> With {
    let settings = Settings { audit_log_mandatory: false, registry_caches: Some(secs(10)), ..Settings::default() };
    With { settings, factor: 10.0, ..With::default() }
}

/// A world whose one cluster has the module, and what its owner does there.
pub(crate) struct Owner {
    pub(crate) world: World,
    inside: Cluster,
}

impl Owner {
    async fn with(with: With) -> Self {
        let world = World::with(with).await;
        world.apply(runtime("shop")).await;
        world.until_state("shop", "Ready").await;
        let id = world.shoot("shop").expect("there")["status"]["technicalID"].as_str().expect("an id").to_owned();
        let inside = world.server.cluster(&id).expect("a cluster");
        for kind in documents(include_str!("../../../../examples/registry-cache/module.yaml")) {
            inside.create(kind).await.expect("a kind");
        }
        Self { world, inside }
    }

    /// Looks often: what is waited for here is that somebody looks at all.
    pub(crate) async fn new() -> Self {
        let owner = Self::with(often()).await;
        owner.switch_on().await;
        owner
    }

    pub(crate) async fn switch_on(&self) {
        let kyma = json!({"apiVersion": "operator.kyma-project.io/v1beta2", "kind": "Kyma",
            "metadata": {"name": "default", "namespace": "kyma-system"},
            "spec": {"channel": "regular", "modules": [{"name": "istio"}, {"name": "registry-cache"}]}});
        self.inside.create(kyma).await.expect("a Kyma");
    }

    pub(crate) async fn ask(&self, name: &str, spec: Value) {
        let config = json!({"apiVersion": format!("{GROUP}/v1beta1"), "kind": "RegistryCacheConfig",
            "metadata": {"name": name, "namespace": "default"}, "spec": spec});
        self.inside.create(config).await.expect("a wish");
    }

    pub(crate) async fn change(&self, name: &str, change: impl FnMut(&mut Value)) {
        let place = Place { group: GROUP, plural: PLURAL, namespace: "default", name, subresource: "" };
        self.inside.update(&place, change).await.expect("a change");
    }

    pub(crate) async fn withdraw(&self, name: &str) {
        let place = Place { group: GROUP, plural: PLURAL, namespace: "default", name, subresource: "" };
        self.inside.delete(&place, &Deletion::default()).await.expect("a deletion");
    }

    pub(crate) async fn credentials(&self, name: &str, password: &str) {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"},
            "immutable": true, "stringData": {"username": "anna", "password": password}});
        self.inside.create(secret).await.expect("a Secret");
    }

    fn told(&self, name: &str) -> (String, String) {
        let config = self.inside.get(GROUP, PLURAL, "default", name).unwrap_or_default();
        let status = &config["status"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&status["state"]), text(&status["conditions"][0]["message"]))
    }

    pub(crate) async fn until_told(&self, name: &str, state: &str) {
        self.world.until(&format!("{name} is told {state}"), || self.told(name).0 == state).await;
    }

    /// Caches in the Shoot: upstream, and the password behind it.
    pub(crate) fn caches(&self) -> Vec<(String, String)> {
        let shoot = self.world.shoot("shop").expect("there");
        let extensions = shoot["spec"]["extensions"].as_array().cloned().unwrap_or_default();
        let extension = extensions.into_iter().find(|it| it["type"] == "registry-cache").unwrap_or_default();
        let caches = extension["providerConfig"]["caches"].as_array().cloned().unwrap_or_default();
        let password = |cache: &Value| {
            let Some(name) = cache["secretReferenceName"].as_str() else { return "none".to_owned() };
            let resources = shoot["spec"]["resources"].as_array().cloned().unwrap_or_default();
            let resource = resources.iter().find(|it| it["name"] == name).expect("a resource");
            let secret = resource["resourceRef"]["name"].as_str().expect("a name");
            let secret = self.world.garden.cluster().get("", "secrets", PROJECT, secret).expect("in the garden");
            assert_eq!(secret["immutable"], true);
            decoded(&secret["data"]["password"])
        };
        caches.iter().map(|it| (it["upstream"].as_str().expect("upstream").to_owned(), password(it))).collect()
    }

    /// Passwords in the garden.
    pub(crate) fn in_the_garden(&self) -> Vec<String> {
        let secrets = self.world.garden.cluster().list("", "secrets", PROJECT);
        let ours =
            secrets.iter().filter(|it| it["metadata"]["labels"]["kyma-project.io/registry-cache-id"].is_string());
        ours.map(|secret| decoded(&secret["data"]["password"])).collect()
    }
}

fn decoded(text: &Value) -> String {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD.decode(text.as_str().expect("text")).expect("base64");
    String::from_utf8(bytes).expect("text")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_asked_for_in_the_cluster_is_in_the_shoot_and_goes_with_it() {
    let owner = Owner::new().await;
    let world = &owner.world;
    owner.credentials("first", "old-secret").await;
    owner.ask("public", json!({"upstream": "docker.io", "volume": {"size": "100Gi"}})).await;
    owner.ask("private", json!({"upstream": "my.example:5000", "secretReferenceName": "first"})).await;
    owner.until_told("public", "Ready").await;
    owner.until_told("private", "Ready").await;
    let both = |password: &str| {
        vec![("my.example:5000".to_owned(), password.to_owned()), ("docker.io".to_owned(), "none".to_owned())]
    };
    assert_eq!(owner.caches(), both("old-secret"));
    assert_eq!(world.condition("shop", "RegistryCacheConfigured")["status"], "True");

    // Other credentials: another Secret, and the old one goes when nobody refers to it.
    owner.credentials("second", "new-secret").await;
    owner.change("private", |config| config["spec"]["secretReferenceName"] = json!("second")).await;
    world.until("the new ones are used", || owner.caches() == both("new-secret")).await;
    world.until("the old ones are gone", || owner.in_the_garden() == ["new-secret"]).await;
    owner.until_told("private", "Ready").await;

    // Credentials are in the garden and nowhere else.
    let everything = [world.kcp.list("", "secrets", "kcp-system"), world.kcp.list("", "events", "kcp-system")].concat();
    let kept = format!("{}{}", json!(everything), world.runtime("shop").expect("there"));
    assert!(!kept.contains("secret\":\"new") && !kept.contains("bmV3LXNlY3JldA"), "{kept}");

    owner.withdraw("public").await;
    world.until("one is left", || owner.caches().len() == 1).await;
    world.until_state("shop", "Ready").await;
    owner.withdraw("private").await;
    world.until("none is left", || owner.caches().is_empty() && owner.in_the_garden().is_empty()).await;
    world.until_state("shop", "Ready").await;
    assert_eq!(world.runtime("shop").expect("there")["spec"].get("imageRegistryCache"), None);

    owner.ask("again", json!({"upstream": "my.example:5000", "secretReferenceName": "second"})).await;
    world.until("it is back", || owner.caches().len() == 1).await;
    world.delete("shop").await;
    world.until_gone("shop").await;
    assert_eq!(owner.in_the_garden(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_example_is_right() {
    let owner = Owner::with(often()).await;
    for object in documents(include_str!("../../../../examples/registry-cache/caches.yaml")) {
        owner.inside.create(object).await.expect("an object");
    }
    owner.until_told("docker-hub", "Ready").await;
    owner.until_told("private", "Ready").await;
    let shown: Vec<String> =
        owner.caches().into_iter().map(|(upstream, password)| upstream + " " + &password).collect();
    assert_eq!(shown, ["docker.io none", "registry.example.com:5000 not-a-real-one"]);
}

/// Who writes into a cluster must not be able to stop its owner's changes, or the manager.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_wish_is_told_why_and_holds_up_nobody() {
    let owner = Owner::new().await;
    let world = &owner.world;
    owner.ask("good", json!({"upstream": "docker.io"})).await;
    for (name, spec, wrong) in [
        ("bad-host", json!({"upstream": "https://docker.io/library"}), "spec.upstream"),
        ("bad-shape", json!({"upstream": ["a"]}), "spec cannot be read"),
        ("bad-size", json!({"upstream": "a.io", "volume": {"size": "-1"}}), "spec.volume.size"),
        ("no-secret", json!({"upstream": "b.io", "secretReferenceName": "nowhere"}), "no Secret nowhere"),
        ("twice", json!({"upstream": "docker.io"}), "already"),
    ] {
        owner.ask(name, spec).await;
        owner.until_told(name, "Failed").await;
        assert!(owner.told(name).1.contains(wrong), "{name}: {}", owner.told(name).1);
    }
    owner.until_told("good", "Ready").await;
    assert_eq!(owner.caches(), [("docker.io".to_owned(), "none".to_owned())]);
    world.until_state("shop", "Ready").await;
    let told = world.message("shop", "RegistryCacheConfigured");
    assert!(told.contains("default/bad-host: spec.upstream"), "{told}");
    // Mended, it is met.
    owner.credentials("nowhere", "x").await;
    owner.until_told("no-secret", "Ready").await;
    // A volume cannot be changed: the cache stays as it is.
    owner.change("good", |config| config["spec"]["volume"] = json!({"size": "20Gi"})).await;
    owner.until_told("good", "Failed").await;
    assert_eq!(owner.caches().len(), 2);
    world.until_state("shop", "Ready").await;
}

/// Where the module is, nobody waits for the next look; where it is not, nobody is asked between looks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_with_the_module_is_listened_to() {
    let settings = Settings { audit_log_mandatory: false, registry_caches: Some(hours(1_000)), ..Settings::default() };
    let owner = Owner::with(With { settings, ..often() }).await;
    let world = &owner.world;
    world.until_idle().await;
    let before = (world.requests("skr", false), world.requests("skr", true));
    owner.switch_on().await;
    owner.ask("first", json!({"upstream": "docker.io"})).await;
    assert_eq!((world.requests("skr", false), world.requests("skr", true)), before, "nobody is asked");
    world.manager.lock().expect("lock").as_ref().expect("a manager").probe().look_at_registry_caches("shop");
    owner.until_told("first", "Ready").await;
    owner.ask("second", json!({"upstream": "quay.io"})).await;
    owner.until_told("second", "Ready").await;
    // Two of the same name are two.
    let twin = json!({"apiVersion": format!("{GROUP}/v1beta1"), "kind": "RegistryCacheConfig",
        "metadata": {"name": "second", "namespace": "kyma-system"}, "spec": {"upstream": "registry.k8s.io"}});
    owner.inside.create(twin).await.expect("a wish");
    world.until("there are three", || owner.caches().len() == 3).await;
    owner.withdraw("second").await;
    world.until("there are two", || owner.caches().len() == 2).await;
    let place = Place { group: GROUP, plural: PLURAL, namespace: "kyma-system", name: "second", subresource: "" };
    owner.inside.delete(&place, &Deletion::default()).await.expect("a deletion");
    world.until("there is one", || owner.caches().len() == 1).await;
    // Also with the next kubeconfig, and by the next process.
    let old = world.secret("shop").expect("there")["data"].clone();
    world
        .edit_cluster("shop", |it| {
            it["metadata"]["annotations"]["operator.kyma-project.io/force-kubeconfig-rotation"] = json!("true")
        })
        .await;
    world.until("it is another kubeconfig", || world.secret("shop").is_some_and(|it| it["data"] != old)).await;
    owner.ask("third", json!({"upstream": "gcr.io"})).await;
    owner.until_told("third", "Ready").await;
    world.kill();
    world.begin();
    owner.ask("fourth", json!({"upstream": "ghcr.io"})).await;
    owner.until_told("fourth", "Ready").await;
}

/// The story that is told again and again: credentials, others, none.
const STORY: [&str; 3] = ["one", "two", ""];

impl Owner {
    async fn play(&self, password: &str) {
        match password {
            "one" => self.ask("private", json!({"upstream": "my.example", "secretReferenceName": "one"})).await,
            "" => self.withdraw("private").await,
            other => self.change("private", |config| config["spec"]["secretReferenceName"] = json!(other)).await,
        }
    }

    fn has_ended(&self, password: &str) -> bool {
        let wanted = if password.is_empty() { vec![] } else { vec![("my.example".to_owned(), password.to_owned())] };
        let kept: Vec<String> = wanted.iter().map(|(_, password)| password.clone()).collect();
        let told = wanted.is_empty() || self.told("private").0 == "Ready";
        told && self.world.is_settled("shop", "Ready") && self.caches() == wanted && self.in_the_garden() == kept
    }

    fn next_process(&self, plan: &Plan) -> Arc<Hook> {
        let hook = Arc::new(Hook::new(plan.clone()));
        self.world.kill();
        self.world.begin_with(Some(hook.clone()));
        hook
    }

    /// Plays one chapter; a process that dies, in this one or at the end of the last, is followed by another.
    async fn chapter(
        &self,
        password: &str,
        (plan, hook): (&Plan, &mut Arc<Hook>),
        blow: Option<Blow>,
    ) -> (BTreeMap<Key, usize>, bool) {
        let what = format!("{password:?} with {}", blow.as_ref().map(ToString::to_string).unwrap_or_default());
        plan.set(blow);
        self.play(password).await;
        self.world
            .until(&what, || {
                if hook.is_dead() {
                    *hook = self.next_process(plan);
                }
                self.has_ended(password)
            })
            .await;
        let (calls, _, struck) = plan.end();
        (calls, struck)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_call_the_manager_dies_at_the_caches_end_as_asked_for() {
    let owner = Owner::new().await;
    for password in ["one", "two"] {
        owner.credentials(password, password).await;
    }
    let plan = Plan::default();
    let mut hook = owner.next_process(&plan);
    let mut blows = Vec::new();
    for password in STORY {
        let (calls, _) = owner.chapter(password, (&plan, &mut hook), None).await;
        // The others are the sweep's, or happen only in a process that was just started.
        let is_ours = |(cluster, verb, plural, part): &Key| match *cluster {
            "kcp" => *plural == "runtimes" && part.is_empty() && verb.is_write(),
            "garden" => *plural == "secrets" && verb.is_write(),
            _ => *verb != Verb::Watch && ["kymas", "registrycacheconfigs", "secrets"].contains(plural),
        };
        let sites = calls.keys().filter(|key| is_ours(key));
        let all = sites.flat_map(|key| How::DEATHS.map(|how| Blow { site: Site { key: *key, nth: 1 }, how }));
        blows.push(all.collect::<Vec<_>>());
    }
    let (rounds, mut runs, mut hit) = (blows.iter().map(Vec::len).max().unwrap_or(0), 0, 0);
    for round in 0..rounds {
        for (chapter, password) in STORY.iter().enumerate() {
            let blow = blows[chapter].get(round).cloned();
            runs += usize::from(blow.is_some());
            let (_, struck) = owner.chapter(password, (&plan, &mut hook), blow).await;
            hit += usize::from(struck);
        }
    }
    println!("{runs} deaths planned, {hit} died");
    assert!(hit > 0 && hit * 10 >= runs * 7, "{hit} of {runs}");
}

/// What the garden refuses is told, and tried again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_that_cannot_be_copied_hold_up_only_their_cache() {
    let owner = Owner::with(With { factor: 20.0, ..often() }).await;
    owner.switch_on().await;
    owner.world.fail(|seen| {
        let meant = seen.cluster == "garden" && seen.method == "POST" && seen.path.ends_with("/secrets");
        meant.then_some(Trouble::Reset)
    });
    owner.credentials("first", "x").await;
    owner.ask("private", json!({"upstream": "my.example", "secretReferenceName": "first"})).await;
    owner.ask("public", json!({"upstream": "docker.io"})).await;
    let told = || owner.world.condition("shop", "RegistryCacheConfigured");
    let reason = "RegistryCacheGardenClusterConfigurationFailed";
    owner.world.until("it is told", || told()["reason"] == reason && told()["status"] == "False").await;
    let public = [("docker.io".to_owned(), "none".to_owned())];
    owner.world.until("the other one goes on", || owner.caches() == public).await;
    owner.world.until_state("shop", "Ready").await;
    assert_eq!(owner.told("private").0, "Pending");
    owner.world.heal();
    owner.until_told("private", "Ready").await;
    owner.until_told("public", "Ready").await;
    owner.world.until("all is well", || told()["status"] == "True").await;
}

/// What Gardener refuses for its caches is mended where it was asked for, though the Runtime is `Failed`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shoot_that_is_refused_for_a_cache_is_mended_in_the_cluster() {
    let owner = Owner::new().await;
    let world = &owner.world;
    world.fail(|seen| {
        let meant = seen.cluster == "garden" && seen.method == "PATCH" && seen.path.ends_with("/shoots/shop");
        let refusal = Status::new(422, "Invalid", "admission webhook denied the request: caches[0]".to_owned());
        meant.then_some(Trouble::Status(refusal))
    });
    owner.ask("odd", json!({"upstream": "odd.example"})).await;
    world.until_state("shop", "Failed").await;
    assert!(world.message("shop", "Provisioned").contains("caches[0]"), "{}", world.message("shop", "Provisioned"));
    owner.until_told("odd", "Pending").await;
    owner.withdraw("odd").await;
    let listed = || world.runtime("shop").expect("there")["spec"].get("imageRegistryCache").cloned();
    world.until("it is withdrawn", || listed().is_none()).await;
    world.heal();
    world.until_state("shop", "Ready").await;
}

/// Who switches it off keeps what there is; and nobody is asked any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn switched_off_caches_stay_with_their_credentials_and_go_with_the_runtime() {
    let owner = Owner::new().await;
    let world = &owner.world;
    owner.credentials("first", "x").await;
    owner.ask("private", json!({"upstream": "my.example", "secretReferenceName": "first"})).await;
    owner.until_told("private", "Ready").await;
    world.until_idle().await;
    let generation = || world.shoot("shop").expect("there")["metadata"]["generation"].clone();
    let before = generation();
    world.kill();
    world.begin_as(Settings { registry_caches: None, ..often().settings });
    world.until_idle().await;
    owner.ask("another", json!({"upstream": "docker.io"})).await;
    world.edit("shop", |it| it["spec"]["security"]["administrators"] = json!(["anna@example.com"])).await;
    world.until_state("shop", "Ready").await;
    assert_eq!((generation(), owner.caches()), (before, vec![("my.example".to_owned(), "x".to_owned())]));
    world.delete("shop").await;
    world.until_gone("shop").await;
    assert_eq!(owner.in_the_garden(), Vec::<String>::new());
}
