//! Audit tenants: for each cloud and region, where audit logs go.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use slipway_kube::runtime::ProviderType;

use super::{ConfigError, Problem};

/// Where the audit log of a cluster goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditData {
    /// The tenant.
    #[serde(rename = "tenantID")]
    pub tenant_id: String,
    /// The service.
    #[serde(rename = "serviceURL")]
    pub service_url: String,
    /// Secret with the credentials, in the project's namespace.
    pub secret_name: String,
}

/// The tenants of all clouds and regions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditTenants(BTreeMap<String, BTreeMap<String, AuditData>>);

impl AuditTenants {
    /// Reads the file.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let file: Value = serde_json::from_str(text)
            .map_err(|error| ConfigError::one("the file", format!("is not JSON: {error}")))?;
        let mut problems = Vec::new();
        let mut tenants = Self::default();
        for (provider, regions) in members(&file, "the file", &mut problems) {
            for (region, tenant) in members(regions, provider, &mut problems) {
                let path = format!("{provider}.{region}");
                let mut text = |name: &str| member(tenant, &path, name, &mut problems);
                let data = AuditData {
                    tenant_id: text("tenantID"),
                    service_url: text("serviceURL"),
                    secret_name: text("secretName"),
                };
                if !data.service_url.is_empty()
                    && !data.service_url.starts_with("https://")
                    && !data.service_url.starts_with("http://")
                {
                    problems.push(Problem {
                        path: format!("{path}.serviceURL"),
                        message: "must be an address that starts with https://".to_owned(),
                    });
                }
                tenants.0.entry(provider.clone()).or_default().insert(region.clone(), data);
            }
        }
        if problems.is_empty() { Ok(tenants) } else { Err(ConfigError { problems }) }
    }

    /// The tenant of a region.
    pub fn find(&self, provider: ProviderType, region: &str) -> Option<&AuditData> {
        self.0.get(provider.as_str())?.get(region)
    }
}

fn members<'a>(value: &'a Value, path: &str, problems: &mut Vec<Problem>) -> Vec<(&'a String, &'a Value)> {
    if let Some(map) = value.as_object() {
        return map.iter().collect();
    }
    problems.push(Problem { path: path.to_owned(), message: "must be an object".to_owned() });
    Vec::new()
}

fn member(tenant: &Value, path: &str, name: &str, problems: &mut Vec<Problem>) -> String {
    match tenant.get(name).and_then(Value::as_str) {
        Some(text) if !text.is_empty() => text.to_owned(),
        _ => {
            problems
                .push(Problem { path: format!("{path}.{name}"), message: "is missing; it must be a text".to_owned() });
            String::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        r#"{"aws": {"eu-central-1": {"tenantID": "t", "serviceURL": "https://audit.example", "secretName": "s"}}}"#;

    #[test]
    fn a_tenant_is_found_by_cloud_and_region() {
        let tenants = AuditTenants::parse(GOOD).expect("good");
        let cloud = |name| ProviderType::parse(name).expect("a cloud");
        assert_eq!(tenants.find(cloud("aws"), "eu-central-1").map(|data| data.tenant_id.as_str()), Some("t"));
        assert_eq!(tenants.find(cloud("aws"), "us-east-1"), None);
        assert_eq!(tenants.find(cloud("gcp"), "eu-central-1"), None);
    }

    #[test]
    fn everything_that_is_missing_is_told_with_its_path() {
        let said = |text: &str| AuditTenants::parse(text).expect_err("bad").to_string();
        assert_eq!(
            said(r#"{"aws": {"eu-central-1": {"tenantID": "t", "serviceURL": "audit.example"}}}"#),
            "aws.eu-central-1.secretName: is missing; it must be a text; \
             aws.eu-central-1.serviceURL: must be an address that starts with https://"
        );
        assert_eq!(said(r#"{"aws": []}"#), "aws: must be an object");
        assert!(said("{").starts_with("the file: is not JSON: "));
    }
}
