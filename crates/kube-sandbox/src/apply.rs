//! Server-side apply: who owns which field, and what follows from it.
//!
//! Every write names a manager. An *apply* says all the manager wants: fields it no longer says go if
//! nobody else owns them, fields somebody else owns with another value are a conflict. Every other
//! write is an *update*: it takes what it changes. The rules and texts are those of the real server,
//! where they live in a library of their own; here they are four walks over objects ([`walk`]) on
//! sets of fields ([`set`]), seen through the schema ([`shape`]).

mod conflict;
mod last_applied;
mod managed;
mod set;
mod shape;
#[cfg(test)]
mod tests;
mod typed;
mod walk;

use serde_json::{Value, json};

use self::{
    conflict::Conflict,
    managed::Entry,
    set::{Element, Set},
    shape::{Shape, same},
    walk::{compare, fields_of, merge, without},
};
use super::{
    schema::Schema,
    status::{Cause, Details, Status},
};

/// Who writes, and how.
#[derive(Debug, Clone, Copy)]
pub struct Manager<'a> {
    /// `fieldManager` of the request, or what stands for it.
    pub name: &'a str,
    /// Apply for an apply patch, Update for everything else.
    pub operation: Operation,
    /// The version the object was written in.
    pub api_version: &'a str,
    /// `status`, `scale`, or empty.
    pub subresource: &'a str,
    /// Now, RFC 3339 in seconds.
    pub time: &'a str,
}

/// How fields came to be owned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Server-side apply.
    Apply,
    /// Everything else.
    Update,
}

impl Operation {
    fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// Why an apply was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// Others own the fields: 409 Conflict with these causes.
    #[error("{message}")]
    Conflict {
        /// The message of the Status.
        message: String,
        /// One for each field and manager.
        causes: Vec<Cause>,
    },
    /// 400 BadRequest.
    #[error("{0}")]
    BadRequest(String),
    /// The applied object does not fit the schema: 500 without a reason, as the real server answers.
    #[error("{0}")]
    Untyped(String),
}

impl From<ApplyError> for Status {
    fn from(error: ApplyError) -> Self {
        match error {
            ApplyError::Conflict { message, causes } => {
                let mut status = Self::new(409, "Conflict", message);
                status.details = Some(Box::new(Details { causes, ..Details::default() }));
                status
            }
            ApplyError::BadRequest(message) => Self::bad_request(message),
            ApplyError::Untyped(message) => Self::new(500, "", message),
        }
    }
}

/// The object after an apply, with its managed fields. `live` is what is stored, if anything is.
/// Fields the endpoint ignores (`status` beside a status subresource, everything else on it) must
/// have been taken out of `applied`: they are neither set nor owned.
pub fn apply(
    live: Option<&Value>,
    applied: &Value,
    manager: &Manager<'_>,
    force: bool,
    schema: &Schema,
) -> Result<Value, ApplyError> {
    if applied.pointer("/metadata/managedFields").is_some_and(|fields| !fields.is_null()) {
        return Err(ApplyError::BadRequest("metadata.managedFields must be nil".to_owned()));
    }
    let shape = Shape::Node(schema.root(), None);
    typed::check(shape, applied).map_err(|error| {
        ApplyError::Untyped(format!("failed to create typed patch object ({}): {error}", identified(applied)))
    })?;
    let work = Work { shape, manager: *manager, live, applied };
    match work.apply(force) {
        // kubectl may take over what it owns by its annotation from earlier client-side applies.
        Err(conflicts) if manager.name == "kubectl" => {
            let allowed = live.and_then(|live| last_applied::fields(shape, live)).unwrap_or_default();
            let left: Vec<_> = conflicts.into_iter().filter(|(_, path)| !allowed.contains(path)).collect();
            if left.is_empty() {
                work.apply(true).map_err(|all| conflict::refuse(&all))
            } else {
                Err(conflict::refuse(&left))
            }
        }
        outcome => outcome.map_err(|conflicts| conflict::refuse(&conflicts)),
    }
}

/// Writes ownership into `new` after a create (`old` is nothing), an update or a patch.
pub fn track_update(old: Option<&Value>, new: &mut Value, manager: &Manager<'_>, schema: &Schema) {
    let shape = Shape::Node(schema.root(), None);
    let mut entries = if !manager.subresource.is_empty() {
        managed::decode(old)
    } else if managed::is_reset(new, schema.root().builtin) {
        Vec::new()
    } else {
        Some(managed::decode(Some(new))).filter(|given| !given.is_empty()).unwrap_or_else(|| managed::decode(old))
    };
    managed::remove(new);
    // An object nobody keeps book of stays so until it is applied.
    if entries.is_empty() && old.is_some() {
        return;
    }
    let nothing = nothing_like(new);
    update(shape, old.unwrap_or(&nothing), new, &mut entries, manager);
    managed::cap(&mut entries);
    managed::encode(new, entries);
}

