//! Accepted means applied, or said to have no effect: every field of the input is set, and its places in
//! the Runtime are looked at.

use juniper::{FromInputValue as _, InputValue};
use serde_json::{Value, json};
use slipway_model::ports::Random;

use super::*;
use crate::{
    Settings,
    graphql::schema,
    input::{Provision, Violations, provision, wire::ProvisionRuntimeInput},
};

struct Seven;

impl Random for Seven {
    fn next_u64(&self) -> u64 {
        7
    }
}

fn read(gardener: &Value) -> Result<Provision, Violations> {
    let settings = Settings {
        compat: crate::settings::Compat { allow_unknown_clouds: true, ..Default::default() },
        ..Settings::default()
    };
    let config = json!({ "runtimeInput": { "name": "shop" }, "clusterConfig": { "gardenerConfig": gardener } });
    let value: InputValue = serde_json::from_value(config).expect("an input");
    let input = ProvisionRuntimeInput::from_input_value(&value).unwrap_or_else(|_| panic!("not an input: {gardener}"));
    provision(input, &settings, &Seven)
}

fn rendered(gardener: &Value) -> (Value, Vec<String>) {
    let wanted = read(gardener).unwrap_or_else(|found| panic!("{gardener}: {:?}", found.list));
    let tenant = Tenant::EXAMPLE.parse().expect("example");
    let id = RuntimeId::EXAMPLE.parse().expect("example");
    let operation = OperationId::from(uuid::Uuid::from_u128(1));
    let owner = Owner {
        id,
        tenant: &tenant,
        sub_account: None,
        namespace: "kcp-system",
        operation,
        created_at: Timestamp::default(),
    };
    let runtime = runtime(&owner, &wanted.cluster, &wanted.secrets);
    (serde_json::to_value(runtime).expect("JSON"), wanted.warnings)
}

fn base(provider: &str) -> Value {
    json!({ "name": "shop", "provider": provider, "region": "europe-west3", "targetSecret": "account" })
}

/// A cloud and a value for a field, different from what it is without.
fn sample(field: &str) -> (&'static str, Value) {
    let azure_zone = json!([{"name": 1, "cidr": "10.250.0.0/24"}]);
    let aws_zone = json!([{"name": "z", "workerCidr": "10.250.0.0/24", "publicCidr": "10.250.1.0/24", "internalCidr": "10.250.2.0/24"}]);
    match field {
        "name" => ("gcp", json!("other")),
        "kubernetesVersion" => ("gcp", json!("1.32.1")),
        "provider" => ("gcp", json!("azure")),
        "targetSecret" => ("gcp", json!("other")),
        "region" => ("gcp", json!("us-east1")),
        "platformRegion" => ("gcp", json!("cf-eu11")),
        "purpose" => ("gcp", json!("production")),
        "licenceType" => ("gcp", json!("TestDevelopmentAndDemo")),
        "seed" => ("gcp", json!("seed-1")),
        "exposureClassName" => ("gcp", json!("internet")),
        "dnsConfig" => (
            "gcp",
            json!({"domain": "a.b", "providers": [{"domainsInclude": ["c.d"], "primary": true, "secretName": "s", "type": "t"}]}),
        ),
        "controlPlaneFailureTolerance" => ("gcp", json!("node")),
        "oidcConfig" => (
            "gcp",
            json!({"clientID": "c", "groupsClaim": "g", "issuerURL": "https://a.b", "signingAlgs": ["RS256"], "usernameClaim": "u", "usernamePrefix": "-"}),
        ),
        "shootNetworkingFilterDisabled" => ("gcp", json!(false)),
        "shootAndSeedSameRegion"
        | "euAccess"
        | "enableKubernetesVersionAutoUpdate"
        | "enableMachineImageVersionAutoUpdate"
        | "allowPrivilegedContainers" => ("gcp", json!(true)),
        "workerCidr" | "cidr" => ("gcp", json!("10.9.0.0/16")),
        "podsCidr" => ("gcp", json!("100.64.0.0/12")),
        "servicesCidr" => ("gcp", json!("100.104.0.0/13")),
        "machineType" => ("gcp", json!("n2-standard-16")),
        "machineImage" => ("gcp", json!("ubuntu")),
        "machineImageVersion" => ("gcp", json!("1.2.3")),
        "diskType" => ("gcp", json!("pd-ssd")),
        "volumeSizeGB" => ("gcp", json!(77)),
        "volumeSize" => ("gcp", json!("77Gi")),
        "autoScalerMin" | "size" | "nodeCount" => ("gcp", json!(3)),
        "autoScalerMax" => ("gcp", json!(33)),
        "maxSurge" => ("gcp", json!(9)),
        "maxUnavailable" => ("gcp", json!(5)),
        "memory" => ("gcp", json!("60Gi")),
        "zone" => ("gcp", json!("one")),
        "projectName" | "targetProvider" => ("gcp", json!("x")),
        "providerSpecificConfig" => ("gcp", json!({"gcpConfig": {"zones": ["one"]}})),
        "gcpConfig.zones" => ("gcp", json!(["one"])),
        "gcpConfig.zone" => ("gcp", json!("one")),
        "azureConfig.vnetCidr" => ("azure", json!("10.8.0.0/16")),
        "azureConfig.zones" => ("azure", json!(["1", "2"])),
        "azureConfig.azureZones" => ("azure", azure_zone),
        "azureConfig.enableNatGateway" => ("azure", json!(true)),
        "azureConfig.idleConnectionTimeoutMinutes" => ("azure", json!(30)),
        "awsConfig.vpcCidr" => ("aws", json!("10.8.0.0/16")),
        "awsConfig.awsZones" => ("aws", aws_zone),
        "awsConfig.enableIMDSv2" => ("aws", json!(true)),
        "awsConfig.zone" => ("aws", json!("z")),
        "awsConfig.publicCidr" => ("aws", json!("10.250.1.0/24")),
        "awsConfig.internalCidr" => ("aws", json!("10.250.2.0/24")),
        "openStackConfig.zones" => ("openstack", json!(["one"])),
        "openStackConfig.floatingPoolName"
        | "openStackConfig.cloudProfileName"
        | "openStackConfig.loadBalancerProvider" => ("openstack", json!("x")),
        "alicloudConfig.vpcCidr" => ("alicloud", json!("10.8.0.0/16")),
        "alicloudConfig.alicloudZones" => ("alicloud", json!([{"name": "z", "workerCidr": "10.250.0.0/24"}])),
        other => panic!("{other} has no sample: give it one"),
    }
}

