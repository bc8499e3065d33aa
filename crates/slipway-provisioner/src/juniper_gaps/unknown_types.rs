//! What is looked at in a document before the GraphQL library validates it.
//!
//! The library panics where a variable has a default and a type that the schema does not have. A panic is
//! caught and answered, but as a defect of ours, which clients then try again for ever.

use juniper::{Definition, ScalarValue, SchemaType, parser::parse_document_source};

/// A variable has a type that the schema does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the schema has no type {name}; look it up at /")]
pub(super) struct UnknownType {
    /// The variable.
    pub(super) variable: String,
    name: String,
}

/// Looks for variables of unknown types, with the library's own parser: a second opinion of what a
/// document says would let some through. One that cannot be read is left to the library, which says why.
pub(super) fn check_types<S: ScalarValue>(query: &str, schema: &SchemaType<S>) -> Result<(), UnknownType> {
    let Ok(definitions) = parse_document_source(query, schema) else { return Ok(()) };
    let operations = definitions.iter().filter_map(|definition| match definition {
        Definition::Operation(operation) => operation.item.variables_definition.as_ref(),
        Definition::Fragment(_) => None,
    });
    for (variable, definition) in operations.flat_map(|variables| variables.item.iter()) {
        let name = definition.var_type.item.innermost_name();
        if schema.concrete_type_by_name(name).is_none() {
            return Err(UnknownType { variable: variable.item.to_owned(), name: name.to_owned() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Settings, graphql};

    #[test]
    fn a_variable_of_an_unknown_type_is_named() {
        let schema = &graphql::schema(&Settings::default()).schema;
        for query in ["{a}", "query($a: Int = 1, $b: [[Int!]!]) {x}", "{a(x: \"$b: Nope\")} # $b: Nope", "query($a: ["]
        {
            assert_eq!(check_types(query, schema), Ok(()), "{query}");
        }
        for query in [
            "query($a: Int, $b: Nope = 1) {x}",
            "query($b:[Nope!]={}) {x}",
            "query($b # $b: Int\n: Nope) {x}",
            "{x} query A($b:\u{feff}Nope = 1) {x}",
        ] {
            let unknown = check_types(query, schema).expect_err(query);
            assert_eq!((unknown.variable.as_str(), unknown.name.as_str()), ("b", "Nope"), "{query}");
        }
    }
}
