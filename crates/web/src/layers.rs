//! What happens to every request on its way in and out.

use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::LazyLock;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures::{FutureExt as _, Stream, StreamExt as _, stream};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use uuid::Uuid;

use crate::gateway::Gateway;
use crate::problem::Problem;
use crate::trace;

static REQUEST_ID: LazyLock<HeaderName> = LazyLock::new(|| HeaderName::from_static("x-request-id"));

/// How long a request may wait for its turn before it is told to come back.
const QUEUE: Duration = Duration::from_secs(5);
/// How long an upload under way may go on when the server is told to stop.
const FINISH: Duration = Duration::from_secs(10);

/// Keeps the id a proxy gave, where it is a plain one, or gives one; logs one line each.
pub async fn request_id(
    State(gateway): State<Gateway>,
    mut request: Request,
    next: Next,
) -> Response {
    let _under_way = gateway.traffic().begin();
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("(none)", MatchedPath::as_str).to_owned();
    let given = request
        .headers()
        .get(&*REQUEST_ID)
        .filter(|id| is_plain(id));
    let id = given.cloned().unwrap_or_else(new_id);
    request.headers_mut().insert(REQUEST_ID.clone(), id.clone());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let shown = id.to_str().unwrap_or_default().to_owned();
    let parent = trace::parent(request.headers());
    let place = trace::begin(parent);
    request.extensions_mut().insert(place);
    let span = tracing::info_span!(
        "request", request_id = %shown, trace_id = place.trace_id(), span_id = place.span_id(),
        parent_span_id = parent.map(|parent| parent.span_id()), method = %request.method(),
        route, status = tracing::field::Empty,
    );
    let started = std::time::Instant::now();
    let mut response = next.run(request).instrument(span.clone()).await;
    let status = response.status().as_u16();
    let took = started.elapsed();
    gateway
        .traffic()
        .answered(method.as_str(), &route, status, took);
    span.record("status", status);
    let ms = took.as_secs_f64() * 1000.0;
    span.in_scope(|| tracing::debug!(%method, path, status, ms, "answered"));
    response.headers_mut().insert(REQUEST_ID.clone(), id);
    response
}

fn is_plain(id: &HeaderValue) -> bool {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    (1..=128).contains(&id.len()) && id.as_bytes().iter().all(plain)
}

fn new_id() -> HeaderValue {
    HeaderValue::from_str(&Uuid::now_v7().to_string()).expect("a uuid is a header value")
}

/// A panic is our bug: its request gets a problem, all others go on.
pub async fn catch_panic(request: Request, next: Next) -> Response {
    match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(_) => {
            tracing::error!("a handler panicked");
            Problem::internal(&std::io::Error::other("a handler panicked")).into_response()
        }
    }
}

pub async fn concurrency(State(gateway): State<Gateway>, request: Request, next: Next) -> Response {
    // Whoever asks whether we live must be told even when we are busy, and deliveries have
    // slots of their own.
    let path = request.uri().path();
    if matches!(
        path,
        "/livez" | "/readyz" | "/metrics" | "/internal/process"
    ) {
        return next.run(request).await;
    }
    match tokio::time::timeout(QUEUE, gateway.turns().acquire()).await {
        Ok(Ok(_turn)) => next.run(request).await,
        _ => Problem::busy("more requests are under way than this server takes on").into_response(),
    }
}

pub async fn timeout(State(gateway): State<Gateway>, request: Request, next: Next) -> Response {
    let limit = gateway.settings().timeout;
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Problem::timeout(limit).into_response(),
    }
}

/// A client that stops sending is given up; one that sends slowly is not, unless the server
/// is stopping and has waited for it.
pub async fn idle(State(gateway): State<Gateway>, request: Request, next: Next) -> Response {
    let limit = gateway.settings().idle;
    let stop = gateway.stop().clone();
    let request = request.map(|body| Body::from_stream(patient(body, limit, stop)));
    next.run(request).await
}

fn patient(
    body: Body,
    limit: Duration,
    stop: CancellationToken,
) -> impl Stream<Item = io::Result<Bytes>> {
    let over = Box::pin(async move {
        stop.cancelled_owned().await;
        tokio::time::sleep(FINISH).await;
    });
    let pieces = tokio_stream::StreamExt::timeout(body.into_data_stream(), limit);
    stream::unfold(
        (Box::pin(pieces), over),
        |(mut pieces, mut over)| async move {
            let piece = tokio::select! {
                biased;
                piece = pieces.next() => match piece? {
                    Ok(piece) => piece.map_err(io::Error::other),
                    Err(_) => Err(given_up("the client sent nothing for too long")),
                },
                () = &mut over => Err(given_up("the server is stopping")),
            };
            Some((piece, (pieces, over)))
        },
    )
}

fn given_up(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, why)
}

pub async fn unknown_route(uri: Uri) -> Problem {
    Problem::not_found("route", uri.path()).hint("the API is described at /docs and /openapi.json")
}

pub async fn unknown_method(method: Method, uri: Uri) -> Problem {
    let detail = format!("{method} is not something `{}` answers", uri.path());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
        .hint("the API is described at /docs and /openapi.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A byte a second, for ever.
    fn dripping() -> Body {
        Body::from_stream(stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((Ok::<_, io::Error>("x"), ()))
        }))
    }

    #[tokio::test(start_paused = true)]
    async fn an_upload_may_finish_when_the_server_stops_but_holds_it_no_longer_than_that() {
        let stop = CancellationToken::new();
        let limit = Duration::from_secs(30);
        let mut slow = std::pin::pin!(patient(dripping(), limit, stop.clone()));
        for _ in 0..100 {
            assert!(slow.next().await.is_some_and(|piece| piece.is_ok()));
        }
        stop.cancel();
        let (mut came, mut said) = (0, None);
        while said.is_none() {
            match slow.next().await {
                Some(Ok(_)) => came += 1,
                Some(Err(error)) => said = Some(error.to_string()),
                None => panic!("it never ends by itself"),
            }
        }
        assert!((5..=FINISH.as_secs()).contains(&came), "{came}");
        assert_eq!(said.as_deref(), Some("the server is stopping"));
    }
}
