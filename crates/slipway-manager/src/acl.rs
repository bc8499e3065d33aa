//! Addresses that may always reach API servers: those of operators and of the control plane itself, from a
//! ConfigMap of the control plane. Read only where access is restricted at all; without them a customer's
//! restriction would lock us out, so an unreadable one leaves the old ones in force.

use serde_json::Value;
use slipway_kube::access::{Ask, resource::CONFIG_MAPS};

use crate::{config::AclAddresses, manager::reload, shared::Shared};

/// Reads them, and takes them if they changed.
pub(crate) async fn read(shared: &Shared) {
    if !shared.settings.acl {
        return;
    }
    let files = shared.blueprints.files();
    let name = &files.config.converter.kubernetes.kube_api_server.acl.config_map_name;
    let found: Result<Value, _> = shared.kcp.send(Ask::get(&CONFIG_MAPS, &shared.settings.namespace, name)).await;
    let addresses = match found {
        Ok(map) => parse(&map),
        Err(error) => {
            tracing::warn!(name, %error, "the addresses of operators cannot be read");
            return;
        }
    };
    match addresses {
        Some(addresses) if addresses != files.acl => {
            let mut files = (*files).clone();
            files.acl = addresses;
            reload(shared, files);
        }
        Some(_) => {}
        None => {
            tracing::warn!(name, "the addresses of operators are not what they should be: a JSON list and a JSON text")
        }
    }
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
