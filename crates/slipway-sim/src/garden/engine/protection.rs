//! What a Shoot uses stays, even if somebody deletes it, until no live Shoot uses it: the finalizers of the
//! controller manager.
//!
//! | on | finalizer | while |
//! |---|---|---|
//! | Secrets and ConfigMaps a Shoot refers to, and the Shoot itself | `gardener.cloud/reference-protection` | it refers to them |
//! | bindings | `gardener` | a Shoot uses them |
//! | the Secret behind a binding | `gardener.cloud/gardener` | the binding is used |
//!
//! Every Shoot uses a binding, so who uses which is counted as Shoots are seen: to list ten thousand of them for
//! each one that goes would take longer than their deletion.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use kube_sandbox::status::Status;
use serde_json::{Value, json};

use super::{
    port::{BINDINGS, CONFIG_MAPS, Port, Resource, SECRET_BINDINGS, SECRETS, SHOOTS},
    runtime::Shared,
};
use crate::garden::{
    shoot::{FINALIZER, REFERENCE_PROTECTION, references},
    value::{name, namespace, text, texts},
};

/// The finalizer of Secrets behind bindings.
const OF_CREDENTIALS: &str = "gardener.cloud/gardener";

/// A binding: whether it is of the old kind, its namespace and its name.
pub type Binding = (bool, String, String);

/// The binding a Shoot names; none without workers.
pub fn binding_of(place: &str, credentials: &str, secret: &str) -> Option<Binding> {
    match (credentials, secret) {
        ("", "") => None,
        ("", secret) => Some((true, place.to_owned(), secret.to_owned())),
        (credentials, _) => Some((false, place.to_owned(), credentials.to_owned())),
    }
}

/// The binding of a whole Shoot.
pub fn used_by(shoot: &Value) -> Option<Binding> {
    let named = |field: &str| text(shoot, field);
    binding_of(namespace(shoot), named("spec.credentialsBindingName"), named("spec.secretBindingName"))
}

/// A Secret or ConfigMap that a Shoot refers to: the word in paths, and its name.
type Reference = (&'static str, String);

/// Which Shoots, by uid, use what. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct Users {
    bindings: Arc<Mutex<BTreeMap<Binding, BTreeSet<String>>>>,
    references: Arc<Mutex<BTreeMap<String, Vec<Reference>>>>,
}

impl Users {
    /// A Shoot went from one binding to another. Answers the one that nobody uses any more, if that is so.
    pub fn moved(&self, uid: &str, from: Option<&Binding>, to: Option<&Binding>) -> Option<Binding> {
        let mut all = self.bindings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(to) = to {
            all.entry(to.clone()).or_default().insert(uid.to_owned());
        }
        let left = from.filter(|from| Some(*from) != to)?;
        let users = all.get_mut(left)?;
        users.remove(uid);
        users.is_empty().then(|| {
            all.remove(left);
            left.clone()
        })
    }
}

impl Users {
    /// A Shoot refers to these now. Answers what it referred to before and does not any more.
    fn refers(&self, uid: &str, now: &[Reference]) -> Vec<Reference> {
        let mut all = self.references.lock().unwrap_or_else(PoisonError::into_inner);
        let before = if now.is_empty() { all.remove(uid) } else { all.insert(uid.to_owned(), now.to_vec()) };
        before.unwrap_or_default().into_iter().filter(|one| !now.contains(one)).collect()
    }
}

/// Protects what a Shoot uses, or lets go of it.
pub(super) async fn protect<P: Port>(shared: &Shared<P>, shoot: &Value, protect: bool) -> Result<(), Status> {
    if let Some(used) = used_by(shoot).filter(|_| protect) {
        // It is let go when the Shoot is gone: the server refuses it before.
        shared.users.moved(text(shoot, "metadata.uid"), None, Some(&used));
        hold(&shared.port, &used, true).await?;
    }
    protect_references(shared, shoot, protect).await
}

/// Sets or removes the finalizers of a binding and of the Secret behind it.
pub(super) async fn hold<P: Port>(port: &P, (old_kind, place, called): &Binding, on: bool) -> Result<(), Status> {
    let (what, reference) = if *old_kind { (SECRET_BINDINGS, "secretRef") } else { (BINDINGS, "credentialsRef") };
    let Some(binding) = port.get(what, place, called).await? else { return Ok(()) };
    let field = |field: &str| text(&binding, &format!("{reference}.{field}")).to_owned();
    let (kind, behind, secret) = (field("kind"), field("namespace"), field("name"));
    if kind.is_empty() || kind == "Secret" {
        // Two bindings may share one: it is let go with the first, as nobody counts across namespaces, and held again
        // by the next operation of whoever still uses it.
        set(port, SECRETS, &behind, &secret, OF_CREDENTIALS, on).await?;
    }
    set(port, what, place, called, FINALIZER, on).await
}

/// Lets go of a binding that nobody uses any more. A server whose memory of Shoots is behind refuses at first.
pub(super) fn let_go<P: Port>(port: &P, binding: Option<Binding>) {
    let Some(binding) = binding else { return };
    let port = port.clone();
    tokio::spawn(async move {
        for pause in [0, 100, 500, 1000, 5000] {
            crate::clock::sleep(Duration::from_millis(pause)).await;
            match hold(&port, &binding, false).await {
                Ok(()) => return,
                Err(error) => tracing::debug!(%error, binding = binding.2, "a binding is not let go yet"),
            }
        }
        tracing::warn!(binding = binding.2, "a binding that nobody uses is still protected");
    });
}

