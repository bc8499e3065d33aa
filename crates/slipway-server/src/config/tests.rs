//! What a configuration may and may not be, and the sentences for what it may not.

use std::{collections::BTreeSet, io::Write as _};

use secrecy::ExposeSecret as _;

use super::*;

const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

fn good() -> Vec<(String, String)> {
    [
        ("SLIPWAY_DATABASE__URL", "sqlite:data/slipway.db"),
        ("SLIPWAY_SECRETS__ACTIVE_KEY", "k1"),
        ("SLIPWAY_SECRETS__KEYS__K1", KEY),
        ("SLIPWAY_AUTH__TOKEN", "0123456789abcdef-token"),
        ("SLIPWAY_HELLO__URL", "http://127.0.0.1:9"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

fn with_file(text: &str) -> Result<Settings, ConfigError> {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(text.as_bytes()).expect("written");
    let sources = Sources { file: Some(file.path().to_owned()), environment: good(), flags: Vec::new() };
    load(&sources).map_err(|error| ConfigError(error.0.replace(&file.path().display().to_string(), "FILE")))
}

fn refused(text: &str) -> String {
    with_file(text).expect_err(text).to_string()
}

fn with_flag(key: &str, value: &str) -> Result<Settings, ConfigError> {
    let flags = vec![(key.to_owned(), value.to_owned())];
    load(&Sources { file: None, environment: good(), flags })
}

#[test]
fn a_later_layer_wins_over_an_earlier_one() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(
        b"listen: 127.0.0.1:1\nengine: {lease: 7s, poll: 3s, slots: {update: 5}}\nsteps: {disabled: [A, B]}\n",
    )
    .expect("written");
    let mut environment = good();
    environment.push(("SLIPWAY_LISTEN".to_owned(), "127.0.0.1:2".to_owned()));
    environment.push(("SLIPWAY_ENGINE__POLL".to_owned(), "4s".to_owned()));
    environment.push(("SLIPWAY_ENGINE__SLOTS__UPGRADE".to_owned(), "9".to_owned()));
    let flags = vec![("listen".to_owned(), "127.0.0.1:3".to_owned())];
    let settings = load(&Sources { file: Some(file.path().to_owned()), environment, flags }).expect("good");
    assert_eq!(settings.listen.port(), 3);
    assert_eq!(settings.engine.poll.as_secs(), 4);
    assert_eq!(settings.engine.lease.as_secs(), 7);
    assert_eq!(
        (settings.engine.slots.update, settings.engine.slots.upgrade, settings.engine.slots.provision),
        (5, 9, 64)
    );
    assert_eq!(settings.disabled_steps, ["A", "B"]);
    assert_eq!(with_flag("steps.disabled", "A, B").expect("good").disabled_steps, ["A", "B"]);
}

#[test]
fn an_unknown_key_is_refused_with_its_layer_and_the_nearest_one() {
    assert_eq!(
        refused("engine: {heartbeet: 1s}"),
        "configuration: there is no key engine.heartbeet (from file FILE); did you mean engine.heartbeat?"
    );
    assert_eq!(
        refused("quark: 1"),
        "configuration: there is no key quark (from file FILE); docs/configuration.md lists all keys"
    );
    let mut environment = good();
    environment.push(("SLIPWAY_ENGINE__LEESE".to_owned(), "1s".to_owned()));
    let error = load(&Sources { environment, ..Sources::default() }).expect_err("unknown").to_string();
    assert_eq!(
        error,
        "configuration: there is no key engine.leese (from variable SLIPWAY_ENGINE__LEESE); did you mean engine.lease?"
    );
    let error = with_flag("log.levle", "info").expect_err("unknown").to_string();
    assert_eq!(error, "configuration: there is no key log.levle (from a flag); did you mean log.level?");
}

#[test]
fn variables_that_kubernetes_makes_for_a_service_are_passed_over() {
    let mut environment = good();
    environment.push(("SLIPWAY_API_URL".to_owned(), "http://127.0.0.1:1".to_owned()));
    // What a pod is told of one Service, whose name begins as ours do.
    for service in ["SLIPWAY", "SLIPWAY_BROKER", "SLIPWAY_LISTEN", "SLIPWAY_PROVISIONER_METRICS"] {
        for (name, value) in [
            ("SERVICE_HOST", "10.0.0.1"),
            ("SERVICE_PORT", "8080"),
            ("SERVICE_PORT_HTTP", "8080"),
            ("PORT", "tcp://10.0.0.1:8080"),
            ("PORT_8080_TCP", "tcp://10.0.0.1:8080"),
            ("PORT_8080_TCP_PROTO", "tcp"),
            ("PORT_8080_TCP_PORT", "8080"),
            ("PORT_8080_TCP_ADDR", "10.0.0.1"),
        ] {
            environment.push((format!("{service}_{name}"), value.to_owned()));
        }
    }
    load(&Sources { environment, ..Sources::default() }).expect("good");
    for ours in ["SLIPWAY_DATABASE_PORT", "SLIPWAY_LISTEN_HOST"] {
        let mut environment = good();
        environment.push((ours.to_owned(), "5432".to_owned()));
        load(&Sources { environment, ..Sources::default() }).expect_err("a mistake is told, not passed over");
    }
}

#[test]
fn wrong_values_are_refused_with_the_key_and_what_would_be_right() {
    for (text, sentence) in [
        ("engine: {lease: 10}", "engine.lease is unsigned int `10`, but must be a string (from file FILE)"),
        (
            "engine: {lease: soon}",
            "engine.lease is wrong: \"soon\" is not a duration; write for example 1h30m, 10s or 250ms (from file FILE)",
        ),
        ("engine: {heartbeat: 3s}", "engine.heartbeat is 3s, but must be shorter than engine.lease, which is 2s500ms"),
        ("engine: {poll: 0s}", "engine.poll is zero; it must be longer"),
        ("engine: {slots: {provision: 0}}", "engine.slots.provision is 0, but must be 1 to 10000"),
        (
            "engine: {slots: {provision: many}}",
            "engine.slots.provision is string \"many\", but must be usize (from file FILE)",
        ),
        ("engine: {group_max: 0}", "engine.group_max is 0, but must be 1 to 10000"),
        ("database: {max_connections: 1}", "database.max_connections is 1, but must be 2 to 1000"),
        ("operation: {timeout: 0s}", "operation.timeout is zero; nothing could ever succeed"),
        ("log: {format: xml}", "log.format is \"xml\", but must be text or json (from file FILE)"),
        (
            "log: {level: 'loud=very'}",
            "log.level is \"loud=very\", but must look like info or info,slipway_engine=debug",
        ),
        ("auth: {token_file: /nowhere}", "auth.token is given together with auth.token_file; give one of them"),
    ] {
        assert_eq!(refused(text), format!("configuration: {sentence}"), "{text}");
    }
    let error = with_flag("listen", "here").expect_err("no address").to_string();
    assert!(error.starts_with("configuration: listen is"), "{error}");
    assert!(refused("listen: [").starts_with("configuration: the file FILE is not readable as YAML: "));
}

#[test]
fn the_section_of_a_system_is_checked_as_its_row_says() {
    for (text, sentence) in [
        ("hello: {url: [1]}", "hello.url is sequence, but must be text; put it in quotes (from file FILE)"),
        ("hello: {urll: 'http://h'}", "there is no key hello.urll (from file FILE); did you mean hello.url?"),
        (
            "hello: {client_id: me}",
            "there is no key hello.client_id (from file FILE); docs/configuration.md lists all keys",
        ),
        ("hello: http://h", "hello must be a section; docs/configuration.md lists its keys"),
        (
            "hello: {timeout: soon}",
            "hello.timeout is wrong: \"soon\" is not a duration; write for example 1h30m, 10s or 250ms",
        ),
        ("hello: {timeout: 0s}", "hello.timeout is zero; no call could ever succeed"),
        ("hello: {max_in_flight: 0}", "hello.max_in_flight is 0, but must be 1 to 1000"),
    ] {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(text.as_bytes()).expect("written");
        let environment = good()
            .into_iter()
            .filter(|(name, _)| text.contains("time") || text.contains("max") || !name.contains("HELLO"));
        let sources = Sources { file: Some(file.path().to_owned()), environment: environment.collect(), flags: vec![] };
        let error = load(&sources).expect_err(text).to_string().replace(&file.path().display().to_string(), "FILE");
        assert_eq!(error, format!("configuration: {sentence}"), "{text}");
    }
    let settings = with_file("hello: {timeout: 5s, max_in_flight: 3}").expect("good");
    let hello = &settings.systems["hello"];
    assert_eq!(
        (hello.url.to_string().as_str(), hello.timeout.as_secs(), hello.in_flight),
        ("http://127.0.0.1:9", 5, 3)
    );
    assert_eq!(with_flag("hello.max_in_flight", "7").expect("good").systems["hello"].in_flight, 7);
}

#[test]
fn what_is_required_is_asked_for() {
    for (variable, key) in [
        ("SLIPWAY_DATABASE__URL", "database.url"),
        ("SLIPWAY_SECRETS__ACTIVE_KEY", "secrets.active_key"),
        ("SLIPWAY_SECRETS__KEYS__K1", "secrets.active_key"),
        ("SLIPWAY_AUTH__TOKEN", "auth.token"),
    ] {
        let environment = good().into_iter().filter(|(name, _)| name != variable).collect();
        let error = load(&Sources { environment, ..Sources::default() }).expect_err(variable).to_string();
        assert!(error.starts_with(&format!("configuration: {key} ")), "{variable}: {error}");
    }
}

#[test]
fn no_message_and_no_debug_output_shows_a_secret() {
    let broken = "99999999991234567890";
    for text in [
        format!("secrets: {{keys: {{k1: {broken}}}}}"),
        format!("secrets: {{keys: {{k2: '{broken}'}}}}"),
        format!("database: {{url: 'mysql://u:{broken}@h/d'}}"),
        format!("database: {{url: {broken}}}"),
        format!("auth: {{token: {broken}}}"),
        format!("auth: {{token: [{broken}]}}"),
    ] {
        // The file is the lowest layer, so that the environment must not cover it.
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(text.as_bytes()).expect("written");
        let key = text.split(": {").nth(1).unwrap_or_default().split([':', '}']).next().unwrap_or_default();
        let hides = |name: &str| name.to_lowercase().contains(key) && !name.contains("ACTIVE");
        let environment = good().into_iter().filter(|(name, _)| !hides(name)).collect();
        let error = load(&Sources { file: Some(file.path().to_owned()), environment, flags: Vec::new() })
            .expect_err(&text)
            .to_string();
        assert!(!error.contains(broken), "{text}: {error}");
    }
    let shown = format!("{:?}", load(&Sources { environment: good(), ..Sources::default() }).expect("good"));
    assert!(!shown.contains(KEY) && !shown.contains("0123456789abcdef-token"), "{shown}");
    let error = with_flag("auth.token", broken).expect_err("secret").to_string();
    assert!(error.contains("every user of the machine can read flags") && !error.contains(broken), "{error}");
}

#[test]
fn a_token_file_is_read_and_trimmed() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(b"  a-token-of-22-letters \n").expect("written");
    let mut environment: Vec<_> = good().into_iter().filter(|(name, _)| name != "SLIPWAY_AUTH__TOKEN").collect();
    environment.push(("SLIPWAY_AUTH__TOKEN_FILE".to_owned(), file.path().display().to_string()));
    let settings = load(&Sources { environment, ..Sources::default() }).expect("good");
    assert_eq!(settings.token.expose_secret(), "a-token-of-22-letters");
}

/// A key that is in the table but not in the types would be refused although documented; one that
/// is in the types but not in the table would be undocumented. The error for a wrong field names
/// all right ones.
#[test]
fn the_table_of_keys_and_the_types_agree() {
    let mut found = BTreeSet::new();
    let mut sections = vec![String::new()];
    while let Some(section) = sections.pop() {
        let path = format!("{section}no_such_key");
        let depth = path.matches('.').count();
        let yaml = path.split('.').collect::<Vec<_>>().join(": {") + ": 1" + &"}".repeat(depth);
        let error = Figment::from(Yaml::string(&yaml)).extract::<raw::Raw>().expect_err("no such key");
        let Kind::UnknownField(_, fields) = &error.kind else { panic!("{section}: {error}") };
        for field in *fields {
            let name = format!("{section}{field}");
            match keys::KEYS.iter().any(|key| key.name.starts_with(&format!("{name}."))) {
                true if name != "secrets.keys" => sections.push(format!("{name}.")),
                true => assert!(found.insert("secrets.keys.<id>".to_owned())),
                false => assert!(found.insert(name)),
            }
        }
    }
    assert_eq!(found, keys::KEYS.iter().map(|key| key.name.clone().into_owned()).collect());
}

#[test]
fn the_defaults_of_the_table_are_those_of_the_types() {
    let plain = format!("{:?}", load(&Sources { environment: good(), ..Sources::default() }).expect("good"));
    for key in keys::all().filter(|key| key.default.is_some()) {
        let default = key.default.as_deref().unwrap_or_default().trim_matches(['[', ']']);
        let set = with_flag(&key.name, default).expect(&key.name);
        assert_eq!(format!("{set:?}"), plain, "{}", key.name);
    }
}

#[test]
fn the_configuration_reference_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    let page = keys::reference();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &page).expect("written");
    }
    let there = std::fs::read_to_string(path).unwrap_or_default();
    assert!(there == page, "docs/configuration.md is out of date; run: UPDATE=1 cargo test -p slipway-server");
}
