//! How long tokens of service accounts live. On creation only: a shorter life would break workloads.

use std::time::Duration;

use serde_json::json;

use super::{Context, RenderError, draft::Draft};
use crate::go_duration;

/// What Gardener takes: 30 to 90 days.
const SHORTEST: Duration = Duration::from_secs(720 * 3600);
const LONGEST: Duration = Duration::from_secs(2160 * 3600);

pub(super) fn write(context: &Context<'_>, draft: &mut Draft) -> Result<(), RenderError> {
    let configured = &context.converter.kubernetes.kube_api_server.max_token_expiration;
    let life = go_duration::parse(configured).unwrap_or(SHORTEST).clamp(SHORTEST, LONGEST);
    draft.set(
        "spec.kubernetes.kubeAPIServer.serviceAccountConfig",
        json!({ "extendTokenExpiration": false, "maxTokenExpiration": go_duration::format(life) }),
    );
    Ok(())
}
