//! Watches the control plane and wakes the operations of what changed.
//!
//! An operation that waits is a row and a timer. The timer is the safety net; this is what makes the way
//! back short: a Runtime, a kubeconfig Secret or a Kyma that changes wakes its operation at once. A watch
//! that breaks is begun anew, and everything it lists then wakes too, because nobody knows what was missed.
//! Only names are looked at, so no spec and no secret comes over the wire.

use std::{fmt::Debug, sync::Arc, time::Duration};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, Resource,
    api::{ApiResource, DynamicObject, PartialObjectMeta},
    core::GroupVersionKind,
    runtime::{watcher, watcher::Event},
};
use serde::de::DeserializeOwned;
use slipway_engine::Engine;
use slipway_kube::{Runtime, wire::Kind};
use slipway_model::{WaitKey, ports::Clock, runtime_record::RuntimeId, time::secs};

use crate::domain::{Provisioner, wait_key};

/// How long to stay away from an API that broke a watch.
const PAUSE: Duration = secs(2);

/// How long to stay away from one that does not know the kind: somebody has to install it first.
const UNKNOWN_PAUSE: Duration = secs(60);

/// Keys woken with one write.
const GROUP: usize = 500;

/// What begins the name of a kubeconfig Secret.
const KUBECONFIG: &str = "kubeconfig-";

/// Who is woken, and by which clock pauses are made.
#[derive(Clone)]
pub struct Watch {
    /// The engine.
    pub engine: Arc<Engine<Provisioner>>,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

impl Watch {
    /// Watches until it is dropped. Without a Lifecycle Manager there are no Kymas to be looked for.
    pub async fn run(&self, client: Client, namespace: &str, with_kyma: bool) {
        let runtimes: Api<PartialObjectMeta<Runtime>> = Api::namespaced(client.clone(), namespace);
        let secrets: Api<PartialObjectMeta<Secret>> = Api::namespaced(client.clone(), namespace);
        let kind = GroupVersionKind::gvk(Kind::KYMA.group, Kind::KYMA.version, "Kyma");
        let kind = ApiResource::from_gvk_with_plural(&kind, Kind::KYMA.plural);
        let kymas: Api<PartialObjectMeta<DynamicObject>> = Api::namespaced_with(client, namespace, &kind);
        let follow_kymas = async {
            if with_kyma {
                self.follow(kymas, "Kyma").await;
            }
        };
        tokio::join!(self.follow(runtimes, "Runtime"), self.follow(secrets, "kubeconfig Secret"), follow_kymas,);
    }

    async fn follow<K>(&self, api: Api<PartialObjectMeta<K>>, kind: &str)
    where
        PartialObjectMeta<K>: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        let cause = format!("the {kind} changed");
        let mut events = std::pin::pin!(watcher(api, watcher::Config::default()));
        let mut listed = Vec::new();
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => listed.clear(),
                Ok(Event::InitApply(object)) => listed.extend(key(&object)),
                Ok(Event::InitDone) => self.wake(&std::mem::take(&mut listed), &cause).await,
                Ok(Event::Apply(object) | Event::Delete(object)) => {
                    let keys: Vec<WaitKey> = key(&object).into_iter().collect();
                    self.wake(&keys, &cause).await;
                }
                Err(error) => {
                    let pause = match is_unknown(&error) {
                        true => {
                            tracing::warn!(
                                kind,
                                "the control plane has no such kind; operations wait for it by their timers alone"
                            );
                            UNKNOWN_PAUSE
                        }
                        false => {
                            tracing::warn!(kind, %error, "a watch of the control plane broke; it begins anew");
                            PAUSE
                        }
                    };
                    self.clock.sleep(pause).await;
                }
            }
        }
    }

    async fn wake(&self, keys: &[WaitKey], cause: &str) {
        for keys in keys.chunks(GROUP) {
            if let Err(error) = self.engine.wake(keys, cause).await {
                tracing::warn!(%error, "operations could not be woken; their timers will");
            }
        }
    }
}

/// Whether the API says that it has no such kind.
fn is_unknown(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::InitialListFailed(kube::Error::Api(status)) if status.code == 404)
}

/// What an object is about; none if it is about no runtime.
fn key<K>(object: &PartialObjectMeta<K>) -> Option<WaitKey> {
    runtime_of(object.metadata.name.as_deref()?).map(wait_key)
}

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
