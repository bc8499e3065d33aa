//! Pods per machine: not more than a machine can number, and together not more than there are
//! addresses.

use serde_json::{Value, json};
use slipway_kube::{Cidr, runtime::Worker};

use super::super::{Context, RenderError};

/// The addresses of a machine's part of the pod network, a /24.
const PER_NODE: u64 = 254;

const PATH: &str = "spec.shoot.networking.pods";

pub(super) fn limit<'a>(
    context: &Context<'_>,
    workers: impl Iterator<Item = &'a mut Worker>,
) -> Result<(), RenderError> {
    let mut limits: Vec<&mut Value> = workers.filter_map(max_pods).collect();
    if limits.is_empty() {
        return Ok(());
    }
    let pods: Cidr = context
        .shoot
        .networking
        .pods
        .parse()
        .map_err(|error: slipway_kube::subnets::Error| RenderError::new(PATH, error.to_string()))?;
    if pods.prefix() < 2 {
        return Err(RenderError::new(PATH, format!("{pods} is too large to count its addresses")));
    }
    let mut numbers: Vec<u64> = limits.iter().map(|limit| limit.as_u64().unwrap_or(PER_NODE).min(PER_NODE)).collect();
    let mut surplus = numbers.iter().sum::<u64>().saturating_sub(pods.usable());
    for number in numbers.iter_mut().rev() {
        let less = surplus.min(number.saturating_sub(1));
        *number -= less;
        surplus -= less;
    }
    if surplus > 0 {
        let message = format!("{pods} has {} usable addresses, too few for {} pools", pods.usable(), numbers.len());
        return Err(RenderError::new(PATH, message));
    }
    for (limit, number) in limits.iter_mut().zip(numbers) {
        **limit = json!(number);
    }
    Ok(())
}

fn max_pods(worker: &mut Worker) -> Option<&mut Value> {
    worker.kubernetes.as_mut()?.kubelet.as_mut()?.get_mut("maxPods").filter(|limit| limit.is_u64())
}
