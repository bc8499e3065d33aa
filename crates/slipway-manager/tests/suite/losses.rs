//! Nothing is lost by a reload, a restart or a re-creation: addresses, kubeconfigs, what others changed meanwhile, and how many
//! deletions are too many.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use kube_sandbox::{cluster::Place, http::Trouble, status::Status};
use serde_json::{Value, json};
use slipway_kube::access::{Ask, Calls, Error, Verb, Verdict, shards::shard_of};
use slipway_manager::{Settings, blueprints::Files};
use slipway_model::ports::BoxFuture;
use slipway_sim::garden::Pace;

use crate::{
    sweep::hook::answered,
    world::{NAMESPACE, PROJECT, SHOOTS, With, World, files, runtime},
};

const SHOP: Place<'static> =
    Place { group: SHOOTS, plural: "shoots", namespace: PROJECT, name: "shop", subresource: "" };

fn settings() -> Settings {
    Settings { audit_log_mandatory: false, ..Settings::default() }
}

fn restricted_files() -> Files {
    let mut files = files();
    files.config.switches.api_server_acl = true;
    files.config.converter.kubernetes.kube_api_server.acl.config_map_name = "addresses".to_owned();
    files
}

/// A world in which access is restricted: the addresses of operators are in a ConfigMap.
async fn restricted() -> World {
    let with = With { settings: Settings { acl: true, ..settings() }, files: restricted_files, ..With::default() };
    let world = World::without_manager(with).await;
    let name = restricted_files().config.converter.kubernetes.kube_api_server.acl.config_map_name;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NAMESPACE},
        "data": {"acl-list.json": "[\"10.1.0.0/16\"]", "kcp-external-nat-ip.json": "\"10.2.0.1/32\""}});
    world.kcp.create(map).await.expect("a map");
    let extension = json!({"apiVersion": "core.gardener.cloud/v1beta1", "kind": "ControllerRegistration",
        "metadata": {"name": "extension-acl"}, "spec": {"resources": [{"kind": "Extension", "type": "acl"}]}});
    world.garden.cluster().create(extension).await.expect("an extension");
    world
}

fn wanted() -> Value {
    let mut wanted = runtime("shop");
    wanted["spec"]["shoot"]["kubernetes"]["kubeAPIServer"]["acl"] = json!({"allowedCIDRs": ["10.3.0.0/16"]});
    wanted
}

fn addresses(world: &World) -> Value {
    let shoot = world.shoot("shop").expect("there");
    let all = shoot["spec"]["extensions"].as_array().expect("extensions").clone();
    let acl = all.into_iter().find(|extension| extension["type"] == "acl").unwrap_or_default();
    acl["providerConfig"]["rule"]["cidrs"].clone()
}

