//! What a kind is, and what is special about it.
//!
//! A [`Kind`] is data: names, schema, columns. What no table can say is in its [`Strategy`]: rules
//! across objects, computed fields, subresources that are calls. The server does the rest for
//! every kind alike, so a new kind is one row and, at most, one strategy.

mod strategy;

use std::{fmt, sync::Arc};

use jiff::Timestamp;
use serde_json::Value;

pub use self::strategy::{Access, Ctx, Plain, Strategy, User, View};
use super::{schema::Schema, status::Status};

/// One served version of a kind.
#[derive(Clone)]
pub struct Kind {
    /// API group; empty for the core.
    pub group: String,
    /// API version.
    pub version: String,
    /// `Widget`.
    pub kind: String,
    /// `WidgetList`.
    pub list_kind: String,
    /// `widgets`, as in paths.
    pub plural: String,
    /// `widget`.
    pub singular: String,
    /// Abbreviations kubectl takes.
    pub short_names: Vec<String>,
    /// Groups of kinds kubectl takes, as `all`.
    pub categories: Vec<String>,
    /// Lives in a namespace.
    pub namespaced: bool,
    /// What may be done with it; reviews can only be created.
    pub verbs: &'static [&'static str],
    /// What is served below an object.
    pub subresources: Vec<Subresource>,
    /// Columns of `kubectl get` behind the name; age alone where empty.
    pub columns: Vec<Column>,
    /// Fields a field selector may name, besides name and namespace.
    pub selectable: Vec<String>,
    /// Its fields.
    pub schema: Arc<Schema>,
    /// What is special about it.
    pub strategy: Arc<dyn Strategy>,
    /// How writes move `metadata.generation`.
    pub generation: Generation,
    /// Whose code serves it, for the points in which those differ.
    pub served_by: ServedBy,
    /// The table its objects are in: one for all versions of a kind, and for two kinds that are one (events).
    pub stored_as: String,
    /// What its names look like.
    pub naming: Naming,
    /// From and to the stored form, where that is more than another `apiVersion`.
    pub convert: Option<Convert>,
    /// A PUT of an object that does not exist makes it.
    pub creates_on_update: bool,
    /// A PUT must name the version it was made from.
    pub updates_name_version: bool,
}

/// Whose code serves a kind. All follow the same machinery, but not in every point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServedBy {
    /// Kubernetes itself: objects have types, and rules that only its own kinds have.
    Kubernetes,
    /// A CustomResourceDefinition: objects are JSON with a schema, checked after they were read.
    Definition,
    /// An aggregated API server, behind the front: objects have types as those of Kubernetes, so a
    /// strategic merge patch works and a value of the wrong type cannot be read; all other rules are its own.
    Aggregated,
}

/// How two forms of a kind become each other.
#[derive(Clone, Copy)]
pub struct Convert {
    /// Makes this kind out of the stored form.
    pub from_stored: fn(&mut Value),
    /// Makes the stored form out of this kind.
    pub to_stored: fn(&mut Value),
}

/// What names of a kind look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// Up to 253 letters, digits, dashes and dots: most kinds.
    Subdomain,
    /// Up to 63 letters, digits and dashes: namespaces.
    Label,
    /// The same, and it starts with a letter: services.
    LabelWithLetter,
    /// Anything that fits between two slashes: roles.
    PathSegment,
}

/// All verbs of a stored kind.
pub const STORED: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// The same for custom resources, in the order the real server tells them.
pub const CUSTOM: &[&str] = &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// Verbs of a kind that is only a question.
pub const QUESTION: &[&str] = &["create"];

/// When a write raises the generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// The kind has none: ConfigMap, Secret, Namespace.
    None,
    /// A change of `spec` alone raises it: Deployment.
    Spec,
    /// A change of anything but metadata and status raises it: custom resources.
    AllButStatus,
}

/// Something below an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subresource {
    /// `status`: reads the object, writes its status alone.
    Status,
    /// `scale`: three fields of the object as an `autoscaling/v1` Scale.
    Scale {
        /// Dotted path of the wanted number, as `.spec.replicas`.
        spec: String,
        /// Dotted path of the present number.
        status: String,
        /// Dotted path of the selector, if it has one.
        selector: Option<String>,
    },
    /// Another writable view of the object, as `binding` or `finalize`: GET, PUT and PATCH, by the strategy's `update`.
    View {
        /// Name in the path.
        name: &'static str,
    },
    /// A call, as `token` or `adminkubeconfig`: POST, by [`Strategy::call`].
    Call {
        /// Name in the path.
        name: &'static str,
        /// Group of what is sent and answered.
        group: &'static str,
        /// Its version.
        version: &'static str,
        /// Its kind.
        kind: &'static str,
    },
}

impl Subresource {
    /// Its name in the path.
    pub fn name(&self) -> &str {
        match self {
            Self::Status => "status",
            Self::Scale { .. } => "scale",
            Self::View { name } | Self::Call { name, .. } => name,
        }
    }
}

