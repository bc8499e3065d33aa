//! Bad input is refused with the field and what to do, and changes nothing.

use crate::running::server;

const NONE: &str = "/operations/0198c0de-0000-7000-8000-000000000000";

#[tokio::test]
async fn bad_input_is_refused_with_the_field_and_what_to_do() {
    let running = server().await;
    let long = format!(r#"{{"process":"hello","instance_id":"{}"}}"#, "x".repeat(256));
    let act = |rest: &str| format!(r#"{{"by":"me","why":"test",{rest}}}"#);
    for (method, path, body, status, said) in [
        ("POST", "/operations", "", 400, "the body must be one JSON object"),
        ("POST", "/operations", "{", 400, "the body must be one JSON object"),
        ("POST", "/operations", "{}", 400, "field process: is missing"),
        ("POST", "/operations", r#"{"process":"hello"}"#, 400, "field instance_id: is missing"),
        (
            "POST",
            "/operations",
            r#"{"process":"hello","instance_id":5}"#,
            400,
            "field instance_id: has the wrong type; it must be a string",
        ),
        (
            "POST",
            "/operations",
            r#"{"process":"hello","instance_id":""}"#,
            400,
            "field instance_id: must be 1 to 255 printable",
        ),
        ("POST", "/operations", &long, 400, "field instance_id: must be 1 to 255 printable"),
        (
            "POST",
            "/operations",
            r#"{"process":"hi","instance_id":"a"}"#,
            400,
            "field process: is none of ours; choose one of: hello",
        ),
        (
            "POST",
            "/operations",
            r#"{"process":"hello","instance_id":"a","operation_id":"7"}"#,
            400,
            "field operation_id: is not a UUID",
        ),
        (
            "POST",
            "/operations",
            r#"{"process":"hello","instance_id":"a","plan":"x"}"#,
            400,
            "field plan: is not known; the fields are process, instance_id",
        ),
        ("GET", "/operations?state=done", "", 400, "field state: is none of: pending; in progress;"),
        ("GET", "/operations?limit=0", "", 400, "field limit: must be a number from 1 to 1000"),
        ("GET", "/operations?limit=ten", "", 400, "field limit: must be"),
        ("GET", "/operations?before=yesterday", "", 400, "field before: is not a UUID"),
        (
            "GET",
            "/operations?colour=red",
            "",
            400,
            "field colour: is not known; the fields are state, instance_id, before, limit",
        ),
        ("GET", "/operations?limit=1&limit=2", "", 400, "field limit: is given twice"),
        ("GET", "/operations/42", "", 400, "field id: is not a UUID"),
        ("GET", NONE, "", 404, "there is no operation 0198c0de-0000-7000-8000-000000000000"),
        ("GET", &format!("{NONE}/records"), "", 404, "there is no operation"),
        ("GET", &format!("{NONE}/records?after=-1"), "", 400, "field after: must be the number of an entry"),
        ("POST", &format!("{NONE}/actions"), &act(r#""action":"cancel""#), 404, "there is no operation"),
        (
            "POST",
            &format!("{NONE}/actions"),
            &act(r#""action":"explode""#),
            400,
            "field action: must be retry_now, skip_step",
        ),
        ("POST", &format!("{NONE}/actions"), &act(r#""action":"skip_step""#), 400, "field step: is missing"),
        ("POST", &format!("{NONE}/actions"), r#"{"action":"cancel","by":" ","why":"x"}"#, 400, "field by: is empty"),
        ("POST", &format!("{NONE}/actions"), r#"{"action":"cancel","by":"me"}"#, 400, "field why: is missing"),
        (
            "POST",
            &format!("{NONE}/actions"),
            r#"{"action":"cancel","by":"me","why":"a\nb"}"#,
            400,
            "field why: must be one line",
        ),
        ("POST", "/wake", r#"{"key":"noslash","cause":"x"}"#, 400, "field key: must look like <kind>/<id>"),
        ("GET", "/nowhere", "", 404, "there is no such endpoint"),
        ("DELETE", "/operations", "", 405, "another method"),
    ] {
        let answer = running.send(method, path, body).await;
        assert_eq!(answer.status, status, "{method} {path} {body}: {answer:?}");
        let problem: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
        let description = problem["description"].as_str().expect("a description");
        assert!(description.contains(said), "{method} {path} {body}: {description}");
        assert!(problem["error"].is_string() && problem.as_object().is_some_and(|p| p.len() == 2), "{problem}");
    }
    let answer = running.send("POST", "/operations", &"x".repeat(70_000)).await;
    assert_eq!(answer.status, 413, "{answer:?}");
    let list = running.json("GET", "/operations", "", 200).await;
    assert_eq!(list["operations"].as_array().map(Vec::len), Some(0), "nothing was started");
    running.server.stop().await;
}
