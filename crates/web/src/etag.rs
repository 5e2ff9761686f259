//! `ETag` and `If-None-Match`: an answer the caller has already is not sent again.
//!
//! The tag is of the bytes themselves, so it needs no care anywhere else. It is weak,
//! because the same answer may travel compressed in several ways.

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use model::ContentHash;

use crate::problem::Problem;

/// Larger answers are sent as they are.
const LARGEST: u64 = 16 << 20;

pub async fn tagged(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let ours = path.starts_with("/v1/") || path == "/openapi.json";
    if request.method() != Method::GET || !ours {
        return next.run(request).await;
    }
    let known = request.headers().get(IF_NONE_MATCH).cloned();
    let response = next.run(request).await;
    // A stream has no length before it has ended.
    let small = response
        .body()
        .size_hint()
        .exact()
        .is_some_and(|size| size <= LARGEST);
    if response.status() != StatusCode::OK || !small {
        return response;
    }
    tag(response, known.as_ref()).await
}

async fn tag(response: Response, known: Option<&HeaderValue>) -> Response {
    let (mut parts, body) = response.into_parts();
    let bytes = match to_bytes(body, usize::MAX).await {
        Ok(bytes) => bytes,
        Err(error) => return Problem::internal(&error).into_response(),
    };
    let hash = ContentHash::of(&bytes).to_string();
    let tag = HeaderValue::from_str(&format!("W/\"{}\"", &hash[..32])).expect("hex and quotes");
    let same = known.is_some_and(|known| names(known, &tag));
    parts.headers.insert(ETAG, tag);
    private(&mut parts.headers);
    if !same {
        return Response::from_parts(parts, Body::from(bytes));
    }
    parts.status = StatusCode::NOT_MODIFIED;
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.remove(CONTENT_TYPE);
    Response::from_parts(parts, Body::empty())
}

/// Answers depend on who asks: kept by nobody in between, and asked about each time.
fn private(headers: &mut HeaderMap) {
    let asked = HeaderValue::from_static("private, no-cache");
    headers.entry(CACHE_CONTROL).or_insert(asked);
    headers.append(VARY, HeaderValue::from_static("authorization"));
}

fn names(known: &HeaderValue, tag: &HeaderValue) -> bool {
    let (Ok(known), Ok(tag)) = (known.to_str(), tag.to_str()) else {
        return false;
    };
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    known.trim() == "*" || known.split(',').any(|one| opaque(one) == opaque(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_found_among_others_weak_or_not() {
        let tag = HeaderValue::from_static("W/\"abc\"");
        let found = |known: &'static str| names(&HeaderValue::from_static(known), &tag);
        assert!(found("W/\"abc\"") && found("\"x\", \"abc\"") && found("*"));
        assert!(!found("\"ab\"") && !found("W/\"abcd\""));
    }
}
