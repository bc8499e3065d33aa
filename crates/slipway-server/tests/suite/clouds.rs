//! What a client asks of its cloud arrives in the Shoot: the provisioner's reading, its Runtime and the
//! manager's rendering in a row, for a new cluster and for a change of one that lives.

use serde_json::{Value, json};
use slipway_kube::violations::Violations;
use slipway_manager::{AclAddresses, ConverterConfig, RenderError, RenderInput, render};
use slipway_model::{
    ports::Random,
    runtime_record::{RuntimeId, Tenant},
};
use slipway_provisioner::{
    Settings,
    graphql::clouds::{
        AwsProviderConfigInput, AzureProviderConfigInput, AzureZoneInput, ClusterConfigInput, GcpProviderConfigInput,
        ProviderSpecificInput,
    },
    input::{
        self, ClusterSecrets, ClusterSpec, Living,
        wire::{GardenerConfigInput, GardenerUpgradeInput, ProvisionRuntimeInput, RuntimeInput, UpgradeShootInput},
    },
    mapping::{Owner, runtime},
};

struct Seven;

impl Random for Seven {
    fn next_u64(&self) -> u64 {
        7
    }
}

/// A cluster as its client wants it, and its Shoot.
struct Chain {
    wanted: ClusterSpec,
    shoot: Value,
}

impl Chain {
    /// Asks for a new cluster.
    fn begin(provider: &str, blocks: ProviderSpecificInput) -> Self {
        let gardener = GardenerConfigInput {
            name: Some("shop".to_owned()),
            provider: provider.to_owned(),
            region: "region-1".to_owned(),
            target_secret: Some("account".to_owned()),
            provider_specific_config: Some(blocks),
            ..GardenerConfigInput::default()
        };
        let asked = ProvisionRuntimeInput {
            runtime_input: RuntimeInput { name: "shop".to_owned(), ..RuntimeInput::default() },
            cluster_config: ClusterConfigInput { gardener_config: Some(gardener), ..ClusterConfigInput::default() },
            ..ProvisionRuntimeInput::default()
        };
        let wanted = input::provision(asked, &Settings::default(), &Seven).expect("accepted").cluster;
        let shoot = shoot_of(&wanted, None).expect("rendered");
        Self { wanted, shoot }
    }

    /// Asks for a change; the Shoot follows.
    fn upgrade(&mut self, blocks: ProviderSpecificInput) -> Result<(), Violations> {
        let asked = UpgradeShootInput {
            gardener_config: GardenerUpgradeInput {
                provider_specific_config: Some(blocks),
                ..GardenerUpgradeInput::default()
            },
            administrators: None,
        };
        // As it comes back from the store.
        let stored = serde_json::to_value(&self.wanted).expect("JSON");
        let living = Living {
            spec: serde_json::from_value(stored).expect("a stored document"),
            secrets: ClusterSecrets::default(),
            actual_version: None,
            actual_seed: None,
            filter_disabled: None,
        };
        self.wanted = input::upgrade_shoot(asked, &living, &Settings::default())?.spec;
        self.shoot = shoot_of(&self.wanted, Some(&self.shoot)).expect("rendered");
        Ok(())
    }

    fn networks(&self) -> &Value {
        &self.shoot["spec"]["provider"]["infrastructureConfig"]["networks"]
    }

    fn worker(&self) -> &Value {
        &self.shoot["spec"]["provider"]["workers"][0]
    }
}

fn shoot_of(wanted: &ClusterSpec, existing: Option<&Value>) -> Result<Value, RenderError> {
    let tenant = Tenant::EXAMPLE.parse().expect("an example");
    let owner = Owner {
        id: RuntimeId::EXAMPLE.parse().expect("an example"),
        tenant: &tenant,
        sub_account: None,
        namespace: "kcp-system",
        operation: RuntimeId::EXAMPLE.parse().expect("an example"),
        created_at: slipway_model::Timestamp::default(),
    };
    let file = include_str!("../../../../examples/config/dev/converter_config.json");
    let (config, _) = ConverterConfig::parse(file).expect("a configuration");
    render(&RenderInput {
        runtime: &runtime(&owner, wanted, &ClusterSecrets::default()),
        config: &config,
        audit: None,
        window: None,
        acl: &AclAddresses::default(),
        registry_secrets: &[],
        existing,
    })
    .map(slipway_manager::ShootDoc::into_value)
}

fn azure(block: AzureProviderConfigInput) -> ProviderSpecificInput {
    ProviderSpecificInput { azure_config: Some(block), ..ProviderSpecificInput::default() }
}

fn zone(name: i32, cidr: &str) -> AzureZoneInput {
    AzureZoneInput { name, cidr: cidr.to_owned() }
}