/// An update takes what it changes from everybody.
fn update(shape: Shape<'_>, old: &Value, new: &Value, entries: &mut Vec<Entry>, manager: &Manager<'_>) {
    let comparison = compare(shape, &where_they_differ(old, new), &where_they_differ(new, old));
    let changed = comparison.modified.union(&comparison.added);
    for entry in entries.iter_mut() {
        entry.set = entry.set.difference(&changed).difference(&comparison.removed);
    }
    let taken = changed.difference(&system_fields());
    let mut own = Entry { operation: Operation::Update, ..Entry::of(manager) };
    if !taken.is_empty() {
        let before = entries.iter().position(|entry| entry.is(&own)).map(|at| entries.remove(at));
        own.set = before.map(|before| before.set).unwrap_or_default().union(&taken);
        own.time = Some(manager.time.to_owned());
        entries.push(own);
    }
    entries.retain(|entry| !entry.set.is_empty());
}

/// The members of an object that another has not, or not so. What is the same in both needs no comparing field by
/// field: a write to the status of a large object leaves all but the status alone. The book itself is not compared.
fn where_they_differ(object: &Value, other: &Value) -> Value {
    let members = object.as_object().into_iter().flatten();
    let differing = members.filter(|(key, value)| other.get(key) != Some(value)).map(|(key, value)| match value {
        Value::Object(metadata) if key == "metadata" => {
            let kept = metadata.iter().filter(|(key, _)| *key != "managedFields");
            (key.clone(), kept.map(|(key, value)| (key.clone(), value.clone())).collect())
        }
        _ => (key.clone(), value.clone()),
    });
    differing.collect()
}

struct Work<'a> {
    shape: Shape<'a>,
    manager: Manager<'a>,
    live: Option<&'a Value>,
    applied: &'a Value,
}

impl Work<'_> {
    fn apply(&self, force: bool) -> Result<Value, Vec<Conflict>> {
        let shape = self.shape;
        let mut live = self.live.cloned().unwrap_or_else(|| nothing_like(self.applied));
        let mut entries = managed::decode(Some(&live));
        managed::remove(&mut live);
        if entries.is_empty() && self.live.is_some() {
            // What stood there before anybody kept book belongs to somebody.
            let before = Manager { name: "before-first-apply", subresource: "", ..self.manager };
            update(shape, &nothing_like(&live), &live, &mut entries, &before);
        }
        let mut own = Entry { operation: Operation::Apply, ..Entry::of(&self.manager) };
        own.set = fields_of(shape, self.applied);
        let last = entries.iter().position(|entry| entry.is(&own)).map(|at| entries.remove(at));

        let merged = merge(shape, &live, self.applied);
        let everything = entries.iter().fold(own.set.clone(), |all, entry| all.union(&entry.set));
        let new = match &last {
            Some(last) => forget(shape, merged, &last.set, &everything),
            None => merged,
        };

        let comparison = compare(shape, &live, &new);
        let changed = comparison.modified.union(&comparison.added);
        let conflicts: Vec<Conflict> = entries
            .iter()
            .flat_map(|entry| entry.set.intersection(&changed).paths().into_iter().map(|path| (entry.clone(), path)))
            .collect();
        if !force && !conflicts.is_empty() {
            return Err(conflicts);
        }
        for entry in &mut entries {
            entry.set = entry.set.difference(&changed).difference(&comparison.removed);
        }
        own.set = own.set.difference(&system_fields());
        // Time moves with the object, not with the book about it.
        let is_same = self.live.is_some() && same(&live, &new);
        own.time = if is_same { last.and_then(|last| last.time) } else { Some(self.manager.time.to_owned()) };
        entries.push(own);

        let mut new = if is_same { live } else { new };
        if self.manager.name == "kubectl" {
            last_applied::write(&mut new, self.applied);
        }
        managed::encode(&mut new, entries);
        Ok(new)
    }
}

/// Takes away what the manager applied last and nobody owns now.
fn forget(shape: Shape<'_>, merged: Value, last: &Set, owned: &Set) -> Value {
    let named = |set: &Set| set.with_named_fields(&shape);
    let last = named(last);
    let all = named(&fields_of(shape, &merged));
    let left = |set: &Set| without(shape, &merged, set).unwrap_or_else(|| json!({}));
    // Everything the manager had goes first; then what others, or the manager still, own comes back;
    // then what never was the manager's comes back too, since it went only with its surroundings.
    let pruned = named(&fields_of(shape, &left(&last)));
    let kept = pruned.union(&named(owned));
    let pruned = named(&fields_of(shape, &left(&all.difference(&kept))));
    left(&all.difference(&pruned).intersection(&last))
}

/// Fields the server gives; nobody owns them.
fn system_fields() -> Set {
    let mut set = Set::default();
    let field = |name: &str| Element::Field(name.to_owned());
    for name in ["apiVersion", "kind", "metadata"] {
        set.insert(&[field(name)]);
    }
    for name in [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ] {
        set.insert(&[field("metadata"), field(name)]);
    }
    set
}

/// What there is before there is an object: its type.
fn nothing_like(object: &Value) -> Value {
    let fields = ["apiVersion", "kind"].into_iter();
    fields
        .filter_map(|name| Some((name.to_owned(), object.get(name)?.clone())))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// `namespace/name; group/version, Kind=kind`.
fn identified(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let version = text("/apiVersion");
    let version = if version.contains('/') { version.to_owned() } else { format!("/{version}") };
    format!("{}/{}; {version}, Kind={}", text("/metadata/namespace"), text("/metadata/name"), text("/kind"))
}
