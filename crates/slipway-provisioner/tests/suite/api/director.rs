//! Registrations in the Director: made before, taken back when starting fails.

use serde_json::json;
use slipway_engine::SystemClock;
use slipway_model::{
    ports::{Clock as _, Runtimes as _},
    runtime_record::IntentState,
    time::hours,
};
use slipway_sim::Fault;

use super::bench::{Bench, TENANT, cluster};

#[tokio::test]
async fn a_runtime_is_registered_and_has_the_directors_id() {
    let bench = Bench::with_director().await;
    let mut config = cluster("gcp", "shop", &[]);
    config["runtimeInput"]["labels"] = json!({"broker_instance_id": "i-1"});
    let result = bench.provision(&config).await.data("result");
    let registered = bench.director.as_ref().expect("a Director").runtimes();
    assert_eq!(registered.len(), 1);
    assert_eq!(result["runtimeID"], registered[0].id.as_str());
    assert_eq!(result["compassRuntimeID"], registered[0].id.as_str());
    let record = bench.store.runtime(registered[0].id.parse().expect("an id")).await.expect("read").expect("stored");
    assert!(record.director_owned);
    assert!(bench.store.open_intents(SystemClock::default().wall() + hours(1), 10).await.expect("listed").is_empty());
}

#[tokio::test]
async fn a_repeat_registers_nothing() {
    let bench = Bench::with_director().await;
    let first = bench.provisioned(&cluster("gcp", "shop", &[])).await;
    assert_eq!(bench.provisioned(&cluster("gcp", "shop", &[])).await, first);
    assert_eq!(bench.director.as_ref().expect("a Director").runtimes().len(), 1);
}

#[tokio::test]
async fn bad_input_registers_nothing() {
    let bench = Bench::with_director().await;
    bench
        .provision(&cluster("gcp", "Bad Name", &[]))
        .await
        .violates("config.clusterConfig.gardenerConfig.name", "name");
    assert!(bench.director.as_ref().expect("a Director").runtimes().is_empty());
}

#[tokio::test]
async fn those_who_lose_a_race_take_their_registration_back() {
    let bench = Bench::with_director().await;
    let mut configs = Vec::new();
    for n in 0..8 {
        let mut config = cluster("gcp", "shop", &[]);
        config["runtimeInput"]["name"] = format!("shop-{n}").into();
        configs.push(config);
    }
    let answers = futures::future::join_all(configs.iter().map(|config| bench.provisioned(config))).await;
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
    let registered = bench.director.as_ref().expect("a Director").runtimes();
    assert_eq!(registered.iter().map(|runtime| runtime.id.clone()).collect::<Vec<_>>(), [answers[0].0.clone()]);
    assert!(bench.store.open_intents(SystemClock::default().wall() + hours(1), 10).await.expect("listed").is_empty());
}

#[tokio::test]
async fn a_refusal_of_the_director_is_told_in_its_own_words() {
    let bench = Bench::with_director().await;
    let director = bench.director.as_ref().expect("a Director");
    director.know_only(&["somebody-else"]);
    let reply = bench.provision(&cluster("gcp", "shop", &[])).await;
    assert_eq!(reply.error().0, 400, "{reply:?}");
    assert_eq!(reply.body["errors"][0]["extensions"]["error_component"], "compass director");
    assert!(reply.message().contains("tenant"), "{}", reply.message());
    assert!(bench.store.live_runtimes(None, 10).await.expect("listed").is_empty());
}

#[tokio::test]
async fn a_caller_that_brings_its_id_keeps_its_registration() {
    let bench = Bench::with_director().await;
    let director = bench.director.as_ref().expect("a Director");
    let id = director.register(TENANT, "mine", json!({}));
    let query = "mutation($c: ProvisionRuntimeInput!, $id: String) { result: provisionRuntime(config: $c, id: $id) { runtimeID compassRuntimeID } }";
    let reply = bench.ask(query).variables(json!({"c": cluster("gcp", "shop", &[]), "id": id})).send().await;
    assert_eq!(reply.data("result"), json!({"runtimeID": id, "compassRuntimeID": id}));
    assert_eq!(director.runtimes().len(), 1);
    let record = bench.store.runtime(id.parse().expect("an id")).await.expect("read").expect("stored");
    assert!(!record.director_owned);
}

#[tokio::test]
async fn an_answer_of_the_director_that_is_lost_makes_no_second_registration() {
    let bench = Bench::with_director().await;
    let director = bench.director.as_ref().expect("a Director");
    // The token first, so that the lost answer is that of the registration.
    let mut warm = cluster("gcp", "warm", &[]);
    warm["runtimeInput"]["name"] = json!("warm");
    bench.provisioned(&warm).await;
    director.dial().next(Fault::DropAfterEffect);
    let (id, _) = bench.provisioned(&cluster("gcp", "shop", &[])).await;
    let registered: Vec<String> = director.runtimes().into_iter().map(|runtime| runtime.id).collect();
    assert_eq!(registered.len(), 2, "{registered:?}");
    assert!(registered.contains(&id));
    let open = bench.store.open_intents(SystemClock::default().wall() + hours(1), 10).await.expect("listed");
    assert!(open.iter().all(|intent| intent.state != IntentState::Planned), "{open:?}");
}
