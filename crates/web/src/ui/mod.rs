//! The pages people use: rendered here, in the same binary, from compile-checked
//! templates, one style sheet and one small script.
//!
//! A page shows what the API answers and posts plain forms; the script makes it live
//! (uploads with their progress, parts that renew themselves, keys) and nothing
//! breaks without it but dropping files. What documents say is always escaped, and the
//! content security policy lets no script run that is not ours.

mod admin;
mod assets;
mod dashboard;
mod documents;
mod health;
mod inspect;
mod jobs;
mod marks;
mod page;
mod plot;
mod reference;
mod runs;
mod search;
mod shown;
mod sign_in;
mod sources;

pub(crate) use shown::{duration, figure};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use utoipa::openapi::OpenApi;

use crate::gateway::Gateway;
use crate::layers;
use crate::problem::Problem;

/// Of a form; files do not come this way.
const FORM_LIMIT: usize = 64 * 1024;

const HEADERS: [(HeaderName, &str); 5] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
         connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "same-origin"),
    (CACHE_CONTROL, "no-store"),
];

pub fn router(gateway: &Gateway) -> Router<Gateway> {
    Router::new()
        .merge(sign_in::routes())
        .merge(documents::routes())
        .merge(inspect::routes())
        .merge(search::routes())
        .merge(runs::routes())
        .merge(jobs::routes())
        .merge(sources::routes())
        .merge(dashboard::routes())
        .merge(admin::routes())
        .merge(assets::routes())
        .layer(DefaultBodyLimit::max(FORM_LIMIT))
        .route_layer(from_fn_with_state(gateway.clone(), layers::timeout))
        .layer(from_fn(guarded))
        .merge(jobs::untimed_routes().layer(from_fn(guarded)))
}

/// What programs are told, for people.
pub fn reference(description: &OpenApi) -> Router<Gateway> {
    reference::routes(description).layer(from_fn(guarded))
}

/// An address that leads nowhere: a page for a person, a problem for a program.
pub async fn unknown_route(headers: HeaderMap, uri: Uri) -> Response {
    match is_person(&headers) {
        true => paged(Problem::not_found("page", uri.path())),
        false => layers::unknown_route(uri).await.into_response(),
    }
}

/// The address of a form, which has nothing to show.
pub async fn unknown_method(headers: HeaderMap, method: Method, uri: Uri) -> Response {
    let problem = layers::unknown_method(method, uri).await;
    match is_person(&headers) {
        true => paged(problem.hint("go back, or begin at the documents")),
        false => problem.into_response(),
    }
}

fn is_person(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|kinds| kinds.to_str().ok());
    accepted.is_some_and(|kinds| kinds.contains("text/html"))
}

fn paged(problem: Problem) -> Response {
    with_headers(page::Trouble::from(problem).into_response())
}

/// What a browser is told to refuse, on every page; and a page for whatever went wrong
/// before there was one.
async fn guarded(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    match response.extensions_mut().remove::<Problem>() {
        Some(problem) => paged(problem),
        None => with_headers(response),
    }
}

fn with_headers(mut response: Response) -> Response {
    for (name, value) in HEADERS {
        let value = HeaderValue::from_static(value);
        response.headers_mut().entry(name).or_insert(value);
    }
    response
}
