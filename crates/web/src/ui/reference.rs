//! The API's reference: every operation in a line, made of the description programs read.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::routing::get;
use utoipa::openapi::OpenApi;
use utoipa::openapi::path::Operation;

use super::assets;
use super::page::show;
use crate::gateway::Gateway;

#[derive(Template)]
#[template(path = "reference.html")]
struct ReferencePage {
    lines: Vec<Line>,
    stamp: &'static str,
}

struct Line {
    method: &'static str,
    path: String,
    about: String,
}

pub fn routes(description: &OpenApi) -> Router<Gateway> {
    let page = Arc::new(ReferencePage {
        lines: lines(description),
        stamp: assets::stamp(),
    });
    let shown = move || {
        let page = page.clone();
        async move { show(&*page) }
    };
    Router::new().route("/docs", get(shown))
}

fn lines(description: &OpenApi) -> Vec<Line> {
    let mut lines = Vec::new();
    for (path, item) in &description.paths.paths {
        let named = [
            ("GET", &item.get),
            ("POST", &item.post),
            ("PUT", &item.put),
            ("PATCH", &item.patch),
            ("DELETE", &item.delete),
        ];
        let line = |(method, operation): (_, &Option<Operation>)| {
            operation.as_ref().map(|operation| Line {
                method,
                path: path.clone(),
                about: about(operation),
            })
        };
        lines.extend(named.into_iter().filter_map(line));
    }
    lines
}

fn about(operation: &Operation) -> String {
    let told = operation
        .summary
        .as_ref()
        .or(operation.description.as_ref());
    told.cloned().unwrap_or_default()
}
