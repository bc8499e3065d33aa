//! One request, before it is sent: what, where, how important.

use http::{Method, Request, header};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use super::{Error, Priority, Resource};

/// What is done. The words are those of Kubernetes, because metrics and rights use them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// One object.
    Get,
    /// Many objects.
    List,
    /// Changes.
    Watch,
    /// A new object.
    Create,
    /// A new state, whole.
    Update,
    /// Part of an object: by server-side apply, merge or JSON patch.
    Patch,
    /// Away with it.
    Delete,
}

impl Verb {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }

    /// Whether it changes anything.
    pub const fn is_write(self) -> bool {
        match self {
            Self::Get | Self::List | Self::Watch => false,
            Self::Create | Self::Update | Self::Patch | Self::Delete => true,
        }
    }

    const fn method(self) -> Method {
        match self {
            Self::Get | Self::List | Self::Watch => Method::GET,
            Self::Create => Method::POST,
            Self::Update => Method::PUT,
            Self::Patch => Method::PATCH,
            Self::Delete => Method::DELETE,
        }
    }
}

/// The object that is meant, and no other that has its name by now.
///
/// A deletion and a merge cannot be written without one: what was decided about an object must not be done to whoever
/// came after it. A server refuses both when the object is another one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exactly {
    uid: String,
    version: Option<String>,
}

impl Exactly {
    /// This object, whatever others have written into it since.
    pub fn this(metadata: &ObjectMeta) -> Self {
        Self { uid: metadata.uid.clone().unwrap_or_default(), version: None }
    }

    /// This object, which was read as JSON, whatever others have written into it since.
    pub fn of(object: &Value) -> Self {
        Self { uid: object["metadata"]["uid"].as_str().unwrap_or_default().to_owned(), version: None }
    }

    /// This object, and only as it was read.
    pub fn unchanged(metadata: &ObjectMeta) -> Self {
        Self { version: metadata.resource_version.clone(), ..Self::this(metadata) }
    }
}

/// One request.
#[derive(Debug, Clone)]
pub struct Ask {
    /// What is done.
    pub verb: Verb,
    /// To which kind.
    pub resource: &'static Resource,
    /// Where; empty for all namespaces and for kinds without.
    pub namespace: String,
    /// To which object; empty for a list and for a create.
    pub name: String,
    /// To which part of it; empty for all.
    pub subresource: &'static str,
    /// How important it is to the budget.
    pub priority: Priority,
    query: Vec<(&'static str, String)>,
    body: Option<(&'static str, Value)>,
    heads_only: bool,
}

impl Ask {
    fn new(verb: Verb, resource: &'static Resource, namespace: &str, name: &str) -> Self {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        let (priority, query) = (Priority::Change, Vec::new());
        Self { verb, resource, namespace, name, subresource: "", priority, query, body: None, heads_only: false }
    }

    /// One object.
    pub fn get(resource: &'static Resource, namespace: &str, name: &str) -> Self {
        Self::new(Verb::Get, resource, namespace, name)
    }

    /// All objects of a namespace.
    pub fn list(resource: &'static Resource, namespace: &str) -> Self {
        Self::new(Verb::List, resource, namespace, "")
    }

    /// Changes behind a version.
    pub fn watch(resource: &'static Resource, namespace: &str) -> Self {
        Self::new(Verb::Watch, resource, namespace, "")
    }

    /// A new object.
    pub fn create(resource: &'static Resource, namespace: &str, object: Value) -> Self {
        let ask = Self::new(Verb::Create, resource, namespace, "");
        Self { body: Some(("application/json", object)), ..ask }
    }

    /// A new object below another, as a request for a kubeconfig is.
    pub fn create_under(
        resource: &'static Resource,
        namespace: &str,
        name: &str,
        part: &'static str,
        it: Value,
    ) -> Self {
        let ask = Self::new(Verb::Create, resource, namespace, name);
        Self { body: Some(("application/json", it)), subresource: part, ..ask }
    }

    /// The whole object, if it is still the version that it says.
    pub fn update(resource: &'static Resource, namespace: &str, name: &str, object: Value) -> Self {
        let ask = Self::new(Verb::Update, resource, namespace, name);
        Self { body: Some(("application/json", object)), ..ask }
    }

    /// Server-side apply: `object` is exactly what `manager` wants to own. Forced, because ours is the opinion
    /// that counts for the fields we send, and we send no others.
    pub fn apply(resource: &'static Resource, namespace: &str, name: &str, manager: &str, object: Value) -> Self {
        let mut ask = Self::new(Verb::Patch, resource, namespace, name);
        ask.query.extend([("fieldManager", manager.to_owned()), ("force", "true".to_owned())]);
        Self { body: Some(("application/apply-patch+yaml", object)), ..ask }
    }

    /// The same for an object that is not there: no field of others is taken, so that one which somebody else made in
    /// this moment is a conflict and stays as it is.
    pub fn apply_new(resource: &'static Resource, namespace: &str, name: &str, manager: &str, object: Value) -> Self {
        let mut ask = Self::new(Verb::Patch, resource, namespace, name);
        ask.query.push(("fieldManager", manager.to_owned()));
        Self { body: Some(("application/apply-patch+yaml", object)), ..ask }
    }

    /// Merge patch: only what `change` names, and only of this object.
    pub fn merge(resource: &'static Resource, namespace: &str, name: &str, only: &Exactly, change: Value) -> Self {
        let ask = Self::new(Verb::Patch, resource, namespace, name);
        Self { body: Some(("application/merge-patch+json", change)), ..ask }.only_if(only)
    }

    /// JSON patch: operations in order, all or none. They name the version they were made from.
    pub fn operations(resource: &'static Resource, namespace: &str, name: &str, operations: Value) -> Self {
        let ask = Self::new(Verb::Patch, resource, namespace, name);
        Self { body: Some(("application/json-patch+json", operations)), ..ask }
    }

    /// Away with this object.
    pub fn delete(resource: &'static Resource, namespace: &str, name: &str, only: &Exactly) -> Self {
        let mut conditions = json!({"uid": only.uid});
        if let Some(version) = &only.version {
            conditions["resourceVersion"] = json!(version);
        }
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions});
        let ask = Self::new(Verb::Delete, resource, namespace, name);
        Self { body: Some(("application/json", options)), ..ask }
    }

