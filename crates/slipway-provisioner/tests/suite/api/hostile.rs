//! Bad input: a GraphQL error with a code and the path of the field, never a 500, never a panic.

use serde_json::{Value, json};

use super::bench::{Bench, minimal};

const PROVISION: &str = "mutation($config: ProvisionRuntimeInput!) { provisionRuntime(config: $config) { id } }";

#[tokio::test]
async fn unknown_fields_wrong_enums_and_missing_values_name_their_path_inline() {
    let bench = Bench::start().await;
    let inline = |gardener: &str, rest: &str| {
        format!(
            "mutation {{ provisionRuntime(config: {{ runtimeInput: {{ name: \"a\" }}, clusterConfig: {{ gardenerConfig: {{ {gardener} }} }} {rest} }}) {{ id }} }}"
        )
    };
    let good = "provider: \"gcp\", region: \"r\", targetSecret: \"s\"";
    for (query, path) in [
        (inline(&format!("{good}, colour: 1"), ""), "config.clusterConfig.gardenerConfig.colour"),
        (inline("provider: \"gcp\"", ""), "config.clusterConfig.gardenerConfig.region"),
        (inline(&format!("{good}, autoScalerMin: \"two\""), ""), "config.clusterConfig.gardenerConfig.autoScalerMin"),
        (
            inline(&format!("{good}, autoScalerMin: 99999999999"), ""),
            "config.clusterConfig.gardenerConfig.autoScalerMin",
        ),
        (inline(&format!("{good}, euAccess: 1"), ""), "config.clusterConfig.gardenerConfig.euAccess"),
        (inline("provider: null, region: \"r\"", ""), "config.clusterConfig.gardenerConfig.provider"),
        (inline(good, ", kymaConfig: { version: \"2.20.5\", profile: Huge }"), "config.kymaConfig.profile"),
        (inline(good, ", kymaConfig: { version: \"2.20.5\", profile: \"Production\" }"), "config.kymaConfig.profile"),
        (inline(good, ", kymaConfig: { }"), "config.kymaConfig.version"),
        ("mutation { provisionRuntime(config: {}) { id } }".to_owned(), "config"),
    ] {
        let reply = bench.ask(&query).send().await;
        assert_eq!((reply.status, reply.error()), (400, (400, "err_validation".to_owned())), "{query}");
        let paths: Vec<String> = reply.violations().into_iter().map(|(path, _)| path).collect();
        assert!(paths.iter().any(|found| found.starts_with(path)), "{query}: {paths:?} {}", reply.message());
        assert!(reply.body.get("data").is_none());
    }
}

#[tokio::test]
async fn unknown_fields_wrong_enums_and_missing_values_name_their_path_in_variables() {
    let bench = Bench::start().await;
    let changed = |pointer: &str, value: Value| {
        let mut config = minimal("gcp");
        super::bench::set(&mut config, pointer, value);
        config
    };
    let gardener = "clusterConfig.gardenerConfig";
    for (config, path) in [
        (changed(&format!("{gardener}.colour"), json!(1)), "config.clusterConfig.gardenerConfig.colour"),
        (changed(&format!("{gardener}.region"), Value::Null), "config.clusterConfig.gardenerConfig.region"),
        (changed(&format!("{gardener}.maxSurge"), json!("x")), "config.clusterConfig.gardenerConfig.maxSurge"),
        (changed(&format!("{gardener}.maxSurge"), json!(1e300)), "config.clusterConfig.gardenerConfig.maxSurge"),
        (changed(&format!("{gardener}.name"), json!(["x"])), "config.clusterConfig.gardenerConfig.name"),
        (
            changed(&format!("{gardener}.providerSpecificConfig"), json!({"gcpConfig": {"zones": ["a", 7]}})),
            "config.clusterConfig.gardenerConfig.providerSpecificConfig.gcpConfig.zones[1]",
        ),
        (changed("kymaConfig", json!({"version": "2.20.5", "profile": "Huge"})), "config.kymaConfig.profile"),
        (changed("kymaConfig", json!({})), "config.kymaConfig.version"),
        (changed("runtimeInput.labels", json!("free")), "config.runtimeInput.labels"),
        (changed("runtimeInput.labels", json!([1])), "config.runtimeInput.labels"),
        (Value::Null, "config"),
        (json!("x"), "config"),
    ] {
        let reply = bench.ask(PROVISION).variables(json!({ "config": config })).send().await;
        assert_eq!((reply.status, reply.error()), (400, (400, "err_validation".to_owned())), "{config}");
        let paths: Vec<String> = reply.body["errors"]
            .as_array()
            .expect("errors")
            .iter()
            .filter_map(|error| error["extensions"]["violations"][0]["path"].as_str().map(str::to_owned))
            .collect();
        assert!(paths.contains(&path.to_owned()), "{config}: {paths:?} {reply:?}");
    }
}

#[tokio::test]
async fn documents_that_are_none_are_refused_with_a_code() {
    let bench = Bench::start().await;
    for query in [
        "",
        " ",
        "{",
        "}",
        "mutation",
        "query { nothing }",
        "{ runtimeStatus { id } }",
        "\u{0}",
        "{ a(b: \"\\u{110000}\") }",
        "fragment F on Query { ...F } { ...F }",
        "query($a: Nope) { __typename }",
        "query($a: OperationStatus) { __typename }",
        "{ runtimeStatus(id: 5) { problems { message } } }",
        "{ runtimeStatus(id: $x) { problems { message } } }",
    ] {
        let reply = bench.ask(query).send().await;
        assert_eq!((reply.status, reply.error().0), (400, 400), "{query:?}: {reply:?}");
    }
    for body in [
        "",
        "null",
        "[]",
        "7",
        "\"x\"",
        "{}",
        "{\"query\": 7}",
        "{\"query\": null}",
        "{\"query\": \"{__typename}\", \"variables\": []}",
        "{\"query\": \"{__typename}\", \"variables\": 7}",
        "{\"query\": \"{__typename}\"",
        "[{\"query\": \"{__typename}\"}]",
        "\u{feff}{}",
    ] {
        let reply = bench.post(body).await;
        assert_eq!((reply.status, reply.error().0), (400, 400), "{body}: {reply:?}");
    }
    let reply = bench.post(vec![0xff_u8, 0xfe, 0x00]).await;
    assert_eq!((reply.status, reply.error().0), (400, 400));
}

