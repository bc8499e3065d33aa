//! Traffic to and from known bad addresses is dropped, if the customer wants it.

use serde_json::{Value, json};

use super::super::Context;

pub(super) const TYPE: &str = "shoot-networking-filter";

pub(super) fn wanted(context: &Context<'_>) -> Option<Value> {
    if !context.input.config.switches.network_restriction {
        return None;
    }
    let filter = &context.input.runtime.spec.security.networking.filter;
    let mut entry = json!({ "type": TYPE, "disabled": !filter.egress.enabled });
    if filter.egress.enabled && filter.ingress.is_some_and(|ingress| ingress.enabled) {
        entry["providerConfig"] = json!({ "egressFilter": { "blackholingEnabled": true } });
    }
    Some(entry)
}
