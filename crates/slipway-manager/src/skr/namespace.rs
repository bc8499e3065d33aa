//! The namespace everything of ours goes into.

use serde_json::json;
use slipway_kube::access::{Access, Ask, Error, resource::NAMESPACES};

/// Its name.
pub(crate) const KYMA_SYSTEM: &str = "kyma-system";

/// A small question about it.
pub(crate) fn look() -> Ask {
    Ask::get(&NAMESPACES, "", KYMA_SYSTEM)
}

/// Makes it where it is missing. Others label it, so an existing one is left as it is.
pub(crate) async fn ensure(skr: &Access) -> Result<(), Error> {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": KYMA_SYSTEM}});
    match skr.tell(Ask::create(&NAMESPACES, "", namespace)).await {
        Err(error) if error.is_already_there() => Ok(()),
        other => other,
    }
}