/// Lets go of what nobody uses: a process that died between the last Shoot and this left it protected.
pub(super) async fn let_go_of_left<P: Port>(port: P, users: &Users) {
    if let Err(error) = try_let_go_of_left(&port, users).await {
        tracing::warn!(%error, "what nobody uses was not looked for");
    }
}

async fn try_let_go_of_left<P: Port>(port: &P, users: &Users) -> Result<(), Status> {
    // Shoots last: what one begins to use after these looks is not among them, or unprotected.
    let credentials = list_with_finalizer(port, BINDINGS, FINALIZER).await?;
    let secret_bindings = list_with_finalizer(port, SECRET_BINDINGS, FINALIZER).await?;
    let secrets = list_with_finalizer(port, SECRETS, REFERENCE_PROTECTION).await?;
    let config_maps = list_with_finalizer(port, CONFIG_MAPS, REFERENCE_PROTECTION).await?;
    let shoots = port.list(SHOOTS, "").await?;
    let used: BTreeSet<Binding> = shoots.iter().filter_map(used_by).collect();
    for (held, old_kind) in [(credentials, false), (secret_bindings, true)] {
        let held = held.into_iter().map(|(place, called)| (old_kind, place, called));
        held.filter(|one| !used.contains(one)).for_each(|one| let_go(port, Some(one)));
    }
    let mut named = BTreeSet::new();
    for shoot in &shoots {
        let references = references(shoot);
        users.refers(text(shoot, "metadata.uid"), &references);
        named.extend(references.into_iter().map(|(plural, called)| (plural, namespace(shoot).to_owned(), called)));
    }
    for (held, plural) in [(secrets, "secrets"), (config_maps, "configmaps")] {
        for (place, called) in held {
            if !named.contains(&(plural, place.clone(), called.clone())) {
                set(port, kind_of(plural), &place, &called, REFERENCE_PROTECTION, false).await?;
            }
        }
    }
    Ok(())
}

/// Namespace and name of those with a finalizer.
async fn list_with_finalizer<P: Port>(
    port: &P,
    what: Resource,
    finalizer: &str,
) -> Result<Vec<(String, String)>, Status> {
    let all = port.list(what, "").await?;
    let held = all.iter().filter(|one| texts(one, "metadata.finalizers").contains(&finalizer));
    Ok(held.map(|one| (namespace(one).to_owned(), name(one).to_owned())).collect())
}

async fn set<P: Port>(
    port: &P,
    what: Resource,
    place: &str,
    called: &str,
    which: &str,
    on: bool,
) -> Result<(), Status> {
    let Some(object) = port.get(what, place, called).await? else { return Ok(()) };
    let mut all: Vec<&str> = texts(&object, "metadata.finalizers");
    let deleting = !text(&object, "metadata.deletionTimestamp").is_empty();
    if all.contains(&which) == on || (on && deleting) {
        return Ok(());
    }
    if on {
        all.push(which);
    } else {
        all.retain(|one| *one != which);
    }
    match port.patch(what, place, called, "", json!({"metadata": {"finalizers": all}})).await {
        Err(status) if status.code != 404 => Err(status),
        _ => Ok(()),
    }
}

async fn protect_references<P: Port>(shared: &Shared<P>, shoot: &Value, protect: bool) -> Result<(), Status> {
    let (port, place) = (&shared.port, namespace(shoot));
    let named = references(shoot);
    let wanted = if protect { named.as_slice() } else { &[] };
    let mut left = shared.users.refers(text(shoot, "metadata.uid"), wanted);
    left.extend(named.iter().filter(|one| !wanted.contains(one)).cloned());
    for (plural, called) in wanted {
        set(port, kind_of(plural), place, called, REFERENCE_PROTECTION, true).await?;
    }
    let others: Vec<Value> = if left.is_empty() { Vec::new() } else { port.list(SHOOTS, place).await? };
    for one in &left {
        let used = others.iter().any(|other| name(other) != name(shoot) && references(other).contains(one));
        set(port, kind_of(one.0), place, &one.1, REFERENCE_PROTECTION, used).await?;
    }
    set(port, SHOOTS, place, name(shoot), REFERENCE_PROTECTION, !wanted.is_empty()).await
}

fn kind_of(plural: &str) -> Resource {
    if plural == "secrets" { SECRETS } else { CONFIG_MAPS }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_is_let_go_by_the_last_who_uses_it() {
        let users = Users::default();
        let (aws, gcp) = (binding_of("garden-dev", "aws", ""), binding_of("garden-dev", "", "gcp"));
        assert_eq!(users.moved("one", None, aws.as_ref()), None);
        assert_eq!(users.moved("two", None, aws.as_ref()), None);
        assert_eq!(users.moved("one", aws.as_ref(), gcp.as_ref()), None, "two still uses it");
        assert_eq!(users.moved("two", aws.as_ref(), None), aws);
        assert_eq!(users.moved("two", aws.as_ref(), None), None, "once");
        assert_eq!(users.moved("one", gcp.as_ref(), None), gcp);
    }

    #[test]
    fn what_a_shoot_refers_to_no_longer_is_let_go() {
        let (users, one) = (Users::default(), |name: &str| ("secrets", name.to_owned()));
        assert_eq!(users.refers("a", &[one("x"), one("y")]), []);
        assert_eq!(users.refers("a", &[one("y"), one("z")]), [one("x")]);
        assert_eq!(users.refers("b", &[one("y")]), []);
        assert_eq!(users.refers("a", &[]), [one("y"), one("z")]);
        assert_eq!(users.refers("a", &[]), []);
    }
}
