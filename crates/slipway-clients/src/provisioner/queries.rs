//! The documents that are sent. Every value is a variable, every root field is called `result`.

macro_rules! operation {
    ($head:literal) => {
        concat!(
            $head,
            " { id operation state message runtimeID compassRuntimeID ",
            "lastError { errMessage reason component } errors { message } } }"
        )
    };
}

pub(super) const PROVISION: &str =
    operation!("mutation($config: ProvisionRuntimeInput!) { result: provisionRuntime(config: $config)");

pub(super) const UPGRADE: &str = operation!(
    "mutation($id: String!, $config: UpgradeRuntimeInput!) { result: upgradeRuntime(id: $id, config: $config)"
);

pub(super) const UPGRADE_SHOOT: &str =
    operation!("mutation($id: String!, $config: UpgradeShootInput!) { result: upgradeShoot(id: $id, config: $config)");

pub(super) const HIBERNATE: &str = operation!("mutation($id: String!) { result: hibernateRuntime(id: $id)");

pub(super) const WAKE_UP: &str = operation!("mutation($id: String!) { result: wakeUpRuntime(id: $id)");

pub(super) const OPERATION: &str = operation!("query($id: String!) { result: runtimeOperationStatus(id: $id)");

pub(super) const DEPROVISION: &str = "mutation($id: String!) { result: deprovisionRuntime(id: $id) }";

pub(super) const RECONNECT: &str = "mutation($id: String!) { result: reconnectRuntimeAgent(id: $id) }";

pub(super) const RUNTIME: &str = concat!(
    "query($id: String!) { result: runtimeStatus(id: $id) { ",
    "lastOperationStatus { id operation state message runtimeID compassRuntimeID ",
    "lastError { errMessage reason component } errors { message } } ",
    "runtimeConnectionStatus { status errors { message } } ",
    "runtimeConfiguration { kubeconfig clusterConfig { name kubernetesVersion region seed provider targetSecret ",
    "machineType autoScalerMin autoScalerMax } kymaConfig { version } } ",
    "hibernationStatus { hibernated hibernationPossible } problems { message } } }"
);
