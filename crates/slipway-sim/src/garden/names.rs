//! What Kubernetes takes for a name, a label, a percentage or a quantity, and its sentence when it
//! does not.

use serde_json::Value;

use super::problems::Problems;

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

fn bounded_by_alphanumeric(text: &str) -> bool {
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    ends(text.chars().next()) && ends(text.chars().next_back())
}

/// Whether this is a DNS label: what a pool, a Shoot or an extension type is called.
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= 63
        && bounded_by_alphanumeric(text)
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// Whether this is a DNS name of one or more labels.
pub fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_dns_label)
}

/// Refuses what is no DNS label.
pub fn check_dns_label(path: &str, text: &str, problems: &mut Problems) {
    if text.len() > 63 {
        problems.invalid(path, text, "must be no more than 63 bytes");
    }
    if !is_dns_label(&text[..text.len().min(63)]) {
        problems.invalid(path, text, LABEL);
    }
}

/// Refuses what is no DNS name.
pub fn check_dns_subdomain(path: &str, text: &str, problems: &mut Problems) {
    if !is_dns_subdomain(text) {
        problems.invalid(path, text, SUBDOMAIN);
    }
}

/// What is wrong with the key of a label or annotation, if anything.
pub fn wrong_qualified_name(key: &str) -> Option<String> {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    if name.is_empty() {
        return Some("name part must be non-empty".to_owned());
    }
    if let Some(prefix) = prefix
        && !is_dns_subdomain(prefix)
    {
        return Some(format!("prefix part {SUBDOMAIN}"));
    }
    if name.len() > 63 {
        return Some("name part must be no more than 63 bytes".to_owned());
    }
    let legal = bounded_by_alphanumeric(name) && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    (!legal).then(|| NAME_PART.to_owned())
}

/// What is wrong with the value of a label, if anything.
pub fn wrong_label_value(value: &str) -> Option<&'static str> {
    if value.len() > 63 {
        return Some("must be no more than 63 bytes");
    }
    let legal = value.is_empty()
        || (bounded_by_alphanumeric(value) && value.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)));
    (!legal).then_some(LABEL_VALUE)
}

/// Refuses malformed labels.
pub fn check_labels(path: &str, labels: &Value, problems: &mut Problems) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        if let Some(wrong) = wrong_qualified_name(key) {
            problems.invalid(path, key.as_str(), &wrong);
        }
        if let Some(wrong) = wrong_label_value(value.as_str().unwrap_or_default()) {
            problems.invalid(path, value.clone(), wrong);
        }
    }
}

/// Refuses malformed annotations.
pub fn check_annotations(path: &str, annotations: &Value, problems: &mut Problems) {
    for key in annotations.as_object().into_iter().flatten().map(|(key, _)| key) {
        if let Some(wrong) = wrong_qualified_name(&key.to_lowercase()) {
            problems.invalid(path, key.as_str(), &wrong);
        }
    }
}

/// The number of a percentage such as `25%`.
pub fn percent(text: &str) -> Option<u64> {
    let digits = text.strip_suffix('%')?;
    if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_digit()) { None } else { digits.parse().ok() }
}

/// A quantity such as `500m`, `20Gi` or `1.5` in thousandths, so that millicores and gibibytes can be
/// compared and added without losing anything.
pub fn quantity(value: &Value) -> Option<i128> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-' || c == '+')).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let thousandths = format!("{part:0<3}").get(..3)?.parse::<i128>().ok()?;
    let amount = whole.parse::<i128>().ok()? * 1000 + thousandths;
    let (factor, divisor): (i128, i128) = match unit {
        "" => (1, 1),
        "m" => (1, 1000),
        "k" => (1000, 1),
        "M" => (1_000_000, 1),
        "G" => (1_000_000_000, 1),
        "T" => (1_000_000_000_000, 1),
        "Ki" => (1 << 10, 1),
        "Mi" => (1 << 20, 1),
        "Gi" => (1 << 30, 1),
        "Ti" => (1 << 40, 1),
        _ => return None,
    };
    Some(amount * factor / divisor)
}

/// Seconds of a Go duration such as `1h30m`, `40s` or `500ms`.
pub fn duration_seconds(text: &str) -> Option<f64> {
    if text == "0" {
        return Some(0.0);
    }
    let (sign, mut rest) = text.strip_prefix('-').map_or((1.0, text), |rest| (-1.0, rest));
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
        seconds += number
            * match &rest[..unit] {
                "h" => 3600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 1e-3,
                "us" | "µs" => 1e-6,
                "ns" => 1e-9,
                _ => return None,
            };
        rest = &rest[unit..];
    }
    Some(sign * seconds)
}

/// A duration as Go writes it: `25h0m0s`, `1m0s`, `40s`.
pub fn go_duration(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "no duration in a Shoot is longer than a century")]
    let whole = seconds.abs() as i64;
    let (hours, minutes, left) = (whole / 3600, whole / 60 % 60, whole % 60);
    let sign = if seconds < 0.0 { "-" } else { "" };
    match (hours, minutes) {
        (0, 0) => format!("{sign}{left}s"),
        (0, _) => format!("{sign}{minutes}m{left}s"),
        _ => format!("{sign}{hours}h{minutes}m{left}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_told_from_what_is_none() {
        for good in ["a", "a-1", "0", "my-name"] {
            assert!(is_dns_label(good), "{good}");
        }
        for wrong in ["", "A", "-a", "a-", "a.b", "ä"] {
            assert!(!is_dns_label(wrong), "{wrong}");
        }
        assert!(is_dns_subdomain("a.b-c.d") && !is_dns_subdomain("a..b"));
        assert_eq!(wrong_qualified_name("example.com/my_Name"), None);
        assert!(wrong_qualified_name("/x").is_some() && wrong_qualified_name("a/-").is_some());
        assert!(wrong_label_value("").is_none() && wrong_label_value("-").is_some());
    }

    #[test]
    fn quantities_and_durations_are_compared_as_numbers() {
        assert_eq!(quantity(&json!("500m")), Some(500));
        assert_eq!(quantity(&json!("1.5")), Some(1500));
        assert_eq!(quantity(&json!(2)), Some(2000));
        assert!(quantity(&json!("20Gi")) > quantity(&json!("20G")));
        assert_eq!(quantity(&json!("20Bananas")), None);
        assert_eq!(duration_seconds("1h30m"), Some(5400.0));
        assert_eq!(duration_seconds("-40s"), Some(-40.0));
        assert_eq!(duration_seconds("40"), None);
        assert_eq!(go_duration(90_000.0), "25h0m0s");
        assert_eq!(percent("25%"), Some(25));
        assert_eq!(percent("%"), None);
    }
}