/// What a field needs beside it, before and after.
fn company(field: &str) -> Value {
    match field {
        "machineImageVersion" => json!({"machineImage": "ubuntu"}),
        "azureConfig.enableNatGateway" => json!({"providerSpecificConfig": {"azureConfig": {"zones": ["1"]}}}),
        "azureConfig.idleConnectionTimeoutMinutes" => {
            json!({"providerSpecificConfig": {"azureConfig": {"zones": ["1"], "enableNatGateway": true}}})
        }
        _ => json!({}),
    }
}

fn place(gardener: &mut Value, field: &str, value: Value) {
    match field.split_once('.') {
        Some((block, field)) => gardener["providerSpecificConfig"][block][field] = value,
        None => gardener[field] = value,
    }
}

fn before_and_after(field: &str) -> (Value, Value) {
    let (provider, value) = sample(field);
    let mut before = base(provider);
    for (key, beside) in company(field).as_object().expect("an object") {
        before[key] = beside.clone();
    }
    let mut after = before.clone();
    place(&mut after, field, value);
    (before, after)
}

#[test]
fn every_applied_field_changes_its_places_in_the_runtime() {
    for row in table().filter(|row| row.fate == Fate::Applied) {
        let (before, after) = before_and_after(row.input);
        let ((before, _), (after, _)) = (rendered(&before), rendered(&after));
        for pointer in row.runtime {
            assert_ne!(before.pointer(pointer), after.pointer(pointer), "{} does not reach {pointer}", row.input);
            assert!(
                after.pointer(pointer).is_some() || row.input == "shootNetworkingFilterDisabled",
                "{}: {pointer} is empty",
                row.input
            );
        }
        assert!(!row.runtime.is_empty() && !row.shoot.is_empty(), "{}", row.input);
    }
}

#[test]
fn a_field_that_chooses_another_changes_the_places_of_that_one() {
    for row in table() {
        let Fate::Chooses(target) = row.fate else { continue };
        let target = table().find(|row| row.input == target).unwrap_or_else(|| panic!("{target} has no row"));
        let (mut before, mut after) = before_and_after(row.input);
        if row.input.starts_with("awsConfig.") {
            // The three old fields of a zone belong together.
            for field in ["awsConfig.zone", "awsConfig.publicCidr", "awsConfig.internalCidr"] {
                place(&mut after, field, sample(field).1);
            }
            before["workerCidr"] = json!("10.250.0.0/24");
            after["workerCidr"] = json!("10.250.0.0/24");
            before["providerSpecificConfig"]["awsConfig"]["vpcCidr"] = json!("10.250.0.0/16");
            after["providerSpecificConfig"]["awsConfig"]["vpcCidr"] = json!("10.250.0.0/16");
        }
        let ((before, _), (after, _)) = (rendered(&before), rendered(&after));
        for pointer in target.runtime {
            assert_ne!(before.pointer(pointer), after.pointer(pointer), "{} does not reach {pointer}", row.input);
        }
    }
}

