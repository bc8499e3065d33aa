//! Creating and changing objects: the one way into the store, whoever asks and however.
//!
//! A POST, a PUT, the four patches and the server's own controllers differ only in how they make
//! the new object from the old one. What happens then is the same for all and stands here: the
//! schema prunes and defaults, the kind's strategy has its say, metadata and content are checked,
//! ownership of fields is recorded, and the store takes it if nobody was faster.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    apply::{self, Manager, Operation},
    cluster::Cluster,
    controllers::definitions,
    http::body::at,
    kind::{Ctx, Kind, Subresource, User},
    kinds, metadata,
    object::{Draft, Name, Stored},
    status::{Cause, CauseReason, Status},
    store::{Expect, WriteError},
};
use crate::clock;

/// How often a lost race is run again before the client is told.
const TRIES: usize = 16;

/// What to do about fields nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldValidation {
    /// Drop them.
    Ignore,
    /// Drop them and say so.
    Warn,
    /// Refuse.
    Strict,
}

/// A request that writes, apart from its content.
pub struct Call<'a> {
    /// Where.
    pub cluster: &'a Cluster,
    /// What.
    pub kind: &'a Arc<Kind>,
    /// Namespace, or empty.
    pub namespace: &'a str,
    /// Part of the object that is written, or empty.
    pub subresource: &'a str,
    /// Who.
    pub user: &'a User,
    /// Who the fields will belong to.
    pub manager: &'a str,
    /// Store nothing.
    pub dry_run: bool,
    /// What to do about unknown fields.
    pub validation: FieldValidation,
    /// When.
    pub now: Timestamp,
    /// Sentences for the person at the other end.
    pub warnings: &'a Mutex<Vec<String>>,
}

/// What came of a write.
#[derive(Debug)]
pub struct Written {
    /// The object after it.
    pub object: Value,
    /// It is new.
    pub created: bool,
}

/// How a request changes an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// POST and PUT: the caller becomes the owner of what it changed.
    Update,
    /// The plain patches: the same.
    Patch,
    /// Server-side apply: ownership is already in the object.
    Apply,
}

