//! Addresses that may always reach API servers: those of operators and of the control plane itself, from a
//! ConfigMap of the control plane. Read only where access is restricted at all; without them a customer's
//! restriction would lock us out, so an unreadable one leaves the old ones in force.

use std::time::Duration;

use serde_json::Value;
use slipway_kube::access::{Ask, resource::CONFIG_MAPS};
use slipway_model::time::secs;

use crate::{blueprints::Files, config::AclAddresses, manager::roll_out, shared::Shared};

/// How long until they are asked for again where nothing can be done without them.
const PAUSE: Duration = secs(5);

/// Ends when they were read once. Until then nothing is rendered: a Shoot without them would lock everybody out.
pub(crate) async fn until_read(shared: &Shared) {
    while shared.settings.acl && !take(shared, &shared.blueprints.files()).await {
        shared.clock.sleep(PAUSE).await;
    }
}

/// Reads them, and lets those follow whom it concerns.
pub(crate) async fn read(shared: &Shared) {
    let before = shared.blueprints.acl();
    if shared.settings.acl && take(shared, &shared.blueprints.files()).await && before != shared.blueprints.acl() {
        roll_out(shared);
    }
}

/// Reads those that these files name, and takes them. Whoever cannot read them keeps what was read last, and says so.
pub(crate) async fn take(shared: &Shared, files: &Files) -> bool {
    if !shared.settings.acl {
        return true;
    }
    let name = &files.config.converter.kubernetes.kube_api_server.acl.config_map_name;
    let found: Result<Value, _> = shared.kcp.send(Ask::get(&CONFIG_MAPS, &shared.settings.namespace, name)).await;
    let problem = match found.as_ref().map(parse) {
        Ok(Some(addresses)) => {
            shared.blueprints.swap_acl(addresses);
            return true;
        }
        Ok(None) => "they are not what they should be: a JSON list and a JSON text".to_owned(),
        Err(error) => error.to_string(),
    };
    shared.metrics.count_unread("acl");
    tracing::warn!(name, problem, "the addresses of operators cannot be read; those that were read last stay in force");
    false
}

fn parse(map: &Value) -> Option<AclAddresses> {
    let text = |key: &str| map["data"][key].as_str();
    let operators = text("acl-list.json").map_or(Some(Vec::new()), |text| serde_json::from_str(text).ok())?;
    let control_plane = text("kcp-external-nat-ip.json").map_or(Some(None), |text| serde_json::from_str(text).ok())?;
    Some(AclAddresses { operators, control_plane })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_keys_are_json_and_either_may_be_absent() {
        let map = json!({"data": {"acl-list.json": "[\"10.0.0.0/8\"]", "kcp-external-nat-ip.json": "\"1.2.3.4/32\""}});
        let read = parse(&map).expect("right");
        assert_eq!(
            (read.operators, read.control_plane),
            (vec!["10.0.0.0/8".to_owned()], Some("1.2.3.4/32".to_owned()))
        );
        assert_eq!(parse(&json!({"data": {}})), Some(AclAddresses::default()));
        assert_eq!(parse(&json!({"data": {"acl-list.json": "10.0.0.0/8"}})), None);
    }
}
