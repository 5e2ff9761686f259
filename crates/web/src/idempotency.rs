//! `Idempotency-Key`: a write that is sent twice is done once and answered twice.
//!
//! The key belongs to the tenant, and to the very request it was first sent with. Only an
//! answer that succeeded is remembered, for a day; one that failed frees its key. The work
//! goes on when the client has gone, so that the key never stands for half a request.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use catalog::Begun;
use model::{ContentHash, TenantId};
use serde::{Deserialize, Serialize};
use tracing::Instrument as _;

use crate::auth::Principal;
use crate::gateway::Gateway;
use crate::problem::Problem;

const HEADER: &str = "idempotency-key";
const REPLAYED: &str = "idempotency-replayed";
const LONGEST_KEY: usize = 255;
const KEEP: Duration = Duration::from_secs(24 * 60 * 60);
/// Of a request whose body is part of what it is.
const LONGEST_BODY: usize = 2 * 1024 * 1024;
/// Files are told apart by their length: their bytes are not held.
const STREAMED: &[&str] = &["/v1/ingest", "/v1/uploads/", "/v1/extract", "/v1/chunk"];

/// On an answer that shows a secret once: it is not kept.
#[derive(Debug, Clone, Copy)]
pub struct ShownOnce;

#[derive(Serialize, Deserialize)]
struct Kept {
    status: u16,
    content_type: String,
    /// `None` where the answer held a secret.
    body: Option<String>,
}

pub async fn once(State(gateway): State<Gateway>, request: Request, next: Next) -> Response {
    let writes = !matches!(
        *request.method(),
        Method::GET | Method::HEAD | Method::OPTIONS
    );
    let ours = writes && request.uri().path().starts_with("/v1/");
    let Some(key) = request.headers().get(HEADER).filter(|_| ours).cloned() else {
        return next.run(request).await;
    };
    let done = done_once(gateway, &key, request, next).await;
    done.unwrap_or_else(IntoResponse::into_response)
}

async fn done_once(
    gateway: Gateway,
    key: &HeaderValue,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let key = checked(key)?;
    let (mut parts, body) = request.into_parts();
    // Whoever is nobody gets the handler's own answer.
    let Ok(who) = gateway.principal(&parts).await else {
        return Ok(next.run(Request::from_parts(parts, body)).await);
    };
    let limit = gateway.settings().timeout;
    let (body, bytes) = tokio::time::timeout(limit, held(parts.uri.path(), body))
        .await
        .map_err(|_| Problem::timeout(limit))??;
    let asked = fingerprint(&parts, &who, &bytes);
    let begun = gateway
        .catalog()
        .begin_request(who.tenant, &key, asked, KEEP, gateway.now())
        .await?;
    match begun {
        Begun::Fresh => {}
        Begun::Finished(kept) => return replay(kept),
        Begun::UnderWay => {
            return Err(
                Problem::conflict("the same request is being done right now")
                    .hint("ask again in a moment with the same key"),
            );
        }
        Begun::OtherRequest => {
            return Err(Problem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "key_reused",
                "the Idempotency-Key was used for another request",
            )
            .hint("use a new key for every request"));
        }
    }
    let tenant = who.tenant;
    parts.extensions.insert(who);
    let request = Request::from_parts(parts, body);
    let work = async move { finish(&gateway, (tenant, &key), next.run(request).await).await };
    tokio::spawn(work.in_current_span())
        .await
        .map_err(|error| Problem::internal(&error))?
}

fn checked(key: &HeaderValue) -> Result<String, Problem> {
    let plain = key
        .to_str()
        .ok()
        .filter(|key| (1..=LONGEST_KEY).contains(&key.len()));
    plain.map(str::to_owned).ok_or_else(|| {
        Problem::invalid(format!(
            "an Idempotency-Key has 1 to {LONGEST_KEY} plain characters"
        ))
    })
}

async fn held(path: &str, body: Body) -> Result<(Body, Bytes), Problem> {
    if STREAMED.iter().any(|streamed| path.starts_with(streamed)) {
        return Ok((body, Bytes::new()));
    }
    let bytes = to_bytes(body, LONGEST_BODY)
        .await
        .map_err(|_| Problem::too_large(LONGEST_BODY as u64))?;
    Ok((Body::from(bytes.clone()), bytes))
}

fn fingerprint(parts: &axum::http::request::Parts, who: &Principal, body: &[u8]) -> ContentHash {
    let target = parts
        .uri
        .path_and_query()
        .map_or("", |target| target.as_str());
    let length = parts.headers.get(CONTENT_LENGTH);
    let user = format!("{:?} {:?} {:?}", who.user, who.role, who.scopes);
    ContentHash::of_fields([
        parts.method.as_str().as_bytes(),
        target.as_bytes(),
        user.as_bytes(),
        length.map_or(&b""[..], HeaderValue::as_bytes),
        body,
    ])
}

async fn finish(
    gateway: &Gateway,
    (tenant, key): (TenantId, &str),
    response: Response,
) -> Result<Response, Problem> {
    if !response.status().is_success() {
        gateway.catalog().abandon_request(tenant, key).await?;
        return Ok(response);
    }
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX)
        .await
        .map_err(|error| Problem::internal(&error))?;
    let secret = parts.extensions.get::<ShownOnce>().is_some();
    let content_type = parts.headers.get(CONTENT_TYPE);
    let kept = Kept {
        status: parts.status.as_u16(),
        content_type: content_type
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_owned(),
        body: (!secret).then(|| String::from_utf8_lossy(&bytes).into_owned()),
    };
    let kept = serde_json::to_value(kept).map_err(|error| Problem::internal(&error))?;
    gateway.catalog().finish_request(tenant, key, kept).await?;
    Ok(Response::from_parts(parts, Body::from(bytes)))
}

fn replay(kept: serde_json::Value) -> Result<Response, Problem> {
    if kept.get("purged").is_some() {
        let what = "this was done before, and a document it brought has been purged since";
        return Err(Problem::conflict(what).hint("to bring it again, use a new key"));
    }
    let kept: Kept = serde_json::from_value(kept).map_err(|error| Problem::internal(&error))?;
    let body = kept.body.ok_or_else(|| {
        Problem::conflict("this was done before, and its answer held a secret that is shown once")
            .hint("make another one with a new key")
    })?;
    let status = StatusCode::from_u16(kept.status).map_err(|error| Problem::internal(&error))?;
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    if let Ok(content_type) = HeaderValue::from_str(&kept.content_type) {
        headers.insert(CONTENT_TYPE, content_type);
    }
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    Ok(response)
}
