//! What no table can say about a kind: the [`Strategy`], and all it may see of the world.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use serde_json::Value;

use super::Kind;
use crate::{auth::rbac::Rule, status::Status};

/// What is special about a kind. Every method may refuse; what it leaves alone stays as it is.
///
/// Called before the schema's validation, on objects whose metadata is filled in, pruned and
/// defaulted by the schema. Not async: nothing here may wait, because a write that loses a race is
/// computed again from the newer object.
pub trait Strategy: Send + Sync {
    /// Defaults, admission and validation of a new object.
    fn create(&self, object: &mut Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        let _ = (object, ctx);
        Ok(())
    }

    /// The same for a changed object; `ctx.subresource` says what was written.
    fn update(&self, new: &mut Value, old: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        let _ = (new, old, ctx);
        Ok(())
    }

    /// May this object be deleted? Asked once, before anything happens.
    fn may_delete(&self, object: &Value, ctx: &Ctx<'_>) -> Result<(), Status> {
        let _ = (object, ctx);
        Ok(())
    }

    /// May a whole collection be deleted? Asked once, before any of its objects.
    fn may_delete_all(&self, ctx: &Ctx<'_>) -> Result<(), Status> {
        let _ = ctx;
        Ok(())
    }

    /// The object has just been marked as deleted and waits: what else shows that? Namespaces have a phase.
    fn mark_deleted(&self, object: &mut Value) {
        let _ = object;
    }

    /// A call of a subresource; for kinds that are only a question, of the kind itself (`subresource` is empty).
    fn call(&self, subresource: &str, object: &Value, body: Value, ctx: &Ctx<'_>) -> Result<Value, Status> {
        let _ = (subresource, object, body, ctx);
        Err(Status::method_not_allowed())
    }
}

/// Nothing special.
#[derive(Debug, Clone, Copy)]
pub struct Plain;

impl Strategy for Plain {}

/// Who asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    /// User name.
    pub name: String,
    /// Groups, `system:authenticated` among them.
    pub groups: Vec<String>,
    /// uid, for service accounts.
    pub uid: String,
    /// Further properties, as a token's id.
    pub extra: Vec<(String, Vec<String>)>,
}

impl User {
    /// Somebody who may do everything.
    pub fn admin() -> Self {
        Self::named("kubernetes-admin", &["system:masters"])
    }

    /// An authenticated user.
    pub fn named(name: &str, groups: &[&str]) -> Self {
        let mut groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
        groups.push("system:authenticated".to_owned());
        Self { name: name.to_owned(), groups, ..Self::default() }
    }

    /// In this group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|one| one == group)
    }
}

/// Something one wants to do, as the authorizer sees it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Access<'a> {
    /// `get`, `create`, ...
    pub verb: &'a str,
    /// API group.
    pub group: &'a str,
    /// Resource.
    pub resource: &'a str,
    /// Subresource, or empty.
    pub subresource: &'a str,
    /// Namespace, or empty.
    pub namespace: &'a str,
    /// Name, or empty.
    pub name: &'a str,
    /// Path, where it is not about a resource.
    pub path: &'a str,
}

/// What a strategy may see of the cluster.
pub trait View: Send + Sync {
    /// One object; the namespace is empty for cluster-wide kinds.
    fn get(&self, group: &str, plural: &str, namespace: &str, name: &str) -> Option<Value>;
    /// All objects of a kind, of one namespace or (empty) of all.
    fn list(&self, group: &str, plural: &str, namespace: &str) -> Vec<Value>;
    /// All objects of a kind that is read much more often than it is written.
    fn consult(&self, group: &str, plural: &str) -> Arc<Vec<Value>> {
        Arc::new(self.list(group, plural, ""))
    }
    /// The served version of a kind.
    fn kind(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Kind>>;
    /// May this user do that?
    fn may(&self, user: &User, access: &Access<'_>) -> bool;
    /// The same with the reason, which may be empty; `None` if they may not.
    fn allowed(&self, user: &User, access: &Access<'_>) -> Option<String> {
        self.may(user, access).then(String::new)
    }
    /// All rules this user has in a namespace.
    fn rules(&self, user: &User, namespace: &str) -> Vec<Rule>;
    /// A token with these claims, as the cluster signs them.
    fn sign(&self, claims: &Value) -> String {
        // A view that is no cluster has no key.
        let _ = claims;
        String::new()
    }
    /// Whose token is this?
    fn authenticate(&self, token: &str) -> Option<User>;
}

/// Everything a strategy knows besides the object.
pub struct Ctx<'a> {
    /// The kind it is called for.
    pub kind: &'a Kind,
    /// Namespace of the request, or empty.
    pub namespace: &'a str,
    /// Who asks.
    pub user: &'a User,
    /// What is written: empty for the object itself.
    pub subresource: &'a str,
    /// Nothing will be stored.
    pub dry_run: bool,
    /// The time all of this happens at.
    pub now: Timestamp,
    /// The cluster's objects.
    pub view: &'a dyn View,
    /// Sentences for the person at the other end, sent as `Warning` headers.
    pub warnings: &'a Mutex<Vec<String>>,
}

impl Ctx<'_> {
    /// May the user who asks do that?
    pub fn may(&self, access: &Access<'_>) -> bool {
        self.view.may(self.user, access)
    }

    /// Tells the person at the other end.
    pub fn warn(&self, sentence: impl Into<String>) {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(sentence.into());
    }
}
