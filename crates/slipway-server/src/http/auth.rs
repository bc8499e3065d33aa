//! The bearer token. On by default and in the process, because a network that keeps everybody out
//! is a promise of somebody else.

use axum::{
    extract::{Request, State},
    http::{HeaderMap, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use secrecy::ExposeSecret;

use super::{Api, problem::Problem};

pub(super) async fn require_token(State(api): State<Api>, request: Request, next: Next) -> Response {
    let refused = match given(request.headers()) {
        Some(token) if same(token.as_bytes(), api.token().expose_secret().as_bytes()) => None,
        Some(_) => Some("wrong"),
        None => Some("missing"),
    };
    match refused {
        None => next.run(request).await,
        Some(reason) => {
            api.metrics().refused(reason);
            Problem::Unauthorized.into_response()
        }
    }
}

fn given(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Compares in a time that depends on the lengths only, so that nobody can guess a token letter by
/// letter.
fn same(given: &[u8], right: &[u8]) -> bool {
    let mut difference = given.len() ^ right.len();
    for (index, byte) in given.iter().enumerate() {
        let other = right[index % right.len().max(1)..].first().copied().unwrap_or(0);
        difference |= usize::from(std::hint::black_box(byte ^ other));
    }
    std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_very_token_is_the_same() {
        assert!(same(b"0123456789abcdef", b"0123456789abcdef"));
        for wrong in [&b""[..], b"0", b"0123456789abcdeg", b"1123456789abcdef", b"0123456789abcdef0123456789abcdef"] {
            assert!(!same(wrong, b"0123456789abcdef"));
        }
        assert!(!same(b"x", b""));
    }

    #[test]
    fn the_scheme_is_read_as_the_standard_says() {
        let with = |value: &str| HeaderMap::from_iter([(header::AUTHORIZATION, value.parse().expect("a header"))]);
        assert_eq!(given(&with("bearer abc")), Some("abc"));
        assert_eq!(given(&with("Bearer  abc ")), Some("abc"));
        assert_eq!(given(&with("Basic abc")), None);
        assert_eq!(given(&with("abc")), None);
        assert_eq!(given(&HeaderMap::new()), None);
    }
}
