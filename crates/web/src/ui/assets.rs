//! The style sheet, the script and the icon, in the binary.
//!
//! Their address carries a hash of their content, so a browser keeps them for good and
//! still sees a new release at once.

use std::sync::LazyLock;

use axum::Router;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;
use axum::routing::get;
use model::ContentHash;

use crate::gateway::Gateway;

const STYLE: &str = include_str!("mill.css");
/// One file to a browser, one idea each to a reader.
const SCRIPT: &str = concat!(
    include_str!("script/begin.js"),
    include_str!("script/live.js"),
    include_str!("script/inspector.js"),
    include_str!("script/uploads.js"),
);
const ICON: &str = include_str!("mill.svg");

/// Changes when one of them does.
static STAMP: LazyLock<String> = LazyLock::new(|| {
    let all = [STYLE, SCRIPT, ICON].concat();
    let hash = ContentHash::of(all.as_bytes()).to_string();
    hash[..12].to_owned()
});

pub fn stamp() -> &'static str {
    &STAMP
}

pub fn routes() -> Router<Gateway> {
    Router::new()
        .route(
            "/ui/mill.css",
            get(|| kept("text/css; charset=utf-8", STYLE)),
        )
        .route(
            "/ui/mill.js",
            get(|| kept("text/javascript; charset=utf-8", SCRIPT)),
        )
        .route("/ui/mill.svg", get(|| kept("image/svg+xml", ICON)))
}

async fn kept(kind: &'static str, body: &'static str) -> impl IntoResponse {
    let cache = "public, max-age=31536000, immutable";
    ([(CONTENT_TYPE, kind), (CACHE_CONTROL, cache)], body)
}
