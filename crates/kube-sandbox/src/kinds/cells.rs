//! Values of computed columns.

use jiff::Timestamp;
use serde_json::{Value, json};

/// How long ago, as short as people say it: `42s`, `5m3s`, `3h`, `12d`.
pub(super) fn human(seconds: i64) -> String {
    let (s, m, h, d) = (seconds, seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |big: i64, unit: &str, small: i64, small_unit: &str| match small {
        0 => format!("{big}{unit}"),
        _ => format!("{big}{unit}{small}{small_unit}"),
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        0..120 => format!("{s}s"),
        120..600 => two(m, "m", s % 60, "s"),
        600..10_800 => format!("{m}m"),
        10_800..28_800 => two(h, "h", m % 60, "m"),
        28_800..172_800 => format!("{h}h"),
        172_800..691_200 => two(d, "d", h % 24, "h"),
        691_200..63_072_000 => format!("{d}d"),
        63_072_000..252_288_000 => two(d / 365, "y", d % 365, "d"),
        _ => format!("{}y", d / 365),
    }
}

/// How long ago a time was.
pub fn since(time: &Value, now: Timestamp) -> String {
    match time.as_str().and_then(|time| time.parse::<Timestamp>().ok()) {
        Some(then) => human(now.as_second() - then.as_second()),
        None => "<unknown>".to_owned(),
    }
}

/// Age of the object.
pub(super) fn age(object: &Value, now: Timestamp) -> Value {
    json!(since(&object["metadata"]["creationTimestamp"], now))
}

/// Keys of a Secret or ConfigMap.
pub(super) fn data(object: &Value, _: Timestamp) -> Value {
    let count = |key: &str| object[key].as_object().map_or(0, serde_json::Map::len);
    json!(count("data") + count("binaryData"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        for (seconds, said) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (10_860, "3h1m"),
            (90_000, "25h"),
            (176_400, "2d1h"),
            (864_000, "10d"),
            (70_000_000, "2y80d"),
            (-5, "<invalid>"),
        ] {
            assert_eq!(human(seconds), said, "{seconds}");
        }
    }
}