fn no_maps(world: &World) {
    world.fail(|seen| {
        let meant = seen.cluster == "kcp" && seen.method == "GET" && seen.path.contains("/configmaps/");
        meant.then(|| Trouble::Status(Status::new(500, "InternalError", "not now".to_owned())))
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_configuration_never_empties_the_addresses_that_may_reach_an_api_server() {
    let world = restricted().await;
    world.begin();
    world.apply(wanted()).await;
    world.until_state("shop", "Ready").await;
    let all = json!(["10.3.0.0/16", "10.1.0.0/16", "10.2.0.1/32"]);
    assert_eq!(addresses(&world), all);
    no_maps(&world);
    let mut changed = restricted_files();
    changed.config.converter.maintenance_window.window_map_path = "another".to_owned();
    let probe = world.manager.lock().expect("lock").as_ref().expect("a manager").probe();
    let hash = |world: &World| {
        world.shoot("shop").expect("there")["metadata"]["annotations"]["infrastructuremanager.kyma-project.io/input-hash"].clone()
    };
    let before = hash(&world);
    probe.reload(changed).await;
    world.until("the Shoot follows", || hash(&world) != before).await;
    assert_eq!(addresses(&world), all, "those that were read last stay in force");
    assert!(probe.figures().contains("slipway_infra_config_unread_total{source=\"acl\"} 1"), "and it is told");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_rendered_before_the_addresses_were_read() {
    let world = restricted().await;
    let asked = Arc::new(AtomicU64::new(0));
    let (count, is_open) = (asked.clone(), Arc::new(AtomicBool::new(false)));
    let open = is_open.clone();
    world.fail(move |seen| {
        let meant = seen.cluster == "kcp" && seen.method == "GET" && seen.path.contains("/configmaps/");
        let shut = meant && !open.load(Ordering::Relaxed);
        shut.then(|| {
            count.fetch_add(1, Ordering::Relaxed);
            Trouble::Status(Status::new(500, "InternalError", "not now".to_owned()))
        })
    });
    world.begin();
    world.apply(wanted()).await;
    world.until("they were asked for", || asked.load(Ordering::Relaxed) > 1).await;
    assert!(world.shoot("shop").is_none());
    is_open.store(true, Ordering::Relaxed);
    world.until_state("shop", "Ready").await;
    assert_eq!(addresses(&world), json!(["10.3.0.0/16", "10.1.0.0/16", "10.2.0.1/32"]));
}

fn config(world: &World) -> String {
    world.secret("shop").unwrap_or_default()["data"]["config"].as_str().unwrap_or_default().to_owned()
}

async fn ready() -> World {
    let world = World::start().await;
    world.apply(runtime("shop")).await;
    world.until_state("shop", "Ready").await;
    world.until_idle().await;
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shoot_that_was_made_anew_gets_a_kubeconfig_of_its_own() {
    let world = ready().await;
    let (first, uid) = (config(&world), world.shoot("shop").expect("there")["metadata"]["uid"].clone());
    let confirm =
        |shoot: &mut Value| shoot["metadata"]["annotations"]["confirmation.gardener.cloud/deletion"] = json!("true");
    world.garden.cluster().update(&SHOP, confirm).await.expect("confirmed");
    world.garden.cluster().delete(&SHOP, &Default::default()).await.expect("deleted");
    world.until("it is made anew", || world.shoot("shop").is_some_and(|shoot| shoot["metadata"]["uid"] != uid)).await;
    world.until("another kubeconfig is there", || config(&world) != first).await;
    world.until_state("shop", "Ready").await;
    world.inside("shop", "/api/v1/namespaces/kyma-system").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_authority_or_address_of_the_api_means_another_kubeconfig() {
    let world = ready().await;
    let status = Place { subresource: "status", ..SHOP };
    world.garden.clock().set_pace(Pace::Manual);
    let first = config(&world);
    let rotated = |shoot: &mut Value| {
        shoot["status"]["credentials"]["rotation"]["certificateAuthorities"]["lastInitiationTime"] =
            json!("2030-01-01T00:00:00Z")
    };
    world.garden.cluster().update(&status, rotated).await.expect("rotated");
    world.until("another kubeconfig is there", || config(&world) != first).await;
    world.until_idle().await;
    let second = config(&world);
    let moved = |shoot: &mut Value| {
        for address in shoot["status"]["advertisedAddresses"].as_array_mut().expect("addresses") {
            address["url"] = json!(format!("{}/", address["url"].as_str().expect("a URL")));
        }
    };
    world.garden.cluster().update(&status, moved).await.expect("moved");
    world.until("a third kubeconfig is there", || config(&world) != second).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kubeconfig_that_the_cluster_refuses_is_replaced_and_not_again_at_once() {
    let refusing = Arc::new(Refusing::default());
    let world = World::with(With { calls: Some(refusing.clone()), ..With::default() }).await;
    world.apply(runtime("shop")).await;
    world.until_state("shop", "Ready").await;
    world.garden.clock().set_pace(Pace::Manual);
    world.until_idle().await;
    let first = config(&world);
    let issued = || {
        let manager = world.manager.lock().expect("lock");
        let counters = manager.as_ref().expect("a manager").counters();
        counters.sum(|it| it.subresource == "adminkubeconfig" && it.verb == Verb::Create)
    };
    let before = issued();
    refusing.0.store(true, Ordering::Relaxed);
    let administrators =
        |it: &mut Value| it["spec"]["security"]["administrators"] = json!(["admin@example.com", "new@example.com"]);
    world.edit("shop", administrators).await;
    world.until("another kubeconfig is there", || config(&world) != first).await;
    let tried = || {
        world.message("shop", "KymaSystemNSCreated")
            + &world.message("shop", "Configured")
            + &world.message("shop", "OidcAndConfigMapConfigured")
    };
    let (count, hash) = (refusing.1.load(Ordering::Relaxed), config(&world));
    world.until("it is tried with it too", || refusing.1.load(Ordering::Relaxed) > count + 8).await;
    assert!(tried().contains("struck by the sweep"), "and told: {}", tried());
    assert_eq!(config(&world), hash);
    assert_eq!(issued() - before, 1, "a cluster that refuses everything does not empty the budget");
    refusing.0.store(false, Ordering::Relaxed);
    world.until_state("shop", "Ready").await;
}

/// A cluster that does not know who we are.
#[derive(Default)]
struct Refusing(AtomicBool, AtomicU64);

impl Calls for Refusing {
    fn before<'a>(&'a self, cluster: &'static str, _: &'a Ask) -> BoxFuture<'a, Verdict> {
        let refuses = cluster == "skr" && self.0.load(Ordering::Relaxed);
        self.1.fetch_add(u64::from(refuses), Ordering::Relaxed);
        Box::pin(async move { if refuses { Verdict::Fail(answered(401, "Unauthorized")) } else { Verdict::Pass } })
    }

    fn after<'a>(&'a self, _: &'static str, _: &'a Ask, _: Option<&'a Error>) -> BoxFuture<'a, Verdict> {
        Box::pin(async { Verdict::Pass })
    }
}

fn maximum(world: &World) -> Value {
    world.shoot("shop").expect("there")["spec"]["provider"]["workers"][0]["maximum"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_somebody_changed_while_nobody_looked_is_put_back_after_the_start() {
    let world = ready().await;
    let ours = maximum(&world);
    world.kill();
    let change = |shoot: &mut Value| shoot["spec"]["provider"]["workers"][0]["maximum"] = json!(77);
    world.garden.cluster().update(&SHOP, change).await.expect("taken");
    let is_done = || {
        let shoot = world.shoot("shop").expect("there");
        shoot["status"]["lastOperation"]["state"] == "Succeeded"
            && shoot["status"]["observedGeneration"] == shoot["metadata"]["generation"]
    };
    world.until("Gardener has done it", is_done).await;
    world.begin();
    world.until("it is put back", || maximum(&world) == ours).await;
    let is_told = || {
        let (runtime, shoot) = (world.runtime("shop").expect("there"), world.shoot("shop").expect("there"));
        runtime["status"]["alignedShootGeneration"] == shoot["metadata"]["generation"] && is_done()
    };
    world.until("it is told up to which generation all is well", is_told).await;
    world.garden.clock().set_pace(Pace::Manual);
    world.until_state("shop", "Ready").await;
    world.until_idle().await;
    world.kill();
    world.begin();
    world.until_idle().await;
    let manager = world.manager.lock().expect("lock");
    let mut reads = manager.as_ref().expect("a manager").counters().all();
    reads.retain(|(it, _)| it.cluster == "garden" && it.verb == Verb::Get);
    assert!(reads.is_empty(), "nothing has changed since: {reads:?}");
}

/// Two replicas with a shard each, and a brake that lets two through.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_count_deletions_together_and_only_true_confirms_one() {
    let half = |shard| Settings { shards: 2, own_shards: BTreeSet::from([shard]), brake_limit: 2, ..settings() };
    let world = World::with(With { settings: half(0), ..With::default() }).await;
    let first = world.manager.lock().expect("lock").take();
    world.begin_as(half(1));
    let names: Vec<String> = (0..6).map(|number| format!("r{number}")).collect();
    assert!((0..2).all(|shard| names.iter().filter(|name| shard_of(name, 2) == shard).count() >= 2), "both have some");
    for name in &names {
        world.apply(runtime(name)).await;
    }
    // Nobody makes a Shoot of these, and their deletion takes nothing along.
    for name in ["bad1", "bad2", "bad3"] {
        let mut bad = runtime(name);
        bad["spec"]["shoot"]["provider"]["workers"][0]["machine"]["type"] = json!("m99.huge");
        world.apply(bad).await;
        world.until_state(name, "Failed").await;
    }
    for name in &names {
        world.until_state(name, "Ready").await;
    }
    for name in ["bad1", "bad2", "bad3"] {
        world.delete(name).await;
        world.until_gone(name).await;
    }
    for name in &names {
        world.delete(name).await;
    }
    let held = || -> Vec<&String> {
        names.iter().filter(|name| world.message(name, "Deprovisioned").starts_with("Deletion is held")).collect()
    };
    let left = || names.iter().filter(|name| world.runtime(name).is_some()).count();
    world.until("two are gone and four are held", || held().len() == 4 && left() == 4).await;
    let key = "operator.kyma-project.io/deletion-confirmed";
    let last = held()[0].clone();
    world.edit(&last, |it| it["metadata"]["annotations"][key] = json!("no")).await;
    world.until_idle().await;
    assert!(held().contains(&&last));
    world.edit(&last, |it| it["metadata"]["annotations"][key] = json!("true")).await;
    world.until_gone(&last).await;
    assert_eq!(left(), 3);
    drop(first);
}
