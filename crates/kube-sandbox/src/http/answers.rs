//! Responses.

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderValue, Response, header};
use serde_json::Value;

use crate::status::Status;

/// A JSON answer.
pub fn json(code: u16, body: impl Into<Bytes>) -> Response<Body> {
    let mut bytes: Vec<u8> = Vec::from(body.into());
    bytes.push(b'\n');
    typed(code, "application/json", bytes)
}

/// A value, as JSON or YAML.
pub fn value(code: u16, value: &Value, yaml: bool) -> Response<Body> {
    if yaml && let Ok(text) = serde_saphyr::to_string(value) {
        return typed(code, "application/yaml", text);
    }
    json(code, value.to_string())
}

/// A refusal.
pub fn refusal(status: &Status) -> Response<Body> {
    let mut response = json(status.code, status.to_json().to_string());
    let retry = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if retry > 0 {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry));
    }
    response
}

/// What the real server says where it serves nothing.
pub fn nothing_here() -> Response<Body> {
    let mut response = typed(404, "text/plain; charset=utf-8", "404 page not found\n");
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Any body.
pub fn typed(code: u16, media: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// Adds warnings for the person at the other end.
pub fn with_warnings(mut response: Response<Body>, warnings: &[String]) -> Response<Body> {
    for warning in warnings {
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
    response
}