/// A column of `kubectl get`.
#[derive(Clone)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: String,
    /// `name`, `int64` and so on; often empty.
    pub format: String,
    /// What `kubectl` says about it, nowhere yet.
    pub description: String,
    /// 0 is shown always, more only with `-o wide`.
    pub priority: i32,
    /// Where its value comes from.
    pub cell: Cell,
}

/// Where the value of a column comes from.
#[derive(Clone)]
pub enum Cell {
    /// A JSON path into the object, as `.spec.replicas`.
    Path(String),
    /// Computed from the object and the present time.
    Of(fn(&Value, Timestamp) -> Value),
}

impl Column {
    /// A string column that is always shown, at this path.
    pub fn path(name: &str, path: &str) -> Self {
        Self::new(name, "string", Cell::Path(path.to_owned()))
    }

    /// A column that is computed.
    pub fn of(name: &str, kind: &str, cell: fn(&Value, Timestamp) -> Value) -> Self {
        Self::new(name, kind, Cell::Of(cell))
    }

    /// The age of the object.
    pub fn age() -> Self {
        Self::new("Age", "date", Cell::Path(".metadata.creationTimestamp".to_owned()))
    }

    /// Only with `-o wide`.
    pub fn wide(mut self) -> Self {
        self.priority = 1;
        self
    }

    fn new(name: &str, kind: &str, cell: Cell) -> Self {
        let (format, description) = (String::new(), String::new());
        Self { name: name.to_owned(), kind: kind.to_owned(), format, description, priority: 0, cell }
    }
}

impl Kind {
    /// A stored, cluster-wide kind that takes any content; the methods below refine it.
    pub fn new(group: &str, version: &str, kind: &str, plural: &str) -> Self {
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            list_kind: format!("{kind}List"),
            plural: plural.to_owned(),
            singular: kind.to_lowercase(),
            short_names: Vec::new(),
            categories: Vec::new(),
            namespaced: false,
            verbs: STORED,
            subresources: Vec::new(),
            columns: Vec::new(),
            selectable: Vec::new(),
            schema: Arc::new(Schema::open()),
            strategy: Arc::new(Plain),
            generation: Generation::None,
            served_by: ServedBy::Kubernetes,
            stored_as: super::status::qualified(group, plural),
            naming: Naming::Subdomain,
            convert: None,
            creates_on_update: false,
            updates_name_version: false,
        }
    }

    /// Comes from a CustomResourceDefinition.
    pub fn is_custom(&self) -> bool {
        self.served_by == ServedBy::Definition
    }

    /// One of Kubernetes' own.
    pub fn is_built_in(&self) -> bool {
        self.served_by == ServedBy::Kubernetes
    }

    /// Lives in a namespace.
    pub fn namespaced(mut self) -> Self {
        self.namespaced = true;
        self
    }

    /// Abbreviations.
    pub fn short(mut self, names: &[&str]) -> Self {
        self.short_names = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// One more thing below an object.
    pub fn below(mut self, subresource: Subresource) -> Self {
        self.subresources.push(subresource);
        self
    }

    /// Columns behind the name.
    pub fn columns(mut self, columns: Vec<Column>) -> Self {
        self.columns = columns;
        self
    }

    /// Fields a field selector may name.
    pub fn selectable(mut self, fields: &[&str]) -> Self {
        self.selectable = fields.iter().map(|field| (*field).to_owned()).collect();
        self
    }

    /// Its fields.
    pub fn schema(mut self, schema: Arc<Schema>) -> Self {
        self.schema = schema;
        self
    }

    /// What is special about it.
    pub fn strategy(mut self, strategy: impl Strategy + 'static) -> Self {
        self.strategy = Arc::new(strategy);
        self
    }

    /// How writes move the generation.
    pub fn generation(mut self, generation: Generation) -> Self {
        self.generation = generation;
        self
    }

    /// What its names look like.
    pub fn naming(mut self, naming: Naming) -> Self {
        self.naming = naming;
        self
    }

    /// Groups of kinds it belongs to.
    pub fn categories(mut self, names: &[&str]) -> Self {
        self.categories = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// A PUT of an object that does not exist makes it.
    pub fn creates_on_update(mut self) -> Self {
        self.creates_on_update = true;
        self
    }

    /// It can only be asked.
    pub fn question(mut self) -> Self {
        self.verbs = QUESTION;
        self
    }

    /// `apps/v1`, or `v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The subresource of this name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|one| one.name() == name)
    }

    /// Writes to the object and to its status are apart.
    pub fn has_status(&self) -> bool {
        self.subresources.contains(&Subresource::Status)
    }

    /// 404 for an object of this kind.
    pub fn not_found(&self, name: &str) -> Status {
        Status::not_found(&self.group, &self.plural, name)
    }

    /// 422 for an object of this kind.
    pub fn invalid(&self, name: &str, causes: Vec<super::status::Cause>) -> Status {
        Status::invalid(&self.group, &self.kind, name, causes)
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, Kind={}", self.api_version(), self.kind)
    }
}
