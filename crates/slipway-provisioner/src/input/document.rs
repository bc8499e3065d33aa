//! What is looked at in a document before the GraphQL library sees it.
//!
//! The library panics where a variable has a default and a type that the schema does not have. A panic is
//! caught and answered, but as a defect of ours, which clients then try again for ever.

use super::tokens::{Kind, tokens};

/// A variable has a type that the schema does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the schema has no type {name}; look it up at /")]
pub struct UnknownType {
    /// The variable.
    pub variable: String,
    name: String,
}

/// Looks for variables of unknown types. Names are read by the grammar's own tokens, so what stands in a
/// text or in a comment is not taken for one.
pub fn check_types(query: &str, tokens_max: usize, knows: impl Fn(&str) -> bool) -> Result<(), UnknownType> {
    let tokens = tokens(query, tokens_max + 1);
    for (at, window) in tokens.windows(3).enumerate() {
        let [dollar, variable, colon] = window else { continue };
        if !dollar.is("$") || variable.kind != Kind::Word || !colon.is(":") {
            continue;
        }
        let Some(name) = tokens[at + 3..].iter().find(|token| !token.is("[")) else { continue };
        if name.kind == Kind::Word && !knows(name.text) {
            return Err(UnknownType { variable: variable.text.to_owned(), name: name.text.to_owned() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_of_an_unknown_type_is_named() {
        let knows = |name: &str| name == "Int";
        for query in ["{a}", "query($a: Int = 1, $b: [[Int!]!]) {x}", "{a(x: \"$b: Nope\")} # $b: Nope", "query($a: ["]
        {
            assert_eq!(check_types(query, 100, knows), Ok(()), "{query}");
        }
        for query in ["query($a: Int, $b: Nope = 1) {x}", "query($b:[Nope!]={}) {x}", "query($b # $b: Int\n: Nope) {x}"]
        {
            let unknown = check_types(query, 100, knows).expect_err(query);
            assert_eq!((unknown.variable.as_str(), unknown.name.as_str()), ("b", "Nope"), "{query}");
        }
    }
}
