//! The registry as its clients see it.

use http::{Request, header};

use super::*;
use crate::{clock, systems::Systems};

const REGISTER: &str = "mutation($in: RuntimeRegisterInput!){ result: registerRuntime(in:$in){ id } }";
const GET: &str = "query($id: ID!){ result: runtime(id:$id){ id name description labels status{condition} } }";
const TOKEN: &str = "mutation($id: ID!){ result: requestOneTimeTokenForRuntime(id:$id){ token connectorURL } }";

async fn exchange(director: &Director, request: Request<Bytes>) -> (u16, Value) {
    let systems = Systems { director: director.clone(), ..Systems::default() };
    let answer = systems.exchange("director", request).await.expect("an answer");
    (answer.status().as_u16(), serde_json::from_slice(answer.body()).unwrap_or(Value::Null))
}

async fn bearer(director: &Director, scope: &str) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let (id, secret) = director.client();
    let request = Request::post("/oauth2/token")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::AUTHORIZATION, format!("Basic {}", STANDARD.encode(format!("{id}:{secret}"))))
        .body(Bytes::from(format!("grant_type=client_credentials&scope={scope}")))
        .expect("request");
    let (status, body) = exchange(director, request).await;
    assert_eq!(status, 200, "{body}");
    body["access_token"].as_str().expect("a token").to_owned()
}

struct Caller {
    director: Director,
    token: String,
}

impl Caller {
    async fn new(director: &Director) -> Self {
        Self { director: director.clone(), token: bearer(director, "runtime%3Aread+runtime%3Awrite").await }
    }

    async fn ask(&self, tenant: &str, query: &str, variables: Value) -> (u16, Value) {
        let mut request = Request::post("/graphql")
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token));
        if !tenant.is_empty() {
            request = request.header("Tenant", tenant);
        }
        let body = json!({ "query": query, "variables": variables }).to_string();
        exchange(&self.director, request.body(body.into()).expect("request")).await
    }

    async fn code(&self, tenant: &str, query: &str, variables: Value) -> Option<u64> {
        let (status, body) = self.ask(tenant, query, variables).await;
        assert_eq!(status, 200, "{body}");
        body["errors"][0]["extensions"]["error_code"].as_u64()
    }
}

#[tokio::test]
async fn a_runtime_is_registered_read_changed_found_and_gone() {
    let director = Director::default();
    let caller = Caller::new(&director).await;
    let labels = json!({ "broker_instance_id": "i-1", "any": [1, { "x": true }] });
    let (_, made) = caller.ask("acme", REGISTER, json!({ "in": { "name": "shop", "labels": labels } })).await;
    let id = made["data"]["result"]["id"].as_str().expect("an id").to_owned();
    let (_, read) = caller.ask("acme", GET, json!({ "id": id })).await;
    assert_eq!(read["data"]["result"]["labels"], labels);
    assert_eq!(read["data"]["result"]["status"]["condition"], "INITIAL");
    assert_eq!(caller.code("acme", REGISTER, json!({ "in": { "name": "shop" } })).await, Some(31));
    assert_eq!(caller.code("other", REGISTER, json!({ "in": { "name": "shop" } })).await, None, "unique in a tenant");
    assert_eq!(caller.code("other", GET, json!({ "id": id })).await, Some(20), "another tenant does not see it");

    let find = "query($f:[LabelFilter!]){ result: runtimes(filter:$f){ data{ id } } }";
    let filter = |query: &str| json!({ "f": [{ "key": "broker_instance_id", "query": query }] });
    let (_, found) = caller.ask("acme", find, filter("\"i-1\"")).await;
    assert_eq!(found["data"]["result"]["data"], json!([{ "id": id }]));
    let (_, found) = caller.ask("acme", find, filter("\"i-2\"")).await;
    assert_eq!(found["data"]["result"]["data"], json!([]));

    let update = "mutation($id: ID!, $in: RuntimeUpdateInput!){ result: updateRuntime(id:$id, in:$in){ id } }";
    let change = json!({ "id": id, "in": { "name": "shop", "statusCondition": "CONNECTED" } });
    assert_eq!(caller.code("acme", update, change).await, None);
    let kept = &director.runtimes()[0];
    assert_eq!((kept.condition.as_str(), kept.labels.len()), ("CONNECTED", 0), "what is not sent back is lost");
    let unregister = "mutation($id: ID!){ result: unregisterRuntime(id:$id){ id } }";
    assert_eq!(caller.code("acme", unregister, json!({ "id": id })).await, None);
    assert_eq!(caller.code("acme", unregister, json!({ "id": id })).await, Some(20));
    assert!(director.complaints().is_empty());
}

