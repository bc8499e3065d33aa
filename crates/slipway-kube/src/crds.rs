//! The definitions of our kinds, as an API server takes them.
//!
//! They come from the types, so they cannot differ from what we read and write. The files in
//! `deploy/crds` are these, checked in, so that a change of the contract is seen in review.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;
use serde_json::Value;

use crate::{GardenerCluster, Runtime};

/// All of them.
pub fn all() -> Vec<CustomResourceDefinition> {
    [Runtime::crd(), GardenerCluster::crd()].map(without_nulls).into()
}

/// An absent field is absent, never null: with `nullable` a rule would have to ask for both.
fn without_nulls(crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let mut value = serde_json::to_value(crd).expect("our own types");
    forget_nullable(&mut value);
    serde_json::from_value(value).expect("still a definition")
}

fn forget_nullable(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.get("nullable") == Some(&Value::Bool(true)) {
                map.remove("nullable");
            }
            map.values_mut().for_each(forget_nullable);
        }
        Value::Array(list) => list.iter_mut().for_each(forget_nullable),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests;
