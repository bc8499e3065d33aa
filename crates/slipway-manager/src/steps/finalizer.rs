//! The finalizer: put on before anything is made outside, taken off when nothing is left.
//!
//! Both change one list of an object that others write too, so the write carries the version it was made
//! from; on a conflict the present list is read and the change made again. A repeat finds its work done.

use serde_json::json;
use slipway_kube::{
    Runtime,
    access::{self, Ask, Exactly, resource::RUNTIMES},
    conditions::{Reason, Status, Type},
    runtime::FINALIZER,
};

use crate::{observe::Observation, outcome::Outcome, pass::Pass, runtime::Step};

/// Puts the finalizer on.
pub(crate) struct EnsureFinalizer;

/// Takes it off: the last thing done to a Runtime.
pub(crate) struct ReleaseFinalizer;

fn has_finalizer(runtime: &Runtime) -> bool {
    runtime.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == FINALIZER)
}

/// Versions are numbers, and a greater one is later. One that is no number is before all others: what was done is
/// then done once more, which finds it done.
fn parse_version(version: Option<&str>) -> u64 {
    version.and_then(|version| version.parse().ok()).unwrap_or_default()
}

fn version(runtime: &Runtime) -> u64 {
    parse_version(runtime.metadata.resource_version.as_deref())
}

/// Answers the version of the Runtime that is as wanted; none if it is gone.
async fn set_finalizer(pass: &Pass, wanted: bool) -> Result<Option<u64>, access::Error> {
    let (kcp, name) = (&pass.shared.kcp, pass.seen.name());
    let namespace = pass.shared.settings.namespace.clone();
    let mut current = (*pass.seen.runtime).clone();
    let mut is_last = false;
    while has_finalizer(&current) != wanted {
        let mut finalizers = current.metadata.finalizers.clone().unwrap_or_default();
        finalizers.retain(|finalizer| finalizer != FINALIZER);
        if wanted {
            finalizers.push(FINALIZER.to_owned());
        }
        let only = Exactly::unchanged(&current.metadata);
        let change = json!({"metadata": {"finalizers": finalizers}});
        match kcp.send(Ask::merge(&RUNTIMES, &namespace, name, &only, change)).await {
            Ok(changed) => return Ok(Some(parse_version(changed["metadata"]["resourceVersion"].as_str()))),
            Err(error) if error.is_not_found() && !wanted => return Ok(None),
            Err(error) if error.is_conflict() && !is_last => {
                let Some(now) = kcp.find::<Runtime>(Ask::get(&RUNTIMES, &namespace, name)).await? else {
                    return Ok(None);
                };
                // Another one of the name: what was decided is not about it.
                if now.metadata.uid != current.metadata.uid {
                    return Ok(None);
                }
                (current, is_last) = (now, true);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Some(version(&current)))
}

impl Step for EnsureFinalizer {
    fn applies(&self, seen: &Observation) -> bool {
        !has_finalizer(&seen.runtime) && version(&seen.runtime) >= seen.memory.finalizer_at
    }

    async fn run(&self, pass: &mut Pass) -> Outcome {
        match set_finalizer(pass, true).await {
            Ok(Some(version)) => {
                pass.remember(|memory| memory.finalizer_at = version);
                Outcome::Done
            }
            Ok(None) => Outcome::Halt,
            Err(error) if error.is_not_found() => Outcome::Halt,
            Err(error) => Outcome::from_error_with(
                error,
                Type::Provisioned,
                Reason::Initialised,
                Status::Unknown,
                "Runtime initialized",
            ),
        }
    }
}

impl Step for ReleaseFinalizer {
    fn applies(&self, seen: &Observation) -> bool {
        has_finalizer(&seen.runtime)
    }

    async fn run(&self, pass: &mut Pass) -> Outcome {
        match set_finalizer(pass, false).await {
            // The Runtime is gone, or goes with the last finalizer of others: nothing more is written.
            Ok(_) => Outcome::Halt,
            Err(error) => Outcome::from_error(
                error,
                Type::Deprovisioned,
                Reason::KubernetesErr,
                "The finalizer cannot be removed",
            ),
        }
    }
}