#[tokio::test]
async fn requests_that_do_not_fit_the_schema_are_refused_and_remembered() {
    let director = Director::default();
    let caller = Caller::new(&director).await;
    let wrong = [
        (
            "mutation($in: RuntimeRegisterInput!){ result: registerRuntime(in:$in){ id } }",
            json!({ "in": { "nme": "shop" } }),
        ),
        ("mutation($in: RuntimeRegisterInput!){ result: registerRuntime(in:$in){ id } }", json!({ "in": {} })),
        (
            "mutation($in: RuntimeRegisterInput!){ result: registerRuntime(in:$in){ uid } }",
            json!({ "in": { "name": "shop" } }),
        ),
        (
            "mutation($in: RuntimeRegisterInput){ result: registerRuntime(in:$in){ id } }",
            json!({ "in": { "name": "shop" } }),
        ),
        ("query($id: String!){ result: runtime(id:$id){ id } }", json!({ "id": "7" })),
        ("query($id: ID!){ result: runtime(id:$id){ id } }", json!({ "id": 7 })),
        ("query($id: ID!){ result: runtime(id:$id){ id } }", json!({ "id": "7", "extra": 1 })),
        ("query($id: ID!){ result: runtime(id:$id){ status } }", json!({ "id": "7" })),
        ("query { result: runtime(id: \"7\") { id } }", json!({})),
        ("query($id: ID!){ result: unregisterRuntime(id:$id){ id } }", json!({ "id": "7" })),
    ];
    for (query, variables) in &wrong {
        assert_eq!(caller.ask("acme", query, variables.clone()).await.0, 422, "{query} {variables}");
    }
    assert_eq!(director.complaints().len(), wrong.len());
    assert!(director.runtimes().is_empty());
}

#[tokio::test]
async fn names_tenants_and_scopes_are_checked() {
    let director = Director::default();
    let mut caller = Caller::new(&director).await;
    for bad in ["Shop", "7shop", "", &"x".repeat(37), "a b"] {
        assert_eq!(caller.code("acme", REGISTER, json!({ "in": { "name": bad } })).await, Some(22), "{bad}");
    }
    let bad_label = json!({ "in": { "name": "shop", "labels": { "a-b": 1 } } });
    assert_eq!(caller.code("acme", REGISTER, bad_label).await, Some(22));
    assert_eq!(caller.code("", GET, json!({ "id": "7" })).await, Some(24));
    director.know_only(&["acme"]);
    assert_eq!(caller.code("other", GET, json!({ "id": "7" })).await, Some(25));
    caller.token = bearer(&director, "runtime%3Aread").await;
    assert_eq!(caller.code("acme", REGISTER, json!({ "in": { "name": "shop" } })).await, Some(23));
    director.expire_tokens();
    assert_eq!(caller.ask("acme", GET, json!({ "id": "7" })).await.0, 401);
}

#[tokio::test(start_paused = true)]
async fn a_one_time_token_opens_once_for_its_runtime_and_for_five_minutes() {
    let director = Director::default();
    let caller = Caller::new(&director).await;
    let id = director.register("acme", "shop", json!({}));
    let draw = async || {
        let (_, body) = caller.ask("acme", TOKEN, json!({ "id": id })).await;
        assert_eq!(body["data"]["result"]["connectorURL"], CONNECTOR_URL);
        body["data"]["result"]["token"].as_str().expect("a token").to_owned()
    };
    let first = draw().await;
    assert!(matches!(director.redeem(&first, "another"), Redeemed::Refused(_)));
    assert!(matches!(director.redeem(&first, &id), Redeemed::Refused(_)), "the attempt has used it up");
    let second = draw().await;
    let Redeemed::Connected(old) = director.redeem(&second, &id) else { panic!("it is good") };
    assert!(matches!(director.redeem(&second, &id), Redeemed::Refused(_)));
    let third = draw().await;
    clock::sleep(std::time::Duration::from_secs(300)).await;
    assert!(matches!(director.redeem(&third, &id), Redeemed::Refused("the token has ended")));
    assert!(director.is_connected(&old.id));
    let Redeemed::Connected(new) = director.redeem(&draw().await, &id) else { panic!("it is good") };
    assert!(!director.is_connected(&old.id), "the new connection takes its place");
    assert!(director.forget(&id) && !director.is_connected(&new.id), "and goes with its registration");
}

#[tokio::test]
async fn what_is_kept_on_disk_is_there_after_a_restart() {
    let file = tempfile::tempdir().expect("a folder").keep().join("director.json");
    let director = Director::default();
    director.keep_in(file.clone());
    let caller = Caller::new(&director).await;
    let (_, made) = caller.ask("acme", REGISTER, json!({ "in": { "name": "shop" } })).await;
    let id = made["data"]["result"]["id"].as_str().expect("an id").to_owned();
    let Redeemed::Connected(connection) = director.redeem(&director.draw_token(&id), &id) else { panic!("it is good") };
    let again = Director::default();
    again.keep_in(file);
    assert_eq!(again.runtimes(), director.runtimes());
    assert!(again.is_connected(&connection.id));
}
