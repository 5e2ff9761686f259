//! Where a request stands in a trace: as its caller says, or in one of its own.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use model::TraceContext;

/// The caller's place in its trace, if it named one.
pub fn parent(headers: &HeaderMap) -> Option<TraceContext> {
    let named = headers.get("traceparent").or(headers.get("ce-traceparent"));
    named?.to_str().ok()?.parse().ok()
}

/// Our place: after the caller's, or at the beginning of a new trace.
pub fn begin(parent: Option<TraceContext>) -> TraceContext {
    match parent {
        Some(parent) => parent.child(rand::random()),
        None => TraceContext::new(rand::random(), rand::random()),
    }
}

/// The place of the request that is being answered.
#[derive(Debug, Clone, Copy)]
pub struct Traced(pub Option<TraceContext>);

impl Traced {
    pub fn header(&self) -> Option<String> {
        self.0.map(|context| context.to_string())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Traced {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.extensions.get::<TraceContext>().copied()))
    }
}
