//! Maintenance windows: for each region, when Gardener may maintain clusters of production.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ConfigError, Problem};

/// When Gardener may maintain a cluster, each end as `HHMMSS+ZONE`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeWindow {
    /// From.
    pub begin: String,
    /// To; on the next day if it is earlier.
    pub end: String,
}

/// The windows of all regions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MaintenanceWindows(BTreeMap<String, TimeWindow>);

impl MaintenanceWindows {
    /// Reads the file.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let file: Value = serde_json::from_str(text)
            .map_err(|error| ConfigError::one("the file", format!("is not JSON: {error}")))?;
        let regions = file.as_object().ok_or_else(|| ConfigError::one("the file", "must be an object of regions"))?;
        let mut problems = Vec::new();
        let mut windows = Self::default();
        for (region, window) in regions {
            let mut end = |name: &str| {
                let text = window.get(name).and_then(Value::as_str).unwrap_or_default();
                if !is_time(text) {
                    let message = format!("`{text}` must be a time such as 200000+0000");
                    problems.push(Problem { path: format!("{region}.{name}"), message });
                }
                text.to_owned()
            };
            let window = TimeWindow { begin: end("begin"), end: end("end") };
            windows.0.insert(region.clone(), window);
        }
        if problems.is_empty() { Ok(windows) } else { Err(ConfigError { problems }) }
    }

    /// The window of a region.
    pub fn find(&self, region: &str) -> Option<&TimeWindow> {
        self.0.get(region)
    }
}

fn is_time(text: &str) -> bool {
    let digits = |range: std::ops::Range<usize>, below: u32| {
        text.get(range).and_then(|part| part.parse::<u32>().ok()).is_some_and(|number| number < below)
    };
    text.len() == 11
        && text.is_ascii()
        && matches!(text.as_bytes()[6], b'+' | b'-')
        && text.bytes().enumerate().all(|(at, byte)| at == 6 || byte.is_ascii_digit())
        && digits(0..2, 24)
        && digits(2..4, 60)
        && digits(4..6, 60)
        && digits(7..9, 15)
        && digits(9..11, 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_found_by_region() {
        let windows = MaintenanceWindows::parse(r#"{"eu-central-1": {"begin": "200000+0000", "end": "000000-0130"}}"#);
        let windows = windows.expect("good");
        assert_eq!(windows.find("eu-central-1").map(|window| window.end.as_str()), Some("000000-0130"));
        assert_eq!(windows.find("us-east-1"), None);
    }

    #[test]
    fn a_wrong_time_is_told_with_its_path() {
        for bad in ["", "20:00", "250000+0000", "200000 0000", "206000+0000", "200000+1500"] {
            let text = format!(r#"{{"r": {{"begin": "{bad}", "end": "000000+0000"}}}}"#);
            let said = MaintenanceWindows::parse(&text).expect_err("bad").to_string();
            assert_eq!(said, format!("r.begin: `{bad}` must be a time such as 200000+0000"));
        }
        assert_eq!(
            MaintenanceWindows::parse("[]").expect_err("bad").to_string(),
            "the file: must be an object of regions"
        );
    }
}
