//! From a path to what is meant.

/// What a path below `/api` or `/apis` names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// API group; empty for the core.
    pub group: String,
    /// API version.
    pub version: String,
    /// Namespace, or empty.
    pub namespace: String,
    /// Resource.
    pub resource: String,
    /// Name, or empty for the collection.
    pub name: String,
    /// Subresource, or empty.
    pub subresource: String,
    /// The old way to watch: `/api/v1/watch/...`.
    pub watch: bool,
}

/// What a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// Objects.
    Resource(Target),
    /// Something else: discovery, health, OpenAPI.
    Other,
}

impl Route {
    /// Reads a path.
    pub fn parse(path: &str) -> Self {
        let parts: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(decode).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match &parts[..] {
            ["api", version, rest @ ..] if !rest.is_empty() => Self::resource("", version, rest),
            ["apis", group, version, rest @ ..] if !rest.is_empty() => Self::resource(group, version, rest),
            _ => Self::Other,
        }
    }

    fn resource(group: &str, version: &str, rest: &[&str]) -> Self {
        let (watch, rest) = match rest {
            ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
            rest => (false, rest),
        };
        let (namespace, rest) = match rest {
            // `namespaces/x/status` is about the namespace itself, `namespaces/x/secrets` about what is in it.
            ["namespaces", _, "status" | "finalize"] | ["namespaces"] | ["namespaces", _] => ("", rest),
            ["namespaces", namespace, rest @ ..] => (*namespace, rest),
            rest => ("", rest),
        };
        let part = |index: usize| rest.get(index).copied().unwrap_or_default().to_owned();
        if rest.len() > 3 {
            return Self::Other;
        }
        Self::Resource(Target {
            group: group.to_owned(),
            version: version.to_owned(),
            namespace: if part(0) == "namespaces" && group.is_empty() { part(1) } else { namespace.to_owned() },
            resource: part(0),
            name: part(1),
            subresource: part(2),
            watch,
        })
    }
}

/// Undoes percent encoding; what is no good encoding stays as it is.
pub fn decode(text: &str) -> String {
    let (bytes, mut out) = (text.as_bytes(), Vec::with_capacity(text.len()));
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        match (bytes[at], hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The parameters behind the question mark.
#[derive(Debug, Clone, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads them.
    pub fn parse(query: Option<&str>) -> Self {
        let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(&key.replace('+', " ")), decode(&value.replace('+', " ")))
        });
        Self(pairs.collect())
    }

    /// The first value of a parameter; empty if it is not there.
    pub fn get(&self, key: &str) -> &str {
        self.0.iter().find(|(name, _)| name == key).map_or("", |(_, value)| value)
    }

    /// All values of a parameter.
    pub fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// It is there and true.
    pub fn is(&self, key: &str) -> bool {
        let there = self.0.iter().any(|(name, _)| name == key);
        there && !["false", "0", "f", "F", "False", "FALSE"].contains(&self.get(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(path: &str) -> String {
        match Route::parse(path) {
            Route::Other => "other".to_owned(),
            Route::Resource(t) => {
                [t.group, t.version, t.namespace, t.resource, t.name, t.subresource, t.watch.to_string()].join("|")
            }
        }
    }

    #[test]
    fn paths_name_objects() {
        for (path, wanted) in [
            ("/api/v1/namespaces", "|v1||namespaces|||false"),
            ("/api/v1/namespaces/a", "|v1|a|namespaces|a||false"),
            ("/api/v1/namespaces/a/finalize", "|v1|a|namespaces|a|finalize|false"),
            ("/api/v1/namespaces/a/secrets", "|v1|a|secrets|||false"),
            ("/apis/g.io/v1/namespaces/a/things/b%2Fc/status", "g.io|v1|a|things|b/c|status|false"),
            ("/api/v1/watch/namespaces/a/secrets/b", "|v1|a|secrets|b||true"),
            ("/apis/g.io/v1/things", "g.io|v1||things|||false"),
            ("/apis/g.io/v1", "other"),
            ("/version", "other"),
        ] {
            assert_eq!(target(path), wanted, "{path}");
        }
    }

    #[test]
    fn queries_are_decoded() {
        let query = Query::parse(Some("labelSelector=a%3Db%2Cc+in+(d)&watch&limit=5&x=false"));
        assert_eq!((query.get("labelSelector"), query.get("limit")), ("a=b,c in (d)", "5"));
        assert!(query.is("watch") && !query.is("x") && !query.is("y"));
    }
}
