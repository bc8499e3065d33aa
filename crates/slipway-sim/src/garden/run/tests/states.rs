//! A garden that is taken out of one place and goes on in another.

use super::*;
use crate::garden::shoot::CONFIRM_DELETION;

#[tokio::test]
async fn a_garden_goes_on_in_another_where_the_first_was() {
    let first = Arc::new(Garden::start(Options::default()).await.expect("garden"));
    let mut wanted = shoot("shop");
    crate::garden::value::annotate(&mut wanted, CONFIRM_DELETION, "true");
    Cluster::create(first.cluster(), wanted).await.expect("created");
    let made = until(first.cluster(), "shop", succeeded).await;
    let own = client_of(&request(&first.client().expect("client"), "shop", 36_000).await.expect("kubeconfig")).await;
    let namespace = json!({"metadata": {"name": "ours"}});
    let spaces: Api<Namespace> = Api::all(own);
    spaces.create(&Default::default(), &serde_json::from_value(namespace).expect("namespace")).await.expect("created");
    let late = Cluster::create(first.cluster(), shoot("late")).await.expect("created");
    first.clock().set_pace(Pace::Manual);
    first.settled().await;

    // Over HTTP, as one who is not in this process does it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::new();
    let control = first.control().await.expect("port");
    let state: Value =
        http.get(format!("{}/state", control.url())).send().await.expect("asked").json().await.expect("json");
    let now = first.clock().now();
    drop(control);
    drop(first);

    let second = Arc::new(Garden::start(Options::default()).await.expect("garden"));
    Cluster::create(second.cluster(), shoot("other")).await.expect("created");
    until(second.cluster(), "other", succeeded).await;
    let control = second.control().await.expect("port");
    let wrong =
        http.post(format!("{}/state", control.url())).json(&json!({"now": "tomorrow"})).send().await.expect("told");
    assert_eq!(wrong.status().as_u16(), 422);
    assert_eq!(second.shoots().len(), 1, "a state that is none changes nothing");
    let told = http.post(format!("{}/state", control.url())).json(&state).send().await.expect("told");
    assert_eq!(told.status().as_u16(), 204, "{:?}", told.text().await);

    assert!(second.clock().now() >= now && second.clock().now() < now + SignedDuration::from_hours(24));
    assert!(second.cluster().get(CORE, "shoots", "garden-dev", "other").is_none(), "what was there is gone");
    assert!(second.server().cluster("shoot--dev--other").is_none(), "with its cluster");
    let same = second.cluster().get(CORE, "shoots", "garden-dev", "shop").expect("there");
    assert_eq!(text(&same, "metadata.uid"), text(&made, "metadata.uid"));
    let finished = until(second.cluster(), "late", succeeded).await;
    assert_eq!(text(&finished, "metadata.uid"), text(&late, "metadata.uid"), "it goes on with what was under way");
    until(second.cluster(), "shop", succeeded).await;
    let answer = request(&second.client().expect("client"), "shop", 3600).await.expect("kubeconfig");
    let spaces: Api<Namespace> = Api::all(client_of(&answer).await);
    wait_for(async || spaces.get("ours").await.is_ok()).await;
    Port::delete(second.cluster(), SHOOTS, "garden-dev", "shop").await.expect("deleted");
    until(second.cluster(), "shop", Value::is_null).await;
}

#[tokio::test]
async fn a_state_is_the_same_after_it_went_through_another_garden() {
    let start: Option<Timestamp> = "2026-03-01T06:00:00Z".parse().ok();
    let options = || Options { start, pace: Pace::Manual, ..Options::default() };
    let first = Garden::start(options()).await.expect("garden");
    Cluster::create(first.cluster(), shoot("shop")).await.expect("created");
    for _ in 0..60 {
        first.step().await;
    }
    let served = |garden: &Garden, plural: &str| garden.cluster().registry().any("example.com", plural).is_some();
    first.cluster().create(definition("apples", "Apple")).await.expect("a definition");
    let inside = first.server().cluster("shoot--dev--shop").expect("its cluster");
    inside.create(definition("cores", "Core")).await.expect("a definition");
    let state = first.export();
    assert_eq!(state.shoots.len(), 1);
    let second = Garden::start(options()).await.expect("garden");
    second.cluster().create(definition("pears", "Pear")).await.expect("a definition");
    assert!(served(&second, "pears"));
    second.clock().advance(SignedDuration::from_hours(100));
    let (one, other) = tokio::join!(second.import(&state), second.import(&state));
    assert_eq!((one, other), (Ok(()), Ok(())), "one after the other");
    assert!(served(&second, "apples") && !served(&second, "pears"), "kinds come and go with their definitions");
    let inside = second.server().cluster("shoot--dev--shop").expect("its cluster");
    assert!(inside.registry().any("example.com", "cores").is_some());
    second.settled().await;
    let mut again = second.export();
    // The port is what this machine has free.
    let shoots = "shoots.core.gardener.cloud";
    assert_eq!(again.now, state.now, "back in time");
    again.garden.get_mut(shoots).expect("Shoots")[0]["status"]["advertisedAddresses"] =
        state.garden[shoots][0]["status"]["advertisedAddresses"].clone();
    for (kind, objects) in &state.garden {
        assert_eq!(again.garden.get(kind), Some(objects), "{kind}");
    }
    assert_eq!(again.shoots, state.shoots);

    let mut broken = state.clone();
    broken.garden.get_mut(shoots).expect("Shoots")[0]["metadata"] = json!({"name": "nobody"});
    let refused = second.import(&broken).await.expect_err("no uid");
    assert!(refused.contains(shoots) && refused.contains("metadata.uid"), "{refused}");
    let mut unknown = state.clone();
    unknown.garden.insert("plums.example.com".to_owned(), Vec::new());
    let refused = second.import(&unknown).await.expect_err("no such kind");
    assert!(refused.contains("garden.plums.example.com"), "{refused}");
    assert_eq!(second.shoots().len(), 1);
}

fn definition(plural: &str, kind: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {"group": "example.com", "scope": "Cluster", "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]},
    })
}
