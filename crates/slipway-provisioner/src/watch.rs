//! Watches the control plane and wakes the operations of what changed.
//!
//! An operation that waits is a row and a timer. The timer is the safety net; this is what makes the way
//! back short: a Runtime, a kubeconfig Secret or a Kyma that changes wakes its operation at once. A watch
//! that is too old lists anew, and what differs then wakes too. Only names are looked at, so no spec and no
//! secret comes over the wire.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use slipway_engine::Engine;
use slipway_kube::access::{
    Access, Resource,
    cache::{Cache, Projection, Source},
    resource::{KYMAS, RUNTIMES, SECRETS},
};
use slipway_model::{WaitKey, ports::Random, runtime_record::RuntimeId};
use tokio::sync::mpsc;

use crate::domain::{Provisioner, wait_key};

/// Keys woken with one write.
const GROUP: usize = 500;

/// What begins the name of a kubeconfig Secret.
const KUBECONFIG: &str = "kubeconfig-";

/// What is kept of an object, beside its name and version.
#[derive(Serialize, Deserialize)]
struct Nothing {}

impl Projection for Nothing {
    const HEADS_ONLY: bool = true;
}

/// Who is woken, and by whom.
#[derive(Clone)]
pub struct Watch {
    /// The engine.
    pub engine: Arc<Engine<Provisioner>>,
    /// The control plane.
    pub control_plane: Access,
    /// The namespace of Runtimes and kubeconfigs there.
    pub namespace: String,
    /// Chance.
    pub random: Arc<dyn Random>,
}

impl Watch {
    /// Watches until it is dropped. Without a Lifecycle Manager there are no Kymas to be looked for.
    pub async fn run(&self, with_kyma: bool) {
        let follow_kymas = async {
            if with_kyma {
                self.follow(&KYMAS, "the Kyma changed").await;
            }
        };
        tokio::join!(
            self.follow(&RUNTIMES, "the Runtime changed"),
            self.follow(&SECRETS, "the kubeconfig Secret changed"),
            follow_kymas,
        );
    }

    async fn follow(&self, resource: &'static Resource, cause: &str) {
        let (news, mut told) = mpsc::unbounded_channel();
        let source = Source {
            access: self.control_plane.clone(),
            resource,
            namespace: self.namespace.clone(),
            selector: String::new(),
            random: self.random.clone(),
        };
        let on_change = move |name: &str| {
            if let Some(id) = runtime_of(name) {
                // The receiver lives as long as the cache is followed.
                let _ = news.send(wait_key(id));
            }
        };
        let following = Cache::<Nothing>::default().run(source, Box::new(move |change| on_change(&change.name)));
        let waking = async {
            let mut keys = Vec::new();
            while told.recv_many(&mut keys, GROUP).await > 0 {
                self.wake(&std::mem::take(&mut keys), cause).await;
            }
        };
        tokio::join!(following, waking);
    }

    async fn wake(&self, keys: &[WaitKey], cause: &str) {
        if let Err(error) = self.engine.wake(keys, cause).await {
            tracing::warn!(%error, "operations could not be woken; their timers will");
        }
    }
}

/// What an object is about, by its name; none if it is about no runtime.
fn runtime_of(name: &str) -> Option<RuntimeId> {
    name.strip_prefix(KUBECONFIG).unwrap_or(name).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_are_known_by_their_own_names_and_those_of_their_kubeconfigs() {
        let id: RuntimeId = RuntimeId::EXAMPLE.parse().expect("example");
        assert_eq!(runtime_of(RuntimeId::EXAMPLE), Some(id));
        assert_eq!(runtime_of(&slipway_kube::gardener_cluster::secret_name(RuntimeId::EXAMPLE)), Some(id));
        for other in ["", "kubeconfig-", "sh.helm.release.v1.x", "kube-root-ca"] {
            assert_eq!(runtime_of(other), None, "{other}");
        }
    }
}