#[tokio::test]
async fn ten_thousand_levels_are_refused_wherever_they_stand() {
    let bench = Bench::start().await;
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(10_000), close.repeat(10_000));
    for query in [
        format!("query {}", deep("{a", "}")),
        format!("{{ runtimeStatus(id: {}) {{ problems {{ message }} }} }}", deep("[", "]")),
        format!("mutation {{ provisionRuntime(config: {}) {{ id }} }}", deep("{a:", "}")),
        format!(
            "mutation {{ provisionRuntime(config: {{runtimeInput: {{name: \"a\", labels: {}}}}}) {{ id }} }}",
            deep("{a:", "}")
        ),
        format!(
            "mutation {{ provisionRuntime(config: {{runtimeInput: {{name: \"a\", labels: {}}}}}) {{ id }} }}",
            deep("[", "]")
        ),
        format!("query($a: {}) {{ __typename }}", deep("[", "]")),
        "{".repeat(10_000),
        "[".repeat(10_000),
        "{a(b:[".repeat(10_000),
    ] {
        let reply = bench.ask(&query).send().await;
        assert_eq!((reply.status, reply.error().0), (400, 400), "{}…", &query[..80]);
    }
    for variables in [deep("{\"a\":", "}").replacen("}", "1}", 1), deep("[", "]")] {
        let body = format!("{{\"query\": \"{{__typename}}\", \"variables\": {variables}}}");
        let reply = bench.post(body).await;
        assert_eq!((reply.status, reply.error().0), (400, 400));
    }
    let fragments: String = (0..10_000).map(|n| format!("fragment F{n} on Query {{ ...F{} }} ", n + 1)).collect();
    let reply = bench.ask(&format!("{{ ...F0 }} {fragments} fragment F10000 on Query {{ __typename }}")).send().await;
    assert_eq!((reply.status, reply.error().0), (400, 400));
}

#[tokio::test]
async fn ten_megabytes_are_refused() {
    let bench = Bench::start().await;
    let long = "x".repeat(10 * 1024 * 1024);
    let reply = bench.post(format!("{{\"query\": \"{{__typename}}\", \"variables\": {{\"a\": \"{long}\"}}}}")).await;
    assert_eq!((reply.status, reply.error()), (413, (400, "err_validation".to_owned())));
    let reply = bench.post(long).await;
    assert_eq!((reply.status, reply.error().0), (413, 400));
}

#[tokio::test]
async fn a_document_cannot_ask_for_everything_at_once() {
    let bench = Bench::start().await;
    let aliases: String =
        (0..21).map(|n| format!("a{n}: runtimeStatus(id: \"x\") {{ problems {{ message }} }} ")).collect();
    let reply = bench.ask(&format!("{{ {aliases} }}")).send().await;
    let last = reply.body["errors"].as_array().expect("errors").last().expect("one")["message"]
        .as_str()
        .expect("text")
        .to_owned();
    assert!(last.contains("more than 20"), "{last}");
    let wide: String = (0..3000).map(|n| format!("a{n}: __typename ")).collect();
    let reply = bench.ask(&format!("{{ {wide} }}")).send().await;
    assert_eq!((reply.status, reply.error().0), (400, 400));
    let bomb: String = (0..22).map(|n| format!("fragment F{n} on Query {{ ...F{} ...F{} }} ", n + 1, n + 1)).collect();
    let reply = bench.ask(&format!("{{ ...F0 }} {bomb} fragment F22 on Query {{ __typename }}")).send().await;
    assert_eq!((reply.status, reply.error().0), (400, 400));
}

#[tokio::test]
async fn texts_of_clients_stay_texts_in_errors() {
    let bench = Bench::start().await;
    let mut config = minimal("gcp");
    config["clusterConfig"]["gardenerConfig"]["name"] =
        "%s%d%!(EXTRA) {} {0} \u{202e}\n<script>alert(1)</script>".into();
    let reply = bench.ask(PROVISION).variables(json!({ "config": config })).send().await;
    reply.violates("config.clusterConfig.gardenerConfig.name", "name");
    assert!(reply.message().contains("%s%d%!(EXTRA)"), "{}", reply.message());
    config["clusterConfig"]["gardenerConfig"]["name"] = "x".repeat(100_000).into();
    let reply = bench.ask(PROVISION).variables(json!({ "config": config })).send().await;
    assert!(reply.message().len() < 1000, "a long text is cut");
}

#[tokio::test]
async fn other_paths_and_methods_answer_in_json_too() {
    let bench = Bench::start().await;
    for (path, status) in
        [("/nothing", 404), ("/graphql/x", 404), ("/graphiql/../../Cargo.toml", 404), ("/graphiql/nope.js", 404)]
    {
        let answer = bench.get(path).send().await.expect("an answer");
        assert_eq!(answer.status().as_u16(), status, "{path}");
        let body: Value = answer.json().await.expect("JSON");
        assert_eq!(body["errors"][0]["extensions"]["error_code"], 400);
    }
}
