//! Formats of strings that the real server checks; others it ignores, and so do we.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base64::Engine as _;

use super::node::Type;

/// Formats the real server takes notice of, by their type; the hyphens do not count.
pub(super) fn is_checked(ty: Type, format: &str) -> bool {
    match ty {
        Type::Integer => matches!(format, "int32" | "int64"),
        Type::Number => matches!(format, "float" | "double"),
        Type::String | Type::Any => TEXT_FORMATS.contains(&format.replace('-', "").as_str()),
        Type::Object | Type::Array | Type::Boolean => false,
    }
}

const TEXT_FORMATS: &[&str] = &[
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "k8sshortname",
    "k8slongname",
];

/// Whether a text has a format. A name we do not know fits everything.
pub(super) fn fits(format: &str, text: &str) -> bool {
    match format.replace('-', "").as_str() {
        "date" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "datetime" => text.contains(['T', 't', ' ']) && text.parse::<jiff::Timestamp>().is_ok(),
        "duration" => duration(text),
        "byte" => base64::engine::general_purpose::STANDARD.decode(text).is_ok(),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => cidr(text),
        "uuid" => uuid(text, None, false),
        "uuid3" => uuid(text, Some('3'), false),
        "uuid4" => uuid(text, Some('4'), true),
        "uuid5" => uuid(text, Some('5'), true),
        "email" => {
            matches!(text.rsplit_once('@'), Some((who, host)) if !who.is_empty() && !host.is_empty() && !text.contains(' '))
        }
        "hostname" => name(text, 255, |label| label.len() <= 63),
        "k8sshortname" => text.len() <= 63 && !text.contains('.') && lower_name(text, 63),
        "k8slongname" => lower_name(text, 253),
        "uri" => text.starts_with('/') || matches!(text.split_once(':'), Some((scheme, _)) if is_scheme(scheme)),
        "mac" => mac(text),
        "hexcolor" => {
            let digits = text.strip_prefix('#').unwrap_or(text);
            matches!(digits.len(), 3 | 6) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        }
        _ => true,
    }
}

/// `1h30m`, as Go reads durations, and `3 days`, as the library also does.
fn duration(text: &str) -> bool {
    let mut rest = text.trim_start_matches(['+', '-']);
    if rest == "0" {
        return true;
    }
    let mut any = false;
    while !rest.is_empty() {
        let number = rest.find(|digit: char| !digit.is_ascii_digit() && digit != '.').unwrap_or(rest.len());
        let after = rest[number..].trim_start();
        let unit = after.find(|letter: char| letter.is_ascii_digit() || letter == ' ').unwrap_or(after.len());
        if number == 0 || !UNITS.contains(&&after[..unit]) {
            return false;
        }
        rest = after[unit..].trim_start();
        any = true;
    }
    any
}

const UNITS: &[&str] = &[
    "ns", "us", "µs", "μs", "ms", "s", "m", "h", "d", "w", "sec", "second", "seconds", "min", "minute", "minutes",
    "hr", "hour", "hours", "day", "days", "week", "weeks",
];

fn cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    bits.parse::<u8>().is_ok_and(|bits| bits <= most)
}

fn uuid(text: &str, version: Option<char>, variant: bool) -> bool {
    let digits: Vec<char> = text.chars().filter(|digit| *digit != '-').collect();
    digits.len() == 32
        && digits.iter().all(char::is_ascii_hexdigit)
        && version.is_none_or(|version| digits[12] == version)
        && (!variant || matches!(digits[16].to_ascii_lowercase(), '8' | '9' | 'a' | 'b'))
}

fn name(text: &str, most: usize, label_fits: impl Fn(&str) -> bool) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !text.is_empty()
        && text.len() <= most
        && text.split('.').all(|label| {
            !label.is_empty()
                && label.bytes().all(inner)
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label_fits(label)
        })
}

fn lower_name(text: &str, most: usize) -> bool {
    name(text, most, |_| true) && !text.bytes().any(|byte| byte.is_ascii_uppercase())
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

fn mac(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '-']).collect();
    matches!(parts.len(), 6 | 8 | 20)
        && parts.iter().all(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn formats_accept_and_refuse_what_the_real_server_does() {
        for (format, good, bad) in [
            ("date-time", "2026-01-02T03:04:05Z", "yesterday"),
            ("date", "2026-01-02", "2026-13-02"),
            ("duration", "1h30m", "an hour"),
            ("byte", "aGVsbG8=", "?"),
            ("ipv4", "10.0.0.1", "10.0.0"),
            ("ipv6", "fd00::1", "10.0.0.1"),
            ("cidr", "10.0.0.0/8", "10.0.0.0/64"),
            ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"),
            ("email", "a@b.c", "a.b.c"),
            ("hostname", "a.example", "-a.example"),
            ("uri", "https://a.example/b", "a.example"),
            ("mac", "01:23:45:67:89:ab", "01:23"),
            ("k8s-short-name", "abc", "a.b"),
            ("hexcolor", "#ffcc00", "red"),
        ] {
            assert!(fits(format, good), "{format} {good}");
            assert!(!fits(format, bad), "{format} {bad}");
        }
        assert!(fits("made-up", "anything"), "unknown formats are ignored");
    }
}
