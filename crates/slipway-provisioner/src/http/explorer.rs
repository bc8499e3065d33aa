//! GraphiQL, built into the program: a page that explores the schema must not need the internet.
//!
//! The page is open to anybody who reaches the port. It shows nothing by itself; whatever it asks for
//! needs a token, typed in by whoever uses it.

use axum::{
    extract::Path,
    http::{HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
};
use slipway_model::Reason;

use super::refusal;
use crate::errors::ApiError;

/// Files: name, type, content.
static FILES: &[(&str, &str, &[u8])] = &[
    ("graphiql.min.js", JAVASCRIPT, include_bytes!("../../assets/graphiql/graphiql.min.js")),
    ("graphiql.min.css", "text/css; charset=utf-8", include_bytes!("../../assets/graphiql/graphiql.min.css")),
    ("react.production.min.js", JAVASCRIPT, include_bytes!("../../assets/graphiql/react.production.min.js")),
    ("react-dom.production.min.js", JAVASCRIPT, include_bytes!("../../assets/graphiql/react-dom.production.min.js")),
    ("start.js", JAVASCRIPT, include_bytes!("../../assets/graphiql/start.js")),
];

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// Nothing from elsewhere; the editor writes styles into the page.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
    font-src 'self' data:; connect-src 'self' ws: wss:; frame-ancestors 'none'";

pub(super) async fn page() -> Response {
    let page = include_str!("../../assets/graphiql/index.html");
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, POLICY)], page)
        .into_response()
}

pub(super) async fn file(Path(name): Path<String>) -> Response {
    let nosniff = (HeaderName::from_static("x-content-type-options"), "nosniff");
    match FILES.iter().find(|(known, ..)| *known == name) {
        Some((_, kind, content)) => {
            let kept = (header::CACHE_CONTROL, "max-age=3600");
            ([(header::CONTENT_TYPE, *kind), kept, nosniff], *content).into_response()
        }
        None => refusal(StatusCode::NOT_FOUND, &ApiError::bad(Reason::Validation, "there is no such file")),
    }
}
