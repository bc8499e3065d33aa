//! Documents as published clients send them, and what the transport promises them.

use serde_json::{Value, json};

use super::bench::{Bench, TENANT, cluster, minimal};

/// As the known broker writes it: everything inline, tabs, trailing commas, enum literals, an object for
/// the labels, and no variables.
pub(super) const BROKER_PROVISION: &str = "mutation {
\tresult: provisionRuntime(config: {
\t\truntimeInput: {
\t\t\tname: \"shop-x7\",
\t\t\tdescription: \"\",
\t\t\tlabels: { broker_instance_id: \"inst-1\", global_subaccount_id: \"sub-1\", broker_plan_name: \"azure\", nested: {a: [1, 2.5, true, null, Word]}, },
\t\t},
\t\tclusterConfig: {
\t\t\tgardenerConfig: {
\t\t\t\tname: \"c-123abcd\",
\t\t\t\tkubernetesVersion: \"1.33.1\",
\t\t\t\tdiskType: \"Standard_LRS\",
\t\t\t\tvolumeSizeGB: 50,
\t\t\t\tmachineType: \"Standard_D8_v3\",
\t\t\t\tregion: \"westeurope\",
\t\t\t\tprovider: \"azure\",
\t\t\t\tpurpose: \"testing\",
\t\t\t\ttargetSecret: \"sap-azure\",
\t\t\t\tworkerCidr: \"10.250.0.0/19\",
\t\t\t\tautoScalerMin: 2,
\t\t\t\tautoScalerMax: 10,
\t\t\t\tmaxSurge: 4,
\t\t\t\tmaxUnavailable: 1,
\t\t\t\tshootNetworkingFilterDisabled: true,
\t\t\t\toidcConfig: { clientID: \"\", groupsClaim: \"\", issuerURL: \"\", signingAlgs: [], usernameClaim: \"\", usernamePrefix: \"\", },
\t\t\t\tproviderSpecificConfig: {
\t\t\t\t\tazureConfig: {
\t\t\t\t\t\tvnetCidr: \"10.250.0.0/16\",
\t\t\t\t\t\tzones: [\"1\",\"2\"],
\t\t\t\t\t}
\t\t\t\t},
\t\t\t},
\t\t\tadministrators: [\"ann@example.com\"],
\t\t},
\t\tkymaConfig: {
\t\t\tversion: \"2.20.5\",
\t\t\tprofile: Production,
\t\t\tconflictStrategy: Replace,
\t\t\tcomponents: [
\t\t\t\t{ component: \"compass-runtime-agent\", namespace: \"compass-system\",
\t\t\t\t\tconfiguration: [ { key: \"a.b\", value: \"{\\\"x\\\": 1}\", secret: true, }, ] }
\t\t\t],
\t\t\tconfiguration: [ { key: \"global.domain\", value: \"x.y\", }, ]
\t\t},
\t}) {
\t\toperation
\t\tid
\t\tstate
\t\tmessage
\t\truntimeID
\t}
}";

/// As the known broker asks for the state; `zones` of two clouds under one name.
pub(super) const BROKER_STATUS: &str = "query {
\tresult: runtimeStatus(id: \"ID\") {
\t\tlastOperationStatus { operation state message runtimeID lastError { errMessage reason component } }
\t\truntimeConnectionStatus { status errors { message } }
\t\truntimeConfiguration {
\t\t\tclusterConfig {
\t\t\t\tname kubernetesVersion provider seed region volumeSizeGB diskType machineType workerCidr
\t\t\t\tautoScalerMin autoScalerMax maxSurge maxUnavailable targetSecret purpose licenceType
\t\t\t\tenableKubernetesVersionAutoUpdate enableMachineImageVersionAutoUpdate allowPrivilegedContainers
\t\t\t\toidcConfig { clientID groupsClaim issuerURL signingAlgs usernameClaim usernamePrefix }
\t\t\t\tdnsConfig { domain providers { domainsInclude primary secretName type } }
\t\t\t\tproviderSpecificConfig {
\t\t\t\t\t... on GCPProviderConfig { zones }
\t\t\t\t\t... on AzureProviderConfig { vnetCidr zones azureZones { name cidr } enableNatGateway idleConnectionTimeoutMinutes }
\t\t\t\t\t... on AWSProviderConfig { awsZones { name publicCidr workerCidr internalCidr } vpcCidr enableIMDSv2 }
\t\t\t\t\t... on OpenStackProviderConfig { zones floatingPoolName cloudProfileName loadBalancerProvider }
\t\t\t\t}
\t\t\t}
\t\t\tkymaConfig { version profile components { component namespace configuration { key value secret } sourceURL } configuration { key value secret } }
\t\t\tkubeconfig
\t\t}
\t\thibernationStatus { hibernated hibernationPossible }
\t}
}";

#[tokio::test]
async fn the_brokers_inline_document_is_accepted_and_read_back() {
    let bench = Bench::start().await;
    let reply = bench.ask(BROKER_PROVISION).variables(Value::Null).send().await;
    let result = reply.data("result");
    assert_eq!((&result["operation"], &result["state"]), (&json!("Provision"), &json!("InProgress")));
    let id = result["runtimeID"].as_str().expect("an id");
    let stored = bench.stored(id).await;
    let labels = &stored["info"]["labels"];
    assert_eq!(labels["broker_instance_id"], "inst-1");
    assert_eq!(labels["nested"], json!({"a": [1, 2.5, true, null, "Word"]}));
    assert!(stored["oidc"].is_null(), "empty texts are unset");

    let status = bench
        .ask(&BROKER_STATUS.replace("ID\"", &format!("{id}\"")))
        .variables(Value::Null)
        .send()
        .await
        .data("result");
    let config = &status["runtimeConfiguration"]["clusterConfig"];
    assert_eq!((&config["provider"], &config["name"]), (&json!("azure"), &json!("c-123abcd")));
    assert!(config["oidcConfig"].is_null() && config["dnsConfig"].is_null());
    assert_eq!(config["providerSpecificConfig"]["zones"], json!(["1", "2"]));
    assert_eq!(status["runtimeConnectionStatus"]["status"], "Pending");
    assert_eq!(status["lastOperationStatus"]["lastError"], json!({"errMessage": "", "reason": "", "component": ""}));
    assert_eq!(status["runtimeConfiguration"]["kymaConfig"]["profile"], "Production");
}

#[tokio::test]
async fn labels_may_come_as_a_variable_of_their_own_or_inside_another() {
    let bench = Bench::start().await;
    let query = "mutation($labels: Labels!, $cluster: ClusterConfigInput!) {
        result: provisionRuntime(config: { runtimeInput: { name: \"a\", labels: $labels }, clusterConfig: $cluster }) { runtimeID }
    }";
    let labels = json!({"a": {"b": [1]}, "broker_plan_name": "p"});
    let variables = json!({"labels": labels, "cluster": minimal("gcp")["clusterConfig"]});
    let reply = bench.ask(query).variables(variables).send().await;
    let id = reply.data("result")["runtimeID"].as_str().expect("an id").to_owned();
    assert_eq!(bench.stored(&id).await["info"]["labels"], labels);

    let mut config = minimal("gcp");
    config["runtimeInput"]["labels"] = labels.clone();
    let (id, _) = bench.provisioned(&config).await;
    assert_eq!(bench.stored(&id).await["info"]["labels"], labels);

    let inside = "mutation($x: String) { provisionRuntime(config: {runtimeInput: {name: \"a\", labels: {b: $x}}, clusterConfig: {}}) { id } }";
    let reply = bench.ask(inside).variables(json!({"x": "y"})).send().await;
    assert_eq!(reply.status, 400);
    reply.violates("config.runtimeInput.labels", "schema");
}

#[tokio::test]
async fn several_documents_and_aliases_in_one_request() {
    let bench = Bench::start().await;
    let id = bench.living(&cluster("gcp", "shop", &[])).await;
    let query = "query A($id: String!) { one: runtimeStatus(id: $id) { ...S } two: runtimeStatus(id: $id) { ...S } }
        query B { __typename }
        fragment S on RuntimeStatus { lastOperationStatus { state } }";
    let reply = bench.ask(query).variables(json!({ "id": id })).named("A").send().await;
    assert_eq!(reply.body["data"]["one"], reply.body["data"]["two"]);
    assert_eq!(bench.ask(query).named("B").send().await.data("__typename"), "Query");
    let nameless = bench.ask(query).send().await;
    assert_eq!((nameless.status, nameless.error().0), (400, 400));
}

#[tokio::test]
async fn queries_are_taken_by_get_and_mutations_are_not() {
    let bench = Bench::start().await;
    let token = bench.token("ann", &slipway_provisioner::auth::Scope::ALL);
    let get = async |query: &str| {
        let request = bench.get("/graphql").query(&[("query", query), ("variables", "{}")]);
        let answer = request.bearer_auth(&token).header("tenant", TENANT).send().await.expect("an answer");
        (answer.status().as_u16(), answer.json::<Value>().await.expect("JSON"))
    };
    assert_eq!(get("{ __typename }").await, (200, json!({"data": {"__typename": "Query"}})));
    let (status, body) = get("mutation { deprovisionRuntime(id: \"x\") }").await;
    assert_eq!((status, &body["errors"][0]["extensions"]["error_code"]), (405, &json!(400)));
    let (status, body) = get("subscription { runtimeOperationUpdated(id: \"x\") { id } }").await;
    assert_eq!((status, &body["errors"][0]["extensions"]["error_code"]), (400, &json!(400)));
}

#[tokio::test]
async fn a_part_that_works_is_answered_beside_one_that_does_not() {
    let bench = Bench::start().await;
    let id = bench.living(&cluster("gcp", "shop", &[])).await;
    let query = format!(
        "{{ good: runtimeStatus(id: \"{id}\") {{ lastOperationStatus {{ state }} }} bad: runtimeStatus(id: \"x\") {{ problems {{ message }} }} }}"
    );
    let reply = bench.ask(&query).send().await;
    assert_eq!(reply.status, 200, "an executed document");
    assert_eq!(reply.body["data"]["good"]["lastOperationStatus"]["state"], "Succeeded");
    assert!(reply.body["data"]["bad"].is_null());
    assert_eq!(reply.body["errors"][0]["path"], json!(["bad"]));
}

#[test]
fn the_checked_in_schema_is_the_schema() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("schema.graphql");
    let schema = slipway_provisioner::graphql::schema(&slipway_provisioner::Settings::default());
    let text = format!(
        "# Generated from the types of slipway-provisioner: UPDATE=1 cargo test -p slipway-provisioner\n{}",
        schema.as_sdl()
    );
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).expect("written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == text, "schema.graphql is not what the types say: UPDATE=1 cargo test -p slipway-provisioner");
}

#[tokio::test]
async fn introspection_is_on_and_can_be_switched_off() {
    let query = "{ __schema { queryType { name } } }";
    assert_eq!(Bench::start().await.ask(query).send().await.data("__schema")["queryType"]["name"], "Query");
    let off = Bench::set(|settings| settings.introspection = false).await.ask(query).send().await;
    assert_eq!((off.status, off.error().0), (400, 400));
}
