//! Bad input and a garden in trouble: the condition names the field and repeats Gardener's sentence, nothing is destroyed.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use kube_sandbox::{
    http::{
        Trouble,
        troubles::{Garbage, is_watch},
    },
    status::Status,
};
use serde_json::{Value, json};

use crate::world::{PROJECT, SHOOTS, With, World, runtime};

/// Creates a Runtime that cannot work, and answers what it is told.
async fn refused(change: impl Fn(&mut Value)) -> (World, String, String) {
    let world = World::start().await;
    let mut bad = runtime("shop");
    change(&mut bad);
    world.apply(bad).await;
    world.until_state("shop", "Failed").await;
    let condition = world.condition("shop", "Provisioned");
    let text = |key: &str| condition[key].as_str().unwrap_or_default().to_owned();
    assert_eq!(text("status"), "False");
    let (reason, message) = (text("reason"), text("message"));
    (world, reason, message)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_without_a_label_is_told_which() {
    let key = "kyma-project.io/global-account-id";
    let (world, reason, message) =
        refused(|runtime| drop(runtime["metadata"]["labels"].as_object_mut().expect("labels").remove(key))).await;
    assert_eq!(reason, "ConversionErr");
    assert!(message.contains(key), "{message}");
    assert!(world.shoot("shop").is_none());
    world.edit("shop", |runtime| runtime["metadata"]["labels"][key] = json!("account")).await;
    world.until_state("shop", "Ready").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn networks_that_overlap_are_refused_and_named() {
    let (world, _, message) =
        refused(|runtime| runtime["spec"]["shoot"]["networking"]["pods"] = json!("10.250.0.0/17")).await;
    assert!(message.contains("networking"), "{message}");
    assert!(world.shoot("shop").is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_type_that_does_not_exist_is_told_in_gardeners_words_and_healed_by_the_next_edit() {
    let (world, reason, message) =
        refused(|runtime| runtime["spec"]["shoot"]["provider"]["workers"][0]["machine"]["type"] = json!("m99.huge"))
            .await;
    assert_eq!(reason, "GardenerErr");
    assert!(message.contains("machine.type") && message.contains("m99.huge"), "{message}");
    world
        .edit("shop", |runtime| {
            runtime["spec"]["shoot"]["provider"]["workers"][0]["machine"]["type"] = json!("m6i.large")
        })
        .await;
    world.until_state("shop", "Ready").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_that_vanished_are_told_in_gardeners_words_and_believed_after_ten_minutes() {
    let world = World::with(With { factor: 60.0, ..With::default() }).await;
    let mut bad = runtime("shop");
    bad["spec"]["shoot"]["secretBindingName"] = json!("gone");
    world.apply(bad).await;
    world.until("it is told", || world.message("shop", "Provisioned").contains("\"gone\" not found")).await;
    assert_eq!(world.state("shop"), "Pending", "it may be a mistake of the garden");
    world.until_state("shop", "Failed").await;
    assert!(world.message("shop", "Provisioned").contains("\"gone\" not found"));
    assert!(world.shoot("shop").is_none());
    world.edit("shop", |runtime| runtime["spec"]["shoot"]["secretBindingName"] = json!("aws")).await;
    world.until_state("shop", "Ready").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lower_version_is_never_sent_and_the_wish_is_told() {
    let world = World::start().await;
    world.apply(runtime("shop")).await;
    world.until_state("shop", "Ready").await;
    world.edit("shop", |runtime| runtime["spec"]["shoot"]["kubernetes"]["version"] = json!("1.33.9")).await;
    world.until_state("shop", "Ready").await;
    world.until("it is told", || world.message("shop", "Provisioned").contains("spec.shoot.kubernetes.version")).await;
    assert_eq!(world.shoot("shop").expect("there")["spec"]["kubernetes"]["version"], "1.34.5");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shoot_of_another_runtime_is_neither_changed_nor_deleted() {
    let world = World::start().await;
    world.apply(runtime("shop")).await;
    world.until_state("shop", "Ready").await;
    world.until_idle().await;
    let version = |world: &World| world.shoot("shop").expect("there")["spec"].clone();
    let before = version(&world);
    let mut thief = runtime("thief");
    thief["spec"]["shoot"]["name"] = json!("shop");
    thief["spec"]["shoot"]["provider"]["workers"][0]["maximum"] = json!(99);
    world.apply(thief).await;
    world.until_state("thief", "Failed").await;
    let condition = world.condition("thief", "Provisioned");
    assert_eq!(condition["reason"], "GardenerErr");
    assert!(condition["message"].as_str().expect("text").contains("belongs to Runtime shop"), "{condition}");
    world.delete("thief").await;
    world.until_gone("thief").await;
    assert_eq!(version(&world), before);
    assert!(world.garden.cluster().get("", "configmaps", PROJECT, "structured-auth-config-shop").is_some());
    assert!(world.shoot("shop").expect("there")["metadata"].get("deletionTimestamp").is_none());
}

/// What the garden answers to writes of Shoots for the first few times, and what is told meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trouble_that_may_pass_is_told_and_passes() {
    type Answer = fn() -> Trouble;
    let rows: &[(&str, Answer)] = &[
        ("somebody was faster", || Trouble::Status(Status::new(409, "Conflict", "somebody was faster".to_owned()))),
        ("not today", || Trouble::Status(Status::new(403, "Forbidden", "shoots is forbidden: not today".to_owned()))),
        ("slower please", || Trouble::Status(Status::new(429, "TooManyRequests", "slower please".to_owned()))),
        ("etcd is sad", || Trouble::Status(Status::new(500, "InternalError", "etcd is sad".to_owned()))),
        ("cannot be reached", || Trouble::Reset),
    ];
    for (told, answer) in rows {
        let world = World::without_manager(With::default()).await;
        let answer = *answer;
        world.fail(move |seen| {
            let meant = seen.cluster == "garden" && seen.method == "PATCH" && seen.path.contains("/shoots/");
            meant.then(answer)
        });
        world.begin();
        world.apply(runtime("shop")).await;
        world.until(&format!("{told} is told"), || world.message("shop", "Provisioned").contains(told)).await;
        assert_eq!(world.state("shop"), "Pending", "{told}");
        world.heal();
        world.until_state("shop", "Ready").await;
        assert_eq!(world.garden.shoots().len(), 1);
    }
}

/// Whatever is asked of the control plane or the garden, watches too, twice gets an answer that cannot be read. What it
/// was about has happened or not; either way it ends well, and there is one of everything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_cannot_be_read_do_no_harm() {
    for how in [Garbage::Half, Garbage::Page, Garbage::Other] {
        let world = World::without_manager(With { factor: 5.0, ..With::default() }).await;
        let struck = Arc::new(Mutex::new(BTreeMap::<String, u32>::new()));
        let count = struck.clone();
        world.fail(move |seen| {
            let what = if is_watch(seen.method, seen.path, seen.query) { "watch" } else { seen.method.as_str() };
            let mut count = count.lock().expect("lock");
            let times = count.entry(format!("{what} {} {}", seen.cluster, seen.path)).or_default();
            *times += 1;
            (*times <= 2).then_some(Trouble::Garbage(how))
        });
        world.begin();
        world.apply(runtime("shop")).await;
        world.until_state("shop", "Ready").await;
        let shoot = world.shoot("shop").expect("there");
        assert_eq!((world.garden.shoots().len(), &shoot["metadata"]["generation"]), (1, &json!(2)), "{how:?}");
        assert!(world.secret("shop").expect("there")["data"]["config"].is_string());
        world.edit("shop", |runtime| runtime["spec"]["shoot"]["provider"]["workers"][0]["maximum"] = json!(25)).await;
        world.until_state("shop", "Ready").await;
        assert_eq!(world.shoot("shop").expect("there")["spec"]["provider"]["workers"][0]["maximum"], 25);
        world.delete("shop").await;
        world.until_gone("shop").await;
        assert_eq!((world.garden.shoots().len(), world.secret("shop")), (0, None));
        let struck = struck.lock().expect("lock");
        let was = |what: &str| struck.keys().any(|key| key.starts_with(what));
        let shoots = "garden /apis/core.gardener.cloud/v1beta1/namespaces/garden-dev/shoots";
        for what in
            ["watch kcp", "PATCH kcp", &format!("watch {shoots}"), &format!("GET {shoots}/shop")].into_iter().chain(
                [format!("PATCH {shoots}/shop"), format!("POST {shoots}/shop"), format!("DELETE {shoots}/shop")]
                    .iter()
                    .map(String::as_str),
            )
        {
            assert!(was(what), "{what} was never asked: {struck:?}");
        }
    }
}

/// The write took effect and nobody was told: the next pass finds it done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_lost_makes_no_second_cluster() {
    let world = World::without_manager(With::default()).await;
    let struck = std::sync::atomic::AtomicU32::new(0);
    world.fail(move |seen| {
        let meant = seen.cluster == "garden" && seen.method == "PATCH" && seen.path.contains("/shoots/");
        (meant && struck.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0).then_some(Trouble::ResetAfter)
    });
    world.begin();
    world.apply(runtime("shop")).await;
    world.until_state("shop", "Ready").await;
    let shoot = world.shoot("shop").expect("there");
    assert_eq!(
        (world.garden.shoots().len(), &shoot["metadata"]["generation"]),
        (1, &json!(2)),
        "made once, bound once"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_is_told_and_the_garden_is_not_asked_again_for_it() {
    let world = World::without_manager(With::default()).await;
    let count = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let seen_count = count.clone();
    world.fail(move |seen| {
        let meant = seen.cluster == "garden" && seen.method == "PATCH" && seen.path.contains("/shoots/");
        meant.then(|| {
            seen_count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Trouble::Status(Status::new(
                422,
                "Invalid",
                "spec.region: Invalid value: \"moon\": no such region".to_owned(),
            ))
        })
    });
    world.begin();
    world.apply(runtime("shop")).await;
    world.until_state("shop", "Failed").await;
    assert!(
        world.message("shop", "Provisioned").contains("spec.region: Invalid value"),
        "{}",
        world.message("shop", "Provisioned")
    );
    world.edit("shop", |runtime| runtime["metadata"]["labels"]["some"] = json!("label")).await;
    world.until_idle().await;
    assert_eq!(count.load(std::sync::atomic::Ordering::Relaxed), 1);
    world.heal();
    world.edit("shop", |runtime| runtime["spec"]["shoot"]["provider"]["workers"][0]["maximum"] = json!(21)).await;
    world.until_state("shop", "Ready").await;
}

/// W14: Gardener gives up; it is asked again, and the count is kept at the Shoot.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shoot_that_gardener_gave_up_is_asked_for_again() {
    use slipway_sim::garden::engine::faults::{Aimed, Fault};
    let world = World::without_manager(With { factor: 30.0, ..With::default() }).await;
    let fault = Fault::Fail {
        step: "infrastructure".to_owned(),
        codes: vec!["ERR_INFRA_QUOTA_EXCEEDED".to_owned()],
        times: None,
    };
    world.garden.inject(Aimed { shoot: String::new(), operation: "create".to_owned(), fault });
    world.begin();
    world.apply(runtime("shop")).await;
    world.until("it is told", || world.message("shop", "Provisioned").contains("ERR_INFRA_QUOTA_EXCEEDED")).await;
    assert_eq!(world.state("shop"), "Pending");
    world.garden.clear_faults("");
    world.until_state("shop", "Ready").await;
    let shoot = world.garden.cluster().get(SHOOTS, "shoots", PROJECT, "shop").expect("there");
    let retries =
        shoot["metadata"]["annotations"]["infrastructuremanager.kyma-project.io/retries"].as_str().unwrap_or_default();
    assert!(retries.contains(':'), "{shoot}");
}
