//! The address of an outside system.

use std::{fmt, str::FromStr};

use http::Uri;

/// Where an outside system is found: scheme, host, and the path that all its calls share. It has
/// no query and no user info, so it can be printed: secrets do not belong into an address.
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl(String);

impl BaseUrl {
    /// A value the tests parse, and documentation shows.
    pub const EXAMPLE: &'static str = "https://hello.example.com/api";

    /// The address of one thing: every segment is quoted, so that no name can reach outside its
    /// place in the path.
    pub fn at(&self, segments: &[&str]) -> Uri {
        let mut text = self.0.clone();
        for segment in segments {
            text.push('/');
            quote(segment, &mut text);
        }
        text.parse().expect("a checked address and quoted segments make an address")
    }

    /// The same with a query; names are ours, values are quoted.
    pub fn with_query(&self, segments: &[&str], query: &[(&str, &str)]) -> Uri {
        let mut text = self.at(segments).to_string();
        for (index, (name, value)) in query.iter().enumerate() {
            text.push(if index == 0 { '?' } else { '&' });
            text.push_str(name);
            text.push('=');
            quote(value, &mut text);
        }
        text.parse().expect("a checked address and quoted values make an address")
    }
}

/// Percent-encodes everything but the unreserved characters. `.` and `..` would be taken for steps
/// through the path, so their dots are quoted too.
fn quote(segment: &str, text: &mut String) {
    let only_dots = segment.bytes().all(|byte| byte == b'.');
    for byte in segment.bytes() {
        match byte {
            b'.' if only_dots => text.push_str("%2E"),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => text.push(char::from(byte)),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
}

/// Why a text is no address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an address must look like {}, without user, query and fragment", BaseUrl::EXAMPLE)]
pub struct BadBaseUrl;

impl FromStr for BaseUrl {
    type Err = BadBaseUrl;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.contains(['#', '?', '@']) {
            return Err(BadBaseUrl);
        }
        let uri: Uri = text.parse().map_err(|_| BadBaseUrl)?;
        match (uri.scheme_str(), uri.host()) {
            (Some("http" | "https"), Some(host)) if !host.is_empty() => Ok(Self(text.trim_end_matches('/').to_owned())),
            _ => Err(BadBaseUrl),
        }
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_place_in_the_path() {
        let base: BaseUrl = BaseUrl::EXAMPLE.parse().expect("example");
        for (name, path) in [
            ("ann", "/api/greetings/ann"),
            ("a/b?c#d", "/api/greetings/a%2Fb%3Fc%23d"),
            ("..", "/api/greetings/%2E%2E"),
            ("é", "/api/greetings/%C3%A9"),
            ("", "/api/greetings/"),
        ] {
            assert_eq!(base.at(&["greetings", name]).path(), path);
        }
    }

    #[test]
    fn a_value_cannot_leave_its_place_in_the_query() {
        let base: BaseUrl = BaseUrl::EXAMPLE.parse().expect("example");
        let uri = base.with_query(&["operations"], &[("state", "in progress"), ("instance_id", "a&b=c#d")]);
        assert_eq!(uri.query(), Some("state=in%20progress&instance_id=a%26b%3Dc%23d"));
        assert_eq!(base.with_query(&["operations"], &[]).query(), None);
    }

    #[test]
    fn an_address_with_a_secret_or_without_a_host_is_refused() {
        for bad in ["", "hello", "/api", "ftp://hello", "https://u:p@hello", "https://hello/?token=x", "http://h/#f"] {
            assert!(bad.parse::<BaseUrl>().is_err(), "{bad}");
        }
        assert_eq!("http://127.0.0.1:80/".parse::<BaseUrl>().expect("good").to_string(), "http://127.0.0.1:80");
    }
}
