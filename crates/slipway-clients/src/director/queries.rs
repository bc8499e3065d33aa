//! The documents that are sent. Every value is a variable.

pub(super) const REGISTER: &str = "mutation($in: RuntimeRegisterInput!){ result: registerRuntime(in:$in){ id } }";

pub(super) const GET: &str =
    "query($id: ID!){ result: runtime(id:$id){ id name description labels status{condition} } }";

pub(super) const FIND: &str = "query($f:[LabelFilter!]){ result: runtimes(filter:$f){ data{ id } } }";

pub(super) const UPDATE: &str =
    "mutation($id: ID!, $in: RuntimeUpdateInput!){ result: updateRuntime(id:$id, in:$in){ id } }";

pub(super) const UNREGISTER: &str = "mutation($id: ID!){ result: unregisterRuntime(id:$id){ id } }";

pub(super) const ONE_TIME_TOKEN: &str =
    "mutation($id: ID!){ result: requestOneTimeTokenForRuntime(id:$id){ token connectorURL } }";

/// The field that a query asks for; every one calls it `result`.
pub(super) fn name(query: &'static str) -> &'static str {
    let asked = query.split_once("result: ").map_or(query, |(_, asked)| asked);
    asked.split_once('(').map_or(asked, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_has_a_name_to_be_counted_by() {
        let all = [REGISTER, GET, FIND, UPDATE, UNREGISTER, ONE_TIME_TOKEN];
        let names = all.map(name);
        let expected = [
            "registerRuntime",
            "runtime",
            "runtimes",
            "updateRuntime",
            "unregisterRuntime",
            "requestOneTimeTokenForRuntime",
        ];
        assert_eq!(names, expected);
    }
}