    /// Only if the object is still this one: what is applied makes no new one then, and changes no other.
    #[must_use]
    pub fn only_if(mut self, only: &Exactly) -> Self {
        if let Some((_, body)) = &mut self.body {
            body["metadata"]["uid"] = json!(only.uid);
            if let Some(version) = &only.version {
                body["metadata"]["resourceVersion"] = json!(version);
            }
        }
        self
    }

    /// Of a part of the object.
    #[must_use]
    pub fn part(mut self, subresource: &'static str) -> Self {
        self.subresource = subresource;
        self
    }

    /// As important as this.
    #[must_use]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// With one more query parameter.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.query.push((key, value.into()));
        self
    }

    /// Only the metadata of objects is wanted: what nobody looks at is not sent, least of all the content of Secrets.
    #[must_use]
    pub(super) fn heads_only(mut self, heads_only: bool) -> Self {
        self.heads_only = heads_only;
        self
    }

    /// What is sent, if anything.
    pub fn body(&self) -> Option<&Value> {
        self.body.as_ref().map(|(_, body)| body)
    }

    /// Where it goes, as a path.
    pub fn path(&self) -> String {
        let mut path = self.resource.path(&escaped(&self.namespace, PATH));
        for part in [self.name.as_str(), self.subresource] {
            if !part.is_empty() {
                path.push('/');
                path.push_str(&escaped(part, PATH));
            }
        }
        path
    }

    pub(super) fn request(&self, dry_run: bool) -> Result<Request<Vec<u8>>, Error> {
        self.check_place()?;
        let mut uri = self.path();
        let dry = (dry_run && self.verb.is_write()).then_some(("dryRun", "All".to_owned()));
        for (place, (key, value)) in self.query.iter().chain(dry.iter()).enumerate() {
            uri.push(if place == 0 { '?' } else { '&' });
            uri.push_str(key);
            uri.push('=');
            uri.push_str(&escaped(value, QUERY));
        }
        let accept = match (self.heads_only, self.verb) {
            (false, _) => "application/json",
            (true, Verb::List) => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            (true, _) => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        };
        let mut request = Request::builder().method(self.verb.method()).uri(uri).header(header::ACCEPT, accept);
        let body = match &self.body {
            Some((media, body)) => {
                request = request.header(header::CONTENT_TYPE, *media);
                serde_json::to_vec(body).map_err(|error| Error::unsendable(&error.to_string()))?
            }
            None => Vec::new(),
        };
        request.body(body).map_err(|error| Error::unsendable(&error.to_string()))
    }

    /// No object is called `.` or `..`, and whoever stands between would take them for a way up. Without its name a
    /// call for one object would be one for all of them, deletions included.
    fn check_place(&self) -> Result<(), Error> {
        let is_of_one = match self.verb {
            Verb::Get | Verb::Update | Verb::Patch | Verb::Delete => true,
            Verb::List | Verb::Watch | Verb::Create => false,
        };
        if is_of_one && self.name.is_empty() {
            return Err(Error::unsendable("it names no object"));
        }
        if [&self.namespace, &self.name].into_iter().any(|part| part == "." || part == "..") {
            return Err(Error::unsendable("`.` and `..` are no names"));
        }
        Ok(())
    }
}

/// What stands as it is in a query, besides letters and digits.
const QUERY: &[u8] = b"-._~";
/// The same in a path: some names have colons.
const PATH: &[u8] = b"-._~:";

fn escaped(text: &str, plain: &[u8]) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || plain.contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::resource::{CLUSTER_ROLE_BINDINGS, SECRETS};

    /// Names may come from whoever writes into a customer's cluster.
    #[test]
    fn a_name_cannot_break_out_of_its_place() {
        let path = |name: &str| Ask::get(&SECRETS, "a/b", name).path();
        assert_eq!(path("s?watch=true"), "/api/v1/namespaces/a%2Fb/secrets/s%3Fwatch%3Dtrue");
        assert_eq!(path("../x y"), "/api/v1/namespaces/a%2Fb/secrets/..%2Fx%20y");
        let binding = Ask::get(&CLUSTER_ROLE_BINDINGS, "", "system:node").path();
        assert_eq!(binding, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/system:node");
    }

    #[test]
    fn what_leads_up_or_to_all_objects_is_never_sent() {
        for (namespace, name) in [("a", ".."), ("a", "."), ("..", "s"), (".", "s"), ("a", "")] {
            let asks =
                [Ask::get(&SECRETS, namespace, name), Ask::delete(&SECRETS, namespace, name, &Exactly::default())];
            for ask in asks {
                let refused = ask.request(false).expect_err("refused");
                assert_eq!(
                    (refused.reason.as_str(), refused.effect_unknown),
                    ("Unsendable", false),
                    "{namespace}/{name}"
                );
            }
        }
        assert!(Ask::get(&SECRETS, "a", "..data").request(false).is_ok(), "a name may begin with dots");
    }
}
