//! The lane that says "seen": a new generation is acknowledged at once, behind no queue and no budget.
//!
//! A broker reads the state a few seconds after its write and believes what it reads. So `Ready` must not
//! stand there any more, however many passes are waiting and however slow the garden is. Two fields by
//! server-side apply under a name of its own, because the same name with fewer fields would remove the others.

use std::sync::Arc;

use serde_json::json;
use slipway_kube::{
    Runtime, RuntimeState,
    access::{self, Ask, Exactly, resource::RUNTIMES},
};

use crate::shared::Shared;

/// The field manager of acknowledgements.
const MANAGER: &str = "infrastructure-manager-acknowledge";

/// Whether there is something to acknowledge.
pub(crate) fn is_due(runtime: &Runtime) -> bool {
    let observed = runtime.status.as_ref().and_then(|status| status.observed_generation).unwrap_or(0);
    runtime.metadata.generation.unwrap_or(0) > observed
}

/// Acknowledges in the background. The pass that follows looks whether it was done.
pub(crate) fn start(shared: &Arc<Shared>, runtime: Arc<Runtime>) {
    let acknowledging = shared.clone();
    shared.tasks.work(async move {
        let shared = acknowledging;
        let name = runtime.metadata.name.clone().unwrap_or_default();
        let written = tokio::select! {
            biased;
            () = shared.shards.until_lost(&name) => return,
            written = acknowledge(&shared, &runtime) => written,
        };
        if let Err(error) = written {
            tracing::warn!(runtimeID = name, %error, "a new generation could not be acknowledged; its pass tries again");
        }
    });
}

/// Says that this generation is seen.
pub(crate) async fn acknowledge(shared: &Shared, runtime: &Runtime) -> Result<(), access::Error> {
    let name = runtime.metadata.name.clone().unwrap_or_default();
    let generation = runtime.metadata.generation.unwrap_or(0);
    let cell = shared.memories.of_runtime(&name);
    let _order = cell.writing.lock().await;
    {
        let mut memory = cell.lock();
        if memory.reported.acknowledged() >= generation {
            return Ok(());
        }
        memory.alignment.begin(shared.clock.monotonic());
    }
    let deleting = runtime.metadata.deletion_timestamp.is_some();
    let state = if deleting { RuntimeState::Terminating } else { RuntimeState::Pending };
    let namespace = &shared.settings.namespace;
    let document = json!({"apiVersion": RUNTIMES.api_version(), "kind": RUNTIMES.kind,
        "metadata": {"name": name, "namespace": namespace},
        "status": {"state": state, "observedGeneration": generation}});
    let ask = Ask::apply(&RUNTIMES, namespace, &name, MANAGER, document).part("status");
    match shared.kcp.tell(ask.only_if(&Exactly::this(&runtime.metadata))).await {
        Err(error) if error.is_not_found() => return Ok(()),
        other => other?,
    }
    let mut memory = cell.lock();
    memory.reported.acknowledge(generation, state, runtime.status.as_ref());
    if let Some(took) = memory.alignment.lasts(shared.clock.monotonic()) {
        shared.metrics.note_phase("accept", took);
    }
    Ok(())
}
