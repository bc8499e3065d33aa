//! Media types: what a client takes, and what it sends.

use http::{HeaderMap, header};

use crate::status::Status;

/// The media type of protobuf bodies.
pub const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
/// All we can answer in, as a refusal names them.
const SUPPORTED: [&str; 3] = ["application/json", "application/yaml", PROTOBUF];

/// How an object is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// As it is.
    Whole,
    /// As rows for `kubectl get`.
    Table,
    /// Its metadata alone.
    Metadata,
}

/// How to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// What of the object.
    pub shape: Shape,
    /// As YAML instead of JSON.
    pub yaml: bool,
}

/// One alternative of an `Accept` header.
#[derive(Debug, Default)]
struct Range<'a> {
    media: &'a str,
    as_kind: &'a str,
    group: &'a str,
    version: &'a str,
}

fn ranges(accept: &str) -> impl Iterator<Item = Range<'_>> {
    accept.split(',').map(|range| {
        let mut parts = range.split(';').map(str::trim);
        let mut range = Range { media: parts.next().unwrap_or_default(), ..Range::default() };
        for (key, value) in parts.filter_map(|part| part.split_once('=')) {
            match key {
                "as" => range.as_kind = value,
                "g" => range.group = value,
                "v" => range.version = value,
                _ => {}
            }
        }
        range
    })
}

/// The text of a header, all of its lines together.
fn joined(headers: &HeaderMap, name: header::HeaderName) -> String {
    let values: Vec<&str> = headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
    values.join(",")
}

/// The first form the client takes that we can give.
pub fn negotiate(headers: &HeaderMap) -> Result<Answer, Status> {
    let accept = joined(headers, header::ACCEPT);
    if accept.trim().is_empty() {
        return Ok(Answer { shape: Shape::Whole, yaml: false });
    }
    for range in ranges(&accept) {
        let yaml = range.media == "application/yaml";
        if !yaml && !["application/json", "application/*", "*/*"].contains(&range.media) {
            continue;
        }
        let meta = range.group == "meta.k8s.io" && range.version == "v1";
        let shape = match range.as_kind {
            "" => Shape::Whole,
            "Table" if meta => Shape::Table,
            "PartialObjectMetadata" | "PartialObjectMetadataList" if meta => Shape::Metadata,
            _ => continue,
        };
        return Ok(Answer { shape, yaml });
    }
    Err(Status::not_acceptable(&SUPPORTED))
}

/// The version of aggregated discovery the client takes, if it takes any before plain JSON.
pub fn discovery(headers: &HeaderMap) -> Option<&'static str> {
    let accept = joined(headers, header::ACCEPT);
    let wanted = ranges(&accept).find(|range| {
        let plain = range.as_kind.is_empty() && ["application/json", "*/*"].contains(&range.media);
        plain || (range.group == "apidiscovery.k8s.io" && range.media == "application/json")
    })?;
    match (wanted.as_kind, wanted.version) {
        ("APIGroupDiscoveryList", "v2") => Some("v2"),
        ("APIGroupDiscoveryList", "v2beta1") => Some("v2beta1"),
        _ => None,
    }
}

/// The media type of the body, without parameters.
pub fn content_type(headers: &HeaderMap) -> String {
    let whole = joined(headers, header::CONTENT_TYPE);
    whole.split(';').next().unwrap_or_default().trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn accept(text: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(text))])
    }

    #[test]
    fn the_first_form_we_know_is_taken() {
        let shape = |text| negotiate(&accept(text)).map(|answer| answer.shape).map_err(|status| status.code);
        assert_eq!(shape("application/json;as=Table;v=v1;g=meta.k8s.io,application/json"), Ok(Shape::Table));
        assert_eq!(shape("application/json;as=Table;v=v9;g=meta.k8s.io,application/json"), Ok(Shape::Whole));
        assert_eq!(shape("application/vnd.kubernetes.protobuf, */*"), Ok(Shape::Whole));
        assert_eq!(shape("text/html"), Err(406));
        let kubectl = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
        assert_eq!(discovery(&accept(kubectl)), Some("v2"));
        assert_eq!(discovery(&accept("application/json")), None);
    }
}
