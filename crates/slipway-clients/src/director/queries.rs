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
