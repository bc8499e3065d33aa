//! What the Director's API offers, as tables, and whether a request fits.

use serde_json::{Map, Value};

use super::graphql::{Document, Field};

/// A field of an output type, and what can be selected of it.
pub(super) struct Output(&'static str, &'static [Output]);

/// A root field.
pub(super) struct Root {
    pub(super) name: &'static str,
    is_mutation: bool,
    arguments: &'static [(&'static str, &'static str)],
    result: &'static [Output],
    /// What the token must allow.
    pub(super) scope: &'static str,
}

/// Who may read.
pub(super) const READ: &str = "runtime:read";
/// Who may write.
pub(super) const WRITE: &str = "runtime:write";

const ID: &[Output] = &[Output("id", &[])];
const RUNTIME: &[Output] = &[
    Output("id", &[]),
    Output("name", &[]),
    Output("description", &[]),
    Output("labels", &[]),
    Output("status", &[Output("condition", &[])]),
];

#[rustfmt::skip]
pub(super) static ROOTS: &[Root] = &[
    Root { name: "runtime", is_mutation: false, arguments: &[("id", "ID!")], result: RUNTIME, scope: READ },
    Root { name: "runtimes", is_mutation: false, arguments: &[("filter", "[LabelFilter!]")], result: &[Output("data", RUNTIME)], scope: READ },
    Root { name: "registerRuntime", is_mutation: true, arguments: &[("in", "RuntimeRegisterInput!")], result: RUNTIME, scope: WRITE },
    Root { name: "updateRuntime", is_mutation: true, arguments: &[("id", "ID!"), ("in", "RuntimeUpdateInput!")], result: RUNTIME, scope: WRITE },
    Root { name: "unregisterRuntime", is_mutation: true, arguments: &[("id", "ID!")], result: ID, scope: WRITE },
    Root { name: "setRuntimeLabel", is_mutation: true, arguments: &[("runtimeID", "ID!"), ("key", "String!"), ("value", "Any!")], result: &[Output("key", &[]), Output("value", &[])], scope: WRITE },
    Root { name: "requestOneTimeTokenForRuntime", is_mutation: true, arguments: &[("id", "ID!")], result: &[Output("token", &[]), Output("connectorURL", &[])], scope: WRITE },
];

/// Fields of input types: name, type, required.
type Input = &'static [(&'static str, &'static str, bool)];

const RUNTIME_INPUT: Input = &[
    ("name", "String", true),
    ("description", "String", false),
    ("labels", "Labels", false),
    ("statusCondition", "Condition", false),
];
const LABEL_FILTER: Input = &[("key", "String", true), ("query", "String", false)];

/// The words of a runtime's condition.
pub(super) const CONDITIONS: [&str; 4] = ["INITIAL", "PROVISIONING", "CONNECTED", "FAILED"];

/// A request that fits: which root field, under which alias, with which arguments.
pub(super) struct RootCall {
    pub(super) root: &'static Root,
    pub(super) alias: String,
    pub(super) arguments: Map<String, Value>,
    pub(super) selection: Vec<Field>,
}

/// Checks a document and its variables against the tables.
pub(super) fn check(document: Document, mut variables: Map<String, Value>) -> Result<RootCall, String> {
    let Document { is_mutation, variables: declared, fields } = document;
    let [field] = <[Field; 1]>::try_from(fields).map_err(|_| "one root field at a time, please".to_owned())?;
    let root = ROOTS.iter().find(|root| root.name == field.name && root.is_mutation == is_mutation);
    let root = root.ok_or_else(|| format!("Cannot query field {:?}", field.name))?;
    let mut arguments = Map::new();
    for (name, type_name) in root.arguments {
        let variable = field.arguments.iter().find(|(argument, _)| argument == name);
        let Some((_, variable)) = variable else {
            if type_name.ends_with('!') {
                return Err(format!("{} needs the argument {name}", root.name));
            }
            continue;
        };
        let (_, found) =
            declared.iter().find(|(own, _)| own == variable).ok_or(format!("${variable} is not declared"))?;
        if found != type_name && *found != format!("{type_name}!") {
            return Err(format!("${variable} is a {found}, but {name} takes a {type_name}"));
        }
        let value = variables.remove(variable).unwrap_or(Value::Null);
        fits(name, type_name, &value)?;
        arguments.insert((*name).to_owned(), value);
    }
    if let Some((extra, _)) =
        field.arguments.iter().find(|(own, _)| !root.arguments.iter().any(|(name, _)| name == own))
    {
        return Err(format!("{} takes no argument {extra}", root.name));
    }
    if let Some(extra) = variables.keys().next() {
        return Err(format!("the variable {extra} is used by nothing"));
    }
    selects(&field, root.result)?;
    Ok(RootCall { root, alias: field.alias, arguments, selection: field.selection })
}

fn selects(field: &Field, shape: &[Output]) -> Result<(), String> {
    if field.selection.is_empty() != shape.is_empty() {
        return Err(format!("{} needs {} selection", field.name, if shape.is_empty() { "no" } else { "a" }));
    }
    for wanted in &field.selection {
        let found = shape.iter().find(|Output(name, _)| *name == wanted.name);
        let Output(_, inner) = found.ok_or_else(|| format!("{} has no field {}", field.name, wanted.name))?;
        selects(wanted, inner)?;
    }
    Ok(())
}

fn fits(name: &str, type_name: &str, value: &Value) -> Result<(), String> {
    let (bare, required) = match type_name.strip_suffix('!') {
        Some(bare) => (bare, true),
        None => (type_name, false),
    };
    if value.is_null() {
        return if required { Err(format!("{name} must not be null")) } else { Ok(()) };
    }
    if let Some(inner) = bare.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let Value::Array(all) = value else { return Err(format!("{name} must be a list")) };
        return all.iter().try_for_each(|one| fits(name, inner, one));
    }
    match bare {
        "ID" | "String" if value.is_string() => Ok(()),
        "Any" => Ok(()),
        "Labels" if value.is_object() => Ok(()),
        "Condition" if value.as_str().is_some_and(|word| CONDITIONS.contains(&word)) => Ok(()),
        "RuntimeRegisterInput" | "RuntimeUpdateInput" => input(name, RUNTIME_INPUT, value),
        "LabelFilter" => input(name, LABEL_FILTER, value),
        _ => Err(format!("{name} is not a {bare}")),
    }
}

fn input(name: &str, shape: Input, value: &Value) -> Result<(), String> {
    let Value::Object(given) = value else { return Err(format!("{name} must be an object")) };
    if let Some(extra) = given.keys().find(|key| !shape.iter().any(|(field, ..)| field == key)) {
        return Err(format!("{name}.{extra} is unknown"));
    }
    for (field, type_name, required) in shape {
        let inner = given.get(*field).unwrap_or(&Value::Null);
        let type_name = if *required { format!("{type_name}!") } else { (*type_name).to_owned() };
        fits(&format!("{name}.{field}"), &type_name, inner)?;
    }
    Ok(())
}
