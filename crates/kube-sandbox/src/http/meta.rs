//! Everything that is not about objects: health, version, discovery, OpenAPI.

use std::sync::Arc;

use axum::body::Body;
use http::{HeaderMap, HeaderValue, Method, Response, header};
use serde_json::json;

use super::{Frame, Query, answers, discovery, media};
use crate::{
    cluster::Cluster,
    kind::{Kind, Subresource},
    openapi::{self, Served},
    status::Status,
};

/// The Kubernetes version whose behaviour this server shows.
pub(super) const VERSION: &str = "v1.36.0";

const HEALTH: [&str; 3] = ["/healthz", "/livez", "/readyz"];

/// Anybody may ask this.
pub(super) fn is_public(path: &str) -> bool {
    path == "/version" || HEALTH.iter().any(|health| path == *health || path.starts_with(&format!("{health}/")))
}

/// Anybody with a name may ask this.
pub(super) fn is_discovery(path: &str) -> bool {
    ["/api", "/apis", "/openapi"].iter().any(|root| path == *root || path.starts_with(&format!("{root}/")))
}

/// Answers it.
pub(super) fn serve(
    cluster: &Cluster,
    frame: &Frame,
    method: &Method,
    path: &str,
    query: &Query,
    headers: &HeaderMap,
) -> Result<Response<Body>, Status> {
    if method != Method::GET && method != Method::HEAD {
        return Ok(answers::nothing_here());
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let kinds = || cluster.registry().all();
    let plain = |value: Option<serde_json::Value>| match value {
        Some(value) => answers::value(200, &value, false),
        None => answers::nothing_here(),
    };
    Ok(match &parts[..] {
        [] => answers::value(200, &json!({ "paths": roots(&kinds()) }), false),
        ["version"] => answers::value(200, &version(), false),
        [health, ..] if HEALTH.contains(&format!("/{health}").as_str()) => {
            let text =
                if query.is("verbose") { format!("[+]ping ok\n{health} check passed\n") } else { "ok".to_owned() };
            answers::typed(200, "text/plain; charset=utf-8", text)
        }
        [root @ ("api" | "apis")] => match media::discovery(headers) {
            Some(version) => aggregated(&kinds(), *root == "api", version),
            None if *root == "api" => answers::value(200, &discovery::core_versions("127.0.0.1"), false),
            None => answers::value(200, &discovery::groups(&kinds()), false),
        },
        ["api", version] => plain(discovery::resources(&kinds(), "", version)),
        ["apis", group] => plain(discovery::group(&kinds(), group)),
        ["apis", group, version] => plain(discovery::resources(&kinds(), group, version)),
        ["openapi", "v3"] => plain(Some(with_served(&kinds(), |served| openapi::v3_index(served, &frame.prefix)))),
        ["openapi", "v3", "api", version] => {
            plain(with_served(&kinds(), |served| openapi::v3_document(served, "", version)))
        }
        ["openapi", "v3", "apis", group, version] => {
            plain(with_served(&kinds(), |served| openapi::v3_document(served, group, version)))
        }
        ["openapi", "v2"] => openapi_v2(&kinds(), headers),
        _ => answers::nothing_here(),
    })
}

/// kubectl asks for this in protobuf, about kinds it did not find in v3, and stops where it gets nothing. It gets a
/// document that knows no kinds: what we serve is in v3.
const EMPTY_V2: &[u8] = b"\x0a\x032.0\x12\x15\x0a\x0aKubernetes\x12\x07v1.36.0";

fn openapi_v2(kinds: &[Arc<Kind>], headers: &HeaderMap) -> Response<Body> {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or("*/*");
    if accept.contains("protobuf") && !accept.contains("json") {
        return answers::typed(200, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", EMPTY_V2);
    }
    answers::value(200, &with_served(kinds, openapi::v2), false)
}

fn version() -> serde_json::Value {
    json!({
        "major": "1", "minor": "36", "gitVersion": VERSION, "gitCommit": "0000000000000000000000000000000000000000",
        "gitTreeState": "clean", "buildDate": "2026-04-01T00:00:00Z", "goVersion": "go1.26.0", "compiler": "gc",
        "platform": "linux/amd64",
    })
}

fn aggregated(kinds: &[Arc<Kind>], core: bool, version: &str) -> Response<Body> {
    let mut response = answers::value(200, &discovery::aggregated(kinds, core, version), false);
    let media = format!("application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList");
    if let Ok(media) = HeaderValue::from_str(&media) {
        response.headers_mut().insert(header::CONTENT_TYPE, media);
    }
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept"));
    response
}

fn roots(kinds: &[Arc<Kind>]) -> Vec<String> {
    let mut paths: Vec<String> = ["/api", "/api/v1", "/apis", "/openapi/v2", "/openapi/v3", "/version"]
        .iter()
        .chain(&HEALTH)
        .map(|path| (*path).to_owned())
        .collect();
    for kind in kinds.iter().filter(|kind| !kind.group.is_empty()) {
        paths.push(format!("/apis/{}", kind.group));
        paths.push(format!("/apis/{}/{}", kind.group, kind.version));
    }
    paths.sort();
    paths.dedup();
    paths
}

fn with_served<T>(kinds: &[Arc<Kind>], make: impl FnOnce(&[Served<'_>]) -> T) -> T {
    let below: Vec<Vec<&str>> =
        kinds.iter().map(|kind| kind.subresources.iter().map(Subresource::name).collect()).collect();
    let served: Vec<Served<'_>> = kinds
        .iter()
        .zip(&below)
        .map(|(kind, below)| Served {
            group: &kind.group,
            version: &kind.version,
            kind: &kind.kind,
            list_kind: &kind.list_kind,
            plural: &kind.plural,
            namespaced: kind.namespaced,
            subresources: below,
            schema: &kind.schema,
        })
        .collect();
    make(&served)
}
