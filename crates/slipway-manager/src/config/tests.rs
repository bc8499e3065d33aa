//! What a configuration file may be, and how its problems are told.

use serde_json::{Value, json};

use super::*;

fn good() -> Value {
    let oidc = json!({
        "clientID": "c", "groupsClaim": "groups", "issuerURL": "https://issuer.example", "signingAlgs": ["RS256"],
        "usernameClaim": "sub", "usernamePrefix": "-",
    });
    json!({
        "cluster": { "defaultSharedIASTenant": oidc },
        "converter": {
            "kubernetes": { "defaultVersion": "1.34", "defaultOperatorOidc": oidc },
            "machineImage": { "defaultName": "gardenlinux", "defaultVersion": "1877.9.0" },
            "gardener": { "projectName": "dev" },
            "auditLogging": { "policyConfigMapName": "policy", "tenantConfigPath": "/tenants.json" },
        },
    })
}

fn parse(file: &Value) -> Result<(ConverterConfig, Vec<String>), ConfigError> {
    ConverterConfig::parse(&file.to_string())
}

/// Sets, or with null removes, a member.
fn with(path: &str, value: Value) -> Value {
    let mut file = good();
    let mut at = &mut file;
    let names: Vec<_> = path.split('.').collect();
    for name in &names[..names.len() - 1] {
        at = &mut at[*name];
    }
    match value {
        Value::Null => drop(at.as_object_mut().and_then(|map| map.remove(names[names.len() - 1]))),
        value => at[names[names.len() - 1]] = value,
    }
    file
}

#[test]
fn the_least_configuration_has_the_defaults_of_the_reference() {
    let (config, unknown) = parse(&good()).expect("good");
    assert_eq!(unknown, Vec::<String>::new());
    assert_eq!(config.namespace(), "garden-dev");
    assert_eq!(config.converter.gardener.field_manager, "kim");
    assert_eq!(config.converter.provider.worker.default_machine_drain_timeout, "15m");
    assert_eq!(config.converter.eu_access.platform_regions.len(), 5);
    assert!(config.converter.dns.is_internal() && config.switches.network_restriction);
}

#[test]
fn every_required_member_is_named_when_it_is_missing_or_empty() {
    let required = [
        "cluster.defaultSharedIASTenant.clientID",
        "cluster.defaultSharedIASTenant.signingAlgs",
        "converter.kubernetes.defaultVersion",
        "converter.kubernetes.defaultOperatorOidc.issuerURL",
        "converter.machineImage.defaultName",
        "converter.machineImage.defaultVersion",
        "converter.gardener.projectName",
        "converter.auditLogging.policyConfigMapName",
        "converter.auditLogging.tenantConfigPath",
    ];
    for path in required {
        let error = parse(&with(path, Value::Null)).expect_err(path).to_string();
        assert_eq!(error, format!("{path}: is missing; it must have a value"));
        let empty = if path.ends_with("signingAlgs") { json!([]) } else { json!("") };
        let error = parse(&with(path, empty)).expect_err(path).to_string();
        assert_eq!(error, format!("{path}: is empty; it must have a value"));
    }
}

#[test]
fn both_spellings_of_the_image_switch_are_read() {
    for name in ["enableMachineImageVersionAutoUpdate", "enableMachineImageVersionVersionAutoUpdate"] {
        let (config, unknown) = parse(&with(&format!("converter.kubernetes.{name}"), json!(true))).expect("good");
        assert!(config.converter.kubernetes.enable_machine_image_version_auto_update, "{name}");
        assert_eq!(unknown, Vec::<String>::new());
    }
}

#[test]
fn both_spellings_together_and_nulls_are_read_too() {
    let mut file = with("converter.kubernetes.enableMachineImageVersionAutoUpdate", json!(false));
    file["converter"]["kubernetes"]["enableMachineImageVersionVersionAutoUpdate"] = json!(true);
    file["converter"]["dns"] = json!({ "secretName": null, "domainPrefix": "", "providerType": null });
    let (config, _) = parse(&file).expect("good");
    assert!(!config.converter.kubernetes.enable_machine_image_version_auto_update, "the new spelling wins");
    assert!(config.converter.dns.is_internal());
}

#[test]
fn an_unknown_member_is_taken_with_a_warning() {
    let mut file = with("converter.gardener.newSwitch", json!({ "deep": 1 }));
    file["other"] = json!(1);
    let (config, unknown) = parse(&file).expect("good");
    assert_eq!(unknown, ["converter.gardener.newSwitch", "other"]);
    assert_eq!(config.converter.gardener.project_name, "dev");
}

#[test]
fn a_wrong_type_is_told_with_its_path_and_all_problems_at_once() {
    for (path, value, wanted) in [
        ("converter.gardener.enableCredentialBinding", json!("yes"), "true or false"),
        ("converter.gardener.projectName", json!(7), "a text"),
        ("converter.kubernetes.kubeApiServer", json!({ "maxTokenExpiration": "30d" }), ""),
        ("converter.provider", json!({ "worker": { "defaultMaxEvictRetries": "two" } }), ""),
        (
            "converter.tolerations",
            json!({ "me-central2": [{ "value": "x" }] }),
            "an object of regions with lists of {\"key\", \"value\"}",
        ),
        ("converter.kubernetes.defaultOperatorOidc.issuerURL", json!("issuer"), "an address that starts with https://"),
        ("converter.gardener", json!("dev"), ""),
    ] {
        let said = parse(&with(path, value)).expect_err(path).to_string();
        assert!(said.starts_with(path), "{said}");
        assert!(said.contains(wanted), "{said}");
    }
    let error = ConverterConfig::parse(r#"{"cluster": {}, "converter": []}"#).expect_err("bad");
    assert_eq!(error.problems.len(), MANDATORY + 1, "{error}");
    assert!(ConverterConfig::parse("{").expect_err("bad").to_string().starts_with("the file: is not JSON"));
    assert!(ConverterConfig::parse("[]").expect_err("bad").to_string().contains("the file: must be an object"));
}

/// How many members must be there.
const MANDATORY: usize = 18;

#[test]
fn half_a_dns_is_refused() {
    let said = parse(&with("converter.dns", json!({ "domainPrefix": "example.com" }))).expect_err("half").to_string();
    assert!(said.starts_with("converter.dns.secretName: is empty while others"), "{said}");
}

#[test]
fn the_acl_switch_wants_its_config_map() {
    let (mut config, _) = parse(&good()).expect("good");
    assert_eq!(config.check_switches(), Ok(()));
    config.switches.api_server_acl = true;
    let said = config.check_switches().expect_err("missing").to_string();
    assert!(said.starts_with("converter.kubernetes.kubeApiServer.acl.configMapName: "), "{said}");
}