#[test]
fn a_field_without_effect_is_said_to_have_none() {
    for row in table().filter(|row| row.fate == Fate::Warned) {
        let (before, after) = before_and_after(row.input);
        let ((before, _), (after, warnings)) = (rendered(&before), rendered(&after));
        assert_eq!(before, after, "{} has an effect", row.input);
        assert!(warnings.iter().any(|text| text.contains(row.input)), "{} is not spoken of: {warnings:?}", row.input);
    }
}

/// The fields of an input type, from the schema's text.
fn fields_of(sdl: &str, input: &str) -> Vec<String> {
    let begin = sdl.find(&format!("input {input} {{")).unwrap_or_else(|| panic!("the schema has no {input}"));
    let block = sdl[begin..].split("\n}").next().expect("a block");
    // A description stands before its field, on the same line.
    let field = |line: &str| {
        let (text, _) = line.split_once(" @deprecated").unwrap_or((line, ""));
        let (names, _) = text.rsplit_once(": ")?;
        let name = names.rsplit([' ', '"']).next()?;
        name.bytes().all(|byte| byte.is_ascii_alphanumeric()).then(|| name.to_owned())
    };
    block.lines().skip(1).filter_map(field).collect()
}

#[test]
fn every_field_of_the_schema_has_a_row() {
    let sdl = schema(&Settings::default()).as_sdl();
    let mut wanted = fields_of(&sdl, "GardenerConfigInput");
    assert!(wanted.len() > 35, "{wanted:?}");
    for (block, input) in [
        ("gcpConfig", "GCPProviderConfigInput"),
        ("azureConfig", "AzureProviderConfigInput"),
        ("awsConfig", "AWSProviderConfigInput"),
        ("openStackConfig", "OpenStackProviderConfigInput"),
        ("alicloudConfig", "AlicloudProviderConfigInput"),
    ] {
        wanted.extend(fields_of(&sdl, input).into_iter().map(|field| format!("{block}.{field}")));
    }
    for field in &wanted {
        assert_eq!(table().filter(|row| row.input == field).count(), 1, "{field} needs exactly one row");
    }
    assert_eq!(table().count(), wanted.len());
}

#[test]
fn what_a_stock_manager_wants_is_there_when_nobody_said_anything() {
    let (runtime, _) = rendered(&base("gcp"));
    for label in slipway_kube::labels::REQUIRED {
        let value = runtime["metadata"]["labels"][label].as_str().unwrap_or_default();
        assert!(!value.is_empty(), "{label}");
    }
    assert_eq!(runtime["metadata"]["labels"]["kyma-project.io/instance-id"], "unmanaged");
    assert_eq!(runtime["spec"]["security"]["administrators"], json!([]));
    assert_eq!(runtime["spec"]["shoot"]["platformRegion"], "");
}

#[test]
fn an_azure_cluster_has_its_networks_as_its_zones_say() {
    let azure = |block: Value| {
        let mut gardener = base("azure");
        gardener["providerSpecificConfig"] = json!({"azureConfig": block});
        rendered(&gardener).0["spec"]["shoot"]["provider"]["infrastructureConfig"].clone()
    };
    let outside = azure(json!({"vnetCidr": "10.250.0.0/16", "enableNatGateway": true}));
    assert_eq!(
        (&outside["zoned"], &outside["networks"]),
        (&json!(false), &json!({"vnet": {"cidr": "10.250.0.0/16"}, "workers": "10.250.0.0/16"}))
    );
    let shared = azure(json!({"vnetCidr": "10.250.0.0/16", "zones": ["1"], "enableNatGateway": true}));
    assert_eq!(shared["networks"]["natGateway"], json!({"enabled": true, "idleConnectionTimeoutMinutes": 4}));
    let each = azure(
        json!({"vnetCidr": "10.250.0.0/16", "azureZones": [{"name": 1, "cidr": "10.250.0.0/24"}], "enableNatGateway": true, "idleConnectionTimeoutMinutes": 9}),
    );
    let gateway = json!({"enabled": true, "idleConnectionTimeoutMinutes": 9});
    assert_eq!(
        each["networks"],
        json!({"vnet": {"cidr": "10.250.0.0/16"}, "zones": [{"name": 1, "cidr": "10.250.0.0/24", "natGateway": gateway}]})
    );
    assert_eq!(each["apiVersion"], "azure.provider.extensions.gardener.cloud/v1alpha1");
}
