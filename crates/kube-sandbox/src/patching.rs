//! PATCH: five ways to say what should change, one way to do it; and `scale`, a small object inside a large one.

use serde_json::{Value, json};

use super::{
    apply::{self, Manager, Operation},
    kind::Subresource,
    metadata, patch,
    status::{Cause, Status},
    write::{Call, FieldValidation, How, Written},
};
use crate::clock;

/// What a client wants changed.
#[derive(Debug, Clone)]
pub enum Patch {
    /// RFC 6902.
    Json(Value),
    /// RFC 7386.
    Merge(Value),
    /// By Kubernetes' merge keys.
    Strategic(Value),
    /// The fields its manager wants, and no others of its.
    Apply {
        /// These.
        object: Value,
        /// Take them from others.
        force: bool,
    },
}

impl Call<'_> {
    /// Patches an object; an apply makes it where it is missing.
    pub async fn patch(&self, name: &str, patch: &Patch) -> Result<Written, Status> {
        if let Patch::Apply { object, .. } = patch {
            metadata::check_place(self.kind, object, self.namespace, Some(name))?;
            if self.stored(name).is_none() && self.subresource.is_empty() {
                let uid = metadata::text(object, "uid");
                if !uid.is_empty() {
                    let why = format!(
                        "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                    );
                    return Err(Status::conflict(&self.kind.group, &self.kind.plural, name, &why));
                }
                let mut new = self.apply_fields(None, patch)?;
                metadata::of(&mut new).insert("name".to_owned(), json!(name));
                match self.create(new, How::Apply).await {
                    // Somebody else made it in between: then it is there to be changed.
                    Err(taken) if taken.reason == "AlreadyExists" => {}
                    done => return done,
                }
            }
        }
        let how = if matches!(patch, Patch::Apply { .. }) { How::Apply } else { How::Patch };
        self.change(name, how, |old| {
            let mut new = self.apply_patch(old, patch)?;
            let unknown = self.kind.schema.prune(&mut new);
            if !matches!(patch, Patch::Apply { .. }) {
                self.complain_in_patch(&unknown, patch)?;
                if let Some(why) = self.kind.schema.undecodable(&new) {
                    return Err(refuse_patch(patch, &why));
                }
            }
            Ok(new)
        })
        .await
    }

    fn apply_patch(&self, old: &Value, patch: &Patch) -> Result<Value, Status> {
        if let Some(Subresource::Scale { .. }) = self.kind.subresource(self.subresource) {
            let scale = self.scale_of(old);
            let new = match patch {
                Patch::Json(patch) => patch::json(&scale, patch),
                Patch::Merge(patch) | Patch::Strategic(patch) => patch::merge(&scale, patch),
                Patch::Apply { object, .. } => patch::merge(&scale, object),
            };
            return self.with_scale(old, &new?);
        }
        match patch {
            Patch::Json(patch) => patch::json(old, patch).map_err(Status::from),
            Patch::Merge(patch) => patch::merge(old, patch).map_err(Status::from),
            Patch::Strategic(patch) => patch::strategic(old, patch, &self.kind.schema).map_err(Status::from),
            Patch::Apply { .. } => self.apply_fields(Some(old), patch),
        }
    }

    fn apply_fields(&self, live: Option<&Value>, patch: &Patch) -> Result<Value, Status> {
        let Patch::Apply { object, force } = patch else { return Err(Status::internal("no apply")) };
        let (time, api_version) = (clock::seconds(self.now), self.kind.api_version());
        let (name, subresource) = (self.manager, self.subresource);
        let manager =
            Manager { name, operation: Operation::Apply, api_version: &api_version, subresource, time: &time };
        let object = self.keep_endpoint_fields(object);
        Ok(apply::apply(live, &object, &manager, *force, &self.kind.schema)?)
    }

    /// What of an applied object the endpoint takes: the rest is neither set nor owned.
    fn keep_endpoint_fields(&self, applied: &Value) -> Value {
        let mut confined = applied.clone();
        if let Some(fields) = confined.as_object_mut() {
            match self.kind.subresource(self.subresource) {
                Some(Subresource::Status) => {
                    fields.retain(|key, _| ["apiVersion", "kind", "metadata", "status"].contains(&key.as_str()));
                    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
                        metadata
                            .retain(|key, _| ["name", "namespace", "resourceVersion", "uid"].contains(&key.as_str()));
                    }
                }
                Some(_) => {}
                None if self.kind.has_status() => drop(fields.remove("status")),
                None => {}
            }
        }
        confined
    }

    fn complain_in_patch(&self, unknown: &[String], patch: &Patch) -> Result<(), Status> {
        let said: Vec<String> = unknown.iter().map(|field| format!("unknown field {field:?}")).collect();
        match self.validation {
            FieldValidation::Ignore => Ok(()),
            FieldValidation::Warn => {
                said.into_iter().for_each(|sentence| self.warn(sentence));
                Ok(())
            }
            FieldValidation::Strict if said.is_empty() => Ok(()),
            FieldValidation::Strict => Err(refuse_patch(patch, &format!("strict decoding error: {}", said.join(", ")))),
        }
    }

    /// The object's `Scale`.
    pub fn scale_of(&self, object: &Value) -> Value {
        let Some(Subresource::Scale { spec, status, selector }) = self.kind.subresource("scale") else {
            return Value::Null;
        };
        let number = |path: &str| at(object, path).and_then(Value::as_i64).unwrap_or(0);
        let metadata = &object["metadata"];
        let mut scale = json!({
            "kind": "Scale", "apiVersion": "autoscaling/v1",
            "metadata": {
                "name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"],
                "resourceVersion": metadata["resourceVersion"], "creationTimestamp": metadata["creationTimestamp"],
            },
            "spec": {}, "status": { "replicas": number(status) },
        });
        if number(spec) != 0 {
            scale["spec"]["replicas"] = json!(number(spec));
        }
        if let Some(selector) = selector.as_deref().and_then(|path| at(object, path)).and_then(Value::as_str) {
            scale["status"]["selector"] = json!(selector);
        }
        scale
    }

    /// The object with the wish of a `Scale`.
    pub fn with_scale(&self, object: &Value, scale: &Value) -> Result<Value, Status> {
        let Some(Subresource::Scale { spec, .. }) = self.kind.subresource("scale") else {
            return Err(Status::method_not_allowed());
        };
        let wanted = scale["spec"]["replicas"].as_i64().unwrap_or(0);
        if wanted < 0 {
            let cause = Cause::invalid("spec.replicas", &json!(wanted), "must be greater than or equal to 0");
            return Err(Status::invalid("autoscaling", "Scale", metadata::text(object, "name"), vec![cause]));
        }
        let mut new = object.clone();
        let mut place = &mut new;
        for step in spec.split('.').filter(|step| !step.is_empty()) {
            place = &mut place[step];
        }
        *place = json!(wanted);
        if let Some(version) = scale["metadata"]["resourceVersion"].as_str().filter(|version| !version.is_empty()) {
            new["metadata"]["resourceVersion"] = json!(version);
        }
        Ok(new)
    }
}

/// 422 about the patch itself.
fn refuse_patch(patch: &Patch, why: &str) -> Status {
    let (Patch::Json(sent) | Patch::Merge(sent) | Patch::Strategic(sent) | Patch::Apply { object: sent, .. }) = patch;
    Status::invalid("", "", "", vec![Cause::invalid("patch", &json!(sent.to_string()), why)])
}

/// The value at a dotted path.
fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').filter(|step| !step.is_empty()).try_fold(object, |value, step| value.get(step))
}
