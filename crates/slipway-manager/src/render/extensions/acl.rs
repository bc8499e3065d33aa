//! The API server answers only the customer's networks, the operators and us.

use serde_json::{Value, json};

use super::super::Context;

pub(super) const TYPE: &str = "acl";

pub(super) fn wanted(context: &Context<'_>) -> Option<Value> {
    let acl = context.shoot.kubernetes.kube_api_server.as_ref()?.acl.as_ref()?;
    if !context.input.config.switches.api_server_acl || !context.cloud.has_acl || acl.allowed_cidrs.is_empty() {
        return None;
    }
    let always = &context.input.acl;
    let cidrs: Vec<&String> = acl.allowed_cidrs.iter().chain(&always.operators).chain(&always.control_plane).collect();
    Some(json!({
        "type": TYPE, "disabled": false,
        "providerConfig": { "rule": { "action": "ALLOW", "cidrs": cidrs, "type": "remote_ip" } },
    }))
}
