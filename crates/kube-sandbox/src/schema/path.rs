//! Paths of fields as refusals spell them: `spec.list[2].map[key].field`.

/// A named field.
pub(super) fn child(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// An item of a list.
pub(super) fn index(path: &str, index: usize) -> String {
    format!("{path}[{index}]")
}

/// A value of a map.
pub(super) fn key(path: &str, key: &str) -> String {
    format!("{path}[{key}]")
}
