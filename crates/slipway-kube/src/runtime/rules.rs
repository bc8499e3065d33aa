//! What a Runtime may not be, as rules its API server checks.
//!
//! The same checks stand in the renderer: a cluster may carry an older definition. A rule about a
//! change bites on updates only, so objects that were stored before it stay valid.

use kube::core::Rule;
use schemars::{Schema, SchemaGenerator, json_schema};

/// A field that never changes.
pub(super) fn immutable(what: &str) -> Rule {
    Rule::new("self == oldSelf").message(format!("{what} cannot be changed; create another Runtime instead").as_str())
}

/// An optional field that never changes, not even from or to absence.
pub(super) fn immutable_optional(field: &str) -> Rule {
    Rule::new(format!(
        "has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || self.{field} == oldSelf.{field})"
    ))
    .message(format!("{field} cannot be changed; create another Runtime instead").as_str())
}

/// A switch that stays as it is once it was set. Absent and false are the same to whoever reads it.
pub(super) fn set_once(field: &str) -> Rule {
    Rule::new(format!("!has(oldSelf.{field}) || (has(self.{field}) && self.{field}) == oldSelf.{field}"))
        .message(format!("{field} cannot be changed once it was set").as_str())
}

/// The pool of Kyma.
pub(super) fn one_main_worker() -> Rule {
    Rule::new("size(self.workers) == 1")
        .message("workers must have exactly one pool; put others into additionalWorkers")
}

/// Gardener knows pools by name.
pub(super) fn unique_pools() -> Rule {
    Rule::new(
        "!has(self.additionalWorkers) || self.additionalWorkers.all(w, \
         self.additionalWorkers.exists_one(v, v.name == w.name) && !self.workers.exists(v, v.name == w.name))",
    )
    .message("pool names must be unique over workers and additionalWorkers")
}

/// The address plans of clouds with subnets have room for eight zones. A zone counts for the pool
/// of Kyma, or else for the customer's pool whose name comes first, which works because names are
/// unique. The two lists cannot be joined: to an API server their pools are of different types.
pub(super) fn few_zones() -> Rule {
    Rule::new(
        "self.workers.map(w, has(w.zones) ? size(w.zones) : 0).sum() + (!has(self.additionalWorkers) ? 0 : \
         self.additionalWorkers.map(w, !has(w.zones) ? 0 : size(w.zones.filter(z, \
         !self.workers.exists(v, has(v.zones) && z in v.zones) && \
         !self.additionalWorkers.exists(v, v.name < w.name && has(v.zones) && z in v.zones)))).sum()) <= 8",
    )
    .message("all pools together may use at most 8 zones")
}

/// Of one pool.
pub(super) fn minimum_below_maximum() -> Rule {
    Rule::new("self.minimum <= self.maximum").message("minimum must not be greater than maximum")
}

/// An object that is kept as it is.
pub(super) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// What is absent stays absent: a default in the schema would be written into every stored object.
pub(super) fn without_default(schema: &mut Schema) {
    schema.remove("default");
}