impl<'a> Call<'a> {
    fn ctx<'b>(&'b self) -> Ctx<'b> {
        Ctx {
            kind: self.kind,
            namespace: self.namespace,
            user: self.user,
            subresource: self.subresource,
            dry_run: self.dry_run,
            now: self.now,
            view: self.cluster,
            warnings: self.warnings,
        }
    }

    /// Tells the person at the other end.
    pub fn warn(&self, sentence: String) {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(sentence);
    }

    fn name(&self, name: &str) -> Name {
        Name::new(if self.kind.namespaced { self.namespace } else { "" }, name)
    }

    /// The object as it is now.
    pub fn stored(&self, name: &str) -> Option<Arc<Stored>> {
        self.cluster.store().get(self.cluster.name(), &self.kind.stored_as, &self.name(name))
    }

    fn manager_at<'b>(&'b self, time: &'b str, api_version: &'b str) -> Manager<'b> {
        let operation = Operation::Update;
        Manager { name: self.manager, operation, api_version, subresource: self.subresource, time }
    }

    /// Makes an object of a body.
    pub async fn create(&self, mut object: Value, how: How) -> Result<Written, Status> {
        metadata::check_place(self.kind, &object, self.namespace, None)?;
        if !metadata::text(&object, "resourceVersion").is_empty() && how == How::Update {
            return Err(Status::internal_plain("resourceVersion should not be set on objects to be created"));
        }
        let prefix = metadata::text(&object, "generateName").to_owned();
        let generated = !prefix.is_empty() && metadata::text(&object, "name").is_empty();
        metadata::begin(self.kind, &mut object, self.namespace, self.now);
        if self.kind.has_status() && !self.kind.is_built_in() {
            object.as_object_mut().map(|fields| fields.remove("status"));
        }
        self.check_namespace(&object, &prefix)?;
        if !generated {
            return self.create_named(object, how).await;
        }
        for _ in 0..TRIES {
            let mut named = object.clone();
            // 63 characters fit a label; the prefix gives way.
            let room = 58.min(prefix.len());
            let end = (0..=room).rev().find(|at| prefix.is_char_boundary(*at)).unwrap_or(0);
            named["metadata"]["name"] = json!(format!("{}{}", &prefix[..end], clock::suffix()));
            match self.create_named(named, how).await {
                Err(taken) if taken.reason == "AlreadyExists" => {}
                done => return done,
            }
        }
        let mut busy = Status::already_exists(&self.kind.group, &self.kind.plural, &prefix);
        busy.message = format!("{}, the server was not able to generate a unique name for the object", busy.message);
        Err(busy)
    }

    async fn create_named(&self, mut object: Value, how: How) -> Result<Written, Status> {
        let name = metadata::text(&object, "name").to_owned();
        self.kind.schema.default(&mut object);
        self.kind.strategy.create(&mut object, &self.ctx())?;
        let mut causes = metadata::validate(self.kind, &object, None);
        causes.extend(self.kind.schema.validate(&object, None));
        Status::unless_valid(&self.kind.group, &self.kind.kind, &name, causes)?;
        if how == How::Update {
            let (time, version) = (clock::seconds(self.now), self.kind.api_version());
            apply::track_update(None, &mut object, &self.manager_at(&time, &version), &self.kind.schema);
        }
        let taken = || Status::already_exists(&self.kind.group, &self.kind.plural, &name);
        if self.stored(&name).is_some() {
            return Err(taken());
        }
        if self.dry_run {
            return Ok(Written { object, created: true });
        }
        let (draft, object) = self.draft_of(object);
        let put = self.cluster.store().put(
            self.cluster.name(),
            &self.kind.stored_as,
            self.name(&name),
            Expect::Absent,
            draft,
        );
        match put.await {
            Ok(stored) => {
                let object = self.as_stored(object, &stored);
                self.stored_definition(&object);
                Ok(Written { object, created: true })
            }
            Err(WriteError::Conflict(_)) => Err(taken()),
            Err(error) => Err(Status::from(error)),
        }
    }

    /// Changes an object: `make` says what of the present one. Run again when somebody else was faster, unless the
    /// new object names the version it was made from.
    pub async fn change(
        &self,
        name: &str,
        how: How,
        mut make: impl FnMut(&Value) -> Result<Value, Status>,
    ) -> Result<Written, Status> {
        for _ in 0..TRIES {
            let Some(stored) = self.stored(name) else { return Err(self.kind.not_found(name)) };
            let old = self.read(&stored);
            let made = make(&old)?;
            let asked = metadata::text(&made, "resourceVersion").to_owned();
            let modified = || Status::modified(&self.kind.group, &self.kind.plural, name);
            // A patch starts from the present object and so names its version; any other is the client's wish.
            let wished = !asked.is_empty() && asked != "0";
            if wished && asked != stored.version.to_string() {
                return Err(modified());
            }
            let new = self.prepare_change(name, made, &old, how)?;
            if metadata::is_same(&new, &old) {
                return Ok(Written { object: old, created: false });
            }
            let finished = metadata::is_deleting(&new) && is_finished(&new);
            if self.dry_run {
                return Ok(Written { object: new, created: false });
            }
            let (store, cluster, table) = (self.cluster.store(), self.cluster.name(), &self.kind.stored_as);
            let answer = if finished {
                // The last finalizer is gone, and with it the object.
                let removed = store.remove(cluster, table, self.name(name), stored.version).await;
                removed.map(|_| {
                    self.removed_definition(&new);
                    new
                })
            } else {
                let expect = Expect::Version(stored.version);
                let (draft, new) = self.draft_of(new);
                let put = store.put(cluster, table, self.name(name), expect, draft).await;
                put.map(|stored| {
                    let object = self.as_stored(new, &stored);
                    self.stored_definition(&object);
                    object
                })
            };
            match answer {
                Ok(object) => return Ok(Written { object, created: false }),
                Err(WriteError::Conflict(None)) => return Err(self.kind.not_found(name)),
                Err(WriteError::Conflict(Some(_))) => {}
                Err(error) => return Err(Status::from(error)),
            }
        }
        Err(Status::modified(&self.kind.group, &self.kind.plural, name))
    }

    fn prepare_change(&self, name: &str, made: Value, old: &Value, how: How) -> Result<Value, Status> {
        metadata::check_place(self.kind, &made, self.namespace, Some(name))?;
        let uid = metadata::text(&made, "uid");
        if how != How::Update && !uid.is_empty() && uid != metadata::text(old, "uid") {
            let cause = Cause::invalid("metadata.uid", &json!(uid), "field is immutable");
            return Err(self.kind.invalid(name, vec![cause]));
        }
        if !uid.is_empty() && uid != metadata::text(old, "uid") {
            let found = metadata::text(old, "uid");
            let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {found}");
            return Err(Status::conflict(&self.kind.group, &self.kind.plural, name, &why));
        }
        let mut new = self.confine(made, old);
        let mut causes = metadata::carry_over(self.kind, &mut new, old);
        let nulls = if how == How::Apply { self.nulls(&new) } else { Vec::new() };
        self.kind.schema.default(&mut new);
        self.kind.strategy.update(&mut new, old, &self.ctx())?;
        metadata::move_generation(self.kind, &mut new, old);
        causes.extend(metadata::validate(self.kind, &new, Some(old)));
        causes.extend(nulls.into_iter().filter(|cause| at(&new, &cause.field).is_none()));
        causes.extend(self.kind.schema.validate(&new, Some(old)));
        Status::unless_valid(&self.kind.group, &self.kind.kind, name, causes)?;
        if how != How::Apply {
            let (time, version) = (clock::seconds(self.now), self.kind.api_version());
            apply::track_update(Some(old), &mut new, &self.manager_at(&time, &version), &self.kind.schema);
        }
        Ok(new)
    }

    /// Nulls an apply leaves: what others send is decoded, which drops them, but the result of an apply is not.
    fn nulls(&self, new: &Value) -> Vec<Cause> {
        let mut causes = self.kind.schema.validate(new, None);
        causes.retain(|cause| cause.message.ends_with(": \"null\""));
        causes
    }

    /// Keeps a write to the object out of its status, and one to its status out of everything else.
    fn confine(&self, mut new: Value, old: &Value) -> Value {
        let keep = |into: &mut Value, key: &str| match old.get(key) {
            Some(value) => into[key] = value.clone(),
            None => drop(into.as_object_mut().map(|fields| fields.remove(key))),
        };
        match self.kind.subresource(self.subresource) {
            Some(Subresource::Status) => {
                // Mostly everything else is as it was: comparing costs less than copying.
                let others = |key: &str| !["status", "metadata"].contains(&key);
                for (key, value) in old.as_object().into_iter().flatten().filter(|(key, _)| others(key)) {
                    if new.get(key) != Some(value) {
                        new[key] = value.clone();
                    }
                }
                if let Some(fields) = new.as_object_mut() {
                    fields.retain(|key, _| !others(key) || old.get(key).is_some());
                }
                // Built-in kinds let a status write touch labels and annotations too.
                if self.kind.is_custom() {
                    let managed = new["metadata"].get_mut("managedFields").map(Value::take);
                    new["metadata"] = old["metadata"].clone();
                    if let Some(managed) = managed {
                        new["metadata"]["managedFields"] = managed;
                    }
                }
                new
            }
            None if self.kind.has_status() => {
                keep(&mut new, "status");
                new
            }
            Some(Subresource::Scale { .. } | Subresource::View { .. } | Subresource::Call { .. }) | None => new,
        }
    }

    /// Nothing can be made in a namespace that is not there, or going.
    fn check_namespace(&self, object: &Value, prefix: &str) -> Result<(), Status> {
        if !self.kind.namespaced {
            return Ok(());
        }
        let namespace = self.cluster.store().get(self.cluster.name(), "namespaces", &Name::new("", self.namespace));
        match namespace {
            None => Err(Status::not_found("", "namespaces", self.namespace)),
            Some(found) if found.facts().deleting => {
                let name = Some(metadata::text(object, "name")).filter(|name| !name.is_empty()).unwrap_or(prefix);
                let why = format!(
                    "unable to create new content in namespace {} because it is being terminated",
                    self.namespace
                );
                let mut status = Status::forbidden(&self.kind.group, &self.kind.plural, name, &why);
                let message = format!("namespace {} is being terminated", self.namespace);
                let field = "metadata.namespace".to_owned();
                if let Some(details) = &mut status.details {
                    details.causes = vec![Cause { field, reason: CauseReason::NamespaceTerminating, message }];
                }
                Err(status)
            }
            Some(_) => Ok(()),
        }
    }

    /// The object in this kind's form.
    pub fn read(&self, stored: &Stored) -> Value {
        self.kind.from_stored(stored.value())
    }

    /// A definition is served from the moment it is stored.
    fn stored_definition(&self, object: &Value) {
        if self.kind.stored_as == kinds::DEFINITIONS {
            definitions::serve(self.cluster, object);
        }
    }

    /// And no longer from the moment it is gone.
    pub(crate) fn removed_definition(&self, object: &Value) {
        if self.kind.stored_as == kinds::DEFINITIONS {
            definitions::forget(self.cluster, object);
        }
    }

    /// Asks the strategy.
    pub(crate) fn may_delete(&self, object: &Value) -> Result<(), Status> {
        self.kind.strategy.may_delete(object, &self.ctx())
    }

    /// Asks the strategy about all of the namespace.
    pub(crate) fn may_delete_all(&self) -> Result<(), Status> {
        self.kind.strategy.may_delete_all(&self.ctx())
    }

    /// Calls a subresource, or asks a kind that is only a question.
    pub fn call(&self, object: &Value, body: Value) -> Result<Value, Status> {
        self.kind.strategy.call(self.subresource, object, body, &self.ctx())
    }

    /// The object as it goes into the store, and itself again.
    pub(crate) fn draft_of(&self, object: Value) -> (Draft, Value) {
        let Some(convert) = self.kind.convert else { return (Draft::of(&object), object) };
        let mut stored = object.clone();
        (convert.to_stored)(&mut stored);
        (Draft::of(&stored), object)
    }

    /// What was written, as it came out of the store. Only what a conversion may have changed is read again: every
    /// write would otherwise pay for parsing what it has just made.
    fn as_stored(&self, mut object: Value, stored: &Stored) -> Value {
        if self.kind.convert.is_some() {
            return self.read(stored);
        }
        object["metadata"]["resourceVersion"] = json!(stored.version.to_string());
        object["apiVersion"] = json!(self.kind.api_version());
        object["kind"] = json!(self.kind.kind);
        object
    }
}

/// Nothing keeps a deleted object any more. A namespace also waits for `spec.finalizers`.
pub(crate) fn is_finished(object: &Value) -> bool {
    let held = object["kind"] == "Namespace"
        && object["spec"]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty());
    metadata::finalizers(object).is_empty() && !held
}

impl Kind {
    /// A stored object in this kind's form and version.
    pub fn from_stored(&self, mut object: Value) -> Value {
        if let Some(convert) = self.convert {
            (convert.from_stored)(&mut object);
        }
        object["apiVersion"] = json!(self.api_version());
        object["kind"] = json!(self.kind);
        object
    }
}

impl From<WriteError> for Status {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::NoCluster => Self::unknown_resource(),
            WriteError::Conflict(_) | WriteError::Broken(_) | WriteError::Closed => Self::internal(error),
        }
    }
}
