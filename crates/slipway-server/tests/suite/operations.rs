//! Operations through the API: started once, listed in pages, steered, and on record.

use slipway_model::{JsonText, NewOperation, OperationId, OperationType, time::hours};

use crate::running::{Running, server, server_with};

async fn start(running: &Running, instance: &str) -> String {
    let body = format!(r#"{{"process":"hello","instance_id":"{instance}","secrets":{{"password":"hunter2"}}}}"#);
    let answer = running.send("POST", "/operations", &body).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    let started: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
    let id = started["id"].as_str().expect("an id").to_owned();
    assert_eq!(answer.header("location"), Some(format!("/operations/{id}").as_str()));
    id
}

async fn act(running: &Running, id: &str, action: &str, status: u16) -> serde_json::Value {
    let body = format!(r#"{{"by":"ann","why":"a test",{action}}}"#);
    running.json("POST", &format!("/operations/{id}/actions"), &body, status).await
}

#[tokio::test]
async fn the_same_id_twice_is_one_operation_and_the_same_id_for_another_is_refused() {
    let running = server().await;
    let id = "0198c0de-0000-7000-8000-000000000001";
    let body = |instance: &str| format!(r#"{{"process":"hello","instance_id":"{instance}","operation_id":"{id}"}}"#);
    let first = running.json("POST", "/operations", &body("shop"), 202).await;
    assert_eq!(first["id"], id);
    running.json("POST", "/operations", &body("shop"), 200).await;
    let refused = running.json("POST", "/operations", &body("other"), 409).await;
    assert!(refused["description"].as_str().is_some_and(|d| d.starts_with("field operation_id: ")), "{refused}");
    let list = running.json("GET", "/operations", "", 200).await;
    assert_eq!(list["operations"].as_array().map(Vec::len), Some(1));
    running.server.stop().await;
}

#[tokio::test]
async fn lists_are_filtered_and_paged() {
    let running = server().await;
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(start(&running, &format!("shop-{n}")).await);
    }
    ids.reverse();
    let (mut seen, mut path) = (Vec::new(), "/operations?limit=2".to_owned());
    loop {
        let page = running.json("GET", &path, "", 200).await;
        let operations = page["operations"].as_array().expect("a list");
        assert!(operations.len() <= 2);
        seen.extend(operations.iter().map(|op| op["id"].as_str().expect("an id").to_owned()));
        let Some(next) = page["next_before"].as_str() else { break };
        path = format!("/operations?limit=2&before={next}");
    }
    assert_eq!(seen, ids, "newest first, each once");
    let one = running.json("GET", "/operations?instance_id=shop-3&state=pending,in%20progress", "", 200).await;
    assert_eq!(one["operations"].as_array().map(Vec::len), Some(1));
    let none = running.json("GET", "/operations?state=succeeded", "", 200).await;
    assert_eq!(none["operations"].as_array().map(Vec::len), Some(0));
    running.server.stop().await;
}

#[tokio::test]
async fn an_operator_steers_an_operation_and_everything_is_on_record() {
    let running = server().await;
    let id = start(&running, "shop").await;
    let path = format!("/operations/{id}");
    let details = running.until(&path, |details| details["steps"][0]["status"] == "retrying").await;
    assert_eq!(details["steps"][0]["step"], "Hello_World");
    assert!(details["steps"][0]["reason"].as_str().is_some_and(|r| r.contains("hello")), "{details}");

    let refused = act(&running, &id, r#""action":"resume""#, 409).await;
    assert!(refused["description"].as_str().is_some_and(|d| d.ends_with("is not paused")), "{refused}");
    let refused = act(&running, &id, r#""action":"skip_step","step":"Nothing""#, 409).await;
    assert!(refused["description"].as_str().is_some_and(|d| d.contains("cannot be skipped")), "{refused}");
    assert_eq!(act(&running, &id, r#""action":"pause""#, 200).await["pause"]["by"], "ann");
    assert!(act(&running, &id, r#""action":"resume""#, 200).await["pause"].is_null());
    act(&running, &id, r#""action":"cancel""#, 200).await;
    let ended = running.until(&path, |details| details["operation"]["finished_at"].is_string()).await;
    assert_eq!(ended["operation"]["state"], "canceled");
    assert_eq!(ended["operation"]["description"], "operation canceled by ann: a test");
    let refused = act(&running, &id, r#""action":"retry_now""#, 409).await;
    assert!(refused["description"].as_str().is_some_and(|d| d.contains("has already ended")), "{refused}");

    let records = running.json("GET", &format!("{path}/records?limit=1000"), "", 200).await;
    let records = records["records"].as_array().expect("a list");
    let actions: Vec<_> = records.iter().filter_map(|record| record["action"].as_str()).collect();
    assert_eq!(actions, ["pause", "resume", "cancel"]);
    assert_eq!(records.first().map(|r| &r["kind"]), Some(&"accepted".into()));
    assert_eq!(records.last().map(|r| &r["kind"]), Some(&"ended".into()));
    assert!(records.iter().any(|r| r["kind"] == "call" && r["path"] == "/greetings/shop"), "{records:?}");
    let first = running.json("GET", &format!("{path}/records?limit=2"), "", 200).await;
    let next = first["next_after"].as_u64().expect("there are more");
    let rest = running.json("GET", &format!("{path}/records?after={next}"), "", 200).await;
    assert_eq!(rest["records"].as_array().map(Vec::len), Some(records.len() - 2));
    running.server.stop().await;
}

#[tokio::test]
async fn news_wake_those_who_wait_and_nobody_else() {
    let running = server().await;
    let woken = running.json("POST", "/wake", r#"{"key":"hello/nobody","cause":"a test"}"#, 200).await;
    assert_eq!(woken["woken"], 0);
    running.server.stop().await;
}

#[tokio::test]
async fn a_stopped_server_listens_no_more() {
    let running = server().await;
    let address = running.address;
    start(&running, "shop").await;
    running.server.stop().await;
    assert!(std::net::TcpStream::connect(address).is_err(), "nobody listens any more");
}

#[tokio::test]
async fn events_are_those_of_the_named_instances_and_operations_and_of_nobody_else() {
    let running = server().await;
    let (shop, other) = (start(&running, "shop").await, start(&running, "other").await);
    for id in [&shop, &other] {
        running.until(&format!("/operations/{id}"), |details| details["steps"][0]["status"] == "retrying").await;
        act(&running, id, r#""action":"cancel""#, 200).await;
        running.until(&format!("/operations/{id}"), |details| details["operation"]["finished_at"].is_string()).await;
    }
    let of_shop = running.json("GET", "/events?instance_ids=shop", "", 200).await;
    let of_shop = of_shop.as_array().expect("a list");
    assert!(of_shop.iter().all(|event| event["OperationID"] == shop.as_str() && event["InstanceID"] == "shop"));
    let messages: Vec<_> = of_shop.iter().filter_map(|event| event["Message"].as_str()).collect();
    assert!(messages[0].starts_with("step Hello_World sleeping for "), "{messages:?}");
    assert_eq!(messages.last(), Some(&"operation processing canceled"));
    let both = running.json("GET", &format!("/events?instance_ids=shop&operation_ids={other},{shop}"), "", 200).await;
    assert_eq!(both.as_array().map(Vec::len), Some(of_shop.len() * 2), "each once: {both}");
    for (query, count) in [
        ("instance_ids=nobody", 0),
        ("operation_ids=0198c0de-0000-7000-8000-000000000000", 0),
        ("instance_ids=shop&level=error", 0),
        ("instance_ids=shop&since=2999-01-01T00:00:00Z", 0),
        ("instance_ids=shop&limit=1", 1),
    ] {
        let answer = running.json("GET", &format!("/events?{query}"), "", 200).await;
        assert_eq!(answer.as_array().map(Vec::len), Some(count), "{query}: {answer}");
    }
    for query in ["", "?instance_ids=", "?instance_ids=a&level=loud", "?instance_ids=a&since=soon", "?operation_ids=7"]
    {
        running.json("GET", &format!("/events{query}"), "", 400).await;
    }
    running.server.stop().await;
}

#[tokio::test]
async fn without_an_address_of_hello_the_server_starts_and_says_why_the_sample_is_not_offered() {
    let running = server_with(&[]).await;
    let refused = running.json("POST", "/operations", r#"{"process":"hello","instance_id":"shop"}"#, 400).await;
    let why = "field process: is not offered here: the system it calls is not set up; give its address as hello.url";
    assert_eq!(refused["description"], why);
    running.json("GET", "/operations", "", 200).await;
    running.server.stop().await;
}

#[tokio::test]
async fn an_operation_whose_version_no_program_has_says_so_in_the_api_and_in_the_figures() {
    let running = server().await;
    let id: OperationId = "0198c0de-0000-7000-8000-000000000001".parse().expect("an id");
    let of_another_program = NewOperation {
        id,
        instance_id: "shop".parse().expect("an instance"),
        kind: OperationType::Update,
        temporary: false,
        plan: "hello".to_owned(),
        process: "hello@99".parse().expect("a process"),
        budget: hours(1),
        data: JsonText::empty(),
        secrets: None,
        by: "a newer program".to_owned(),
    };
    let (store, now) = (&running.server.store().storage, slipway_model::Timestamp::from_micros(1));
    store.enqueue(of_another_program, now).await.expect("accepted");
    start(&running, "other").await;
    let details = running.json("GET", &format!("/operations/{id}"), "", 200).await;
    let sentence = "no running program has version hello@99; it goes on when one that has it is started";
    assert_eq!(details["operation"]["stranded"], sentence);
    let list = running.json("GET", "/operations", "", 200).await;
    let stranded: Vec<_> = list["operations"].as_array().expect("a list").iter().map(|op| &op["stranded"]).collect();
    assert_eq!(stranded.iter().filter(|why| why.is_string()).count(), 1, "{list}");
    let page = running.send("GET", "/metrics", "").await.body;
    assert!(page.contains("slipway_broker_operations_stranded{process=\"hello@99\"} 1"), "{page}");
    running.server.stop().await;
}