fn zones(all: &[AzureZoneInput]) -> AzureProviderConfigInput {
    AzureProviderConfigInput { azure_zones: Some(all.to_vec()), ..AzureProviderConfigInput::default() }
}

#[test]
fn on_azure_an_upgrade_opens_the_gateways_and_a_new_zone_has_the_range_that_was_asked_for() {
    let (one, two) = (zone(1, "10.250.0.0/22"), zone(2, "10.250.100.0/22"));
    let mut chain = Chain::begin("azure", azure(zones(std::slice::from_ref(&one))));
    assert_eq!(chain.networks()["zones"], json!([{ "name": 1, "cidr": "10.250.0.0/22" }]));
    // What somebody else set stays through all of it.
    chain.shoot["spec"]["provider"]["infrastructureConfig"]["identity"] = json!({ "name": "of-others" });

    chain
        .upgrade(azure(AzureProviderConfigInput {
            enable_nat_gateway: Some(true),
            idle_connection_timeout_minutes: Some(10),
            ..zones(&[one.clone(), two.clone()])
        }))
        .expect("accepted");
    let gateway = json!({ "enabled": true, "idleConnectionTimeoutMinutes": 10 });
    assert_eq!(
        chain.networks()["zones"],
        json!([
            { "name": 1, "cidr": "10.250.0.0/22", "natGateway": gateway },
            { "name": 2, "cidr": "10.250.100.0/22", "natGateway": gateway },
        ])
    );
    assert_eq!(chain.worker()["zones"], json!(["1", "2"]));

    let closed = AzureProviderConfigInput { enable_nat_gateway: Some(false), ..AzureProviderConfigInput::default() };
    chain.upgrade(azure(closed)).expect("accepted");
    assert_eq!(
        chain.networks()["zones"],
        json!([{ "name": 1, "cidr": "10.250.0.0/22" }, { "name": 2, "cidr": "10.250.100.0/22" }])
    );
    assert_eq!(chain.shoot["spec"]["provider"]["infrastructureConfig"]["identity"]["name"], "of-others");

    let moved = chain.upgrade(azure(zones(&[zone(1, "10.250.8.0/22"), two]))).expect_err("refused");
    let path = "config.gardenerConfig.providerSpecificConfig.azureConfig.azureZones";
    assert!(moved.list.iter().any(|violation| violation.path == path), "{moved:?}");
}

#[test]
fn on_azure_zones_that_share_a_subnet_share_the_gateway() {
    let shared = |zones: &[&str]| AzureProviderConfigInput {
        zones: Some(zones.iter().map(|&zone| zone.to_owned()).collect()),
        ..AzureProviderConfigInput::default()
    };
    let mut chain = Chain::begin("azure", azure(shared(&["1"])));
    assert_eq!(chain.networks().get("natGateway"), None);
    let open = AzureProviderConfigInput { enable_nat_gateway: Some(true), ..shared(&["1", "2"]) };
    chain.upgrade(azure(open)).expect("accepted");
    assert_eq!(chain.networks()["natGateway"], json!({ "enabled": true, "idleConnectionTimeoutMinutes": 4 }));
    assert_eq!((chain.networks().get("zones"), &chain.worker()["zones"]), (None, &json!(["1", "2"])));
}

#[test]
fn on_other_clouds_what_may_change_arrives_too() {
    let aws = |block: AwsProviderConfigInput| ProviderSpecificInput {
        aws_config: Some(block),
        ..ProviderSpecificInput::default()
    };
    let mut chain = Chain::begin("aws", aws(AwsProviderConfigInput::default()));
    let networks = chain.networks().clone();
    chain
        .upgrade(aws(AwsProviderConfigInput { enable_imds_v2: Some(true), ..AwsProviderConfigInput::default() }))
        .expect("accepted");
    assert_eq!(chain.worker()["providerConfig"]["instanceMetadataOptions"]["httpTokens"], "required");
    assert_eq!(chain.networks(), &networks);

    let gcp = |zones: &[&str]| ProviderSpecificInput {
        gcp_config: Some(GcpProviderConfigInput {
            zones: Some(zones.iter().map(|&zone| zone.to_owned()).collect()),
            zone: None,
        }),
        ..ProviderSpecificInput::default()
    };
    let mut chain = Chain::begin("gcp", gcp(&["a", "b"]));
    chain.upgrade(gcp(&["b", "c", "a"])).expect("accepted");
    assert_eq!(chain.worker()["zones"], json!(["a", "b", "c"]));
    assert_eq!(chain.shoot["spec"]["provider"]["controlPlaneConfig"]["zone"], "a");
}
