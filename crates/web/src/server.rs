//! The router put together.

use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use axum::{Json, Router};
use tower_http::compression::CompressionLayer;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::gateway::Gateway;
use crate::{api, docs, etag, events, idempotency, layers, mcp, ops, ui};

/// Of a JSON body.
const BODY_LIMIT: usize = 2 * 1024 * 1024;

/// Everything that is answered, behind the same layers.
pub fn router(gateway: Gateway) -> Router {
    let (routes, description) = described(&gateway);
    let reference = ui::reference(&description);
    let routes = routes
        .route(
            "/openapi.json",
            get(move || async move { Json(description) }),
        )
        .merge(reference)
        .merge(ui::router(&gateway));
    layered(routes, gateway)
}

fn described(gateway: &Gateway) -> (Router<Gateway>, OpenApi) {
    let timed = OpenApiRouter::new()
        .merge(api::routes())
        .merge(ops::routes())
        .merge(mcp::routes())
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .route_layer(from_fn_with_state(gateway.clone(), layers::timeout));
    let streamed = OpenApiRouter::new()
        .merge(api::ingest::routes())
        .merge(api::uploads::streamed_routes())
        .merge(api::inspect::routes())
        .layer(DefaultBodyLimit::disable());
    // These take as long as their work, or their client, which must not stop sending.
    let untimed = OpenApiRouter::new()
        .merge(streamed)
        .merge(events::routes())
        .merge(api::citations::untimed_routes())
        .merge(api::status::untimed_routes())
        .merge(api::backup::untimed_routes())
        .merge(api::jobs::untimed_routes())
        .merge(api::versions::untimed_routes())
        .route_layer(from_fn_with_state(gateway.clone(), layers::idle));
    let (routes, mut description) = OpenApiRouter::with_openapi(docs::about())
        .merge(timed)
        .merge(untimed)
        .split_for_parts();
    docs::complete(&mut description);
    (routes, description)
}

fn layered(routes: Router<Gateway>, gateway: Gateway) -> Router {
    routes
        .fallback(ui::unknown_route)
        .method_not_allowed_fallback(ui::unknown_method)
        .layer(from_fn_with_state(gateway.clone(), idempotency::once))
        .layer(from_fn(etag::tagged))
        .layer(from_fn_with_state(gateway.clone(), layers::concurrency))
        .layer(from_fn(layers::catch_panic))
        .layer(CompressionLayer::new())
        .layer(from_fn_with_state(gateway.clone(), layers::request_id))
        .with_state(gateway)
}
