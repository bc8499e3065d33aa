//! The finalizer: put on before anything is made outside, taken off when nothing is left.
//!
//! Both change one list of an object that others write too, so the write carries the version it was made
//! from; on a conflict the present list is read and the change made again. A repeat finds its work done.

use serde_json::json;
use slipway_kube::{
    Runtime,
    access::{self, Ask, resource::RUNTIMES},
    conditions::{Reason, Status, Type},
    runtime::FINALIZER,
};
use slipway_model::ports::BoxFuture;

use crate::{observe::Observation, outcome::Outcome, pass::Pass, runtime::Step};

/// Puts the finalizer on.
pub struct EnsureFinalizer;

/// Takes it off: the last thing done to a Runtime.
pub struct ReleaseFinalizer;

fn has(runtime: &Runtime) -> bool {
    runtime.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == FINALIZER)
}

async fn set(pass: &Pass, wanted: bool) -> Result<(), access::Error> {
    let (kcp, name) = (&pass.shared.kcp, pass.seen.name());
    let namespace = pass.shared.settings.namespace.clone();
    let mut runtime = Some((*pass.seen.runtime).clone());
    for last in [false, true] {
        let Some(current) = runtime else { return Ok(()) };
        if has(&current) == wanted {
            return Ok(());
        }
        let mut finalizers = current.metadata.finalizers.clone().unwrap_or_default();
        finalizers.retain(|finalizer| finalizer != FINALIZER);
        if wanted {
            finalizers.push(FINALIZER.to_owned());
        }
        let version = &current.metadata.resource_version;
        let change = json!({"metadata": {"resourceVersion": version, "finalizers": finalizers}});
        match kcp.tell(Ask::merge(&RUNTIMES, &namespace, name, change)).await {
            Err(error) if error.is_not_found() && !wanted => return Ok(()),
            Err(error) if error.is_conflict() && !last => {
                runtime = kcp.find(Ask::get(&RUNTIMES, &namespace, name)).await?;
            }
            other => return other,
        }
    }
    Ok(())
}

impl Step for EnsureFinalizer {
    fn applies(&self, seen: &Observation) -> bool {
        let version = &seen.runtime.metadata.resource_version;
        let put_on = version.is_some() && *version == seen.memory.finalizer_on;
        !has(&seen.runtime) && !put_on
    }

    fn run<'a>(&'a self, pass: &'a mut Pass) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            match set(pass, true).await {
                Ok(()) => {
                    let version = pass.seen.runtime.metadata.resource_version.clone();
                    pass.remember(|memory| memory.finalizer_on.clone_from(&version));
                    Outcome::Done
                }
                Err(error) if error.is_not_found() => Outcome::Halt,
                Err(error) => Outcome::with_status(
                    error,
                    Type::Provisioned,
                    Reason::Initialised,
                    Status::Unknown,
                    "Runtime initialized",
                ),
            }
        })
    }
}

impl Step for ReleaseFinalizer {
    fn applies(&self, seen: &Observation) -> bool {
        has(&seen.runtime)
    }

    fn run<'a>(&'a self, pass: &'a mut Pass) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            match set(pass, false).await {
                // The Runtime is gone, or goes with the last finalizer of others: nothing more is written.
                Ok(()) => Outcome::Halt,
                Err(error) => Outcome::of_error(
                    error,
                    Type::Deprovisioned,
                    Reason::KubernetesErr,
                    "The finalizer cannot be removed",
                ),
            }
        })
    }
}
