//! Features and APIs that the landscape switches.

use serde_json::{Map, Value};

use super::{Context, RenderError, draft::Draft};

pub(super) fn write(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let kubernetes = &context.converter.kubernetes;
    for (path, switches) in [
        ("spec.kubernetes.kubeAPIServer.featureGates", &kubernetes.kube_api_server.feature_gates),
        ("spec.kubernetes.kubeAPIServer.runtimeConfig", &kubernetes.kube_api_server.runtime_config),
        ("spec.kubernetes.kubelet.featureGates", &kubernetes.kubelet.feature_gates),
    ] {
        if !switches.is_empty() {
            let switches: Map<_, _> = switches.iter().map(|(name, on)| (name.clone(), Value::Bool(*on))).collect();
            draft.set(path, switches);
        }
    }
    Ok(())
}
